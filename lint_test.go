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

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

// A lintServer serves what lint asks a cluster for, in pages of one. The answer
// to a path that is not among its objects is the status code for it, 404 if
// there is none.
type lintServer struct {
	objects map[string][]any
	codes   map[string]int
}

const (
	nodesPath      = "/api/v1/nodes"
	namespacesPath = "/api/v1/namespaces"
	classesPath    = "/apis/node.k8s.io/v1/runtimeclasses"
	reportsPath    = "/apis/runtimegate.io/v1alpha1/noderuntimes"
	policiesPath   = "/apis/runtimegate.io/v1alpha1/runtimepolicies"
)

var listKinds = map[string]string{
	nodesPath: "NodeList", namespacesPath: "NamespaceList", classesPath: "RuntimeClassList",
	reportsPath: "NodeRuntimeList", policiesPath: "RuntimePolicyList",
}

func (s *lintServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	objects, ok := s.objects[r.URL.Path]
	if code := s.codes[r.URL.Path]; code != 0 || !ok {
		if code == 0 {
			code = http.StatusNotFound
		}
		reason := map[int]string{http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound"}[code]
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no %s"}`, reason, code, r.URL.Path)
		return
	}
	dir, _, _ := strings.Cut(filepath.Dir(r.URL.Path), "/namespaces/")
	version := strings.TrimPrefix(strings.TrimPrefix(dir, "/apis/"), "/api/")
	page := len(r.URL.Query().Get("continue"))
	list := map[string]any{"apiVersion": version, "kind": listKinds[r.URL.Path], "items": objects[min(page, len(objects)):min(page+1, len(objects))]}
	if page+1 < len(objects) {
		list["metadata"] = map[string]any{"continue": strings.Repeat("x", page+1)}
	}
	_ = json.NewEncoder(w).Encode(list)
}

// gpuCluster has two nodes, of which the second has nvidia, and a policy for
// the namespace research.
func gpuCluster() *lintServer {
	old := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	node := func(name string) any {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: old, Labels: map[string]string{"node": name}},
			Status:     corev1.NodeStatus{RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: "runc"}}},
		}
	}
	report := v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	report.Spec.RenewedAt = metav1.Now()
	report.Spec.Handlers = []v1alpha1.Handler{{Name: "nvidia"}, {Name: "runc"}}
	no := false
	return &lintServer{codes: map[string]int{}, objects: map[string][]any{
		nodesPath:   {node("plain"), node("gpu")},
		reportsPath: {report},
		classesPath: {
			nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "kata"},
			nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"},
		},
		policiesPath: {v1alpha1.RuntimePolicy{ObjectMeta: metav1.ObjectMeta{Name: "strict"}, Spec: v1alpha1.RuntimePolicySpec{
			NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "research"}},
			Handlers:          &v1alpha1.AllowedHandlers{AllowDefault: &no},
		}}},
		namespacesPath: {
			corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "research", Labels: map[string]string{"tenant": "research"}}},
		},
	}}
}

