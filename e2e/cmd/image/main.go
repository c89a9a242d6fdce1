// Command image makes runtimegate's image, without a container engine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/image"
)

func main() {
	version := flag.String("version", "devel", "what \"runtimegate version\" is to say, and the image's tag")
	platforms := flag.String("platforms", "linux/"+runtime.GOARCH, "what to build for, as linux/amd64,linux/arm64")
	out := flag.String("out", "", "folder for the image; by default .cache/image")
	flag.Parse()
	if err := run(*version, *platforms, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run writes the images of all platforms as an OCI image layout, and each as an
// archive that "docker load" and "ctr images import" take.
func run(version, platforms, out string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := build.Root()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, ".cache/image")
	}
	tag, err := name.NewTag(image.Repository + ":" + version)
	if err != nil {
		return fmt.Errorf("--version %q: %w", version, err)
	}
	source, err := image.NewSource(ctx, root, version)
	if err != nil {
		return err
	}
	var wanted []v1.Platform
	for _, text := range strings.Split(platforms, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return fmt.Errorf("--platforms %q: %w", text, err)
		}
		wanted = append(wanted, *platform)
	}
	index, images, err := source.Index(ctx, wanted...)
	if err != nil {
		return err
	}
	folder := filepath.Join(out, "oci")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if _, err := layout.Write(folder, index); err != nil {
		return fmt.Errorf("write %s: %w", folder, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("image: %s: %s@%s\n", folder, image.Repository, digest)
	for i, made := range images {
		archive := filepath.Join(out, "runtimegate-"+strings.ReplaceAll(wanted[i].String(), "/", "-")+".tar")
		if err := tarball.WriteToFile(archive, tag, made); err != nil {
			return fmt.Errorf("write %s: %w", archive, err)
		}
		fmt.Printf("image: %s: %s\n", archive, tag)
	}
	return nil
}
