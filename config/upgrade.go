package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// An Upgrade is what becomes of the files of a host when a newer containerd
// starts with them, and how they are to be for it.
type Upgrade struct {
	// Before is what the older version has of the files, Unmended what the newer
	// one has of them, and Mended what it has of them as they are to be.
	Before, Unmended, Mended *Result
	// Files are those read, in load order, each real file once.
	Files []UpgradedFile
	// Losses are what differs with the files as they are, Left what still does
	// when they are mended.
	Losses, Left []Change
}

// An UpgradedFile is one file of the import tree.
type UpgradedFile struct {
	// Path is the one that the runtime opens, Real where the file is, below the
	// root and without symbolic links.
	Path, Real string
	// Old and New are the contents; the same when nothing is to be done.
	Old, New []byte
	// linux is set where some file sets up the runtime plugin of 1.x.
	linux bool
	// Problem says why the file cannot be edited safely, "" if it can.
	Problem string
}

// Changed tells whether the file is to be written.
func (f *UpgradedFile) Changed() bool { return !bytes.Equal(f.Old, f.New) }

// NewUpgrade finds out what an upgrade does and brings the files to the version
// of config files that all of containerd 2.x reads. opt are those of the load by
// the older version. An error means that it can't tell.
func NewUpgrade(host *hostfs.FS, opt Options, to Runtime) (*Upgrade, error) {
	from := opt.Runtime
	if from.Name != Containerd || to.Name != Containerd {
		return nil, errors.New("only containerd's files are migrated: those of CRI-O stay as they are")
	}
	if from.compare(to.major, to.minorOf, to.patch) > 0 {
		return nil, fmt.Errorf("%s is older than %s, which the files are for: they cannot be taken back", to, from)
	}
	target := opt
	target.Runtime = to
	u := &Upgrade{}
	var err error
	if u.Before, err = loadSettings(host, opt); err != nil {
		return nil, err
	}
	if u.Unmended, err = loadSettings(host, target); err != nil {
		return nil, err
	}
	if err := u.edit(host, opt, to); err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	for _, f := range u.Files {
		contents[f.Real] = f.New
	}
	if u.Mended, err = loadSettings(host.With(contents), target); err != nil {
		return nil, err
	}
	// Places are those in the files as they are.
	files := append(slices.Clone(u.Unmended.Files), u.Before.Files...)
	u.Losses = changes(u.Before, u.Unmended, files)
	u.Left = changes(u.Before, u.Mended, files)
	return u, nil
}

// loadSettings is Load, with the settings.
func loadSettings(host *hostfs.FS, opt Options) (*Result, error) {
	r, l, err := load(host, opt)
	if err != nil {
		return nil, err
	}
	r.settings, r.usual = l.settings()
	r.own = l.ownSettings()
	return r, nil
}

// edit makes the new contents of the files.
func (u *Upgrade) edit(host *hostfs.FS, opt Options, to Runtime) error {
	seen := set{}
	linux := configuresLinux(append(slices.Clone(u.Before.Files), u.Unmended.Files...))
	l := &loader{fs: host, opt: opt, rt: opt.Runtime}
	for _, file := range append(slices.Clone(u.Before.Files), u.Unmended.Files...) {
		real, _, err := host.Resolve(l.absolute(file.Path))
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		data, err := host.ReadFile(l.absolute(file.Path))
		if err != nil {
			if errors.Is(err, hostfs.ErrRefused) {
				return err
			}
			continue // the load says it
		}
		u.Files = append(u.Files, UpgradedFile{Path: file.Path, Real: real, Old: data, New: data, linux: linux})
	}
	newer := &loader{opt: opt, rt: to}
	importOf := func(file string) func(pattern string) string {
		return func(pattern string) string { return u.importOf(newer, file, pattern) }
	}
	for i := range u.Files {
		u.Files[i].rewrite(opt.Runtime, to, false, importOf(u.Files[i].Path))
	}
	if len(u.Files) > 0 && slices.ContainsFunc(u.Files, func(f UpgradedFile) bool { return f.Changed() }) {
		// The main file says the version then.
		u.Files[0].rewrite(opt.Runtime, to, true, importOf(u.Files[0].Path))
	}
	return nil
}

// importOf is what to write for an import of a file: where the newer version
// would look elsewhere for what the older one has found, its path.
func (u *Upgrade) importOf(newer *loader, file, pattern string) string {
	for _, f := range u.Before.Files {
		if f.Path != file {
			continue
		}
		for _, i := range f.Imports {
			if i.Pattern == pattern && len(i.Matched) > 0 && newer.importPath(file, pattern) != i.Path {
				return i.Path
			}
		}
	}
	return pattern
}

// rewrite brings one file to the target's version.
func (f *UpgradedFile) rewrite(from, to Runtime, main bool, importOf func(pattern string) string) {
	f.New, f.Problem = f.Old, ""
	text, err := rewrite(from, to, f.Old, main, f.linux, importOf)
	if err == nil {
		err = checkKept(f.Old, text)
	}
	if err != nil {
		f.Problem = err.Error()
		return
	}
	f.New = text
}

// checkKept makes sure that an edited file is one, and that nothing is lost of
// what has nothing to do with the CRI. Of that, what both versions load is
// compared.
func checkKept(old, edited []byte) error {
	if bytes.Equal(old, edited) {
		return nil
	}
	before, after := map[string]any{}, map[string]any{}
	if err := toml.Unmarshal(edited, &after); err != nil {
		if o := scanOutline(old); o != nil {
			was, ok := o.below("plugins", oldCRI)
			if now, both := o.below("plugins", runtimeCRI); ok && both {
				return fmt.Errorf("it has the CRI plugin as %s (line %d) and as %s (line %d): keep the first, which is the one that counts before 2.0", oldCRI, was.at.line, runtimeCRI, now.at.line)
			}
		}
		return fmt.Errorf("edited it would be no TOML (%s)", oneLineOf(err))
	}
	if toml.Unmarshal(bytes.TrimPrefix(old, []byte("\xef\xbb\xbf")), &before) != nil {
		before = map[string]any{}
		_ = toml.Unmarshal(blank(old), &before)
	}
	for key, value := range before {
		switch {
		case foldEqual(key, "version"), foldEqual(key, "imports"), foldEqual(key, "plugins"), key == "disabled_plugins", key == "required_plugins":
			continue
		}
		if !sameTOML(value, after[key]) {
			return fmt.Errorf("edited it would lose %s", key)
		}
	}
	return checkOtherPlugins(before, after)
}

func checkOtherPlugins(before, after map[string]any) error {
	was, _ := before["plugins"].(map[string]any)
	is, _ := after["plugins"].(map[string]any)
	for name, value := range was {
		now := name
		if version, _ := before["version"].(int64); version < 2 {
			now = fullPluginName(name)
		}
		if renamed := renamedPlugins[now]; renamed != "" {
			now = renamed
		}
		if criPlugins[now] || now == taskPlugin {
			continue
		}
		if !sameTOML(value, is[name]) && !sameTOML(value, is[now]) {
			return fmt.Errorf("edited it would lose plugins.%s", quoteKey(name))
		}
	}
	return nil
}

// sameTOML compares values by their text: each NaN is like the other.
func sameTOML(a, b any) bool {
	textA, errA := toml.Marshal(map[string]any{"": a})
	textB, errB := toml.Marshal(map[string]any{"": b})
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}

func oneLineOf(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Generated tells whether something writes the file anew at every start.
func (f *UpgradedFile) Generated() bool {
	return IsGenerated(f.Path)
}
