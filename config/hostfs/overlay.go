package hostfs

import (
	"bytes"
	"io/fs"
)

// With returns the same host with other contents of some of its files, by the
// names that Resolve returns.
func (f *FS) With(files map[string][]byte) *FS {
	return New(&overlay{FS: f.fsys, links: f.links, files: files})
}

// An overlay is a file system of which some files have other contents.
type overlay struct {
	fs.FS
	links fs.ReadLinkFS
	files map[string][]byte
}

// Open implements fs.FS.
func (o *overlay) Open(name string) (fs.File, error) {
	file, err := o.FS.Open(name)
	data, ok := o.files[name]
	if err != nil || !ok {
		return file, err
	}
	return &overlaid{File: file, Reader: bytes.NewReader(data)}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (o *overlay) ReadLink(name string) (string, error) {
	if o.links == nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return o.links.ReadLink(name)
}

// Lstat implements fs.ReadLinkFS.
func (o *overlay) Lstat(name string) (fs.FileInfo, error) {
	if o.links == nil {
		return fs.Stat(o.FS, name)
	}
	return o.links.Lstat(name)
}

// An overlaid is a file with another content.
type overlaid struct {
	fs.File
	*bytes.Reader
}

// Read reads the other content.
func (o *overlaid) Read(p []byte) (int, error) { return o.Reader.Read(p) }
