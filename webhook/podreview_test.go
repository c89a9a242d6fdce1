package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

// reviewOf is a review of the creation of a Pod.
func reviewOf(pod string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",` +
		`"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},` +
		`"requestKind":{"group":"","version":"v1","kind":"Pod"},"requestResource":{"group":"","version":"v1","resource":"pods"},` +
		`"namespace":"ml","operation":"CREATE","userInfo":{"username":"ann","uid":"1","groups":["a","b"],"extra":{"k":["v"]}},` +
		`"object":` + pod + `,"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`
}

// What is read of a Pod, all of it.
const fullPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"train-","labels":{"app":"train"},
	"annotations":{"io.kubernetes.cri.untrusted-workload":"true","kubernetes.io/config.mirror":"m","note":"\u00fc"},
	"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u","controller":true,"blockOwnerDeletion":true}]},
	"spec":{"runtimeClassName":"gpu","nodeName":"n1","nodeSelector":{"pool":"gpu","zone":"a"},"hostUsers":false,"priorityClassName":"high",
	"tolerations":[{"key":"gpu","operator":"Exists","effect":"NoSchedule"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
	"affinity":{"podAntiAffinity":{},"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}],
		"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}],"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}},
	"overhead":{"cpu":"250m","memory":"120Mi"},"resources":{"requests":{"cpu":"1"},"limits":{"cpu":2,"memory":"0.5Gi"}},
	"resourceClaims":[{"name":"gpu","resourceClaimName":"gpu"}],"schedulingGates":[{"name":"queue"}],
	"securityContext":{"runAsUser":1,"supplementalGroupsPolicy":"Strict"},
	"initContainers":[{"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}}],
	"containers":[{"name":"main","image":"main","env":[{"name":"runtimeClassName","value":"no"}],
		"ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"path":"/","port":"http"}},"readinessProbe":{"httpGet":{"path":"/","port":80}},
		"resources":{"requests":{"cpu":"1500m","memory":1073741824,"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":1e0}},
		"volumeMounts":[{"name":"a","mountPath":"/a"},{"name":"b","mountPath":"/b","readOnly":true,"recursiveReadOnly":"Enabled"}]}]},"status":{}}`

// typedReview decodes as the handler does without decodePodReview.
func typedReview(body []byte) (*admissionv1.AdmissionReview, *corev1.Pod, error) {
	review, pod := &admissionv1.AdmissionReview{}, &corev1.Pod{}
	if err := json.Unmarshal(body, review); err != nil || review.Request == nil {
		return review, nil, err
	}
	if len(review.Request.Object.Raw) == 0 {
		return review, nil, nil
	}
	return review, pod, json.Unmarshal(review.Request.Object.Raw, pod)
}

// A readPart is all that is read of a review.
type readPart struct {
	Type    metav1.TypeMeta
	Request *admissionv1.AdmissionRequest
	Name    string
	Pod     *corev1.Pod
	Lenient Leniency
}

func readPartOf(review *admissionv1.AdmissionReview, pod *corev1.Pod) readPart {
	part := readPart{Type: review.TypeMeta}
	if req := review.Request; req != nil && req.UID != "" { // else it is refused
		part.Name = nameOf(req)
		part.Request = &admissionv1.AdmissionRequest{UID: req.UID, Kind: req.Kind, SubResource: req.SubResource, Name: req.Name,
			Namespace: req.Namespace, Operation: req.Operation}
		part.Request.UserInfo.Username = req.UserInfo.Username
		if req.DryRun != nil && *req.DryRun {
			part.Request.DryRun = req.DryRun
		}
	}
	if pod != nil {
		part.Lenient = leniency(pod)
		part.Pod = relevant(&corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
		dropWhatSaysNothing(&part.Pod.Spec)
	}
	return part
}

// dropWhatSaysNothing drops what makes no difference to a verdict.
func dropWhatSaysNothing(spec *corev1.PodSpec) {
	inventory.DefaultRequests(spec)
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i].Resources.Limits = nil // they have become requests
		}
	}
	for i := range spec.Tolerations {
		spec.Tolerations[i].TolerationSeconds = nil
	}
	if name := spec.RuntimeClassName; name != nil && *name == "" {
		spec.RuntimeClassName = nil
	}
	if spec.SecurityContext != nil && spec.SecurityContext.SupplementalGroupsPolicy == nil {
		spec.SecurityContext = nil
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		spec.Affinity = nil
	}
	if spec.Resources != nil && len(spec.Resources.Requests)+len(spec.Resources.Limits) == 0 {
		spec.Resources = nil
	}
}

// checkDecoding compares what decodePodReview makes of a body with what
// encoding/json does.
func checkDecoding(t *testing.T, body []byte) (decoded bool) {
	t.Helper()
	typed, pod, err := typedReview(body)
	slim := decodePodReview(body)
	if slim != nil && !json.Valid(body) {
		t.Errorf("%s\nis no JSON, and was decoded", body)
	}
	if slim == nil || err != nil {
		return slim != nil
	}
	var read *corev1.Pod
	if slim.Request != nil {
		read, _ = slim.Request.Object.Object.(*corev1.Pod)
	}
	if diff := cmp.Diff(readPartOf(typed, pod), readPartOf(slim, read), cmpopts.EquateEmpty(), cmp.Comparer(resource.Quantity.Equal)); diff != "" {
		t.Errorf("%s\n(-encoding/json +decodePodReview):\n%s", body, diff)
	}
	return true
}

func TestPodDecoding(t *testing.T) {
	pod := func(spec string) string { return reviewOf(`{"metadata":{},"spec":` + spec + `}`) }
	with := func(old, new string) string { return strings.Replace(reviewOf(fullPod), old, new, 1) }
	tests := map[string]struct {
		body string
		slim bool // it is not left to encoding/json
	}{
		"all that is read":                    {reviewOf(fullPod), true},
		"a Pod with nothing in it":            {reviewOf(`{}`), true},
		"no object":                           {reviewOf(`null`), true},
		"an object that is no object":         {reviewOf(`[]`), false},
		"null everywhere":                     {reviewOf(`{"metadata":null,"spec":null,"status":null}`), true},
		"null in metadata":                    {reviewOf(`{"metadata":{"annotations":null,"ownerReferences":null,"generateName":null}}`), true},
		"null in the spec":                    {pod(`{"runtimeClassName":null,"nodeName":null,"nodeSelector":null,"tolerations":null,"affinity":null,"overhead":null,"resources":null,"hostUsers":null,"containers":null,"securityContext":null}`), true},
		"null in lists":                       {pod(`{"tolerations":[null],"containers":[null,{"resources":null,"volumeMounts":[null]},{"volumeMounts":null}],"schedulingGates":[null],"resourceClaims":[null]}`), true},
		"null in maps":                        {pod(`{"nodeSelector":{"a":null},"overhead":{"cpu":null}}`), true},
		"a null owner":                        {reviewOf(`{"metadata":{"ownerReferences":[null]}}`), true},
		"a null annotation that is read":      {reviewOf(`{"metadata":{"annotations":{"kubernetes.io/config.mirror":null}}}`), true},
		"an annotation with escapes":          {reviewOf(`{"metadata":{"annotations":{"kubernetes.io\/config.mirror":"m"}}}`), false},
		"an annotation in capitals":           {reviewOf(`{"metadata":{"annotations":{"KUBERNETES.IO/config.mirror":"m"}}}`), true},
		"empty lists":                         {pod(`{"tolerations":[],"containers":[],"nodeSelector":{},"overhead":{},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}}`), true},
		"names in capitals":                   {reviewOf(`{"Metadata":{"GENERATENAME":"a"},"SPEC":{"RuntimeClassname":"gpu","containerſ":[{"Resources":{"LIMITS":{"cpu":"1"}}}]}}`), false},
		"names with delimiters":               {reviewOf(`{"spec":{"runtime_class_name":"gpu","node-name":"n"}}`), true},
		"names with escapes":                  {reviewOf(`{"sp\u0065c":{"runtimeClassName":"g\u0070u\u00fc"}}`), false},
		"a name twice":                        {reviewOf(`{"spec":{"nodeName":"a","nodeName":"b"}}`), false},
		"a name twice, in capitals":           {reviewOf(`{"spec":{"nodeName":"a"},"Spec":{"runtimeClassName":"b"}}`), false},
		"a label twice":                       {reviewOf(`{"spec":{"nodeSelector":{"a":"1","a":"2"}}}`), true},
		"an annotation twice":                 {reviewOf(`{"metadata":{"annotations":{"kubernetes.io/config.mirror":"1","kubernetes.io/config.mirror":"2"}}}`), true},
		"a name twice where nothing is read":  {reviewOf(`{"status":{"phase":"a","phase":"b"}}`), true},
		"bytes that are not UTF-8":            {pod("{\"nodeName\":\"a\xff\"}"), true},
		"half a surrogate":                    {pod(`{"nodeName":"\ud800"}`), true},
		"quantities as numbers":               {pod(`{"overhead":{"cpu":1,"memory":1.5e3,"a/b":-1},"containers":[{"resources":{"requests":{"cpu":0.1}}}]}`), true},
		"a quantity that is none":             {pod(`{"overhead":{"cpu":"much"}}`), false},
		"a quantity that is an object":        {pod(`{"overhead":{"cpu":{}}}`), false},
		"a number for a text":                 {pod(`{"nodeName":1}`), false},
		"a text for a bool":                   {pod(`{"hostUsers":"false"}`), false},
		"very deep":                           {reviewOf(`{"status":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`), true},
		"too deep":                            {reviewOf(`{"status":` + strings.Repeat("[", 11000) + strings.Repeat("]", 11000) + `}`), false},
		"more behind it":                      {reviewOf(fullPod) + "{}", false},
		"spaces around it":                    {" \n" + reviewOf(fullPod) + "\t ", true},
		"a byte order mark":                   {"\ufeff" + reviewOf(fullPod), false},
		"cut short":                           {reviewOf(fullPod)[:900], false},
		"no JSON":                             {"nodeName: a", false},
		"null":                                {"null", true},
		"nothing":                             {"", false},
		"another apiVersion":                  {with("admission.k8s.io/v1", "admission.k8s.io/v1beta1"), true},
		"another apiVersion of the Pod":       {with(`"apiVersion":"v1"`, `"apiVersion":"v9"`), true},
		"an update":                           {with("CREATE", "UPDATE"), true},
		"a subresource":                       {with(`"namespace"`, `"subResource":"status","namespace"`), true},
		"a dry run":                           {with(`"dryRun":false`, `"dryRun":true`), true},
		"dry run not said":                    {with(`"dryRun":false`, `"dryRun":null`), true},
		"a name":                              {with(`"namespace"`, `"name":"train-1","namespace"`), true},
		"no request":                          {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, true},
		"a field of the future":               {with(`"hostUsers"`, `"handlerOfTomorrow":{"a":[1]},"hostUsers"`), true},
		"an empty recursiveReadOnly":          {pod(`{"containers":[{"volumeMounts":[{"recursiveReadOnly":""},{"recursiveReadOnly":null},{"recursiveReadOnly":"IfPossible"}]}]}`), true},
		"no name where one has to be":         {pod(`{"overhead":{null:1}}`), false},
		"a comma too much":                    {pod(`{"containers":[{},]}`), false},
		"a comma too little":                  {pod(`{"containers":[{}{}]}`), false},
		"a number that is none":               {reviewOf(`{"status":{"a":01}}`), false},
		"a literal that is none":              {reviewOf(`{"status":{"a":nul}}`), false},
		"an escape that is none":              {reviewOf(`{"status":{"a":"\x"}}`), false},
		"a line break in a text":              {reviewOf("{\"status\":\"a\nb\"}"), false},
		"an escape at the end":                {`{"kind":"\`, false},
		"numbers of all kinds":                {reviewOf(`{"status":[0,-1,1.5e-7,true,false,null,"\u00e9\n"]}`), true},
		"a name in other letters, not read":   {reviewOf(`{"KIND":"Pod","Status":{}}`), true},
		"mounts that are none":                {pod(`{"containers":[{"volumeMounts":{}}]}`), false},
		"annotations that are none":           {reviewOf(`{"metadata":{"annotations":[]}}`), false},
		"an affinity that requires nothing":   {pod(`{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}}}`), true},
		"a security context that says little": {pod(`{"securityContext":{}}`), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := checkDecoding(t, []byte(tt.body)); got != tt.slim {
				t.Errorf("decoded: %t, want %t", got, tt.slim)
			}
		})
	}
}

