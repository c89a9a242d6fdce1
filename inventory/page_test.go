package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// listedNodes are of all kinds that a page may have.
func listedNodes() *corev1.NodeList {
	at := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	whole := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "u-a", ResourceVersion: "7", Generation: 3, CreationTimestamp: at, Finalizers: []string{"f"},
			Labels:      map[string]string{corev1.LabelHostname: "a", "zone": "z", "empty": ""},
			Annotations: map[string]string{"long": "text"}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}},
		},
		Spec: corev1.NodeSpec{PodCIDR: "10.0.0.0/24", ProviderID: "aws:///i", Unschedulable: true, Taints: []corev1.Taint{
			{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &at},
		}},
		Status: corev1.NodeStatus{
			Capacity:        corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Allocatable:     corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3920m"), "nvidia.com/gpu": resource.MustParse("8")},
			RuntimeHandlers: []corev1.NodeRuntimeHandler{{}, {Name: "runc", Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: new(true)}}},
			Features:        &corev1.NodeFeatures{SupplementalGroupsPolicy: new(true)},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: at},
				{Type: HandlersReady, Status: corev1.ConditionFalse, Reason: "Missing", Message: "nvidia", LastTransitionTime: at, LastHeartbeatTime: at},
			},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.37.2"}, Images: []corev1.ContainerImage{{Names: []string{"image"}}},
		},
	}
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more", RemainingItemCount: new(int64(5))}}
	for i := range 5 {
		n := whole.DeepCopy()
		n.Name = fmt.Sprint("a", i)
		n.Labels[corev1.LabelHostname] = n.Name
		switch i {
		case 2:
			n.Spec.Taints, n.Status.RuntimeHandlers, n.Status.Features = nil, nil, nil
		case 3:
			n.Status = corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status."}}}
		case 4:
			n.Spec, n.Status.Allocatable = corev1.NodeSpec{}, nil
		}
		list.Items = append(list.Items, *n)
	}
	return list
}

// asProtobuf writes an object as an API server does.
func asProtobuf(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func nodesAsProtobuf(t testing.TB) []byte {
	list := listedNodes()
	list.APIVersion, list.Kind = "v1", "NodeList"
	return asProtobuf(t, list)
}

// compareNodePages compares a page that is read at once with the whole of it, of which
// then what is not used is dropped.
func compareNodePages(t *testing.T, body []byte) {
	t.Helper()
	k := &keeper{}
	got, err := k.nodePage(body)
	if err != nil {
		return // it is read as client-go does
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), body)
	if err != nil {
		return // of what is not used
	}
	want := object.(*corev1.NodeList)
	want.TypeMeta = metav1.TypeMeta{}
	for i := range want.Items {
		want.Items[i].Annotations = map[string]string{"not": "kept yet"}
		want.Items[i] = *k.node(&want.Items[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q: (-want +got)\n%s", body, diff)
	}
}

func TestNodePageIsAsDecoded(t *testing.T) {
	body := nodesAsProtobuf(t)
	list, err := (&keeper{}).nodePage(body)
	if err != nil || len(list.Items) != 5 || list.Continue != "more" {
		t.Fatalf("%v, %+v", err, list)
	}
	compareNodePages(t, body)
}

// TestNodePageRefuses: what is no page of Nodes is not taken for one of none.
func TestNodePageRefuses(t *testing.T) {
	body := nodesAsProtobuf(t)
	for name, body := range map[string][]byte{
		"nothing":      nil,
		"only magic":   protobufMagic,
		"JSON":         []byte(`{"kind":"NodeList","apiVersion":"v1","items":[]}`),
		"cut off":      body[:len(body)-100],
		"another kind": asProtobuf(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}),
		"a status":     asProtobuf(t, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure}),
	} {
		if list, err := (&keeper{}).nodePage(body); err == nil {
			t.Errorf("%s: read %+v", name, list)
		}
	}
}

func FuzzNodePage(f *testing.F) {
	f.Add(nodesAsProtobuf(f))
	one := listedNodes()
	one.Items = one.Items[1:2]
	one.APIVersion, one.Kind = "v1", "NodeList"
	f.Add(asProtobuf(f, one))
	f.Fuzz(compareNodePages)
}

// reportsPage is a page of reports, of which each has what the given ones have.
func reportsPage(specs ...string) string {
	items := make([]string, len(specs))
	for i, spec := range specs {
		items[i] = strings.Replace(spec, `"name":"a"`, fmt.Sprintf(`"name":"a%d"`, i), 1)
	}
	return `{"apiVersion":"runtimegate.io/v1alpha1","kind":"NodeRuntimeList","metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3},"items":[` + strings.Join(items, ",") + "]}\n"
}

// object is that of an event.
func object(line string) string {
	return strings.TrimSuffix(strings.TrimPrefix(line, `{"type":"ADDED","object":`), "}")
}

// compareReportPages compares a page that is read at once with one that client-go reads.
func compareReportPages(t *testing.T, body string) {
	t.Helper()
	k := &keeper{}
	got, err := k.reportPage([]byte(body))
	if err != nil {
		return
	}
	object, err := runtime.Decode(streamCodecs(t).UniversalDeserializer(), []byte(body))
	if err != nil {
		return // of what is not used
	}
	want := object.(*v1alpha1.NodeRuntimeList)
	for i := range want.Items {
		want.Items[i].Annotations = map[string]string{"not": "kept yet"}
		want.Items[i] = *k.report(&want.Items[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%.3000q: (-want +got)\n%s", body, diff)
	}
}

func TestReportPageIsAsDecoded(t *testing.T) {
	for name, line := range streamed {
		if !strings.HasPrefix(line, `{"type":"ADDED","object":{`) || !json.Valid([]byte(line)) {
			continue
		}
		t.Run(name, func(t *testing.T) { compareReportPages(t, reportsPage(object(line), object(reportLine), object(line))) })
	}
	list, err := (&keeper{}).reportPage([]byte(reportsPage(object(reportLine), object(reportLine))))
	if err != nil || len(list.Items) != 2 || list.Continue != "more" || len(list.Items[1].Spec.Handlers) != 2 {
		t.Fatalf("%v, %+v", err, list)
	}
	if &list.Items[0].Spec.Handlers[0] != &list.Items[1].Spec.Handlers[0] {
		t.Error("equal handlers are kept twice")
	}
}

func FuzzReportPage(f *testing.F) {
	f.Add(reportsPage(object(reportLine), object(reportLine)))
	f.Fuzz(func(t *testing.T, body string) { compareReportPages(t, body) })
}

// BenchmarkPages compares how pages are read with how client-go decodes them.
func BenchmarkPages(b *testing.B) {
	nodes, reports := nodesAsProtobuf(b), []byte(reportsPage(object(reportLine), object(reportLine), object(reportLine)))
	k := &keeper{}
	for name, read := range map[string]func() error{
		"Nodes": func() error { _, err := k.nodePage(nodes); return err },
		"Nodes by client-go": func() error {
			_, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), nodes)
			return err
		},
		"NodeRuntimes": func() error { _, err := k.reportPage(reports); return err },
		"NodeRuntimes by client-go": func() error {
			_, err := runtime.Decode(streamCodecs(b).UniversalDeserializer(), reports)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
