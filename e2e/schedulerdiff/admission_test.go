package schedulerdiff

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/webhook"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	api "k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"

	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"sigs.k8s.io/yaml"
)

// An admissionPlugin is the API server's own RuntimeClass admission.
type admissionPlugin struct {
	plugin  *runtimeclass.RuntimeClass
	classes informers.SharedInformerFactory
}

func newAdmissionPlugin() *admissionPlugin {
	// No client: every class is in the informer's store.
	a := &admissionPlugin{plugin: runtimeclass.NewRuntimeClass(), classes: informers.NewSharedInformerFactory(nil, 0)}
	a.plugin.SetExternalKubeInformerFactory(a.classes)
	a.plugin.SetReadyFunc(func() bool { return true })
	return a
}

// admit does to a Pod what the plugin does; nil, if it rejects it.
func (a *admissionPlugin) admit(t *testing.T, pod *corev1.Pod, class *nodev1.RuntimeClass) *corev1.Pod {
	t.Helper()
	store := a.classes.Node().V1().RuntimeClasses().Informer().GetStore()
	if class != nil {
		if err := store.Replace([]any{class}, ""); err != nil {
			t.Fatal(err)
		}
	}
	internal := &api.Pod{}
	if err := corev1defaults.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), internal, nil); err != nil {
		t.Fatal(err)
	}
	attributes := admission.NewAttributesRecord(internal, nil, api.Kind("Pod").WithVersion("version"), "", "", api.Resource("pods").WithVersion("version"), "", admission.Create, nil, false, nil)
	if a.plugin.Admit(context.Background(), attributes, nil) != nil || a.plugin.Validate(context.Background(), attributes, nil) != nil {
		return nil
	}
	podutil.DefaultPodLevelResources(internal) // done when the Pod is stored
	admitted := &corev1.Pod{}
	if err := corev1defaults.Convert_core_Pod_To_v1_Pod(internal, admitted, nil); err != nil {
		t.Fatal(err)
	}
	return admitted
}

// class makes a RuntimeClass, whose scheduling may conflict with Pods'.
func (g generator) class() *nodev1.RuntimeClass {
	class := &nodev1.RuntimeClass{Handler: handler}
	class.Name = "class"
	if g.chance(50) {
		class.Overhead = &nodev1.Overhead{PodFixed: g.requests(30)}
	}
	if g.chance(70) {
		class.Scheduling = &nodev1.Scheduling{Tolerations: some(g, 3, g.toleration)}
		for range g.IntN(3) {
			key := pick(g, anyLabelKeys[1:])
			if class.Scheduling.NodeSelector == nil {
				class.Scheduling.NodeSelector = map[string]string{}
			}
			class.Scheduling.NodeSelector[key] = pick(g, labels[key])
		}
	}
	return class
}

// TestMergesAndDefaultsLikeTheAPIServer makes of a template the Pod that the API
// server makes of it: requests by default, and a RuntimeClass merged into it.
func TestMergesAndDefaultsLikeTheAPIServer(t *testing.T) {
	t.Logf("seed %d, %d Pods", *seed, *pairs)
	plugin := newAdmissionPlugin()
	var admitted, rejected int
	for i := range *pairs {
		g := generator{rand.New(rand.NewPCG(*seed, uint64(i)))}
		template, class := g.template(), g.class()
		if template.Spec.Resources != nil {
			dropHugePages(template)
		}
		template.Spec.RuntimeClassName = &class.Name
		if g.chance(10) {
			template.Spec.RuntimeClassName, class = nil, nil
		} else if class.Overhead != nil && g.chance(50) {
			template.Spec.Overhead = class.Overhead.DeepCopy().PodFixed
		}

		got := template.DeepCopy()
		inventory.DefaultRequests(&got.Spec)
		err := webhook.MergeClass(&got.Spec, class)

		defaulted := template.DeepCopy()
		corev1defaults.SetDefaults_Pod(defaulted)
		want := plugin.admit(t, defaulted, class)
		if (err == nil) != (want != nil) {
			t.Fatalf("Pod %d: runtimegate says %v, the API server admits it: %t\n%s", i, err, want != nil, shown(template, class))
		}
		if want == nil {
			rejected++
			continue
		}
		admitted++
		if diff := difference(got, want); diff != "" {
			t.Fatalf("Pod %d (-API server +runtimegate):\n%s\n%s", i, diff, shown(template, class))
		}
	}
	t.Logf("%d admitted, %d rejected, 0 differences", admitted, rejected)
	if admitted < *pairs/10 || rejected < *pairs/10 {
		t.Errorf("%d admitted and %d rejected of %d Pods prove little", admitted, rejected, *pairs)
	}
}

// dropHugePages drops requests that the API server would refuse in a Pod that
// has resources of its own: huge pages without a limit that equals them.
func dropHugePages(pod *corev1.Pod) {
	const name = "hugepages-2Mi"
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			delete(containers[i].Resources.Requests, name)
			delete(containers[i].Resources.Limits, name)
		}
	}
}

// difference compares what decides where a Pod may land.
func difference(got, want *corev1.Pod) string {
	if !equality.Semantic.DeepEqual(want.Spec.NodeSelector, got.Spec.NodeSelector) {
		return cmp.Diff(want.Spec.NodeSelector, got.Spec.NodeSelector)
	}
	if !equality.Semantic.DeepEqual(want.Spec.Overhead, got.Spec.Overhead) {
		return cmp.Diff(want.Spec.Overhead, got.Spec.Overhead)
	}
	requests := func(pod *corev1.Pod) corev1.ResourceList {
		return resourcehelper.PodRequests(pod.DeepCopy(), resourcehelper.PodResourcesOptions{})
	}
	if !equality.Semantic.DeepEqual(requests(want), requests(got)) {
		return cmp.Diff(requests(want), requests(got))
	}
	// The API server drops tolerations that others make redundant.
	for _, key := range append(lastingKeys, "") {
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			for _, value := range taintValues {
				taint := &corev1.Taint{Key: key, Value: value, Effect: effect}
				tolerated := func(pod *corev1.Pod) bool {
					return schedulinghelper.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, taint, true)
				}
				if tolerated(want) != tolerated(got) {
					return "taint " + taint.ToString() + " is tolerated by one of them only"
				}
			}
		}
	}
	return ""
}

func shown(template *corev1.Pod, class *nodev1.RuntimeClass) string {
	text, _ := yaml.Marshal(map[string]any{"template": template, "class": class})
	return string(text)
}
