package configdiff

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

var (
	seed    = flag.Uint64("seed", 1, "seed of the first tree; tree i has seed+i")
	trees   = flag.Int("trees", 300, "trees for each version")
	only    = flag.String("containerd", "", "only these of ../containerd, as 1.7,2.4")
	keep    = flag.Int("failures", 3, "failures of a version after which it stops")
	smaller = flag.Bool("shrink", true, "leave out what a difference does not need")
	bins    = flag.String("bin", os.Getenv("CONFIGDIFF_BIN"), "folder of programs containerd-1.7 etc; built when empty")
)

// The containerd of each class, from the modules in ../containerd.
var versions = map[string]string{"1.7": "1.7.27", "2.2": "2.2.9", "2.3": "2.3.4", "2.4": "2.4.2"}

// An answer is what is compared.
type answer struct {
	Exit       int
	Unreadable bool // the dump is not TOML: containerd 1.x writes such
	Handlers   []config.Handler
	Default    string
	CDI        string
}

func TestLoadAgreesWithContainerd(t *testing.T) {
	for short, version := range versions {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), short) {
			continue
		}
		t.Run("containerd-"+version, func(t *testing.T) {
			program := programOf(t, short)
			var wg sync.WaitGroup
			var next, failures, exits atomic.Int64
			started := time.Now()
			for range runtime.NumCPU() {
				wg.Go(func() {
					dir, err := os.MkdirTemp("", "configdiff")
					if err != nil {
						t.Error(err)
						return
					}
					defer os.RemoveAll(dir)
					for {
						i := next.Add(1) - 1
						if i >= int64(*trees) || failures.Load() >= int64(*keep) {
							return
						}
						s := *seed + uint64(i)
						tree := Generate(s, strings.HasPrefix(version, "1."))
						diff, exit := compare(t, program, version, filepath.Join(dir, fmt.Sprint(s)), tree)
						if exit != 0 {
							exits.Add(1)
						}
						if diff == "" {
							continue
						}
						failures.Add(1)
						if *smaller {
							tree = shrink(tree, func(tree Tree) bool {
								d, _ := compare(t, program, version, filepath.Join(dir, "shrink"), tree)
								return d != ""
							})
							diff, _ = compare(t, program, version, filepath.Join(dir, "shrink"), tree)
						}
						t.Errorf("seed %d with containerd %s (-containerd +ours):\n%s\n%s", s, version, diff, tree)
					}
				})
			}
			wg.Wait()
			t.Logf("containerd %s: %d trees from seed %d, %d refused by containerd, %d differences, %s",
				version, min(next.Load(), int64(*trees)), *seed, exits.Load(), failures.Load(), time.Since(started).Round(time.Second))
		})
	}
}

func programOf(t *testing.T, short string) string {
	if *bins != "" {
		return filepath.Join(*bins, "containerd-"+short)
	}
	program := filepath.Join(t.TempDir(), "containerd")
	pkg := "github.com/containerd/containerd/v2/cmd/containerd"
	if strings.HasPrefix(short, "1.") {
		pkg = "github.com/containerd/containerd/cmd/containerd"
	}
	cmd := exec.Command("go", "build", "-o", program, pkg)
	cmd.Dir = filepath.Join("..", "containerd", short)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build containerd %s: %v\n%s", short, err, out)
	}
	return program
}

// compare lays the tree out in dir and asks both.
func compare(t *testing.T, program, version, dir string, tree Tree) (string, int) {
	if err := tree.write(dir); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	want, stderr := askContainerd(t, program, dir)
	if want.Exit < 0 { // it took too long: the machine is busy
		want, stderr = askContainerd(t, program, dir)
	}
	got, reason := askLoader(t, version, dir)
	// containerd 2.x picks by chance between two names of a plugin in a file of
	// version 0 or 1: any of its answers will do.
	for range 20 {
		if cmp.Equal(want, got) {
			break
		}
		want, stderr = askContainerd(t, program, dir)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Sprintf("%scontainerd says %q\nour reason is %q", diff, stderr, reason), want.Exit
	}
	return "", want.Exit
}

func askLoader(t *testing.T, version, dir string) (answer, string) {
	rt, err := config.ParseRuntime(version)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r, err := config.Load(hostfs.New(root.FS()), config.Options{Runtime: rt, Path: dir + "/config.toml", WorkDir: dir})
	if err != nil {
		return answer{Exit: -1}, err.Error()
	}
	a := answer{Exit: r.Dump.Exit, Unreadable: r.Dump.Unreadable, Default: r.Dump.CRI.DefaultHandler}
	if a.Exit == 0 && !a.Unreadable {
		a.Handlers = append([]config.Handler{}, r.Dump.CRI.Handlers...)
	}
	if r.Dump.CRI.CDI != nil && rt.Version[:3] != "2.4" {
		a.CDI = fmt.Sprint(*r.Dump.CRI.CDI)
	}
	return a, r.Dump.Error
}

// askContainerd is what containerd dumps, and what it says meanwhile.
func askContainerd(t *testing.T, program, dir string) (answer, string) {
	a, _, text := dumpOf(t, program, dir)
	return a, text
}

// dumpOf is askContainerd, with the sections of the plugins as dumped.
func dumpOf(t *testing.T, program, dir string) (a answer, plugins map[string]any, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--config", dir+"/config.toml", "config", "dump")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text = stderr.String()
	if len(text) > 600 {
		text = text[:600]
	}
	a = answer{Exit: cmd.ProcessState.ExitCode()}
	if a.Exit != 0 {
		return a, nil, text
	}
	var dump struct {
		Plugins map[string]any `toml:"plugins"`
	}
	if err := toml.Unmarshal(out, &dump); err != nil {
		a.Unreadable = true
		return a, nil, fmt.Sprintf("unreadable: %v; %s", err, text)
	}
	section, ok := dump.Plugins["io.containerd.cri.v1.runtime"].(map[string]any)
	if !ok {
		section, _ = dump.Plugins["io.containerd.grpc.v1.cri"].(map[string]any)
	}
	containerd, _ := section["containerd"].(map[string]any)
	a.Default, _ = containerd["default_runtime_name"].(string)
	a.Handlers = []config.Handler{}
	runtimes, _ := containerd["runtimes"].(map[string]any)
	for name, v := range runtimes {
		r, _ := v.(map[string]any)
		options, _ := r["options"].(map[string]any)
		h := config.Handler{Name: name}
		h.RuntimeType, _ = r["runtime_type"].(string)
		h.RuntimePath, _ = r["runtime_path"].(string)
		h.BinaryName, _ = options["BinaryName"].(string)
		a.Handlers = append(a.Handlers, h)
	}
	slices.SortFunc(a.Handlers, func(x, y config.Handler) int { return strings.Compare(x.Name, y.Name) })
	if cdi, ok := section["enable_cdi"].(bool); ok {
		a.CDI = fmt.Sprint(cdi)
	}
	return a, dump.Plugins, text
}
