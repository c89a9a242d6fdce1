package configdiff

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// DirMark stands for a tree's own folder in its files.
const DirMark = "@DIR@"

// A Tree is a configuration: config.toml and what stands beside it.
type Tree struct {
	// Files are contents by path. A content that starts with "-> " is a
	// symbolic link's target, "/" a folder.
	Files map[string]string
}

// String prints a tree so that a person can make it again.
func (t Tree) String() string {
	var b strings.Builder
	for _, name := range sortedNames(t.Files) {
		fmt.Fprintf(&b, "--- %s\n", name)
		for line := range strings.SplitAfterSeq(t.Files[name], "\n") {
			fmt.Fprintf(&b, "\t%s\n", strings.Trim(fmt.Sprintf("%q", line), `"`))
		}
	}
	return b.String()
}

// A generator makes one tree from one seed.
type generator struct {
	*rand.Rand
	// one says that the containerd is 1.x, which refuses newer files.
	one bool
	// version is the main file's.
	version string
}

// Generate makes the tree of a seed: mostly what people write, with the
// mistakes they make, seldom nonsense.
func Generate(seed uint64, one bool) Tree {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	g.one = one
	g.version = g.anyVersion()
	t := Tree{Files: map[string]string{}}
	names := g.dropIns()
	t.Files["config.toml"] = g.file(true, names)
	for _, name := range names {
		switch {
		case g.chance(0.02):
			t.Files[name] = "-> " + g.pick("config.toml", "missing", "../config.toml", DirMark+"/config.toml", "/nonexistent", path.Base(name), "../other/z.toml")
		case g.chance(0.01):
			t.Files[path.Join(name, "keep")] = ""
		default:
			t.Files[name] = g.file(false, names)
		}
	}
	if g.chance(0.01) {
		delete(t.Files, "config.toml")
	}
	return t
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) anyVersion() string {
	if g.one && g.chance(0.97) {
		return g.pick("2", "2", "2", "", "1")
	}
	return g.pick("2", "2", "2", "3", "3", "3", "", "1", "4")
}

func (g *generator) dropIns() []string {
	pool := []string{
		"conf.d/10-a.toml", "conf.d/20-b.toml", "conf.d/99-nvidia.toml", "conf.d/zz-registry.toml", "conf.d/.hidden.toml",
		"conf.d/a.toml.bak", "conf.d/sub/x.toml", "other/z.toml", "conf.d/a", "conf.d/b.conf", "extra.toml", "conf.d/Ä.toml",
	}
	g.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	return pool[:g.IntN(5)]
}

// file is the content of one file.
func (g *generator) file(main bool, names []string) string {
	if g.chance(0.01) {
		return g.pick("", "\n", "# nothing\n", "\x00\x00", "\xff\xfev\x00", "garbage", "{", "[", "=", "version", "version =\n")
	}
	version := g.version
	if !main && g.chance(0.5) {
		version = g.anyVersion()
	}
	var head, body strings.Builder
	line := ""
	if version != "" {
		line = "version = " + version + "\n"
		if g.chance(0.02) {
			line = g.pick(`version = "2"`, "version = 2.0", "Version = 2", "VERSION = 2", "version = 5", "version = -1", "version = 0x2",
				"version = true", "version = 0", "version = 02", "version=2#x", "version = 1_0", "version = 99999999999999999999") + "\n"
		}
	}
	if main && (len(names) > 0 || g.chance(0.3)) || g.chance(0.15) {
		head.WriteString(g.imports(names))
	}
	if g.chance(0.95) {
		body.WriteString(line)
		line = ""
	}
	body.WriteString(head.String())
	for range g.IntN(3) {
		if g.chance(0.15) {
			body.WriteString(g.top())
		}
	}
	plugin := g.plugin(version)
	for range g.IntN(5) {
		if g.chance(0.1) {
			plugin = g.plugin(version)
		}
		body.WriteString(g.section(plugin))
	}
	body.WriteString(line)
	return g.quirks(body.String())
}

