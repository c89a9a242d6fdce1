package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A krewManifest is what krew reads of a plugin.
type krewManifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// TestKrewManifest: krew needs these fields, and the Makefile builds what the
// manifest lists.
func TestKrewManifest(t *testing.T) {
	content, err := os.ReadFile(".krew.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var manifest krewManifest
	if err := yaml.UnmarshalStrict(content, &manifest); err != nil {
		t.Fatal(err)
	}
	spec := manifest.Spec
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || "kubectl-"+manifest.Metadata.Name != pluginName {
		t.Errorf("not the plugin's manifest: %+v", manifest)
	}
	if spec.Version != "@VERSION@" || spec.Homepage == "" || spec.Description == "" || spec.ShortDescription == "" || len(spec.ShortDescription) > 50 {
		t.Errorf("spec lacks something, or its shortDescription is longer than 50: %+v", spec)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, p := range spec.Platforms {
		goos, arch := p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]
		platforms = append(platforms, goos+"/"+arch)
		if want := projectURI + "/releases/download/@VERSION@/kubectl-runtimegate_" + goos + "_" + arch + ".tar.gz"; p.URI != want {
			t.Errorf("uri %s, want %s", p.URI, want)
		}
		if want := "@SHA256_" + strings.ToUpper(goos+"_"+arch) + "@"; p.SHA256 != want {
			t.Errorf("sha256 %s, want %s: the release fills it in", p.SHA256, want)
		}
		if p.Bin != pluginName {
			t.Errorf("bin %s, want %s", p.Bin, pluginName)
		}
	}
	if line := "PLUGIN_PLATFORMS := " + strings.Join(platforms, " ") + "\n"; len(platforms) == 0 || !bytes.Contains(makefile, []byte(line)) {
		t.Errorf("the Makefile does not build %v", platforms)
	}
}

// TestKrewArchives is a part of "make krew": the manifest that it has filled in names
// archives that are there, with their checksums, and each holds the program of its
// platform. That of this one runs.
func TestKrewArchives(t *testing.T) {
	version := os.Getenv("KREW_VERSION")
	if version == "" {
		t.Skip("no archives: make krew makes them, and runs this")
	}
	var manifest krewManifest
	readYAMLFile(t, ".cache/krew/runtimegate.yaml", &manifest)
	if manifest.Spec.Version != version || len(manifest.Spec.Platforms) == 0 {
		t.Fatalf("the manifest is of version %q, want %q", manifest.Spec.Version, version)
	}
	for _, p := range manifest.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "/" + p.Selector.MatchLabels["arch"]
		if want := "/releases/download/" + version + "/"; !strings.Contains(p.URI, want) {
			t.Errorf("%s: uri %s, want one with %s", platform, p.URI, want)
		}
		archive, err := os.ReadFile(filepath.Join(".cache/krew", path.Base(p.URI)))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != p.SHA256 {
			t.Errorf("%s: sha256 %s, and of the archive %x", platform, p.SHA256, sum)
		}
		files := untar(t, archive)
		for _, name := range []string{p.Bin, "LICENSE", "kubectl_complete-runtimegate"} {
			if len(files[name]) == 0 {
				t.Errorf("%s: the archive lacks %s", platform, name)
			}
		}
		if got := platformOf(files[p.Bin]); got != platform {
			t.Errorf("%s: the program is one for %s", platform, got)
		}
		if platform == "linux/amd64" && platformOf(ownProgram(t)) == platform {
			runPlugin(t, files[p.Bin], version)
		}
	}
}

// runPlugin runs the program as kubectl does.
func runPlugin(t *testing.T, program []byte, version string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), pluginName)
	if err := os.WriteFile(file, program, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("%s version: %v: %s", pluginName, err, out)
	}
}

func ownProgram(t *testing.T) []byte {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// untar returns the regular files of an archive, the program's only if it can be
// executed.
func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for in := tar.NewReader(unzipped); ; {
		header, err := in.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || name == pluginName && header.Mode&0o111 != 0o111 {
			continue
		}
		if files[name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// platformOf is what a program is for, as Go names it.
func platformOf(program []byte) string {
	if f, err := elf.NewFile(bytes.NewReader(program)); err == nil {
		return "linux/" + map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine]
	}
	if f, err := macho.NewFile(bytes.NewReader(program)); err == nil {
		return "darwin/" + map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu]
	}
	return fmt.Sprintf("neither Linux nor macOS (%d bytes)", len(program))
}
