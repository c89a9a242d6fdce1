package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runCommand runs one command line in this process.
func runCommand(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := newRootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	err = cmd.Execute()
	return out.String(), errOut.String(), err
}

// kubeconfig writes one for a server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
"clusters": [{"name": "c", "cluster": {"server": %q}}], "users": [{"name": "u", "user": {}}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// apiServer serves RuntimeClasses in pages of one.
func apiServer(t *testing.T, handlers ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/node.k8s.io/v1/runtimeclasses" {
			t.Errorf("unexpected request %s", r.URL)
		}
		list := nodev1.RuntimeClassList{TypeMeta: metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClassList"}}
		page := len(r.URL.Query().Get("continue"))
		if page < len(handlers) {
			list.Items = []nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "class-" + handlers[page]}, Handler: handlers[page]}}
		}
		if page+1 < len(handlers) {
			list.Continue = strings.Repeat("x", page+1)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const testDump = "config/testdata/dumps/t-v2-inline@2.4.2.toml" // nvidia, runc

func TestCrosscheckCluster(t *testing.T) {
	tests := map[string]struct {
		handlers []string
		stdout   string
		stderr   string
		err      error
	}{
		"all there":           {[]string{"nvidia", "runc"}, "OK\n", "", nil},
		"none":                {nil, "OK\n", "note: no RuntimeClass to check: nothing is asked for, so nothing is missing\n", nil},
		"missing on any page": {[]string{"zz", "nvidia", "kata"}, "MISSING=kata\nMISSING=zz\n", `RuntimeClass "class-zz"; it has`, &exitError{code: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := runCommand(t, "crosscheck", testDump, "--kubeconfig", kubeconfig(t, apiServer(t, tt.handlers...)))
			if stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || fmt.Sprint(err) != fmt.Sprint(tt.err) {
				t.Errorf("stdout %q, stderr %q, error %v", stdout, stderr, err)
			}
		})
	}
}

// TestCrosscheckAsksNoCluster: with --require or -f the cluster is not needed.
func TestCrosscheckAsksNoCluster(t *testing.T) {
	path := kubeconfig(t, "https://127.0.0.1:1")
	stdout, stderr, err := runCommand(t, "crosscheck", testDump, "--kubeconfig", path, "--require", "nvidia")
	if stdout != "OK\n" || stderr != "" || err != nil {
		t.Errorf("stdout %q, stderr %q, error %v", stdout, stderr, err)
	}
}

func TestCrosscheckClusterErrors(t *testing.T) {
	blocked := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-blocked:
		case <-r.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(blocked)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"runtimeclasses.node.k8s.io is forbidden:\nno"}`)
	}))
	defer refusing.Close()
	tests := map[string]struct{ server, want string }{
		"no answer": {silent.URL, "cannot list the RuntimeClasses of " + silent.URL + ": no answer within 1s"},
		"forbidden": {refusing.URL, "cannot list the RuntimeClasses of " + refusing.URL + ": runtimeclasses.node.k8s.io is forbidden: no"},
		"nothing":   {"http://127.0.0.1:1", "cannot list the RuntimeClasses of http://127.0.0.1:1: Get "},
		"no host":   {"https://runtimegate.invalid", "cannot list the RuntimeClasses of https://runtimegate.invalid: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			stdout, _, err := runCommand(t, "crosscheck", testDump, "--kubeconfig", kubeconfig(t, tt.server), "--request-timeout", "1s")
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if stdout != "" {
				t.Errorf("stdout %q", stdout)
			}
			if d := time.Since(start); d > 9*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func FuzzReadManifest(f *testing.F) {
	for _, doc := range []string{
		"apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: a}\nhandler: b\n",
		`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "node.k8s.io/v1alpha1", "kind": "RuntimeClass", "spec": {"runtimeHandler": "a"}}]}`,
		"&l\napiVersion: v1\nkind: List\nitems: [*l]\n", "a: *b\n", "[[[{", "{[", "- 1\n", "\x00",
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &manifest{name: "fuzz.yaml"}
		err := m.read(bytes.NewReader(data))
		if err = oneLine(err); err != nil && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "fuzz.yaml:")) {
			t.Errorf("error is not one line that names the input: %q", err)
		}
		for _, c := range m.classes {
			if checkHandlerName(c.handler) != nil {
				t.Errorf("handler %q was taken", c.handler)
			}
		}
	})
}
