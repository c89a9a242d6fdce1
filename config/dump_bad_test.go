package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

const badHeader = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"

// badDumps are inputs that no answer can be had from, with the whole error.
var badDumps = []struct{ name, text, want string }{
	{"empty", "", `d.toml: empty; expected the output of "containerd config dump"`},
	{"blank lines", " \n\t\n", `d.toml: empty; expected the output of "containerd config dump"`},
	{"comments only", "# nothing\n", `d.toml: holds no key, so it is not a containerd configuration`},
	{"binary", "\x7fELF\x02\x01\x01\x00\x00", `d.toml:1:8: NUL byte: a binary file, not TOML`},
	{"not UTF-8", "version = 2\nroot = \"\xe9\"\n", `d.toml:2:9: byte 0xe9 is not UTF-8: a binary file, not TOML?`},
	{"UTF-16", "\xff\xfev\x00e\x00", `d.toml:1:1: UTF-16 text; convert it to UTF-8`},
	{"syntax", "version = 2\nroot = /var\n", `d.toml:2:8: not valid TOML: unexpected character U+002F '/' at start of value`},
	{"cut off", "version = 2\n[plugins", `d.toml:2:8: not valid TOML: expected ']' to close table name`},
	{"YAML", "apiVersion: v1\n", `d.toml:1:11: not valid TOML: expected '=' after key`},
	{"key twice", "version = 2\nversion = 2\n", `d.toml:2:1: key "version" is defined twice (first in line 1)`},
	{"table twice", "[plugins]\na = 1\n[plugins]\n", `d.toml:3:2: table "plugins" is defined twice (first in line 1)`},
	{"table below a value", "plugins = 1\n[plugins.x]\n", `d.toml:2:2: key "plugins" is already an integer (line 1), so no table can stand below it`},
	{"array of tables over a table", "[a]\n[[a]]\n", `d.toml:2:3: key "a" is already a table (line 1)`},
	{"dotted key into a table", "[a.b]\n[a]\nb.c = 1\n", `d.toml:3:1: key "b" is already a table (line 1), which a dotted key cannot extend`},
	{"version is a string", "version = \"2\"\n", `d.toml:1:1: version must be an integer, but is a string`},
	{"version out of reach", "version = -2\n", `d.toml:1:1: version -2 is not a config version; containerd has 1 to 4`},
	{"plugins is a string", "version = 2\nplugins = \"cri\"\n", `d.toml:2:1: plugins must be a table, but is a string`},
	{"imports is a string", "version = 2\nimports = \"/etc/x\"\n", `d.toml:2:1: imports must be an array, but is a string`},
	{"imports holds a number", "version = 2\nimports = [\"a\",\n 5]\n", `d.toml:3:2: each element of imports must be a string, but is an integer`},
	{"disabled_plugins is a string", "disabled_plugins = \"cri\"\n", `d.toml:1:1: disabled_plugins must be an array, but is a string`},
	{"plugin is a string", "version = 2\n[plugins]\n\"io.containerd.grpc.v1.cri\" = \"on\"\n",
		`d.toml:3:1: plugins."io.containerd.grpc.v1.cri" must be a table, but is a string`},
	{"runtimes is a string", badHeader + "  runtimes = \"nvidia\"\n",
		`d.toml:3:3: plugins."io.containerd.grpc.v1.cri".containerd.runtimes must be a table, but is a string`},
	{"runtimes is an array", "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\nruntimes = [\"nvidia\"]\n",
		`d.toml:3:1: plugins."io.containerd.cri.v1.runtime".containerd.runtimes must be a table, but is an array`},
	{"handler is a string", badHeader + "runtimes.nvidia = \"io.containerd.runc.v2\"\n",
		`d.toml:3:10: plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia must be a table, but is a string`},
	{"handler is an array of tables", "version = 2\n[[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]]\n",
		`d.toml:2:59: plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia must be a table, but is an array of tables`},
	{"runtime_type is a number", badHeader + "runtimes.\"a b\".runtime_type = 5\n",
		`d.toml:3:16: plugins."io.containerd.grpc.v1.cri".containerd.runtimes."a b".runtime_type must be a string, but is an integer`},
	{"BinaryName is a boolean", badHeader + "runtimes.a.options.BinaryName = true\n",
		`d.toml:3:20: plugins."io.containerd.grpc.v1.cri".containerd.runtimes.a.options.BinaryName must be a string, but is a boolean`},
	{"default is a number", badHeader + "default_runtime_name = 1.5\n",
		`d.toml:3:1: plugins."io.containerd.grpc.v1.cri".containerd.default_runtime_name must be a string, but is a float`},
	{"enable_cdi is a string", "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = \"yes\"\n",
		`d.toml:3:1: plugins."io.containerd.grpc.v1.cri".enable_cdi must be a boolean, but is a string`},
	{"default_runtime is a date", badHeader + "default_runtime = 2020-01-01\n",
		`d.toml:3:1: plugins."io.containerd.grpc.v1.cri".containerd.default_runtime must be a table, but is a date or time`},
	{"deep nesting", "a = " + strings.Repeat("[", 20000), `d.toml:1:10005: not valid TOML: arrays and inline tables are nested more than the maximum of 10000 levels deep`},
}

