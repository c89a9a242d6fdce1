package webhook

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An apiServer lists objects as the real one does, page by page.
type apiServer struct {
	objects []client.Object
	fails   map[string]error // by kind
	asked   []string
	// answer is called before each answer.
	answer func(ctx context.Context) error
	// generous: it gives more than it is asked for.
	generous bool
}

func (s *apiServer) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
	s.asked = append(s.asked, fmt.Sprintf("%s/%s %d", options.Namespace, kind, options.Limit))
	if s.answer != nil {
		if err := s.answer(ctx); err != nil {
			return err
		}
	}
	if err := s.fails[kind]; err != nil {
		return err
	}
	var all []runtime.Object
	for _, object := range s.objects {
		if reflect.TypeOf(object).Elem().Name() == kind && (options.Namespace == "" || options.Namespace == object.GetNamespace()) {
			all = append(all, object)
		}
	}
	start, _ := strconv.Atoi(options.Continue)
	end := min(len(all), start+int(options.Limit))
	if s.generous {
		end = len(all)
	}
	if end < len(all) {
		list.SetContinue(strconv.Itoa(end))
	}
	page := all[start:end]
	for i := range page {
		page[i] = page[i].DeepCopyObject()
	}
	return meta.SetList(list, page)
}

// atOnce runs a test with a clock that moves only while all wait, so that the
// bound of time is reached when it is meant to, on a busy machine too.
func atOnce(test func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// manyPods are Pods with a class in a namespace.
func manyPods(n int, namespace, class string) []client.Object {
	var pods []client.Object
	for i := range n {
		pods = append(pods, podNamed(namespace, fmt.Sprintf("p-%04d", i), class))
	}
	return pods
}

func podNamed(namespace, name, class string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	pod.Spec.NodeName = "n1"
	if class != "" {
		pod.Spec.RuntimeClassName = &class
	}
	return pod
}

func templateFor(class string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{RuntimeClassName: &class}}
}

func inML(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ml", Name: name}
}

func madeBy(kind, name string) metav1.ObjectMeta {
	controller := true
	m := inML(name + "-1")
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: kind, Name: name, Controller: &controller}}
	return m
}

// everyKind is one object of every kind that a survey lists, and those that it
// passes over.
func everyKind(class string) []client.Object {
	finished := podNamed("ml", "finished", class)
	finished.Status.Phase = corev1.PodSucceeded
	failed := podNamed("ml", "failed", class)
	failed.Status.Phase = corev1.PodFailed
	done := &batchv1.Job{ObjectMeta: inML("done"), Spec: batchv1.JobSpec{Template: templateFor(class)}}
	done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	cron := &batchv1.CronJob{ObjectMeta: inML("cron")}
	cron.Spec.JobTemplate.Spec.Template = templateFor(class)
	cron.Status.Active = []corev1.ObjectReference{{Name: "cron-1"}}
	return []client.Object{
		podNamed("ml", "pod", class), finished, failed,
		&appsv1.Deployment{ObjectMeta: inML("deploy"), Spec: appsv1.DeploymentSpec{Template: templateFor(class)}},
		&appsv1.StatefulSet{ObjectMeta: inML("sts"), Spec: appsv1.StatefulSetSpec{Template: templateFor(class)}},
		&appsv1.DaemonSet{ObjectMeta: inML("ds"), Spec: appsv1.DaemonSetSpec{Template: templateFor(class)}},
		cron,
		&batchv1.Job{ObjectMeta: inML("job"), Spec: batchv1.JobSpec{Template: templateFor(class)}}, done,
		&batchv1.Job{ObjectMeta: madeBy("CronJob", "cron"), Spec: batchv1.JobSpec{Template: templateFor(class)}},
		&appsv1.ReplicaSet{ObjectMeta: inML("rs"), Spec: appsv1.ReplicaSetSpec{Template: templateFor(class)}},
		&appsv1.ReplicaSet{ObjectMeta: madeBy("Deployment", "deploy"), Spec: appsv1.ReplicaSetSpec{Template: templateFor(class)}},
	}
}

func TestSurveySeesWhatMakesPods(t *testing.T) { atOnce(testSees)(t) }

