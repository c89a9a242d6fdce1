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
		if i := strings.IndexAny(name, "*?["); i >= 0 {
			name = path.Dir(name[:i]+"x") + "/*" // of its folder
		}
		if hidden(host, main, name) {
			return name
		}
	}
	return ""
}

// hidden tells whether a file that is not there may be there on the node. The
// folder main is one that is shown; so is any other that is there.
func hidden(host *hostfs.FS, main, name string) bool {
	if host.Exists(name) {
		return false
	}
	dir := path.Dir(name)
	if !host.IsDir(dir) {
		return !strings.HasPrefix(dir, main+"/") || hidden(host, main, dir)
	}
	// A link to where nothing is shown.
	entries, err := host.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) })
}