func TestLintCluster(t *testing.T) {
	const pods = `
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "on-gpu"}, "spec": {"runtimeClassName": "nvidia", "nodeSelector": {"node": "gpu"}}}
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "anywhere"}, "spec": {"runtimeClassName": "nvidia"}}
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "by-policy", "namespace": "research"}, "spec": {}}
`
	const unchecked = `Pod/on-gpu: Warn: not all RuntimePolicies of namespace "default" are known, so not all were enforced: `
	tests := map[string]struct {
		change func(*lintServer)
		flags  []string
		stdout []string
		stderr string
		err    string
	}{
		"all there": {
			stdout: []string{
				`Pod/anywhere: Warn: handler "nvidia" (RuntimeClass "nvidia") is loaded on 1 of the 2 nodes`,
				`Pod/by-policy in research: Deny: a runtimeClassName is required`, "3 objects judged: 1 Deny, 1 Warn, 1 Allow",
			},
			err: "exit code 1",
		},
		"no CRDs: no reports and no policies": {
			change: func(s *lintServer) { delete(s.objects, reportsPath); delete(s.objects, policiesPath) },
			stdout: []string{`Pod/on-gpu: Deny: handler "nvidia" (RuntimeClass "nvidia") is not loaded on gpu`, "2 objects judged: 2 Deny\n"},
			err:    "exit code 1",
		},
		"policies forbidden": {
			change: func(s *lintServer) { s.codes[policiesPath] = http.StatusForbidden },
			stdout: []string{unchecked + "cannot list the RuntimePolicies of http", "3 objects judged: 3 Warn\n"},
			stderr: "note: cannot list the RuntimePolicies of http",
		},
		"namespaces forbidden": {
			change: func(s *lintServer) { s.codes[namespacesPath] = http.StatusForbidden },
			stdout: []string{unchecked + "its labels are not known: cannot list the Namespaces of http", "3 objects judged: 3 Warn\n"},
			stderr: "note: cannot list the Namespaces of http",
		},
		"namespaces forbidden, and no policies": {
			change: func(s *lintServer) {
				s.codes[namespacesPath] = http.StatusForbidden
				s.objects[policiesPath] = nil
			},
			stdout: []string{"2 objects judged: 1 Warn, 1 Allow\n"},
			stderr: "note: cannot list the Namespaces of http",
		},
		"nodes forbidden": {
			change: func(s *lintServer) { s.codes[nodesPath] = http.StatusForbidden },
			err:    "cannot list the Nodes of http",
		},
		"reports forbidden": {
			change: func(s *lintServer) { s.codes[reportsPath] = http.StatusForbidden },
			err:    "cannot list the NodeRuntimes of http",
		},
		"a server in trouble": {
			change: func(s *lintServer) { s.codes[policiesPath] = http.StatusInternalServerError },
			err:    "cannot list the RuntimePolicies of http",
		},
		"not Kubernetes at all": {
			change: func(s *lintServer) { clear(s.objects) },
			err:    "cannot list the Nodes of http",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := gpuCluster()
			if tt.change != nil {
				tt.change(cluster)
			}
			server := httptest.NewServer(cluster)
			defer server.Close()
			file := filepath.Join(t.TempDir(), "pods.json")
			if err := os.WriteFile(file, []byte(pods), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"lint", "-f", file, "--kubeconfig", kubeconfig(t, server.URL)}, tt.flags...)
			stdout, stderr, err := runCommand(t, args...)
			for _, want := range tt.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("stdout lacks %q", want)
				}
			}
			if len(tt.stdout) == 0 && stdout != "" || !strings.Contains(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
				t.Errorf("stderr %q", stderr)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			if t.Failed() {
				t.Logf("stdout:\n%s", stdout)
			}
		})
	}
}

// TestLintContextNamespace: Pods that name no namespace go where kubectl would
// put them.
func TestLintContextNamespace(t *testing.T) {
	server := httptest.NewServer(gpuCluster())
	defer server.Close()
	config := kubeconfig(t, server.URL)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"user": "u"}`), []byte(`"user": "u", "namespace": "research"}`), 1)
	file := filepath.Join(t.TempDir(), "pod.yaml")
	for path, content := range map[string][]byte{config: text, file: []byte("{apiVersion: v1, kind: Pod, metadata: {name: p}}")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, flags := range map[string][]string{`"Deny"`: nil, "[]": {"--namespace", "default"}} {
		stdout, stderr, _ := runCommand(t, append([]string{"lint", "-o", "json", "-f", file, "--kubeconfig", config}, flags...)...)
		if !strings.Contains(stdout, want) {
			t.Errorf("with flags %q: stdout %q lacks %s, stderr %q", flags, stdout, want, stderr)
		}
	}
}

func FuzzReadSnapshot(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\n",
		"---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n--- # next\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: c}\nhandler: h\n",
		`{"apiVersion": "runtimegate.io/v1alpha1", "kind": "NodeRuntimeList", "items": [{"metadata": {"name": "n"}, "spec": {"renewedAt": "x"}}]}`,
		`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": 7}}]}{`,
		"&l\napiVersion: v1\nkind: List\nitems: [*l]\n", "a: *b\n", "{a: b}\n{c: d}\n", "[[[{", "{[", "- 1\n", "...\n", "\x00", "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}
	scheme, err := newScheme()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		state := webhook.NewState(webhook.Options{})
		err := readSnapshot(bytes.NewReader(data), "fuzz.yaml", scheme, state, func(string, ...any) {})
		if err = oneLine(err); err != nil && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "fuzz.yaml:")) {
			t.Errorf("error is not one line that names the input: %q", err)
		}
	})
}

func TestSplitDocuments(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string // line:text
	}{
		"one":                           {"a: 1\n", []string{"1:a: 1\n"}},
		"two":                           {"a: 1\n---\nb: 2", []string{"1:a: 1\n", "2:---\nb: 2"}},
		"empty ones are there too":      {"---\n---\r\na: 1\n---", []string{"1:---\n", "2:---\r\na: 1\n", "4:---"}},
		"a comment after the separator": {"# c\n--- # d\na: 1\n", []string{"1:# c\n", "2:--- # d\na: 1\n"}},
		"no separators":                 {"a: |\n  ---\n----\n---a\n", []string{"1:a: |\n  ---\n----\n---a\n"}},
		"nothing":                       {" \n", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range splitDocuments("f", []byte(tt.text)) {
				got = append(got, fmt.Sprintf("%d:%s", d.line, d.text))
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
