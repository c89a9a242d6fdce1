package configdiff

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// TestUpgradeWithContainerd migrates trees from 1.7 to 2.4, generated ones and
// recorded ones (with 1,000 trees or more all of these), and asks the real
// containerd of both versions: what 2.4 has of the mended files is what was
// foretold, and nothing that 1.7 has is lost unless that was told.
func TestUpgradeWithContainerd(t *testing.T) {
	older, newer := programOf(t, "1.7"), programOf(t, "2.4")
	for _, program := range []string{older, newer} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("SKIPPED: no migration is checked by a real containerd: %v", err)
		}
	}
	cases, err := os.ReadDir(recorded)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]Tree{}
	for i, entry := range cases {
		if *trees < 1000 && i%3 != 0 { // all of them take a minute
			continue
		}
		asked[entry.Name()] = readTree(t, filepath.Join(recorded, entry.Name()))
	}
	for i := range uint64(*trees / 4) { // a tree takes two programs
		asked[fmt.Sprintf("seed %d", *seed+i)] = Generate(*seed+i, true)
	}
	// What many have: all that 1.7 writes out when it is asked for its defaults.
	written, err := exec.Command(older, "config", "default").Output()
	if err != nil {
		t.Fatal(err)
	}
	const defaults = "defaults of 1.7"
	asked[defaults] = Tree{Files: map[string]string{"config.toml": string(written)}}
	// What is as by default is the same, whether it is ignored or not.
	const replaced = "defaults of 1.7, replaced"
	imported := strings.Replace(string(written), "imports = []", `imports = ["z.toml"]`, 1)
	asked[replaced] = Tree{Files: map[string]string{"config.toml": imported, "z.toml": "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n  runtime_type = 'io.containerd.runc.v2'\n"}}
	asked["settings that 1.7 ignores"] = ignoredSettings
	names := slices.Sorted(maps.Keys(asked))
	stock := stockOf(t, newer)
	var next, losing, forced, failures atomic.Int64
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		dir := filepath.Join(t.TempDir(), "tree")
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(names) || failures.Load() >= int64(*keep) {
					return
				}
				u, diff := checkUpgrade(t, older, newer, dir, asked[names[i]], stock)
				if diff != "" {
					failures.Add(1)
					t.Errorf("%s: %s\n%s", names[i], diff, asked[names[i]])
				}
				if names[i] == replaced && (u == nil || slices.ContainsFunc(u.Left, config.Change.InForce)) {
					t.Errorf("%s: it is not the same: %+v", names[i], u)
				}
				if u != nil && slices.ContainsFunc(u.Left, config.Change.InForce) {
					forced.Add(1)
				}
				if names[i] == defaults && (u == nil || len(u.Left) > 0 || !u.Files[0].Changed()) {
					t.Errorf("%s: it is not all mended, or not changed: %+v", names[i], u)
				}
				if u != nil && slices.ContainsFunc(u.Left, config.Change.Loss) {
					losing.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d trees, %d of which lose something that cannot be mended, and of %d settings come into force, as is told", len(names), losing.Load(), forced.Load())
}

// checkUpgrade lays a tree out in dir, migrates it, and compares; the upgrade is
// nil when the tree is one that is not read.
func checkUpgrade(t *testing.T, older, newer, dir string, tree Tree, stock map[string]any) (*config.Upgrade, string) {
	if err := tree.write(dir); err != nil {
		t.Error(err)
		return nil, ""
	}
	defer os.RemoveAll(dir)
	before, was, _ := dumpOf(t, older, dir)
	u := upgradeOf(t, dir)
	if u == nil {
		return nil, ""
	}
	for _, f := range u.Files {
		if err := os.WriteFile("/"+f.Real, f.New, 0o600); err != nil {
			t.Error(err)
		}
	}
	after, is, stderr := dumpOf(t, newer, dir)
	diff := cmp.Diff(foretold(&u.Mended.Dump), after)
	for i := 0; i < 20 && diff != ""; i++ { // it picks one of two names by chance
		after, is, stderr = dumpOf(t, newer, dir)
		diff = cmp.Diff(foretold(&u.Mended.Dump), after)
	}
	if diff == "" && u.Before.Daemon.State == config.Running {
		diff = untold(before, after, u.Left)
		if u.Mended.Daemon.State == config.Running && was != nil {
			diff += untoldSettings(was, is, stock, u.Left)
		}
	}
	if diff == "" {
		return u, ""
	}
	return u, fmt.Sprintf("(-foretold +containerd)\n%s\ncontainerd says %q\nmended:\n%s", diff, stderr, mendedText(u))
}

func upgradeOf(t *testing.T, dir string) *config.Upgrade {
	t.Helper()
	root, err := os.OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var runtimes [2]config.Runtime
	for i, short := range []string{"1.7", "2.4"} {
		if runtimes[i], err = config.ParseRuntime(versions[short]); err != nil {
			t.Fatal(err)
		}
	}
	u, err := config.NewUpgrade(hostfs.New(root.FS()), config.Options{Runtime: runtimes[0], Path: dir + "/config.toml", WorkDir: dir}, runtimes[1])
	if err != nil {
		return nil // a tree that it refuses to read
	}
	return u
}

// foretold is the answer that package config has for a dump of 2.4.
func foretold(d *config.DumpAnswer) answer {
	a := answer{Exit: d.Exit, Unreadable: d.Unreadable, Default: d.CRI.DefaultHandler}
	if a.Exit == 0 && !a.Unreadable {
		a.Handlers = append([]config.Handler{}, d.CRI.Handlers...)
	}
	return a
}

// untold is what differs between the two dumps and no change tells of.
func untold(before, after answer, told []config.Change) string {
	var out strings.Builder
	for _, was := range before.Handlers {
		i := slices.IndexFunc(after.Handlers, func(h config.Handler) bool { return h.Name == was.Name })
		if (i < 0 || after.Handlers[i] != was) && !slices.ContainsFunc(told, func(c config.Change) bool {
			return c.Handler == was.Name || c.Kind == config.ChangeDaemon
		}) {
			fmt.Fprintf(&out, "handler %+v is other than it was, and that is not told\n", was)
		}
	}
	return out.String()
}

func mendedText(u *config.Upgrade) string {
	var out strings.Builder
	for _, f := range u.Files {
		fmt.Fprintf(&out, "--- %s %s\n%s", f.Path, f.Problem, f.New)
	}
	return out.String()
}
