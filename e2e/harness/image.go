package harness

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A registry serves images to those who pull them: as much of the OCI
// distribution API as these need.
type registry struct {
	manifests map[string][]byte // by /v2/NAME/manifests/REFERENCE
	blobs     map[string][]byte // by digest
	types     map[string]string // media types of the manifests
}

// add adds an image under a name and a tag.
func (r *registry) add(name, tag string, made v1.Image) error {
	if r.manifests == nil {
		r.manifests, r.blobs, r.types = map[string][]byte{}, map[string][]byte{}, map[string]string{}
	}
	manifest, err := made.RawManifest()
	if err != nil {
		return err
	}
	digest, err := made.Digest()
	if err != nil {
		return err
	}
	kind, err := made.MediaType()
	if err != nil {
		return err
	}
	for _, reference := range []string{tag, digest.String()} {
		at := path.Join("/v2", name, "manifests", reference)
		r.manifests[at], r.types[at] = manifest, string(kind)
	}
	if err := r.addConfig(made); err != nil {
		return err
	}
	layers, err := made.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		if err := r.addLayer(layer); err != nil {
			return err
		}
	}
	return nil
}

func (r *registry) addConfig(made v1.Image) error {
	content, err := made.RawConfigFile()
	if err != nil {
		return err
	}
	digest, err := made.ConfigName()
	r.blobs[digest.String()] = content
	return err
}

func (r *registry) addLayer(layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil {
		return err
	}
	file, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer file.Close()
	r.blobs[digest.String()], err = io.ReadAll(file)
	return err
}

// ServeHTTP answers /v2/NAME/manifests/REFERENCE and /v2/NAME/blobs/DIGEST.
func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	content, kind := r.blobs[path.Base(request.URL.Path)], "application/octet-stream"
	if manifest, ok := r.manifests[request.URL.Path]; ok {
		content, kind = manifest, r.types[request.URL.Path]
	}
	if content == nil {
		http.NotFound(w, request)
		return
	}
	hash, _, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", hash.String())
	http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(content))
}
