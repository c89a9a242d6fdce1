package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// key is a hash of all that decides what t's program is; empty when go itself
// is to find out whether the program is up to date.
func (t target) key(root string) (string, error) {
	if t.sources == nil {
		return "", nil
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, glob := range t.sources {
		files, err := filepath.Glob(filepath.Join(root, glob))
		if err != nil || len(files) == 0 {
			return "", fmt.Errorf("no sources match %s (%v)", glob, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintln(hash, filepath.Base(file), len(content))
			hash.Write(content)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func isBuilt(program, key string) bool {
	built, err := os.ReadFile(program + ".key")
	if err != nil || string(built) != key {
		return false
	}
	_, err = os.Stat(program)
	return err == nil
}

// gitVersion is what the Makefile takes for the version of a checkout; empty if that is
// none.
func gitVersion(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// kubernetesVersion is the version of Kubernetes that the module pins.
func kubernetesVersion(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	cmd.Dir = module
	cmd.Env = environ()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the version of k8s.io/kubernetes: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// versionFlags makes the components say their true version: what they offer
// depends on it.
func versionFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var flags strings.Builder
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, v := range [][2]string{
			{"gitVersion", version}, {"gitMajor", major}, {"gitMinor", minor},
			{"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
		} {
			fmt.Fprintf(&flags, " -X %s.%s=%s", pkg, v[0], v[1])
		}
	}
	return flags.String()
}
