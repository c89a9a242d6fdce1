package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// onePlainNode is a cluster whose only node has loaded runc.
func onePlainNode() *inventory.Index {
	index := inventory.NewIndex(inventory.DefaultOptions)
	index.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", CreationTimestamp: metav1.NewTime(reportNow.Add(-time.Hour))},
		Status:     corev1.NodeStatus{RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: ""}, {Name: "runc"}}},
	})
	return index
}

func noClasses(context.Context) []nodev1.RuntimeClass { return nil }

func noRules(context.Context, string) (Rules, error) { return Rules{}, nil }

// andTaintedGPUNode adds a node that has nvidia loaded, behind a taint.
func andTaintedGPUNode(index *inventory.Index) *inventory.Index {
	index.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "g1", CreationTimestamp: metav1.NewTime(reportNow.Add(-time.Hour))},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: "nvidia"}}},
	})
	return index
}

// kindFor is the kind that a reviewer is asked about.
func kindFor(reviewer Reviewer) metav1.GroupVersionKind {
	switch reviewer.(type) {
	case *ClassReviewer:
		return metav1.GroupVersionKind(nodev1.SchemeGroupVersion.WithKind("RuntimeClass"))
	case *PolicyReviewer:
		return metav1.GroupVersionKind(v1alpha1.GroupVersion.WithKind("RuntimePolicy"))
	case *WorkloadReviewer:
		return metav1.GroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	}
	return metav1.GroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
}

func TestReviewersRefuseOtherKinds(t *testing.T) {
	for _, reviewer := range []Reviewer{&PodReviewer{}, &ClassReviewer{}, &WorkloadReviewer{}, &PolicyReviewer{}} {
		_, err := reviewer.Review(context.Background(), &admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}})
		if err == nil || !strings.Contains(err.Error(), "got apps/v1beta1, Kind=Deployment") {
			t.Errorf("%T: %v", reviewer, err)
		}
	}
}

func review(t *testing.T, reviewer Reviewer, operation admissionv1.Operation, object, old any) (Action, string) {
	t.Helper()
	request := &admissionv1.AdmissionRequest{Operation: operation, Kind: kindFor(reviewer)}
	for into, from := range map[*runtime.RawExtension]any{&request.Object: object, &request.OldObject: old} {
		raw, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		into.Raw = raw
	}
	response, err := reviewer.Review(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case !response.Allowed:
		return Deny, response.Result.Message
	case len(response.Warnings) > 0:
		return Warn, strings.Join(response.Warnings, "\n")
	}
	return Allow, ""
}

func TestPodReviewer(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "runtimeclasses"}, "gpu")
	nvidia := func(context.Context, string) (*nodev1.RuntimeClass, error) {
		return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Handler: "nvidia"}, nil
	}
	failing := func(err error) func(context.Context, string) (*nodev1.RuntimeClass, error) {
		return func(context.Context, string) (*nodev1.RuntimeClass, error) { return nil, err }
	}
	owned := func(apiVersion, kind string, controller bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "o", UID: "u", Controller: &controller}}
		}
	}
	empty := ""
	tests := []struct {
		name      string
		class     func(context.Context, string) (*nodev1.RuntimeClass, error)
		change    func(*corev1.Pod)
		operation admissionv1.Operation
		want      Action
		text      string
	}{
		{"its handler is missing", nvidia, nil, admissionv1.Create, Deny, `handler "nvidia" (RuntimeClass "gpu")`},
		{"only the creation is judged", nvidia, nil, admissionv1.Update, Allow, ""},
		{"no class is no question", failing(errors.New("asked")), func(p *corev1.Pod) { p.Spec.RuntimeClassName = nil }, admissionv1.Create, Allow, ""},
		{"an empty class is none", failing(errors.New("asked")), func(p *corev1.Pod) { p.Spec.RuntimeClassName = &empty }, admissionv1.Create, Allow, ""},
		{"the API server does not answer", failing(errors.New("connection refused")), nil, admissionv1.Create, Warn, `RuntimeClass "gpu" could not be read, so its handler was not checked: connection refused`},
		{"the class is not there", failing(notFound), nil, admissionv1.Create, Warn, `RuntimeClass "gpu" does not exist`},
		{"a Pod of a ReplicaSet is judged as a Pod", nvidia, owned("apps/v1", "ReplicaSet", true), admissionv1.Create, Deny, "nvidia"},
		{"a Pod of a DaemonSet is let off", nvidia, owned("apps/v1", "DaemonSet", true), admissionv1.Create, Warn, "nvidia"},
		{"an owner that is not its controller lets off nothing", nvidia, owned("apps/v1", "DaemonSet", false), admissionv1.Create, Deny, "nvidia"},
		{"nor does another kind of that name", nvidia, owned("example.com/v1", "DaemonSet", true), admissionv1.Create, Deny, "nvidia"},
		{"a mirror Pod is let off", nvidia, func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }, admissionv1.Create, Warn, "nvidia"},
		{"a critical Pod is let off", nvidia, func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }, admissionv1.Create, Warn, "nvidia"},
		{"the annotation asks for a handler of its own", nvidia, func(p *corev1.Pod) {
			p.Spec.RuntimeClassName = nil
			p.Annotations = map[string]string{UntrustedAnnotation: "true"}
		}, admissionv1.Create, Warn, `handler "untrusted"`},
		{"taints count for nothing while a Pod is held back", nvidia, func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
		}, admissionv1.Create, Warn, "loaded on 1 of the 2 nodes"},
		{"but only when it is true", nvidia, func(p *corev1.Pod) {
			p.Spec.RuntimeClassName = nil
			p.Annotations = map[string]string{UntrustedAnnotation: "false"}
		}, admissionv1.Create, Allow, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := "gpu"
			pod := &corev1.Pod{Spec: corev1.PodSpec{RuntimeClassName: &class}}
			if tt.change != nil {
				tt.change(pod)
			}
			decided := 0
			gate := &Gate{Rules: noRules, MaxAction: Deny, Index: andTaintedGPUNode(onePlainNode()), Class: tt.class, LiveClass: tt.class, Classes: noClasses, Now: func() time.Time { return reportNow }}
			reviewer := &PodReviewer{Gate: gate, Decided: func(*admissionv1.AdmissionRequest, Verdict) { decided++ }}
			got, told := review(t, reviewer, tt.operation, pod, nil)
			if got != tt.want || !strings.Contains(told, tt.text) {
				t.Errorf("%s %q; want %s with %q", got, told, tt.want, tt.text)
			}
			if tt.operation == admissionv1.Create && decided != 1 {
				t.Errorf("counted %d times", decided)
			}
		})
	}
}

