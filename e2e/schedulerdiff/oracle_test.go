package schedulerdiff

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// A scheduler is the filters of the real one that runtimegate answers like.
type scheduler []fwk.FilterPlugin

// newScheduler makes them with the defaults of 1.37, but for the operators Gt
// and Lt of tolerations, and for whether every extended resource has a
// DeviceClass.
func newScheduler(compareTaints, deviceClasses bool) scheduler {
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	features.EnableTaintTolerationComparisonOperators = compareTaints
	handle := &handle{devices: deviceClasses}
	var s scheduler
	add := func(plugin fwk.Plugin, err error) {
		if err != nil {
			panic(err)
		}
		s = append(s, plugin.(fwk.FilterPlugin))
	}
	ctx := context.Background()
	add(nodename.New(ctx, nil, handle, features))
	add(nodeunschedulable.New(ctx, nil, handle, features))
	add(tainttoleration.New(ctx, nil, handle, features))
	add(nodeaffinity.New(ctx, &config.NodeAffinityArgs{}, handle, features))
	add(noderesources.NewFit(ctx, &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
		Type:      config.LeastAllocated,
		Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}},
	}}, handle, features))
	return s
}

// refusals returns the names of the plugins that keep the Pod off the node,
// sorted.
func (s scheduler) refusals(pod *corev1.Pod, node *corev1.Node) []string {
	ctx := context.Background()
	info := framework.NewNodeInfo()
	info.SetNode(node)
	state := framework.NewCycleState()
	pod = pod.DeepCopy() // NodeResourcesFit changes it, see inventory's requestsOf
	var names []string
	for _, plugin := range s {
		if !passes(ctx, plugin, state, pod, info) {
			names = append(names, plugin.Name())
		}
	}
	slices.Sort(names)
	return names
}

// passes does with one plugin what the scheduler's framework does.
func passes(ctx context.Context, plugin fwk.FilterPlugin, state fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) bool {
	if pre, ok := plugin.(fwk.PreFilterPlugin); ok {
		result, status := pre.PreFilter(ctx, state, pod, []fwk.NodeInfo{info})
		switch {
		case status.IsSkip():
			return true
		case !status.IsSuccess():
			return false
		case result != nil && !result.AllNodes() && !result.NodeNames.Has(info.Node().Name):
			return false
		}
	}
	return plugin.Filter(ctx, state, pod, info).IsSuccess()
}

// handle is what the plugins need of the scheduler: its DeviceClasses.
type handle struct {
	fwk.Handle
	devices bool
}

func (h *handle) SharedDRAManager() fwk.SharedDRAManager { return (*draManager)(h) }

type draManager handle

func (m *draManager) ResourceClaims() fwk.ResourceClaimTracker     { return nil }
func (m *draManager) ResourceSlices() fwk.ResourceSliceLister      { return nil }
func (m *draManager) DeviceClasses() fwk.DeviceClassLister         { return nil }
func (m *draManager) DeviceClassResolver() fwk.DeviceClassResolver { return m }

// GetDeviceClass answers as if there were a DeviceClass for every name that one
// can be for.
func (m *draManager) GetDeviceClass(name corev1.ResourceName) *resourcev1.DeviceClass {
	if m.devices && schedutil.IsDRAExtendedResourceName(name) {
		return &resourcev1.DeviceClass{}
	}
	return nil
}

// kubeletRefusal returns why the kubelet of a node rejects a Pod that names it,
// "" if it runs it.
func kubeletRefusal(pod *corev1.Pod, node *corev1.Node) string {
	kubelet := lifecycle.NewPredicateAdmitHandler(
		func(context.Context, bool) (*corev1.Node, error) { return node.DeepCopy(), nil },
		noRescue{},
		func(*framework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil })
	result := kubelet.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod.DeepCopy(), Operation: lifecycle.AddOperation})
	if result.Admit {
		return ""
	}
	return strings.TrimSpace(result.Reason + " " + result.Message)
}

// noRescue leaves a rejection as it is: there is no Pod to evict.
type noRescue struct{}

func (noRescue) HandleAdmissionFailure(_ context.Context, _ *corev1.Pod, reasons []lifecycle.PredicateFailureReason, _ lifecycle.Operation) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}