// FuzzPodDecoding: what encoding/json can decode is decoded to the same, or left
// to it.
func FuzzPodDecoding(f *testing.F) {
	f.Add(reviewOf(fullPod))
	f.Add(reviewOf(`{"Spec":{"nodeName":"a","NODENAME":null},"metadata":{"annotations":{"kubernetes.io/config.mirror":""}}}`))
	f.Add(reviewOf(`{"spec":{"containers":[{"resources":{"limits":{"cpu":0.5,"memory":"1e3"}},"volumeMounts":[{"recursiveReadOnly":"Enabled"}]}]}}`))
	f.Fuzz(func(t *testing.T, body string) {
		checkDecoding(t, []byte(body))
	})
}

// The handler says the same with and without decodePodReview.
func TestPodReviewsAreAnsweredAlike(t *testing.T) {
	classes := map[string]string{"gpu": "nvidia", "typo": "nvidia-typo", "runc": "runc"}
	gate := gateFor(andTaintedGPUNode(onePlainNode()), classes)
	var lines []string
	reviewer := &PodReviewer{Gate: gate, Decided: func(req *admissionv1.AdmissionRequest, verdict Verdict) {
		lines = append(lines, fmt.Sprint(nameOf(req), " ", req.Kind, " ", req.UserInfo.Username, *req.DryRun, " ", verdict.Action()))
	}}
	with := func(old, new string) string { return strings.ReplaceAll(reviewOf(fullPod), old, new) }
	class := func(name string) string { return reviewOf(`{"spec":{"runtimeClassName":"` + name + `"}}`) }
	for name, body := range map[string]string{
		"all that is read": reviewOf(fullPod), "allowed": class("runc"), "warned of": class("gpu"), "denied": class("typo"),
		"denied, with the name to come": reviewOf(`{"metadata":{"generateName":"a-"},"spec":{"runtimeClassName":"typo"}}`),
		"no class":                      reviewOf(`{}`), "no Pod": reviewOf(`[]`), "no object": reviewOf(`null`),
		"an update": with("CREATE", "UPDATE"), "another kind": with(`"kind":"Pod"`, `"kind":"Node"`), "no uid": with("705ab4f5-6393-11e8-b7cc-42010a800002", ""),
		"a uid with signs": with("705ab4f5-6393-11e8-b7cc-42010a800002", `<\"ü>`), "another version": with("admission.k8s.io/v1", "v1"), "cut short": reviewOf(fullPod)[:900],
	} {
		t.Run(name, func(t *testing.T) {
			answer := func(decode func([]byte) *admissionv1.AdmissionReview) (*httptest.ResponseRecorder, []string) {
				lines = nil
				handler := &reviewHandler{reviewer: reviewer, decode: decode, ready: func() bool { return true }, took: untimed, log: logr.Discard()}
				return post(handler, http.MethodPost, "application/json", body), lines
			}
			want, wantLines := answer(nil)
			got, gotLines := answer(decodePodReview)
			if diff := cmp.Diff(want.Body.String(), got.Body.String()); diff != "" || got.Code != want.Code || got.Header().Get("Content-Type") != want.Header().Get("Content-Type") {
				t.Errorf("%d, want %d; (-typed +slim):\n%s", got.Code, want.Code, diff)
			}
			if diff := cmp.Diff(wantLines, gotLines); diff != "" {
				t.Errorf("decisions (-typed +slim):\n%s", diff)
			}
		})
	}
}

