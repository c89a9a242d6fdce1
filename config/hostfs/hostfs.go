// Package hostfs reads files of a host through a root folder: paths are those
// the host itself would use, symbolic links are followed inside the root and
// never out of it, and only bounded, regular files are read.
package hostfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

const (
	// MaxFileBytes bounds one file. Real configurations are a few KiB.
	MaxFileBytes = 4 << 20
	// maxLinks is the kernel's own limit of links followed in one look-up.
	maxLinks = 40
	// maxDirEntries bounds one folder that a pattern is matched against.
	maxDirEntries = 100_000
)

// ErrRefused is wrapped by the errors for what a runtime might read (or hang
// on) but this package won't: devices, pipes, files or folders too large; or can't, for
// want of a permission that a runtime, which is root, does not need.
var ErrRefused = errors.New("refused")

// FS is a host's file system. All paths given to its methods are absolute
// paths of the host.
type FS struct {
	fsys fs.FS
	// Links tells whether fsys can say what a link points to.
	links fs.ReadLinkFS
}

// New makes an FS from the folder that is the host's root. To be safe against
// a hostile tree, fsys must not follow links out of itself: os.Root.FS() does
// not. Without fs.ReadLinkFS links are fsys's own affair.
func New(fsys fs.FS) *FS {
	links, _ := fsys.(fs.ReadLinkFS)
	return &FS{fsys: fsys, links: links}
}

// Resolve follows all links of an absolute path, those inside the host's root
// only, and returns the name of the file for fs.FS and its information.
func (f *FS) Resolve(name string) (string, fs.FileInfo, error) {
	return f.walk(name, true, nil)
}

// Trail returns the files that an absolute path stands for, as names for fs.FS: each
// link that leads to the next, and the file at last, if it is there.
func (f *FS) Trail(name string) []string {
	var trail []string
	at, _, err := f.walk(name, true, func(link string) { trail = append(trail, link) })
	if err == nil {
		trail = append(trail, at)
	}
	return trail
}

// walk resolves name; the last element's own link only when follow is set. passed is
// told of the links that stand for the file itself, and not for a folder; or nil.
func (f *FS) walk(name string, follow bool, passed func(link string)) (string, fs.FileInfo, error) {
	bad := func(err error) (string, fs.FileInfo, error) {
		return "", nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if strings.ContainsRune(name, 0) {
		return bad(syscall.EINVAL)
	}
	pending := split(name)
	slash := strings.HasSuffix(name, "/")
	at := "."
	info, err := f.lstat(at)
	if err != nil {
		return bad(bare(err))
	}
	for links := 0; len(pending) > 0; {
		elem := pending[0]
		pending = pending[1:]
		if !info.IsDir() {
			return bad(syscall.ENOTDIR)
		}
		if elem == ".." {
			at = path.Dir(at)
		} else {
			at = path.Join(at, elem)
		}
		if info, err = f.lstat(at); err != nil {
			return bad(bare(err))
		}
		if info.Mode()&fs.ModeSymlink == 0 || f.links == nil || (len(pending) == 0 && !follow && !slash) {
			continue
		}
		if links++; links > maxLinks {
			return bad(syscall.ELOOP)
		}
		target, err := f.links.ReadLink(at)
		if err != nil {
			return bad(bare(err))
		}
		if len(pending) == 0 && passed != nil {
			passed(at)
		}
		at = path.Dir(at)
		if path.IsAbs(target) {
			at = "."
		}
		pending = append(split(target), pending...)
		if info, err = f.lstat(at); err != nil {
			return bad(bare(err))
		}
	}
	if slash && !info.IsDir() {
		return bad(syscall.ENOTDIR)
	}
	return at, info, nil
}

func (f *FS) lstat(name string) (fs.FileInfo, error) {
	if f.links != nil {
		return f.links.Lstat(name)
	}
	return fs.Stat(f.fsys, name)
}

// split returns the elements of a path. Unlike path.Clean it keeps "..",
// which after a link is not what it looks like.
func split(name string) []string {
	var elems []string
	for elem := range strings.SplitSeq(name, "/") {
		if elem != "" && elem != "." {
			elems = append(elems, elem)
		}
	}
	return elems
}

// bare takes operation and path off an error: the caller's path is the one
// that a user knows.
func bare(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}

// denied makes of a permission that is missing a refusal of this package's own.
func denied(op, name string, err error) error {
	if err = bare(err); errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: permission denied; the runtime reads it as root, so this has to be root too", ErrRefused)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// ReadFile reads a file as open and read would, but refuses what is not a
// regular file. /dev/null, a common way to mask a file, is an empty one.
func (f *FS) ReadFile(name string) ([]byte, error) {
	at, info, err := f.Resolve(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil, denied("open", name, err)
	}
	if err != nil {
		return nil, err
	}
	bad := func(op string, err error) ([]byte, error) {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return bad("read", syscall.EISDIR)
	case at == "dev/null":
		return nil, nil
	case !mode.IsRegular():
		return bad("open", fmt.Errorf("%w: %s is not a regular file", ErrRefused, kind(mode)))
	case info.Size() > MaxFileBytes:
		return bad("read", fmt.Errorf("%w: %d bytes are more than the limit of %d", ErrRefused, info.Size(), MaxFileBytes))
	}
	file, err := f.fsys.Open(at)
	if err != nil {
		return nil, denied("open", name, err)
	}
	defer file.Close()
	// What was looked at may have been replaced before it was opened.
	if now, err := file.Stat(); err != nil || !now.Mode().IsRegular() {
		return bad("open", fmt.Errorf("%w: it changed while it was read", ErrRefused))
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return bad("read", bare(err))
	}
	if len(data) > MaxFileBytes {
		return bad("read", fmt.Errorf("%w: more than the limit of %d bytes", ErrRefused, MaxFileBytes))
	}
	return data, nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "this"
}

// Exists tells whether there is something at that path, links followed.
func (f *FS) Exists(name string) bool {
	_, _, err := f.Resolve(name)
	return err == nil
}

// Executable tells whether the path is a regular file with an execute bit, and
// else why not: an error that is fs.ErrNotExist, fs.ErrPermission or another.
func (f *FS) Executable(name string) error {
	_, info, err := f.Resolve(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return &fs.PathError{Op: "exec", Path: name, Err: syscall.EISDIR}
	}
	if info.Mode()&0o111 == 0 {
		return &fs.PathError{Op: "exec", Path: name, Err: fs.ErrPermission}
	}
	return nil
}

// ReadDir returns the names in a folder, sorted bytewise.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	at, info, err := f.Resolve(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	dir, err := f.fsys.Open(at)
	if err != nil {
		return nil, denied("open", name, err)
	}
	defer dir.Close()
	reader, ok := dir.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	entries, err := reader.ReadDir(maxDirEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: bare(err)}
	}
	if len(entries) > maxDirEntries {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("%w: more than %d files", ErrRefused, maxDirEntries)}
	}
	sortEntries(entries)
	return entries, nil
}

// IsDir tells whether there is a folder at that path, links followed.
func (f *FS) IsDir(name string) bool {
	_, info, err := f.Resolve(name)
	return err == nil && info.IsDir()
}
