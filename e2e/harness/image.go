package harness

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"runtime"
	"time"
)

// An image is one of a single static program. It serves itself, whatever the
// name, to those who pull it: as much of the OCI distribution API as these need.
type image struct {
	manifest []byte
	blobs    map[string][]byte // by digest
}

// The media types of the OCI image specification, 1.1.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// newImage makes the image whose only file is /pause, that program.
func newImage(program []byte) (*image, error) {
	layer, err := tarOf("pause", program)
	if err != nil {
		return nil, err
	}
	type object = map[string]any
	config, err := json.Marshal(object{
		"os": runtime.GOOS, "architecture": runtime.GOARCH,
		"config": object{"Entrypoint": []string{"/pause"}},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return nil, err
	}
	part := func(kind string, blob []byte) object {
		return object{"mediaType": kind, "digest": digest(blob), "size": len(blob)}
	}
	manifest, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": part(configType, config), "layers": []object{part(layerType, layer)},
	})
	return &image{manifest, map[string][]byte{digest(config): config, digest(layer): layer}}, err
}

func tarOf(name string, program []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

func digest(blob []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(blob)) }

// ServeHTTP answers /v2/NAME/manifests/TAG and /v2/NAME/blobs/DIGEST.
func (i *image) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	folder, name := path.Split(r.URL.Path)
	content, kind := i.blobs[name], "application/octet-stream"
	if path.Base(folder) == "manifests" {
		content, kind = i.manifest, manifestType
	}
	if content == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", digest(content))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
