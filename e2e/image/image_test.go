package image_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/image"
)

// TestEntrypointRuns unpacks the image and runs its entrypoint as its user, with
// nothing else there.
func TestEntrypointRuns(t *testing.T) {
	root, err := build.Root()
	must(t, err)
	source, err := image.NewSource(t.Context(), root, "v0.0.0-image")
	must(t, err)
	index, _, err := source.Index(t.Context(), v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	must(t, err)
	folder := t.TempDir()
	_, err = layout.Write(folder, index)
	must(t, err)

	read, err := layout.ImageIndexFromPath(folder)
	must(t, err)
	manifest, err := read.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("the index has %+v", manifest.Manifests)
	}
	made, err := read.Image(manifest.Manifests[0].Digest)
	must(t, err)
	config, err := made.ConfigFile()
	must(t, err)
	if config.Config.User != image.User || config.Config.Labels["org.opencontainers.image.version"] != "v0.0.0-image" {
		t.Errorf("the configuration is %+v", config.Config)
	}
	where := t.TempDir()
	unpack(t, made, where)
	run := exec.Command(filepath.Join(where, config.Config.Entrypoint[0]), "version")
	if os.Geteuid() == 0 {
		must(t, os.Chmod(where, 0o755))
		run = exec.Command(config.Config.Entrypoint[0], "version")
		run.SysProcAttr = &syscall.SysProcAttr{Chroot: where, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		run.Dir = config.Config.WorkingDir
	}
	run.Env = config.Config.Env
	out, err := run.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "runtimegate v0.0.0-image (") {
		t.Errorf("it prints %q, and ends with %v", out, err)
	}
}

// TestDockerfile: both ways to make the image make the same.
func TestDockerfile(t *testing.T) {
	root, err := build.Root()
	must(t, err)
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	must(t, err)
	for _, line := range []string{"FROM scratch", "USER " + image.User, `ENTRYPOINT ["/runtimegate"]`} {
		if !strings.Contains(string(content), "\n"+line+"\n") {
			t.Errorf("the Dockerfile lacks the line %s", line)
		}
	}
}

func unpack(t *testing.T, made v1.Image, where string) {
	t.Helper()
	content := mutate.Extract(made)
	defer content.Close()
	files := tar.NewReader(content)
	for n := 0; ; n++ {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			if n != 1 {
				t.Errorf("the image has %d files, not only the program", n)
			}
			return
		}
		must(t, err)
		file, err := os.OpenFile(filepath.Join(where, filepath.Base(header.Name)), os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode())
		must(t, err)
		_, err = io.Copy(file, files)
		must(t, errors.Join(err, file.Close()))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
