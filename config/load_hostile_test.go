package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

func hostileHost(files map[string]string) *hostfs.FS {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Mode: 0o644, Data: []byte(text)}
	}
	return hostfs.New(tree)
}

// What would hold a reader up is refused, or done with soon.
func TestHostileTrees(t *testing.T) {
	chain := map[string]string{}
	for i := range 8000 {
		chain[fmt.Sprintf("/c/%d", i)] = fmt.Sprintf("imports = [\"/c/%d\"]\n", i+1)
	}
	chain[DefaultConfigPath] = "imports = [\"/c/0\"]\n"
	// Each of the files imports all others: 500 x 500 imports.
	mesh := map[string]string{DefaultConfigPath: "imports = [\"/m/*\"]\n"}
	for i := range 500 {
		mesh[fmt.Sprintf("/m/%d", i)] = "imports = [\"/m/*\"]\n"
	}
	many := func(line string, n int) map[string]string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return map[string]string{DefaultConfigPath: b.String()}
	}
	tests := map[string]struct {
		files   map[string]string
		refused bool
	}{
		"a chain of thousands of imports": {chain, true},
		"all files import all":            {mesh, false},
		"a large file":                    {map[string]string{DefaultConfigPath: "#" + strings.Repeat("x", 10<<20)}, true},
		"brackets a million deep":         {map[string]string{DefaultConfigPath: "x = " + strings.Repeat("[", 1<<20)}, true},
		"brackets 19,000 deep":            {map[string]string{DefaultConfigPath: "x = " + strings.Repeat("[", 19_000)}, false},
		"inline tables 6,000 deep":        {map[string]string{DefaultConfigPath: "x = " + strings.Repeat("{a=", 6_000)}, false},
		"a hundred thousand keys":         {many("k%d = 1\n", 100_000), true},
		"19,000 keys":                     {many("k%d = 1\n", 19_000), false},
		"9,000 tables":                    {many("[plugins.t%d]\na = 1\n", 9_000), false},
		"a key of 190 parts":              {map[string]string{DefaultConfigPath: strings.Repeat("a.", 190) + "a = 1\n"}, false},
		"a key of 300,000 parts":          {map[string]string{DefaultConfigPath: strings.Repeat("a.", 300_000) + "a = 1\n"}, true},
	}
	for name, test := range tests {
		host := hostileHost(test.files)
		for _, version := range []string{"1.7.27", "2.2.9", "2.4.2"} {
			started := time.Now()
			_, err := Load(host, Options{Runtime: mustRuntime(t, version), Path: DefaultConfigPath})
			if errors.Is(err, hostfs.ErrRefused) != test.refused {
				t.Errorf("%s with %s: refused is to be %v, the error is %v", name, version, test.refused, err)
			}
			if took := time.Since(started); took > 10*time.Second {
				t.Errorf("%s with %s takes %s", name, version, took)
			} else {
				t.Logf("%s with %s: %s", name, version, took.Round(time.Millisecond))
			}
		}
	}
}
