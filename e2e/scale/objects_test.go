package scale

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// hour is how old all nodes are.
const hour = time.Hour

var nodeCodec = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// name is that of a node.
func name(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255)
}

// isGPU: every tenth node has the NVIDIA handlers.
func isGPU(i int) bool { return i%10 == 0 }

func uid(kind, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, i))
}

// nodeKey and nodeValue are what the API server keeps in etcd of a Node, one of
// about 10 KiB as JSON, as a cloud's is.
func nodeKey(i int) string { return "/registry/minions/" + name(i) }

func nodeValue(i int, now time.Time) (string, error) {
	var b bytes.Buffer
	err := nodeCodec.Encode(node(i, now), &b)
	return b.String(), err
}

func node(i int, now time.Time) *corev1.Node {
	zone, size := "eu-central-1"+string(rune('a'+i%3)), []string{"m6i.4xlarge", "m6i.8xlarge", "c6i.8xlarge", "r6i.4xlarge"}[i/10%4]
	pool := fmt.Sprintf("workers-%d", i%20)
	if isGPU(i) {
		size, pool = "g5.12xlarge", fmt.Sprintf("gpu-%d", i/10%4)
	}
	n := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name(i), UID: uid(1, i), CreationTimestamp: metav1.NewTime(now.Add(-hour)),
			Labels: map[string]string{
				corev1.LabelHostname: name(i), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": size,
				corev1.LabelInstanceTypeStable: size, corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: "eu-central-1",
				"failure-domain.beta.kubernetes.io/zone": zone, "failure-domain.beta.kubernetes.io/region": "eu-central-1",
				"eks.amazonaws.com/nodegroup": pool, "eks.amazonaws.com/capacityType": "ON_DEMAND", "eks.amazonaws.com/nodegroup-image": "ami-0123456789abcdef0",
				"eks.amazonaws.com/sourceLaunchTemplateVersion": "7", "eks.amazonaws.com/sourceLaunchTemplateId": "lt-0fedcba9876543210",
				"k8s.io/cloud-provider-aws": "0123456789abcdef0123456789abcdef", "topology.k8s.aws/zone-id": "euc1-az" + string(rune('1'+i%3)),
				"node.example.org/team": fmt.Sprintf("team-%d", i%8), "node.example.org/environment": "production",
				"topology.ebs.csi.aws.com/zone": zone,
			},
			Annotations: map[string]string{
				"alpha.kubernetes.io/provided-node-ip":                   fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255),
				"csi.volume.kubernetes.io/nodeid":                        fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x","efs.csi.aws.com":"i-%017x"}`, i, i),
				"node.alpha.kubernetes.io/ttl":                           "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
			ManagedFields: []metav1.ManagedFieldsEntry{
				fields("kubelet", "", 1200), fields("kube-controller-manager", "", 500), fields("kubelet", "status", 1800),
			},
		},
		Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///%s/i-%017x", zone, i), PodCIDR: "10.0.0.0/24", PodCIDRs: []string{"10.0.0.0/24"}},
		Status: corev1.NodeStatus{
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"),
				corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"),
			},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: string(uid(2, i)), SystemUUID: string(uid(3, i)), BootID: string(uid(4, i)), KernelVersion: "6.12.1", OSImage: "Linux",
				ContainerRuntimeVersion: "containerd://2.4.2", KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
			},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}, {Type: corev1.NodeHostName, Address: name(i)}},
		},
	}
	if isGPU(i) {
		n.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
		n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("4")
	}
	n.Status.Allocatable = n.Status.Capacity
	for _, handler := range append([]string{""}, handlers(i)...) {
		n.Status.RuntimeHandlers = append(n.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: handler, Features: &corev1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(true), UserNamespaces: new(true),
		}})
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		is := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			is = corev1.ConditionTrue
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: is, LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now), Reason: "KubeletSays", Message: "kubelet has said so",
		})
	}
	for image := range 12 {
		digest := fmt.Sprintf("0123456789ab.dkr.ecr.eu-central-1.amazonaws.com/team/application-%02d@sha256:%064x", image, image)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{digest, strings.Replace(digest, "@sha256:", ":v", 1)[:80]}, SizeBytes: 123456789})
	}
	return n
}

// fields is what server-side apply keeps of a manager, as long as that.
func fields(manager, subresource string, length int) metav1.ManagedFieldsEntry {
	raw := `{"f:metadata":{"f:labels":{`
	for i := range length / 15 {
		raw += fmt.Sprintf(`"f:key%04d":{},`, i)
	}
	raw += `".":{}}}}`
	now := metav1.Now()
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(raw), Subresource: subresource,
	}
}

func handlers(i int) []string {
	if isGPU(i) {
		return []string{"crun", "gvisor", "kata-clh", "kata-fc", "kata-qemu", "nvidia", "nvidia-cdi", "nvidia-legacy", "runc"}
	}
	return []string{"crun", "gvisor", "kata-clh", "kata-fc", "kata-qemu", "kata-snp", "kata-tdx", "runc"}
}

// reportKey and reportValue are what the API server keeps of a NodeRuntime, one of
// about 3 KiB.
func reportKey(i int) string { return "/registry/runtimegate.io/noderuntimes/" + name(i) }

func reportValue(i int, now time.Time, handlers []string) (string, error) {
	started := metav1.NewTime(now.Add(-hour))
	r := &v1alpha1.NodeRuntime{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRuntime"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name(i), UID: uid(5, i), CreationTimestamp: started, Generation: 1,
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "runtimegate-reporter", Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1alpha1.GroupVersion.String(), Time: &started,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
			}},
		},
		Spec: v1alpha1.NodeRuntimeSpec{
			Runtime:        v1alpha1.Runtime{Name: "containerd", Version: "v2.4.2", Endpoint: "unix:///run/containerd/containerd.sock", StartedAt: &started},
			DefaultHandler: "runc",
			Next:           &v1alpha1.Next{Handlers: handlers, DefaultHandler: "runc"},
			CDI:            &v1alpha1.CDI{Enabled: true},
			Summary:        &v1alpha1.Summary{Runtime: "containerd v2.4.2", Handlers: strings.Join(handlers, ",")},
			Source:         v1alpha1.SourceCRI,
			ObservedAt:     metav1.NewTime(now), RenewedAt: metav1.NewTime(now),
		},
	}
	for _, h := range handlers {
		r.Spec.Handlers = append(r.Spec.Handlers, v1alpha1.Handler{
			Name: h, RuntimeType: "io.containerd.runc.v2", Origin: "/etc/containerd/conf.d/99-handlers.toml:12",
			Shim:     &v1alpha1.Program{Path: "/usr/bin/containerd-shim-runc-v2", State: v1alpha1.ProgramFound},
			Binary:   &v1alpha1.Program{Path: "/usr/bin/" + h + "-container-runtime", State: v1alpha1.ProgramFound},
			Features: &v1alpha1.Features{RecursiveReadOnlyMounts: true, UserNamespaces: true},
		})
	}
	content, err := json.Marshal(r)
	return string(content), err
}