func testSees(t *testing.T) {
	live := &apiServer{objects: everyKind("kata")}
	var seen []string
	reached := survey(t.Context(), live, []string{""}, func(_ context.Context, u *user) {
		seen = append(seen, fmt.Sprintf("%s %s %s", u.kind, u.name, *u.pod.Spec.RuntimeClassName))
		if u.kind == "DaemonSet" && leniency(u.pod) != OfDaemonSet {
			t.Error("the Pods of a DaemonSet's template are judged as others")
		}
	})
	want := []string{"Pod pod kata", "Deployment deploy kata", "StatefulSet sts kata", "DaemonSet ds kata", "CronJob cron kata", "Job job kata", "ReplicaSet rs kata"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if reached.looked != len(live.objects) || reached.cut || reached.err != nil {
		t.Errorf("reached %+v", reached)
	}
}

func TestSurveyBounds(t *testing.T) {
	slow := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	slowAfter := func(n int) func(context.Context) error {
		return func(ctx context.Context) error {
			if n--; n < 0 {
				return slow(ctx)
			}
			return nil
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: inML("d")}
	tests := []struct {
		name   string
		live   apiServer
		looked int
		cut    bool
		pages  int
	}{
		{"nothing there", apiServer{}, 0, false, 7},
		{"a page that is just full", apiServer{objects: manyPods(500, "ml", "")}, 500, false, 7},
		{"one more", apiServer{objects: manyPods(501, "ml", "")}, 501, false, 8},
		{"all that it may look at, and other kinds to come", apiServer{objects: manyPods(3000, "ml", "")}, 3000, true, 6},
		{"more Pods than it may look at", apiServer{objects: manyPods(3001, "ml", "")}, 3000, true, 6},
		{"the last page is smaller", apiServer{objects: append(manyPods(2999, "ml", ""), deployment, deployment)}, 3000, true, 7},
		{"an API server that heeds no limit", apiServer{objects: manyPods(4000, "ml", ""), generous: true}, 3000, true, 1},
		{"no answer in time", apiServer{answer: slow}, 0, true, 1},
		{"the second page takes too long", apiServer{objects: manyPods(700, "ml", ""), answer: slowAfter(1)}, 500, true, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, atOnce(func(t *testing.T) {
			start, visits := time.Now(), 0
			reached := survey(t.Context(), &tt.live, []string{""}, func(context.Context, *user) { visits++ })
			if reached.looked != tt.looked || visits != tt.looked || reached.cut != tt.cut || reached.err != nil || len(tt.live.asked) != tt.pages {
				t.Errorf("%+v, %d visits, asked %q; want %d looked at, cut %t, %d pages", reached, visits, tt.live.asked, tt.looked, tt.cut, tt.pages)
			}
			if took := time.Since(start); took > surveyTime {
				t.Errorf("took %s", took)
			}
		}))
	}
}

func TestSurveyGoesOnAfterAnError(t *testing.T) { atOnce(testGoesOn)(t) }

func testGoesOn(t *testing.T) {
	live := &apiServer{objects: everyKind("kata"), fails: map[string]error{"StatefulSet": errors.New("forbidden"), "Job": errors.New("gone")}}
	var seen []string
	reached := survey(t.Context(), live, []string{"ml", "web"}, func(_ context.Context, u *user) { seen = append(seen, u.kind) })
	if reached.err == nil || reached.err.Error() != "list statefulsets.apps: forbidden" {
		t.Errorf("error %v", reached.err)
	}
	if want := []string{"Pod", "Deployment", "DaemonSet", "CronJob", "ReplicaSet"}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
}

func TestClassDeletion(t *testing.T) {
	tests := []struct {
		name string
		live apiServer
		want []string
	}{
		{"nothing uses it", apiServer{objects: everyKind("other")}, nil},
		{"one of every kind", apiServer{objects: everyKind("kata")}, []string{
			`RuntimeClass "kata" is still used by 1 Pod, 1 Deployment, 1 StatefulSet, 1 DaemonSet, 1 CronJob, 1 Job and 1 ReplicaSet (ml/cron, ml/deploy, ml/ds and 4 more); what runs keeps running, but Pods made anew will be rejected`}},
		{"some Pods", apiServer{objects: manyPods(2, "ml", "kata")}, []string{
			`RuntimeClass "kata" is still used by 2 Pods (ml/p-0000, ml/p-0001); what runs keeps running, but Pods made anew will be rejected`}},
		{"more than can be looked at", apiServer{objects: manyPods(4000, "ml", "kata")}, []string{
			`RuntimeClass "kata" is still used by at least 3000 Pods (ml/p-0000, ml/p-0001, ml/p-0002 and 2997 more); only the first 3000 objects were looked at; what runs keeps running, but Pods made anew will be rejected`}},
		{"none among the first", apiServer{objects: manyPods(4000, "ml", "")}, []string{
			`RuntimeClass "kata" is used by none of the first 3000 objects; the others were not looked at`}},
		{"a kind could not be listed", apiServer{objects: manyPods(1, "ml", "kata"), fails: map[string]error{"CronJob": errors.New("no such right")}}, []string{
			`RuntimeClass "kata" is still used by at least 1 Pod (ml/p-0000); what runs keeps running, but Pods made anew will be rejected`,
			`whether RuntimeClass "kata" is still used is not fully known: list cronjobs.batch: no such right`}},
		{"nobody answers", apiServer{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, []string{
			`whether RuntimeClass "kata" is still used is not known: the API server did not answer within 1s`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, atOnce(func(t *testing.T) {
			reviewer := &ClassReviewer{Live: &tt.live, Decided: undecided}
			response, err := reviewer.Review(t.Context(), &admissionv1.AdmissionRequest{
				Operation: admissionv1.Delete, Name: "kata",
				Kind: metav1.GroupVersionKind(nodev1.SchemeGroupVersion.WithKind("RuntimeClass")),
			})
			if err != nil || !response.Allowed {
				t.Fatalf("%+v, %v", response, err)
			}
			if diff := cmp.Diff(tt.want, response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		}))
	}
}
