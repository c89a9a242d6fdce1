package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHelp: help of every command is an answer: exit code 0, on stdout.
func TestHelp(t *testing.T) {
	for _, newCommand := range commands {
		name := newCommand().Name()
		for _, flag := range []string{"-h", "--help"} {
			stdout, stderr, err := runCommand(t, name, flag)
			if err != nil || stderr != "" || !strings.Contains(stdout, "Usage:\n  runtimegate "+name) {
				t.Errorf("%s %s: error %v, stderr %q, stdout %q", name, flag, err, stderr, stdout)
			}
		}
	}
}

// TestPluginDocs: the page of the plugin and its manifest for krew name the commands.
func TestPluginDocs(t *testing.T) {
	page, err := os.ReadFile("docs/plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(".krew.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// Those of the cluster itself and of the node, and those about the program.
	notOfPage, notOfManifest := []string{"serve", "man", "version"}, []string{"report", "selftest"}
	for _, newCommand := range commands {
		name := newCommand().Name()
		if slices.Contains(notOfPage, name) {
			continue
		}
		if !bytes.Contains(page, []byte("`"+name+"`")) {
			t.Errorf("docs/plugin.md lacks %s", name)
		}
		if !slices.Contains(notOfManifest, name) && !bytes.Contains(manifest, []byte("("+name+")")) {
			t.Errorf(".krew.yaml lacks %s", name)
		}
	}
}

// notRun are examples that need what a test has not, and why.
var notRun = map[string]string{
	"serve":    "it serves until it is ended, and needs a cluster",
	"report":   "needs a running runtime",
	"selftest": "needs a cluster",
}

var hostArguments = regexp.MustCompile(`--root /host\b`)

// TestExamples runs the command lines of all help texts, in a folder that has
// what they name. What stands before a pipe is made up.
func TestExamples(t *testing.T) {
	dir := exampleFolder(t)
	t.Chdir(dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "nowhere"))
	for _, newCommand := range commands {
		cmd := newCommand()
		for _, line := range exampleLines(cmd.Example) {
			args := strings.Fields(line[strings.Index(line, "runtimegate ")+len("runtimegate "):])
			if i := slices.Index(args, ">"); i >= 0 {
				args = args[:i]
			}
			checkExample(t, line, args)
			if why, ok := notRun[cmd.Name()]; ok {
				t.Logf("not run: %s: %s", line, why)
				continue
			}
			args = strings.Fields(hostArguments.ReplaceAllString(strings.Join(args, " "), "--root host"))
			if cmd.Name() == "migrate" && !slices.Contains(args, "--root") {
				// Nothing of the machine that tests is written.
				root := "host"
				if slices.Contains(args, "--write") {
					root = "written"
				}
				args = append(args, "--root", root, "--from", "1.7.27")
			}
			runExample(t, line, args)
		}
	}
}

// checkExample: the command is there and takes the flags and arguments.
func checkExample(t *testing.T, line string, args []string) {
	t.Helper()
	cmd, rest, err := newRootCommand().Find(args)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v", line, err)
	} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// runExample: an example that can be run here answers, or says that it has no
// cluster or no runtime.
func runExample(t *testing.T, line string, args []string) {
	t.Helper()
	root := newRootCommand()
	var stdout, stderr bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	if strings.Contains(line, "|") {
		manifest, err := os.ReadFile("deploy/pod.yaml")
		if err != nil {
			t.Fatal(err)
		}
		root.SetIn(bytes.NewReader(manifest))
	}
	err := root.Execute()
	if err == nil {
		return
	}
	absent := []string{
		"no cluster is configured", "containerd is not on the PATH", "the rules depend on the runtime's version",
		"no configuration found", "CRI socket ", "exit code 1",
	}
	if !slices.ContainsFunc(absent, func(s string) bool { return strings.Contains(err.Error(), s) }) {
		t.Errorf("%s: %v\n%s", line, err, stderr.String())
	}
}

// exampleLines are the command lines of a text, without comments, each in one.
func exampleLines(text string) (lines []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "runtimegate ") && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// exampleFolder has what the examples name.
func exampleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	dump, err := os.ReadFile("e2e/dumps/nvidia-only-containerd-2.4.toml")
	if err != nil {
		t.Fatal(err)
	}
	class := "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia}\nhandler: nvidia\n"
	for name, content := range map[string]string{
		"deploy/pod.yaml":                             "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {runtimeClassName: nvidia}\n",
		"cluster.yaml":                                "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\n" + class,
		"runtimeclasses/a.yaml":                       class,
		"node-a.toml":                                 string(dump),
		"host/etc/containerd/config.toml":             "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n",
		"written/etc/containerd/config.toml":          "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n",
		"host/etc/containerd/conf.d/zz-registry.toml": "version = 2\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, path, content)
	}
	return dir
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if _, _, err := runCommand(t, "man", dir); err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, newCommand := range commands {
		cmd := newCommand()
		page, err := os.ReadFile(filepath.Join(dir, "runtimegate-"+cmd.Name()+".1"))
		if cmd.Hidden {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Contains(page, []byte("Nov 2023")) || bytes.Contains(page, []byte(home+"/")) {
			t.Errorf("%s: not of the date asked for, or with paths of this machine:\n%s", cmd.Name(), page)
		}
	}
}

func TestProgress(t *testing.T) {
	var quiet bytes.Buffer
	progress(&quiet, "waiting")()
	if quiet.Len() > 0 {
		t.Errorf("said %q to what is no terminal", quiet.String())
	}
	read, write := io.Pipe()
	done := showProgress(write, "reading the cluster", time.Millisecond)
	line := make([]byte, 64)
	n, err := read.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "\r\x1b[Kreading the cluster, for ") {
		t.Errorf("said %q, %v", line[:n], err)
	}
	rest := make(chan string)
	go func() {
		all, _ := io.ReadAll(read)
		rest <- string(all)
	}()
	done()
	done()
	write.Close()
	if said := <-rest; !strings.HasSuffix(said, "\r\x1b[K") {
		t.Errorf("left %q on the terminal", said)
	}
}

// TestNoGRPC: a socket of something else is told apart from a runtime that is
// down.
func TestNoGRPC(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			go io.Copy(io.Discard, conn) // the client hangs up
		}
	}()
	_, _, err = runCommand(t, "crosscheck", "--require", "a", "--cri", socket)
	if want := "CRI socket " + socket + ": answers, but speaks no gRPC: name the runtime's socket"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestReportOfNoNode: a wrong name is told; the Node may still come.
func TestReportOfNoNode(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			(&lintServer{}).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	stdout, stderr, err := runCommand(t, "report", "--once", "--dump", "e2e/dumps/nvidia-only-containerd-2.4.toml", "--node", "nosuch", "--kubeconfig", kubeconfig(t, server.URL))
	want := `note: there is no Node "nosuch" in ` + server.URL + `: unless it comes, the report is removed again; "kubectl get nodes" lists those that --node may name` + "\n"
	if err != nil || !strings.HasSuffix(stderr, want) || stdout != "noderuntime.runtimegate.io/nosuch published\n" {
		t.Errorf("error %v, stdout %q, stderr %q, want %q", err, stdout, stderr, want)
	}
}