// gateFor is a Gate of nodes, and of RuntimeClasses by the names of their handlers.
func gateFor(index *inventory.Index, classes map[string]string) *Gate {
	find := func(_ context.Context, name string) (*nodev1.RuntimeClass, error) {
		if handler, ok := classes[name]; ok {
			return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: handler}, nil
		}
		return nil, apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)
	}
	return &Gate{Index: index, Class: find, LiveClass: find, Classes: noClasses, Rules: noRules, MaxAction: Deny, Now: func() time.Time { return reportNow }}
}

// podBody is a review of a Pod of that size, which is allowed by benchGate.
func podBody(tb testing.TB, size string) []byte {
	pod, err := os.ReadFile("testdata/pod-" + size + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(reviewOf(string(pod)))
}

func benchGate() *Gate {
	index := inventory.NewIndex(inventory.DefaultOptions)
	index.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelOSStable: "linux"}},
		Status:     corev1.NodeStatus{RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: "runc"}}},
	})
	return gateFor(index, map[string]string{"bench": "runc"})
}

// A review must not allocate as much as the Pod is large.
func TestPodReviewAllocatesLittle(t *testing.T) {
	reviewer := &PodReviewer{Gate: benchGate(), Decided: undecided}
	for size, most := range map[string]float64{"4KiB": 50, "32KiB": 130} {
		body := podBody(t, size)
		got := testing.AllocsPerRun(100, func() {
			response, err := reviewer.Review(t.Context(), decodePodReview(body).Request)
			if err != nil || !isPlain(response) {
				t.Fatal(response, err)
			}
		})
		if got > most {
			t.Errorf("%s: %g allocations, want at most %g", size, got, most)
		}
	}
}

// BenchmarkPodReview reviews Pods, from the bytes of a request to those of its
// answer.
func BenchmarkPodReview(b *testing.B) {
	reviewer := &PodReviewer{Gate: benchGate(), Decided: record("pods", logr.Discard())}
	for _, size := range []string{"4KiB", "32KiB"} {
		body := podBody(b, size)
		for name, decode := range map[string]func([]byte) *admissionv1.AdmissionReview{"slim": decodePodReview, "typed": nil} {
			handler := &reviewHandler{reviewer: reviewer, decode: decode, ready: func() bool { return true }, took: untimed, log: logr.Discard()}
			b.Run(size+"/"+name, func(b *testing.B) {
				reader := bytes.NewReader(body)
				request := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(reader))
				request.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				b.ReportAllocs()
				for b.Loop() {
					reader.Reset(body)
					recorder.Body.Reset()
					handler.ServeHTTP(recorder, request)
				}
				if recorder.Code != http.StatusOK || !strings.Contains(recorder.Body.String(), `"allowed":true}`) {
					b.Fatal(recorder.Code, recorder.Body)
				}
			})
		}
	}
}
