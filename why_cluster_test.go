package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	podsPath   = "/api/v1/namespaces/research/pods"
	eventsPath = "/api/v1/namespaces/research/events"
	setsPath   = "/apis/apps/v1/namespaces/research/replicasets/set"
)

// A whyServer is a lintServer that serves single Pods, and a ReplicaSet, too.
type whyServer struct{ lists *lintServer }

func (s whyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, podsPath+"/"); ok {
		for _, o := range s.lists.objects[podsPath] {
			if pod := o.(corev1.Pod); pod.Name == name {
				w.Header().Set("Content-Type", "application/json")
				pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
				_ = json.NewEncoder(w).Encode(pod)
				return
			}
		}
	}
	if sets := s.lists.objects[setsPath]; r.URL.Path == setsPath && len(sets) == 1 {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(sets[0])
		return
	}
	s.lists.ServeHTTP(w, r)
}

// TestWhyCluster asks a cluster for a Pod and its Events, which come in pages.
func TestWhyCluster(t *testing.T) {
	class := "nvidia"
	yes := true
	tests := map[string]struct {
		change func(*lintServer)
		pod    string
		stdout []string
		stderr string
		err    string
	}{
		"a Pod that hangs": {
			pod: "hangs",
			stdout: []string{
				`Pod/hangs in research: Wrong: handler "nvidia" (RuntimeClass "nvidia") is not loaded on plain, the only node this Pod may land on`,
				"that is: the running runtime has not loaded handler \"nvidia\", whatever its files say (words of containerd or cri-dockerd)",
				"$ kubectl get pod hangs -n research -o yaml > hangs.yaml",
			},
			err: "exit code 1",
		},
		"a ReplicaSet makes it anew": {
			change: func(s *lintServer) { s.objects[setsPath] = []any{&appsv1.ReplicaSet{}} },
			pod:    "owned",
			stdout: []string{`ReplicaSet "set" makes it anew`, "$ kubectl delete pod owned -n research"},
			err:    "exit code 1",
		},
		"its ReplicaSet may not be read": {
			change: func(s *lintServer) { s.codes[setsPath] = http.StatusForbidden },
			pod:    "owned",
			stdout: []string{`See that the template of ReplicaSet "set", which was not read, has no nodeName.`},
			stderr: "note: what made it is not known: ",
			err:    "exit code 1",
		},
		"its Events may not be listed": {
			change: func(s *lintServer) { s.codes[eventsPath] = http.StatusForbidden },
			pod:    "hangs",
			stdout: []string{"Pod/hangs in research: Wrong: "},
			stderr: "note: its Events are not known: list EventList: ",
			err:    "exit code 1",
		},
		"no such Pod": {
			pod: "gone",
			err: `there is no Pod "gone" in namespace "research" of http`,
		},
		"Pods may not be read": {
			change: func(s *lintServer) { s.codes[podsPath+"/other"] = http.StatusForbidden },
			pod:    "other",
			err:    `cannot read Pod "other": `,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := gpuCluster()
			cluster.objects[policiesPath] = nil
			listKinds[podsPath], listKinds[eventsPath] = "PodList", "EventList"
			cluster.objects[podsPath] = []any{corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "hangs", Namespace: "research", UID: "u"},
				Spec:       corev1.PodSpec{RuntimeClassName: &class, NodeName: "plain"},
			}}
			owned := cluster.objects[podsPath][0].(corev1.Pod)
			owned.Name, owned.OwnerReferences = "owned", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", Controller: &yes}}
			cluster.objects[podsPath] = append(cluster.objects[podsPath], owned)
			event := corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "1", Namespace: "research"}, Reason: "FailedCreatePodSandBox",
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "other"}, Message: `no runtime for "other" is configured`,
			}
			own := event
			own.Name, own.InvolvedObject.Name, own.Message = "2", "hangs", `no runtime for "nvidia" is configured`
			cluster.objects[eventsPath] = []any{event, own}
			if tt.change != nil {
				tt.change(cluster)
			}
			server := httptest.NewServer(whyServer{cluster})
			defer server.Close()
			stdout, stderr, err := runCommand(t, "why", "pod/"+tt.pod, "-n", "research", "--kubeconfig", kubeconfig(t, server.URL))
			for _, want := range tt.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("stdout lacks %q", want)
				}
			}
			if strings.Contains(stdout, "other") {
				t.Error("tells of the Event of another Pod")
			}
			if !strings.Contains(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
				t.Errorf("stderr %q", stderr)
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			if t.Failed() {
				t.Logf("stdout:\n%s", stdout)
			}
		})
	}
}
