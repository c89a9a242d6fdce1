package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A dumpRow is what a real containerd said beside a dump in testdata/dumps:
// the handlers of the dump, and what the daemon made of the same files.
type dumpRow struct {
	File           string
	Handlers       []string
	DefaultHandler string
	Daemon         string // Running, CRIOff, NoStart; "" if not tried
}

func dumpRows(t testing.TB) []dumpRow {
	t.Helper()
	f, err := os.Open("testdata/dumps/expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []dumpRow
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row dumpRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func readDumpFile(t testing.TB, path string) *Dump {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := ReadDump(f, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestReadDumpOfRealContainerd reads every dump of the real builds.
func TestReadDumpOfRealContainerd(t *testing.T) {
	rows := dumpRows(t)
	files, err := filepath.Glob("testdata/dumps/*.toml")
	if err != nil || len(files) != len(rows) {
		t.Fatalf("%d dumps, %d rows (%v)", len(files), len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.File, func(t *testing.T) {
			d := readDumpFile(t, filepath.Join("testdata/dumps", row.File))
			if diff := cmp.Diff(row.Handlers, d.Names()); diff != "" {
				t.Errorf("handlers (-want +got):\n%s", diff)
			}
			if d.DefaultHandler != row.DefaultHandler {
				t.Errorf("default handler %q, want %q", d.DefaultHandler, row.DefaultHandler)
			}
			if !d.IsDump {
				t.Errorf("not taken for a dump: %s", d.FormReason)
			}
			if d.Incomplete != "" || d.MaybeUnmigrated {
				t.Errorf("proves no absence: %q, %t", d.Incomplete, d.MaybeUnmigrated)
			}
			// The daemon serves no CRI when it is disabled, absent, or has no
			// default; nothing else of it shows in these dumps.
			off := d.State != CRIOn || len(d.Notes) > 0
			if row.Daemon == "Running" && off || row.Daemon == "CRIOff" && !off {
				t.Errorf("daemon %s, but dump has state %v and notes %q", row.Daemon, d.State, d.Notes)
			}
		})
	}
	t.Logf("%d dumps of real containerd read", len(rows))
}

func TestReadDumpFields(t *testing.T) {
	on, off := true, false
	tests := []struct {
		file    string
		version int
		cdi     *bool
		want    []Handler
	}{
		{"1.7.27.afterdropin.dump.toml", 2, &on, []Handler{
			{Name: "badtype", RuntimeType: "runc"},
			{Name: "crun", RuntimeType: "io.containerd.runc.v2", BinaryName: "/run/t"},
			{Name: "kata", RuntimeType: "io.containerd.kata.v2"},
			{Name: "late", RuntimeType: "io.containerd.runc.v2"},
			{Name: "notype"},
			{Name: "nvidia", RuntimeType: "io.containerd.runc.v2", BinaryName: "/usr/bin/nvidia-container-runtime"},
			{Name: "runc", RuntimeType: "io.containerd.runc.v2", BinaryName: "/run/tc"},
			{Name: "runsc", RuntimeType: "io.containerd.runsc.v1", RuntimePath: "/opt/none/containerd-shim-runsc-v1"},
		}},
		{"base-v2-nvidia-default@1.7.35.toml", 2, &off, []Handler{
			{Name: "nvidia", RuntimeType: "io.containerd.runc.v2", BinaryName: "/usr/bin/nvidia-container-runtime"},
		}},
		{"t-v3-crlf@2.0.14.toml", 3, &on, []Handler{
			{Name: "nvidia", RuntimeType: "io.containerd.runc.v2", BinaryName: "/usr/bin/nvidia-container-runtime"},
			{Name: "runc", RuntimeType: "io.containerd.runc.v2"},
		}},
		// 2.4 has no enable_cdi any more: always on.
		{"g-gvisor-v3@2.4.2.toml", 4, &on, []Handler{
			{Name: "runc", RuntimeType: "io.containerd.runc.v2"},
			{Name: "runsc", RuntimeType: "io.containerd.runsc.v1"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			d := readDumpFile(t, filepath.Join("testdata/dumps", tt.file))
			if diff := cmp.Diff(tt.want, d.Handlers); diff != "" {
				t.Errorf("handlers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.cdi, d.CDI); diff != "" {
				t.Errorf("CDI (-want +got):\n%s", diff)
			}
			if d.Version != tt.version {
				t.Errorf("version %d, want %d", d.Version, tt.version)
			}
		})
	}
}

func TestReadDumpDisabled(t *testing.T) {
	for file, want := range map[string]string{
		"d-v2-disabled-cri@1.7.35.toml":       `d-v2-disabled-cri@1.7.35.toml:1:21: the CRI plugin is disabled (disabled_plugins holds "io.containerd.grpc.v1.cri"), so containerd serves no handler at all: remove that entry and restart containerd`,
		"t-v2-disabled-in-dropin@2.4.2.toml":  `t-v2-disabled-in-dropin@2.4.2.toml:5:21: the CRI plugin is disabled (disabled_plugins holds "io.containerd.grpc.v1.cri"), so containerd serves no handler at all: remove that entry and restart containerd`,
		"nvreal-docker@1.7.35.toml":           `nvreal-docker@1.7.35.toml:1:21: the CRI plugin is disabled (disabled_plugins holds "cri"), so containerd serves no handler at all: remove that entry and restart containerd`,
		"t-v2-disabled-in-dropin@1.7.35.toml": `t-v2-disabled-in-dropin@1.7.35.toml:1:21: the CRI plugin is disabled (disabled_plugins holds "io.containerd.grpc.v1.cri"), so containerd serves no handler at all: remove that entry and restart containerd`,
	} {
		d := readDumpFile(t, filepath.Join("testdata/dumps", file))
		if d.State != CRIDisabled || d.Reason != want {
			t.Errorf("%s: state %v, reason\n%s\nwant\n%s", file, d.State, d.Reason, want)
		}
		if got, why := d.Look("runc"); got != Unknown || why != want {
			t.Errorf("%s: Look(runc) = %v, %q: a disabled CRI says nothing about handlers", file, got, why)
		}
	}
}

// dumpWith returns a dump of testdata with every old replaced by new.
func dumpWith(t *testing.T, file string, oldnew ...string) *Dump {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/dumps", file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("%s does not contain %q", file, oldnew[i])
		}
		text = strings.ReplaceAll(text, oldnew[i], oldnew[i+1])
	}
	d, err := ReadDump(strings.NewReader(text), "dump.toml")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const oldNameTable = `
[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.kata]
  runtime_type = 'io.containerd.kata.v2'
`

func TestLookInDumpsThatProveLittle(t *testing.T) {
	v3 := "t-v3-crlf@2.0.14.toml"
	v2 := "base-v2-nvidia-default@1.7.35.toml"
	atEnd := "path = ''\n\n[timeouts]"
	withOld := []string{atEnd, "path = ''\n" + oldNameTable + "\n[timeouts]"}
	type look struct {
		handler string
		want    Presence
	}
	tests := map[string]struct {
		dump *Dump
		want []look
	}{
		"a dump of one name proves both": {dumpWith(t, v3),
			[]look{{"nvidia", Present}, {"kata", Absent}}},
		"a dump with both names proves the absence of none": {dumpWith(t, v3, withOld...),
			[]look{{"nvidia", Present}, {"kata", Present}, {"runsc", Unknown}}},
		"a dump of version 3 with the old name only": {dumpWith(t, v3,
			pluginCRIRuntime, pluginCRI+"x", "io.containerd.grpc.v1.cri'", "io.containerd.grpc.v1.cri.server'", pluginCRI+"x", pluginCRI),
			[]look{{"nvidia", Present}, {"kata", Unknown}}},
		"a dump of version 2 with the new name only": {dumpWith(t, v2, pluginCRI, pluginCRIRuntime),
			[]look{{"nvidia", Present}, {"kata", Unknown}}},
		"a dump in the form of 2.0.0 to 2.0.6": {dumpWith(t, v3, "            SystemdCgroup = false\n", ""),
			[]look{{"nvidia", Present}, {"kata", Unknown}}},
		"2.1.0 looks alike but for cgroup_writable": {dumpWith(t, v3, "            SystemdCgroup = false\n", "",
			"base_runtime_spec = ''", "cgroup_writable = false\nbase_runtime_spec = ''"),
			[]look{{"nvidia", Present}, {"kata", Absent}}},
		"containerd 1.x makes handlers of two deprecated tables": {dumpWith(t, v2,
			"runtime_root = \"\"\n        runtime_type = \"\"", "runtime_root = \"\"\n        runtime_type = \"io.containerd.kata.v2\""),
			[]look{{"nvidia", Present}, {"untrusted", Present}, {"default", Present}, {"kata", Absent}}},
		"a dump with no section of the plugin": {dumpWith(t, v3, pluginCRIRuntime, "io.containerd.foo.v1.foo"),
			[]look{{"runc", Unknown}, {"kata", Unknown}}},
		"the halves of the plugin can be disabled on 2.x": {dumpWith(t, v3, "disabled_plugins = []", "disabled_plugins = ['io.containerd.cri.v1.images']"),
			[]look{{"runc", Unknown}}},
		"and mean nothing to 1.x": {dumpWith(t, v2, "disabled_plugins = []", "disabled_plugins = ['io.containerd.cri.v1.runtime']"),
			[]look{{"nvidia", Present}, {"kata", Absent}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if !tt.dump.IsDump {
				t.Errorf("not taken for a dump: %s", tt.dump.FormReason)
			}
			for _, l := range tt.want {
				got, why := tt.dump.Look(l.handler)
				if got != l.want || (got == Unknown) != (why != "") {
					t.Errorf("Look(%q) = %v, %q; want %v", l.handler, got, why, l.want)
				}
				if strings.ContainsAny(why, "\n") {
					t.Errorf("reason of several lines: %q", why)
				}
			}
		})
	}
}

func TestReadDumpOfConfigFiles(t *testing.T) {
	type look struct {
		handler string
		want    Presence
	}
	oldNvidia := "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\nruntime_type = \"io.containerd.runc.v2\"\n"
	newNvidia := "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\n"
	tests := map[string]struct {
		text  string
		dflt  string
		names []string
		want  []look
	}{
		"version 1, short name": {"version = 1\n[plugins.cri.containerd.runtimes.nvidia]\nruntime_type=\"io.containerd.runc.v2\"\n",
			"runc", []string{"nvidia"}, []look{{"nvidia", Present}, {"runc", Unknown}, {"kata", Absent}}},
		"version 2, old name": {"version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n" + oldNvidia,
			"runc", []string{"nvidia"}, []look{{"nvidia", Present}, {"runc", Unknown}, {"kata", Absent}}},
		"version 2, new name": {"version = 2\n" + newNvidia,
			"runc", []string{"nvidia", "runc"}, []look{{"nvidia", Unknown}, {"runc", Present}, {"kata", Absent}}},
		"version 2, no table": {"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = true\n",
			"runc", []string{"runc"}, []look{{"runc", Present}, {"nvidia", Absent}}},
		"version 3, new name": {"version = 3\n" + newNvidia,
			"runc", []string{"nvidia", "runc"}, []look{{"nvidia", Present}, {"runc", Present}, {"kata", Absent}}},
		"version 3, old name": {"version = 3\n" + oldNvidia,
			"runc", []string{"nvidia", "runc"}, []look{{"nvidia", Unknown}, {"runc", Present}, {"kata", Absent}}},
		"version 4, old name": {"version = 4\n" + oldNvidia,
			"runc", []string{"runc"}, []look{{"nvidia", Absent}, {"runc", Present}}},
		"keys in any case": {"Version = 3\n[Plugins.'io.containerd.cri.v1.runtime'.Containerd]\nDefault_Runtime_Name = 'a'\n" +
			"[plugins.'io.containerd.cri.v1.runtime'.containerd.Runtimes.a]\nRUNTIME_TYPE = 'x'\n",
			"a", []string{"a", "runc"}, []look{{"a", Present}, {"A", Absent}}},
		"no section at all": {"version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n",
			"runc", []string{}, []look{{"nvidia", Unknown}, {"runc", Unknown}}},
		"inline and dotted": {"version = 3\nplugins.'io.containerd.cri.v1.runtime'.containerd = {default_runtime_name = 'a', runtimes = {a = {runtime_type = 't', options.BinaryName = 'b'}}}\n",
			"a", []string{"a", "runc"}, []look{{"a", Present}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := ReadDump(strings.NewReader(tt.text), "config.toml")
			if err != nil {
				t.Fatal(err)
			}
			if d.IsDump || !strings.Contains(strings.Join(d.Notes, "\n"), "not proof of what is loaded") {
				t.Errorf("no note that this is no dump: %q", d.Notes)
			}
			if d.DefaultHandler != tt.dflt {
				t.Errorf("default %q, want %q", d.DefaultHandler, tt.dflt)
			}
			if diff := cmp.Diff(tt.names, d.Names()); diff != "" {
				t.Errorf("handlers (-want +got):\n%s", diff)
			}
			for _, l := range tt.want {
				if got, why := d.Look(l.handler); got != l.want || (got == Unknown) != (why != "") {
					t.Errorf("Look(%q) = %v, %q; want %v", l.handler, got, why, l.want)
				}
			}
		})
	}
}

// TestReadDumpOf200: containerd 2.0.0 printed this of a version 3 file that
// defines spin under the old plugin name. It would have printed the same of a
// version 2 file, whose spin the daemon loads.
func TestReadDumpOf200(t *testing.T) {
	d := readDumpFile(t, "testdata/dumps/early/2.0.0.toml")
	if got, why := d.Look("spin"); got != Unknown || !strings.Contains(why, "2.0.6") {
		t.Errorf("Look(spin) = %v, %q", got, why)
	}
	if got, _ := d.Look("runc"); got != Present || !d.IsDump {
		t.Errorf("Look(runc) = %v, a dump: %t", got, d.IsDump)
	}
	d.MaybeUnmigrated = false
	if got, _ := d.Look("spin"); got != Absent {
		t.Errorf("Look(spin) of a dump known to be migrated = %v", got)
	}
}

// TestConfigDefaultIsNoDump: the output of "containerd config default", the
// start of many a hand-written file, has every key of a dump.
func TestConfigDefaultIsNoDump(t *testing.T) {
	for _, imports := range []string{"[]", "[\"/etc/containerd/conf.d/*.toml\"]"} {
		d := dumpWith(t, "base-v2-nvidia-default@1.7.35.toml", `imports = ["@DIR@/config.toml"]`, "imports = "+imports)
		if d.IsDump {
			t.Errorf("imports = %s is taken for a dump", imports)
		}
		if got, _ := d.Look("nvidia"); got != Present {
			t.Errorf("imports = %s: Look(nvidia) = %v", imports, got)
		}
	}
}

func TestReadDumpOfAFutureVersion(t *testing.T) {
	d := dumpWith(t, "t-v2-inline@2.4.2.toml", "version = 4", "version = 5")
	if got, _ := d.Look("nvidia"); got != Present || !d.IsDump {
		t.Errorf("Look(nvidia) = %v, a dump: %t", got, d.IsDump)
	}
	if want := []string{"dump.toml: config version 5 is newer than the newest known, 4, and read like that"}; !cmp.Equal(d.Notes, want) {
		t.Errorf("notes %q, want %q", d.Notes, want)
	}
}

func BenchmarkReadDump(b *testing.B) {
	data, err := os.ReadFile("testdata/dumps/2.4.2.afterdropin.dump.toml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ReadDump(bytes.NewReader(data), "dump.toml"); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzReadDump(f *testing.F) {
	for _, seed := range []string{
		"version = 2\n" + oldNameTable, "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name='a'\n" + oldNameTable,
		"version = 1\n[plugins.cri.containerd.untrusted_workload_runtime]\nruntime_type='a'\n",
		"version = 4\ndisabled_plugins = ['cri']\nimports = ['a*']\n",
	} {
		f.Add([]byte(seed))
	}
	whole, err := os.ReadFile("testdata/dumps/d-v2-disabled-cri@1.7.35.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	for _, bad := range badDumps {
		f.Add([]byte(bad.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadDump(bytes.NewReader(data), "fuzz.toml")
		if err != nil {
			if msg := err.Error(); strings.ContainsAny(msg, "\n\r\x00") || !strings.HasPrefix(msg, "fuzz.toml:") {
				t.Errorf("error is not one line that names the input: %q", msg)
			}
			return
		}
		for _, name := range append(d.Names(), "runc", "") {
			if got, why := d.Look(name); (got == Unknown) != (why != "") {
				t.Errorf("Look(%q) = %v, %q", name, got, why)
			}
		}
	})
}