func (g *generator) imports(names []string) string {
	pool := []string{
		DirMark + "/conf.d/*.toml", DirMark + "/conf.d/*.toml", "conf.d/*.toml", DirMark + "/conf.d/*", DirMark + "/*/*.toml",
		DirMark + "/conf.d/*.conf", "./conf.d/../conf.d/*.toml", "../*.toml", "*.toml", DirMark + "/conf.d/[0-9]*", DirMark + "/conf.d/**/*.toml",
	}
	if g.chance(0.03) {
		pool = append(pool, "", "/nonexistent/x.toml", "missing.toml", "conf.d/?.toml", "[", "[*", "conf.d/[a-", "~/x*.toml", "$HOME/*.toml",
			"conf.d", "conf.d/", "/dev/null", "config.toml", "conf.d/\\\\*.toml", "/nonexistent/*.toml", "config.toml/x", "conf.d/*/x.toml")
	}
	for _, n := range names {
		pool = append(pool, n, DirMark+"/"+n, "./"+n)
	}
	var list []string
	for range 1 + g.IntN(3) {
		list = append(list, `"`+g.pick(pool...)+`"`)
	}
	text := strings.Join(list, ", ")
	if g.chance(0.03) {
		return g.pick(
			"imports = "+list[0]+"\n", "imports = [1]\n", "Imports = ["+text+"]\n", "IMPORTS = ["+text+"]\n", "imports = []\n",
			"imports = ["+text+", 1]\n", "imports = {}\n", "imports = [[]]\n", "imports = [\n "+text+",\n]\n", "import = ["+text+"]\n",
			"imports = ["+text+"]\nImports = [\""+g.pick(pool...)+"\"]\n", "imports = ["+strings.ReplaceAll(text, `"`, "'")+"]\n", "imports = ["+text+"\n")
	}
	return "imports = [" + text + "]\n"
}

func (g *generator) top() string {
	plugin := g.pick("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images",
		"io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt", "nosuch", "a.b", "a.b.c.d", "io.containerd.x.y", "restart")
	if g.chance(0.3) {
		return g.pick("disabled_plugins", "disabled_plugins", "required_plugins") + ` = ["` + plugin + `"]` + "\n"
	}
	return g.pick(
		"disabled_plugins = []\n", "disabled_plugins = []\n", `temp = ""`+"\n", "oom_score = 0\n", "x = 1\n", `root = "/var/lib/x"`+"\n", `state = "/run/x"`+"\n", "oom_score = -999\n", `temp = ""`+"\n",
		`unknown = 1`+"\n", `oom_score = "x"`+"\n", `root = 1`+"\n", `disabled_plugins = "cri"`+"\n", `plugin_dir = 1`+"\n", `plugin_dir = ""`+"\n",
		"oom_score = 0x10\n", "oom_score = 1e3\n", "oom_score = 1.0\n", "x = 1979-05-27T07:32:00Z\n", "x = [1, \"a\", [2.0]]\n", "x = inf\n",
		"x = nan\n", "x = 07:32:00\n", "x = '''\na'''\n", "x = \"\"\"a\\\n  b\"\"\"\n", "x.y = 1\nx.z = 2\n", "x = {a = 1, b = {c = 2}}\n", "oom_score = 9223372036854775808\n")
}

// plugin is the key of the CRI plugin's section, after a file's version.
func (g *generator) plugin(version string) string {
	old := g.pick(`"io.containerd.grpc.v1.cri"`, `'io.containerd.grpc.v1.cri'`)
	now := g.pick(`'io.containerd.cri.v1.runtime'`, `"io.containerd.cri.v1.runtime"`)
	switch {
	case g.chance(0.07):
		return g.pick(old, now, "cri", `"io.containerd.grpc.v1.crii"`, "io.containerd.grpc.v1.cri", `"io.containerd.cri.v1.images"`, `"io.containerd.cri.v1.Runtime"`)
	case version == "3" || version == "4":
		return now
	case version == "" || version == "1":
		if g.one && g.version == "2" {
			return old
		}
		return g.pick("cri", "cri", old, now)
	}
	return old
}
