package config

import "testing"

// The answers are those of containerd 2.2.9 and 2.4.2, and for what stands in
// options those of the TOML libraries that they link.
func TestArraysOfTablesInOptions(t *testing.T) {
	const gvisor = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.gvisor`
	const unknown = gvisor + "]\nsandbox_mode = \"shim\"\n"
	tests := map[string]struct {
		text string
		exit int // of 2.2.9; 2.4.2 has no trouble
	}{
		"with a key of 1.7":            {unknown + gvisor + ".options]\nz = [{a = 1}, {b = 2}]\n", 2},
		"without an unknown key":       {gvisor + ".options]\nz = [{a = 1}, {b = 2}]\n", 0},
		"in another section":           {"[plugins.\"io.containerd.cri.v1.images\"]\nfoo = 1\n" + gvisor + ".options]\nz = [{a = 1}]\n", 0},
		"with an unknown table":        {"[plugins.\"io.containerd.cri.v1.runtime\".foo]\n" + gvisor + ".options]\nz = [{a = 1}]\n", 2},
		"with headers, in capitals":    {unknown + "[[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.gvisor.Options.z]]\n", 2},
		"below a table":                {unknown + gvisor + ".options]\nz = {y = [{a = 1}]}\n", 2},
		"in an array":                  {unknown + gvisor + ".options]\nz = [[{a = 1}]]\n", 0},
		"with something that is none":  {unknown + gvisor + ".options]\nz = [{a = 1}, 2]\n", 0},
		"an array of nothing":          {unknown + gvisor + ".options]\nz = []\n", 0},
		"a key that came with 2.4 now": {gvisor + "]\ndisable_pause_image_pull = true\n" + gvisor + ".options]\nz = [{a = 1}]\n", 2},
	}
	for name, test := range tests {
		for version, exit := range map[string]int{"2.2.9": test.exit, "2.4.2": 0} {
			r, err := Load(hostileHost(map[string]string{main: "version = 3\n" + test.text}), Options{Runtime: mustRuntime(t, version), Path: main})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if state := map[int]DaemonState{0: Running, 2: NoStart}[exit]; r.Dump.Exit != exit || r.Daemon.State != state {
				t.Errorf("%s in %s: exit %d (%s), %s; containerd says %d", name, version, r.Dump.Exit, r.Dump.Error, r.Daemon.State, exit)
			}
		}
	}
}
