package config

import "testing"

// A tree of configuration files only says nothing of programs.
func TestProgramsAreUncheckedWithoutTheHostsPrograms(t *testing.T) {
	r, err := Load(hostileHost(map[string]string{main: "version = 2\n" + nv1}), Options{Runtime: mustRuntime(t, "2.4.2"), Path: main})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Handlers {
		if h.Shim.State != Unchecked || h.Binary.State != Unchecked {
			t.Errorf("handler %q: %+v, %+v", h.Name, h.Shim, h.Binary)
		}
	}
}

func TestWithoutADropIn(t *testing.T) {
	host := hostOf(t, "testdata/truth/cases/a-v2-nvidia-then-registry", truthDir)
	for _, name := range []string{"zz-registry.toml", truthDir + "/conf.d/zz-registry.toml"} {
		r, err := Load(host, Options{Runtime: mustRuntime(t, "2.4.2"), Path: truthDir + "/config.toml", Without: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Files) != 2 {
			t.Errorf("without %s: %d files", name, len(r.Files))
		}
	}
}
