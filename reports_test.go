package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/webhook"
)

// A whyReport is a public report of a bug, made again.
type whyReport struct {
	dir, source string
	// cause is what the matter was.
	cause string
	// root is the folder with the files of its nodes, below config/testdata/reports;
	// empty if it is not about files.
	root string
	// command is what is asked; NAME stands for the report's Pod or first node.
	command string
	// want matches what tells the cause.
	want string
}

// TestWhyReports asks about each report, and looks whether the answer tells the
// cause. The nodes' reports are made of their files, as the reporter makes them.
// docs/reports.md has the table (UPDATE=1 writes it anew).
func TestWhyReports(t *testing.T) {
	var table strings.Builder
	told := map[string]bool{}
	for _, r := range whyReports {
		told[r.dir] = true
		t.Run(r.dir+"/"+strings.ReplaceAll(r.command, "/", " "), func(t *testing.T) {
			out := r.ask(t)
			found := regexp.MustCompile(r.want).FindString(out)
			if found == "" {
				t.Errorf("the cause is not told: %s\nwant %s in:\n%s", r.cause, r.want, out)
			}
			url := "https://github.com/" + strings.Replace(r.source, "#", "/issues/", 1)
			fmt.Fprintf(&table, "| [%s](%s) | %s | `%s` | %s |\n", r.source, url, r.cause, r.command, cellText(found))
		})
	}
	dirs, err := os.ReadDir(reportsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if !told[d.Name()] {
			t.Errorf("report %s is in no line of the table", d.Name())
		}
	}
	checkTable(t, "docs/reports.md", table.String())
}

// checkTable compares the rows of the only table of a document.
func checkTable(t *testing.T, path, rows string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "|---|---|---|---|\n"
	before, after, ok := strings.Cut(string(content), head)
	if !ok {
		t.Fatalf("%s has no table of four columns", path)
	}
	rest := after
	for strings.HasPrefix(rest, "|") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(before+head+rows+rest), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if after != rows+rest {
		t.Errorf("the table of %s is not what is told (UPDATE=1 writes it anew)", path)
	}
}

// cellText is a text for one cell of a table: its first and last line, cut.
func cellText(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	text = lines[0]
	if len(lines) > 1 {
		text += " … " + lines[len(lines)-1]
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// ask runs the report's command.
func (r *whyReport) ask(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(reportsDir, r.dir)
	var inv reportInventory
	readYAMLFile(t, filepath.Join(dir, "inventory.yaml"), &inv)
	args := strings.Fields(r.command)
	if args[0] == "explain" {
		root, path := r.host(t)
		args = append(args, "--root", root, "--runtime-version", inv.Nodes[0].version(), "--programs", "yes")
		if path != "" {
			args = append(args, "--daemon-path", path)
		}
	} else {
		args = append(args, "--snapshot", r.snapshot(t, &inv), "--now", reportTime.Format(time.RFC3339))
	}
	for i, arg := range args {
		switch {
		case arg == "node/NAME":
			args[i] = "node/" + inv.Nodes[0].Name
		case arg == "pod/NAME":
			args[i] = "pod/stuck"
		case i > 0 && args[i-1] == "-f":
			args[i] = filepath.Join(dir, arg)
		}
	}
	stdout, stderr, err := runCommand(t, args...)
	var exit *exitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("error %v, stderr %q", err, stderr)
	}
	return stdout
}

// A reportInventory is what a report says of its nodes.
type reportInventory struct {
	Nodes []reportNode
}

type reportNode struct {
	Name, Runtime    string
	Labels           map[string]string
	Taints           []corev1.Taint
	Loaded           []string
	DefaultHandler   string
	ReportAgeSeconds int
}

// version is that of the rules to read its files by.
func (n *reportNode) version() string {
	if strings.HasPrefix(n.Runtime, "docker://") {
		return "containerd://1.7.34"
	}
	return n.Runtime
}

// host makes the root of the report's nodes: their files, and their programs. It
// returns the daemon's PATH, too.
func (r *whyReport) host(t *testing.T) (root, path string) {
	t.Helper()
	root = t.TempDir()
	from := filepath.Join("config/testdata/reports", r.dir)
	if err := os.CopyFS(root, os.DirFS(filepath.Join(from, r.root))); err != nil {
		t.Fatal(err)
	}
	var host struct {
		DaemonPATH  string
		Executables []string
	}
	if _, err := os.Stat(filepath.Join(from, "host.yaml")); err == nil {
		readYAMLFile(t, filepath.Join(from, "host.yaml"), &host)
	}
	for _, program := range host.Executables {
		at := filepath.Join(root, program)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root, host.DaemonPATH
}

// snapshot writes the cluster of the report. Of files the reports of its nodes tell
// what the reporter would.
func (r *whyReport) snapshot(t *testing.T, inv *reportInventory) string {
	t.Helper()
	state := webhook.NewState(webhook.Options{Inventory: inventory.DefaultOptions})
	for i := range inv.Nodes {
		n := &inv.Nodes[i]
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, CreationTimestamp: metav1.NewTime(reportTime.Add(-24 * time.Hour))}}
		node.Spec.Taints, node.Status.NodeInfo.ContainerRuntimeVersion = n.Taints, n.Runtime
		if strings.HasSuffix(n.Name, "-new") {
			node.CreationTimestamp = metav1.NewTime(reportTime.Add(-time.Duration(n.ReportAgeSeconds) * time.Second))
		}
		objects := []runtime.Object{node}
		if n.Loaded != nil {
			objects = append(objects, r.report(t, n))
		}
		for _, o := range objects {
			if err := state.Apply(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "snapshot.yaml")
	view := &clusterView{state: state, time: reportTime, notes: &strings.Builder{}}
	if err := view.save(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	more, err := filepath.Glob(filepath.Join(reportsDir, r.dir, "runtimeclass*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range more {
		// What is to be applied is not there yet.
		if strings.HasSuffix(class, "-new.yaml") {
			continue
		}
		content, err := os.ReadFile(class)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(file, "---\n%s", content)
	}
	fmt.Fprintf(file, stuckPod, inv.Nodes[0].Name)
	return path
}
