package inventory

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// outOfSight names a file or folder that the runtime may read and that can't be
// seen here; "" for none. A reporter may be shown some folders of its node only:
// what is not in them must not be taken for absent, or handlers that it defines
// would be said to go with the next restart.
func outOfSight(host *hostfs.FS, opt config.Options, files []*config.File) string {
	main := path.Dir(opt.Path)
	if !host.IsDir(main) {
		return main
	}
	names := []string{opt.Path}
	for _, f := range files {
		names = append(names, f.Path)
		for _, i := range f.Imports {
			names = append(names, i.Path)
		}
	}
	for _, name := range names {
		if folder := hiddenFolder(host, name); folder != "" {
			return folder
		}
		if i := strings.IndexAny(name, "*?["); i >= 0 {
			name = path.Dir(name[:i]+"x") + "/*" // of its folder
		}
		if hidden(host, main, name) {
			return name
		}
	}
	return ""
}

// hiddenFolder names a link among the folders that a pattern goes through of which
// can't be seen where it leads; "" for none.
func hiddenFolder(host *hostfs.FS, pattern string) string {
	first := strings.IndexAny(pattern, "*?[")
	if first < 0 {
		return ""
	}
	for end := first; ; end++ {
		next := strings.IndexByte(pattern[end:], '/')
		if next < 0 {
			return ""
		}
		end += next
		folders, err := host.Glob(pattern[:end])
		if err != nil {
			return ""
		}
		for _, folder := range folders {
			if !host.Exists(folder) {
				return folder
			}
		}
	}
}

// hidden tells whether a file that is not there may be there on the node. The
// folder main is one that is shown. Another that is there may be no more than the
// way to what is mounted in it, unless it has files.
func hidden(host *hostfs.FS, main, name string) bool {
	if host.Exists(name) {
		return false
	}
	dir := path.Dir(name)
	if !host.IsDir(dir) {
		return !strings.HasPrefix(dir, main+"/") || hidden(host, main, dir)
	}
	entries, err := host.ReadDir(dir)
	if err != nil {
		return false
	}
	if dir != main && !strings.HasPrefix(dir, main+"/") && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() }) {
		return true
	}
	// A link to where nothing is shown.
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) })
}
