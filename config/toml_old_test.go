package config

import "testing"

// What go-toml 2.2 and 2.3.0, which containerd 2.0 to 2.3 link, make of
// documents that the library linked here takes otherwise.
func TestOldTOML(t *testing.T) {
	tests := map[string]struct {
		text     string
		exit22   int
		exit24   int
		handlers int // of 2.2, when it loads
	}{
		"a dotted key extends the table that a header made": {
			"version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.a]\nruntime_type = \"x.y\"\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\nruntimes.b.runtime_type = \"x.y\"\n", 0, 1, 3,
		},
		"a dotted key can't extend a table with a header of its own": {
			"[plugins.x]\n[plugins]\nx.y = 1\n", 1, 1, 0,
		},
		"a header can't open a table of dotted keys":             {"[plugins]\nb.c = 1\n[plugins.b]\n", 1, 1, 0},
		"unless nobody looks":                                    {"[a]\nb.c = 1\n[a.b]\n", 0, 1, 1},
		"an inline table in two lines":                           {"x = {a = 1,\n b = 2}\n", 1, 0, 0},
		"a comma at the end of an inline table":                  {"x = {a = 1,}\n", 1, 0, 0},
		"the escape \\x":                                         {"x = \"\\x41\"\n", 1, 0, 0},
		"no escape in a literal string":                          {"x = '\\x41'\n", 0, 0, 1},
		"braces in strings and comments":                         {"x = \"{,}\" # {,}\ny = '{\\x'\nz = '''{\n}'''\n", 0, 0, 1},
		"an array in lines, with a comma at its end":             {"x = [\n 1, # one\n 2,\n]\n", 0, 0, 1},
		"a header, not an array":                                 {"[ plugins ]\nx = [ {a = 1}, {b = 2} ]\n[[ y ]]\n[[ y ]]\n", 0, 0, 1},
		"[[plugins]]":                                            {"[[plugins]]\n", 1, 1, 0},
		"a dotted key through a number":                          {"version.x = 1\n", 1, 1, 0},
		"a header for a string":                                  {"[root]\n", 0, 1, 1},
		"a header for a string, with a key":                      {"[root]\nx = 1\n", 1, 1, 0},
		"a header below a string":                                {"[root.x]\n", 2, 1, 0},
		"[[x]] for a list":                                       {"[[required_plugins]]\n", 0, 1, 1},
		"[[x]] for a list of a processor":                        {"[[stream_processors.a.args]]\n", 0, 1, 1},
		"a header for a handler's type":                          {"version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.x.runtime_type]\n", 0, 1, 2},
		"a header below a handler's type":                        {"version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.x.runtime_type.y]\n", 2, 1, 0},
		"a date for a string":                                    {"root = 1979-05-27\n", 2, 1, 0},
		"a table twice":                                          {"[plugins]\n[plugins]\n", 1, 1, 0},
		"a key twice":                                            {"root = \"a\"\nroot = \"b\"\n", 1, 1, 0},
		"a table, then an array of tables":                       {"[plugins.a]\n[[plugins.a]]\n", 1, 1, 0},
		"an element of an array of tables may repeat its tables": {"[[plugins.a]]\n[plugins.a.b]\n[[plugins.a]]\n[plugins.a.b]\n", 0, 0, 1},
	}
	for name, test := range tests {
		for version, exit := range map[string]int{"2.2.9": test.exit22, "2.4.2": test.exit24} {
			r, err := Load(hostileHost(map[string]string{main: test.text}), Options{Runtime: mustRuntime(t, version), Path: main})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Dump.Exit != exit || version == "2.2.9" && exit == 0 && len(r.Dump.CRI.Handlers) != test.handlers {
				t.Errorf("%s with %s: exit %d (%s) with %v; want %d", name, version, r.Dump.Exit, r.Dump.Error, r.Dump.CRI.Names(), exit)
			}
		}
	}
}
