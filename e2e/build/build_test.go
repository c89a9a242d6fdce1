package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestKeyChangesWithTheSources(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := func() string {
		t.Helper()
		key, err := target{sources: []string{"go.mod", "*.go"}}.key(root)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	write("go.mod", "module a")
	write("a.go", "package a")
	write("README", "a")
	first := key()
	write("README", "b")
	if key() != first {
		t.Error("another README gave another key")
	}
	seen := []string{first}
	for _, change := range [][2]string{{"go.mod", "module b"}, {"a.go", "package b"}, {"b.go", ""}} {
		write(change[0], change[1])
		if k := key(); slices.Contains(seen, k) {
			t.Errorf("another %s gave no other key", change[0])
		} else {
			seen = append(seen, k)
		}
	}
}

func TestKeyNeedsItsSources(t *testing.T) {
	if _, err := (target{sources: []string{"go.mod"}}).key(t.TempDir()); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("got error %v, want one that names go.mod", err)
	}
}

func TestIsBuiltOnlyWithTheProgramAndItsKey(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	steps := []struct {
		what string
		do   func() error
		want bool
	}{
		{"nothing there", func() error { return nil }, false},
		{"a key without its program", func() error { return os.WriteFile(program+".key", []byte("key"), 0o600) }, false},
		{"both", func() error { return os.WriteFile(program, nil, 0o600) }, true},
		{"another key", func() error { return os.WriteFile(program+".key", []byte("other"), 0o600) }, false},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := isBuilt(program, "key"); got != step.want {
			t.Errorf("%s: got %t", step.what, got)
		}
	}
}

func TestProgressTellsPackagesFromMessages(t *testing.T) {
	var p progress
	p.read(strings.NewReader("go: downloading k8s.io/api v0.37.2\ngo: downloading k8s.io/kms v0.37.2\n"))
	if got := p.String(); got != "2 modules downloaded" {
		t.Errorf("got %q", got)
	}
	p.read(strings.NewReader("internal/abi\nk8s.io/api/core/v1\n# example.test/a\n./a.go:3:1: syntax error\n"))
	if got := p.String(); got != "2 packages compiled" {
		t.Errorf("got %q", got)
	}
	want := []string{"# example.test/a", "./a.go:3:1: syntax error"}
	if !slices.Equal(p.messages, want) {
		t.Errorf("got messages %q, want %q", p.messages, want)
	}
}

func TestEveryGoCommandHasTheFlags(t *testing.T) {
	env := environ()
	for _, want := range []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -gcflags=all=-dwarf=false -buildvcs=false"} {
		if !slices.Contains(env, want) {
			t.Errorf("%q is not in the environment", want)
		}
	}
}