func TestReadDumpRefuses(t *testing.T) {
	for _, tt := range badDumps {
		t.Run(tt.name, func(t *testing.T) {
			d, err := ReadDump(strings.NewReader(tt.text), "d.toml")
			if err == nil {
				t.Fatalf("read as %+v", d)
			}
			if err.Error() != tt.want {
				t.Errorf("error\n%s\nwant\n%s", err, tt.want)
			}
		})
	}
	t.Logf("%d bad inputs refused", len(badDumps))
}

// An endless reader counts what is taken from it.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	e.taken += len(p)
	return len(p), nil
}

func TestReadDumpStopsReading(t *testing.T) {
	var e endless
	_, err := ReadDump(&e, "big.toml")
	if want := "big.toml: larger than 8 MiB, so it is not a containerd configuration"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if e.taken > 2*MaxDumpBytes {
		t.Errorf("%d bytes read of an endless input", e.taken)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read dir: %w", &os.PathError{Op: "read", Path: "dir", Err: errors.New("is a directory")})
}

func TestReadDumpReadError(t *testing.T) {
	_, err := ReadDump(failing{}, "dir")
	if want := "dir: cannot be read: is a directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := ReadDump(io.MultiReader(strings.NewReader("\ufeffversion = 2\n")), "bom.toml"); err != nil {
		t.Errorf("a byte order mark before the text: %v", err)
	}
}

// TestReadDumpIsLinear feeds documents of 4 MiB that would take a decoder that
// compares every key with every other minutes to hours.
func TestReadDumpIsLinear(t *testing.T) {
	const size = 4 << 20
	fill := func(format string) string {
		var b bytes.Buffer
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	docs := map[string]string{
		"keys":             fill("k%d=1\n"),
		"tables":           fill("[t%d]\n"),
		"arrays of tables": fill("[[t%d]]\n"),
		"elements":         "a = [" + strings.Repeat("1,", size/2) + "]\n",
		"handlers":         badHeader + fill("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.h%d]\n"),
		"a long key":       strings.Repeat("a.", size/2) + "a = 1\n",
		"a long header":    "[" + strings.Repeat("a.", size/2) + "a]\n",
		"newlines":         strings.Repeat("\n", size) + "a = 1\n",
	}
	for name, doc := range docs {
		start := time.Now()
		_, err := ReadDump(strings.NewReader(doc), "d.toml")
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
		if err != nil && !strings.Contains(err.Error(), "more than 500000 keys") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDumpTOML compares the tree builder with go-toml's own decoder: both must
// take and refuse the same documents.
func FuzzDumpTOML(f *testing.F) {
	for _, bad := range badDumps {
		f.Add(bad.text)
	}
	for _, doc := range []string{
		"a.b = 1\na.c = 2\n[a.d]\n", "[a.b]\n[a]\n", "[[a]]\n[a.b]\n[[a]]\n[a.b]\n", "a = {b = {c = 1}, b.d = 2}\n",
		"a = [{b = 1, b = 2}]\n", "[a]\nb.c = 1\n[a.b]\n", "[a]\nb.c = 1\n[a.b.d]\n", "a = []\n[[a]]\n", "\"\" = 1\n",
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if len(doc) > 1<<12 {
			return
		}
		var want map[string]any
		wantErr := toml.Unmarshal([]byte(doc), &want)
		root, err := parseDumpTOML("d.toml", []byte(doc))
		if (err == nil) != (wantErr == nil) {
			// go-toml also refuses numbers and dates out of range.
			if err == nil && !structural(wantErr) {
				return
			}
			t.Fatalf("tree: %v; go-toml: %v", err, wantErr)
		}
		if err == nil && len(root.fields) != len(want) {
			t.Fatalf("%d keys, go-toml has %d", len(root.fields), len(want))
		}
	})
}

// structural says whether go-toml refuses how the keys of a document fit
// together, not the value of a number or date.
func structural(err error) bool {
	return strings.Contains(err.Error(), "already") || strings.Contains(err.Error(), "should be")
}