func TestClassReviewer(t *testing.T) {
	gate := &Gate{Rules: noRules, MaxAction: Deny, Index: onePlainNode(), ClassMissing: Warn, Now: func() time.Time { return reportNow }}
	reviewer := &ClassReviewer{Gate: gate, Live: &apiServer{}, Decided: undecided}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Handler: "nvidia"}
	selecting := class.DeepCopy()
	selecting.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"pool": "gpu"}}
	labelled := class.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	tests := []struct {
		name       string
		operation  admissionv1.Operation
		class, old *nodev1.RuntimeClass
		want       Action
		text       string
	}{
		{"created", admissionv1.Create, class, nil, Warn, "is not loaded on n1, the only node of this cluster"},
		{"created, and selects no node", admissionv1.Create, selecting, nil, Warn, "there is no node its nodeSelector picks now"},
		{"changed in nothing that matters", admissionv1.Update, labelled, class, Allow, ""},
		{"its scheduling changed", admissionv1.Update, selecting, class, Warn, "no node its nodeSelector picks"},
		{"deleted", admissionv1.Delete, nil, class, Allow, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, atOnce(func(t *testing.T) {
			got, told := review(t, reviewer, tt.operation, tt.class, tt.old)
			if got != tt.want || !strings.Contains(told, tt.text) {
				t.Errorf("%s %q; want %s with %q", got, told, tt.want, tt.text)
			}
		}))
	}
}

type readerFunc func(obj client.Object) error

func (f readerFunc) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return f(obj)
}

func (readerFunc) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("the webhook lists nothing")
}

// A class is mended by deleting it and making it anew; the cache may still have
// the one before.
func TestPodIsNotDeniedForAnOldClass(t *testing.T) {
	class := func(handler string) func(context.Context, string) (*nodev1.RuntimeClass, error) {
		return func(context.Context, string) (*nodev1.RuntimeClass, error) {
			return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Handler: handler}, nil
		}
	}
	silent := func(context.Context, string) (*nodev1.RuntimeClass, error) { return nil, errors.New("no answer") }
	name := "plain"
	pod := &corev1.Pod{Spec: corev1.PodSpec{RuntimeClassName: &name}}
	tests := []struct {
		name         string
		cached, live func(context.Context, string) (*nodev1.RuntimeClass, error)
		want         Action
		text         string
	}{
		{"mended", class("rnuc"), class("runc"), Allow, ""},
		{"not mended", class("rnuc"), class("rnuc"), Deny, `did you mean "runc"?`},
		{"mended into another mistake", class("rnuc"), class("kata"), Deny, `handler "kata"`},
		{"nobody answers", class("rnuc"), silent, Warn, "could not be read, so its handler was not checked: no answer"},
		{"nothing to deny, nobody is asked", class("runc"), func(context.Context, string) (*nodev1.RuntimeClass, error) { panic("asked") }, Allow, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gate := &Gate{Rules: noRules, MaxAction: Deny, Index: onePlainNode(), Class: tt.cached, LiveClass: tt.live, Classes: noClasses, Now: func() time.Time { return reportNow }}
			reviewer := &PodReviewer{Gate: gate, Decided: undecided}
			got, told := review(t, reviewer, admissionv1.Create, pod, nil)
			if got != tt.want || !strings.Contains(told, tt.text) {
				t.Errorf("%s %q; want %s with %q", got, told, tt.want, tt.text)
			}
		})
	}
}

// A class that is not in the cache may have been created a moment ago.
func TestClassLookup(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "runtimeclasses"}, "gpu")
	found := func(handler string) readerFunc {
		return func(obj client.Object) error {
			obj.(*nodev1.RuntimeClass).Handler = handler
			return nil
		}
	}
	failing := func(err error) readerFunc { return func(client.Object) error { return err } }
	tests := []struct {
		name         string
		cached, live readerFunc
		handler      string
		err          bool
	}{
		{"in the cache", found("cached"), failing(errors.New("asked")), "cached", false},
		{"created a moment ago", failing(notFound), found("live"), "live", false},
		{"not there", failing(notFound), failing(notFound), "", true},
		{"the cache is at fault", failing(errors.New("not started")), found("live"), "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class, err := orLive(classesOf(tt.cached), classesOf(tt.live))(context.Background(), "gpu")
			if (err != nil) != tt.err || err == nil && class.Handler != tt.handler {
				t.Errorf("%v, %v", class, err)
			}
		})
	}
}
