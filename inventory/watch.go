package inventory

import (
	"path"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory/cri"
)

// Folders are those in which a change may change what the next look at the node
// sees: of the files that the runtime reads, of those that its imports may match,
// and of its socket, which a restart makes anew. They are the host's paths.
func (o *Observation) Folders() []string {
	var folders []string
	add := func(file string) {
		// A pattern in a folder's name stands for folders that come and go: the
		// poll finds those.
		if dir := path.Dir(file); path.IsAbs(dir) && !strings.ContainsAny(dir, "*?[") && !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	if socket, err := cri.ParseEndpoint(o.Endpoint); err == nil {
		add(socket)
	}
	if o.Next != nil {
		for _, f := range o.Next.Files {
			add(f.Path)
			for _, i := range f.Imports {
				add(i.Path)
			}
		}
	}
	slices.Sort(folders)
	return folders
}

// Files are those that the runtime reads, as the host's paths. Links lead to them
// from the Folders, and may lead to others.
func (o *Observation) Files() []string {
	var files []string
	if o.Next != nil {
		for _, f := range o.Next.Files {
			files = append(files, f.Path)
		}
	}
	return files
}

// A Watcher hints at changes in folders of a host. It may miss some: it makes
// the Agent faster, and the poll makes it sure.
type Watcher struct {
	// Hints gets a value after a change.
	Hints   chan struct{}
	host    *hostfs.FS
	root    string
	watcher *fsnotify.Watcher
	done    chan struct{}
}

// NewWatcher makes a Watcher for the host whose root is that folder.
func NewWatcher(host *hostfs.FS, root string) (*Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{Hints: make(chan struct{}, 1), host: host, root: root, watcher: watcher, done: make(chan struct{})}
	go w.run()
	return w, nil
}

func (w *Watcher) run() {
	defer close(w.done)
	for {
		select {
		case _, ok := <-w.watcher.Events:
			if !ok {
				return
			}
		case _, ok := <-w.watcher.Errors: // an overflow: something has changed
			if !ok {
				return
			}
		}
		select {
		case w.Hints <- struct{}{}:
		default:
		}
	}
}

// Watch replaces the folders that are watched: those given, and those in which the
// files given, and links on the way to them, really are. Those that are not there, or
// of which the kernel allows no more, are left to the poll.
func (w *Watcher) Watch(folders, files []string) {
	wanted := map[string]bool{}
	for _, folder := range folders {
		if at, info, err := w.host.Resolve(folder); err == nil && info.IsDir() {
			wanted[path.Join(w.root, at)] = true
		}
	}
	for _, file := range files {
		for _, at := range w.host.Trail(file) {
			wanted[path.Join(w.root, path.Dir(at))] = true
		}
	}
	for _, old := range w.watcher.WatchList() {
		if !wanted[old] {
			_ = w.watcher.Remove(old)
		}
	}
	for folder := range wanted {
		_ = w.watcher.Add(folder)
	}
}

// Close ends the Watcher.
func (w *Watcher) Close() {
	w.watcher.Close()
	<-w.done
}
