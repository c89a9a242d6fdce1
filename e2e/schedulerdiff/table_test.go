package schedulerdiff

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// passingKeys are the keys of taints that runtimegate forgives. The Pods of a
// node with one of them wait; they are not lost.
var passingKeys = []string{
	corev1.TaintNodeNotReady,
	corev1.TaintNodeUnreachable,
	corev1.TaintNodeUnschedulable,
	corev1.TaintNodeMemoryPressure,
	corev1.TaintNodeDiskPressure,
	corev1.TaintNodePIDPressure,
	corev1.TaintNodeNetworkUnavailable,
	corev1.TaintNodeOutOfService,
	"node.cloudprovider.kubernetes.io/uninitialized",
	"node.cloudprovider.kubernetes.io/shutdown",
	"ToBeDeletedByClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler",
	"startup-taint.cluster-autoscaler.kubernetes.io/x",
	"status-taint.cluster-autoscaler.kubernetes.io/x",
	"ignore-taint.cluster-autoscaler.kubernetes.io/x",
	"karpenter.sh/unregistered",
	"karpenter.sh/disrupted",
	"karpenter.sh/disruption",
	"node.cilium.io/agent-not-ready",
	"ebs.csi.aws.com/agent-not-ready",
	"efs.csi.aws.com/agent-not-ready",
	"node.cluster.x-k8s.io/uninitialized",
	"cloud.google.com/impending-node-termination",
	"aws-node-termination-handler/spot-itn",
	"aws-node-termination-handler/rebalance-recommendation",
	"readiness.k8s.io/example.com/storage",
}

func roomy(change func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Allocatable = corev1.ResourceList{"pods": resource.MustParse("110"), "cpu": resource.MustParse("8")}
	change(node)
	return node
}

func TestForgivenTaints(t *testing.T) {
	real := newSchedulers()
	for _, key := range passingKeys {
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			p := &pair{Pod: &corev1.Pod{}, Node: roomy(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}}
			})}
			if got := real.off.refusals(p.Pod, p.Node); !slices.Equal(got, []string{names.TaintToleration}) {
				t.Errorf("%s:%s: the scheduler refuses by %v: nothing to forgive", key, effect, got)
			}
			if !ask(p).sure {
				t.Errorf("%s:%s is not forgiven", key, effect)
			}
			p.Pod.Spec.NodeName = p.Node.Name
			if !ask(p).sure {
				t.Errorf("%s:%s is not forgiven for a Pod that names the node", key, effect)
			}
		}
	}
}

func TestForgivenCordon(t *testing.T) {
	p := &pair{Pod: &corev1.Pod{}, Node: roomy(func(n *corev1.Node) { n.Spec.Unschedulable = true })}
	if got := newSchedulers().off.refusals(p.Pod, p.Node); !slices.Equal(got, []string{names.NodeUnschedulable}) {
		t.Errorf("the scheduler refuses by %v: nothing to forgive", got)
	}
	if !ask(p).sure {
		t.Error("a cordon is not forgiven")
	}
}

// A scheduler takes no Pod to a node with no allocatable, "Too many pods". No
// kubelet registers such a node; runtimegate takes it for one not fully told of.
func TestForgivenSilence(t *testing.T) {
	p := &pair{Pod: &corev1.Pod{}, Node: roomy(func(n *corev1.Node) { n.Status.Allocatable = nil })}
	if got := newSchedulers().off.refusals(p.Pod, p.Node); !slices.Equal(got, []string{names.NodeResourcesFit}) {
		t.Errorf("the scheduler refuses by %v: nothing to forgive", got)
	}
	if !ask(p).sure {
		t.Error("no allocatable is not forgiven")
	}
}

// With an extended resource that the node has none of, only a DeviceClass takes
// the Pod there; with too few of it, nothing does.
func TestExtendedResources(t *testing.T) {
	tests := map[string]struct {
		offers      string
		sure, maybe bool
	}{
		"not listed": {"", false, true},
		"none left":  {"0", false, true},
		"too few":    {"1", false, false},
		"enough":     {"2", true, true},
	}
	real := newSchedulers()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pair{Pod: &corev1.Pod{}, Node: roomy(func(n *corev1.Node) {
				if tt.offers != "" {
					n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse(tt.offers)
				}
			})}
			p.Pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
			}}}
			if got := ask(p); got.sure != tt.sure || got.maybe != tt.maybe {
				t.Errorf("got %+v, want %+v", got, tt)
			}
			if got := real.off.refusals(p.Pod, p.Node); (len(got) == 0) != tt.sure {
				t.Errorf("with no DeviceClass the scheduler refuses by %v", got)
			}
			if got := real.onWithDevices.refusals(p.Pod, p.Node); (len(got) == 0) != tt.maybe {
				t.Errorf("with DeviceClasses the scheduler refuses by %v", got)
			}
		})
	}
}

// A Pod with Gt or Lt exists only where the gate is on, so runtimegate may take
// it as on: the API server refuses the Pod otherwise.
func TestComparisonTolerations(t *testing.T) {
	refused := func(on bool) bool {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.TaintTolerationComparisonOperators, on)
		pod := &core.Pod{Spec: core.PodSpec{Tolerations: []core.Toleration{{Key: "sla", Operator: core.TolerationOpGt, Value: "900"}}}}
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
		for _, err := range validation.ValidatePodCreate(pod, options) {
			if err.Field == "spec.tolerations[0].operator" {
				return true
			}
		}
		return false
	}
	if !refused(false) {
		t.Error("the API server takes Gt with the gate off")
	}
	if refused(true) {
		t.Error("the API server refuses Gt with the gate on")
	}
}
