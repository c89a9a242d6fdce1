package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Repository is where the chart expects runtimegate's image.
const Repository = "runtimegate/runtimegate"

// User is whom runtimegate's image runs as: nobody that a node knows.
const User = "65532:65532"

// A Source is a checkout of the repository to make images of.
type Source struct {
	// Root is its folder.
	Root string
	// Version is what "runtimegate version" is to say.
	Version string
	// Commit and Date are those of the checkout.
	Commit string
	Date   time.Time
}

// NewSource asks git for what it does not have.
func NewSource(ctx context.Context, root, version string) (Source, error) {
	s := Source{Root: root, Version: version}
	out, err := s.command(ctx, "git", "log", "-1", "--format=%H %cI").Output()
	if err != nil {
		return s, fmt.Errorf("ask git for the commit: %w", err)
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	s.Commit = commit
	s.Date, err = time.Parse(time.RFC3339, date)
	return s, err
}

// Image builds runtimegate for a platform and makes its image. Where the commit
// is the same, so is the image.
func (s Source) Image(ctx context.Context, platform v1.Platform) (v1.Image, error) {
	folder, err := os.MkdirTemp("", "runtimegate-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "runtimegate")
	build := s.command(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -X main.version="+s.Version, "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build runtimegate for %s: %w: %s", platform.String(), err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	return Program{
		Name: "runtimegate", Content: content, Platform: platform, User: User, Created: s.Date.UTC(), Labels: s.labels(),
	}.Image()
}

// labels are those of the OCI image specification, 1.1.
func (s Source) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "runtimegate",
		"org.opencontainers.image.description": "The gate between a Kubernetes cluster and the container runtimes of its nodes",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     s.Version,
		"org.opencontainers.image.revision":    s.Commit,
		"org.opencontainers.image.created":     s.Date.UTC().Format(time.RFC3339),
	}
}

// Index makes the images of several platforms, and the index of them.
func (s Source) Index(ctx context.Context, platforms ...v1.Platform) (v1.ImageIndex, []v1.Image, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var images []v1.Image
	for _, platform := range platforms {
		made, err := s.Image(ctx, platform)
		if err != nil {
			return nil, nil, err
		}
		images = append(images, made)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, images, nil
}

func (s Source) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.Root
	return cmd
}
