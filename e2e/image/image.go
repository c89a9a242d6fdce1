// Package image makes OCI images of single static programs, without a container
// engine: that of runtimegate, as the Dockerfile would make it, and those of the
// tests.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Program is what an image is made of.
type Program struct {
	// Name is that of the file, in the root folder. It is the entrypoint.
	Name     string
	Content  []byte
	Platform v1.Platform
	// User is the one it runs as, UID:GID. Empty: root.
	User string
	// Labels are the image's.
	Labels map[string]string
	// Created is when the program was made; the zero time where that is not to
	// make two images of the same program two.
	Created time.Time
}

// Image makes the image of the program.
func (p Program) Image() (v1.Image, error) {
	content, err := p.tar()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("make the layer of %s: %w", p.Name, err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	filled, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: p.Created}, CreatedBy: "COPY " + p.Name + " /"},
	})
	if err != nil {
		return nil, fmt.Errorf("make the image of %s: %w", p.Name, err)
	}
	config, err := filled.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.Platform.OS, p.Platform.Architecture, p.Platform.Variant
	config.Created = v1.Time{Time: p.Created}
	config.Config = v1.Config{Entrypoint: []string{path.Join("/", p.Name)}, User: p.User, Labels: p.Labels, WorkingDir: "/"}
	return mutate.ConfigFile(filled, config)
}

func (p Program) tar() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := &tar.Header{Name: p.Name, Mode: 0o755, Size: int64(len(p.Content)), ModTime: p.Created}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(p.Content); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}
