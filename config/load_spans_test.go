package config

import "testing"

// go-toml 1 looks in the parent for the keys of a table that is absent, so that
// a wrong value there can be fatal. Keys that a version does not have are not
// looked for anywhere. The answers are those of containerd 1.7.27.
func TestKeysOfAbsentTables(t *testing.T) {
	tests := map[string]struct {
		text string
		exit int
	}{
		"a key that 1.7 does not have":              {"[plugins.cri]\nuse_internal_loopback = 1\n", 0},
		"the same in version 2":                     {"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nuse_internal_loopback = 1\n", 0},
		"another that 1.7 does not have":            {"[plugins.cri]\nbin_dirs = 1\n", 0},
		"beside its table":                          {"[plugins.cri]\nuse_internal_loopback = 1\n[plugins.cri.cni]\n", 0},
		"in its table":                              {"[plugins.cri.cni]\nuse_internal_loopback = 1\n", 0},
		"a key that 1.7 has, of the wrong type":     {"[plugins.cri]\nsetup_serially = 1\n", 1},
		"of the right type":                         {"[plugins.cri]\nsetup_serially = true\n", 0},
		"of the wrong type, but its table is there": {"[plugins.cri]\nsetup_serially = 1\n[plugins.cri.cni]\n", 0},
		"one of another table":                      {"[plugins.cri]\nignore_blockio_not_enabled_errors = 1\n", 1},
		"whose table is there":                      {"[plugins.cri]\nignore_blockio_not_enabled_errors = 1\n[plugins.cri.containerd]\n", 0},
	}
	for name, test := range tests {
		r, err := Load(hostileHost(map[string]string{main: test.text}), Options{Runtime: mustRuntime(t, "1.7.27"), Path: main})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Dump.Exit != test.exit {
			t.Errorf("%s: exit %d (%s), containerd says %d", name, r.Dump.Exit, r.Dump.Error, test.exit)
		}
	}
}
