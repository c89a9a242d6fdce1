package main

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/why"
)

// makers are the kinds that make others, in the order in which they are looked
// through: what a ReplicaSet has made is found after the ReplicaSet itself.
var makers = []string{"ReplicaSet", "Job", "Pod"}

// A family is an object and what it has made: by kind and name, the UIDs. An object
// of an earlier life, as of a StatefulSet's Pod web-0, is no member.
type family map[string][]types.UID

// add makes an object a member. The kubelet's Events of a static Pod have the UID
// that its mirror has in an annotation.
func (f family) add(kind string, o client.Object) {
	uids := []types.UID{}
	if uid := o.GetUID(); uid != "" {
		uids = append(uids, uid)
		if mirrored := o.GetAnnotations()[corev1.MirrorPodAnnotationKey]; mirrored != "" {
			uids = append(uids, types.UID(mirrored))
		}
	}
	f[kind+"/"+o.GetName()] = uids
}

// has says whether an object is a member, by its UID if both are known.
func (f family) has(kind, name string, uid types.UID) bool {
	uids, ok := f[kind+"/"+name]
	return ok && (uid == "" || len(uids) == 0 || slices.Contains(uids, uid))
}

// eventsOf returns the Events of an object and of what it has made, and the Pods
// that it has made and that have not come up.
func eventsOf(ctx context.Context, store objectStore, object client.Object, kind, namespace string) (events []corev1.Event, pods []*corev1.Pod, err error) {
	members := family{}
	members.add(kind, object)
	if kind != "Pod" {
		for _, made := range makers {
			err := store.each(ctx, kindNamed(made), namespace, func(o client.Object) {
				pod, isPod := o.(*corev1.Pod)
				if isPod && why.IsUp(pod) {
					return // what kept it once does so no more
				}
				for _, owner := range o.GetOwnerReferences() {
					if !members.has(owner.Kind, owner.Name, owner.UID) {
						continue
					}
					members.add(made, o)
					if isPod {
						pods = append(pods, pod)
					}
					return
				}
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	err = store.each(ctx, eventKind, namespace, func(o client.Object) {
		if e, ok := o.(*corev1.Event); ok && members.has(e.InvolvedObject.Kind, e.InvolvedObject.Name, e.InvolvedObject.UID) {
			events = append(events, *e)
		}
	})
	return events, pods, err
}

// makerOf finds what makes Pods like this one, as the Deployment rather than its
// ReplicaSet; nil if nothing does.
func makerOf(ctx context.Context, store objectStore, pod *corev1.Pod) (*why.Maker, error) {
	var maker *why.Maker
	for object := client.Object(pod); ; {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			return maker, nil
		}
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		known := slices.Contains(webhook.WorkloadKinds, kind)
		if maker == nil {
			maker = &why.Maker{Anew: known}
		}
		maker.Kind, maker.Name = ref.Kind, ref.Name
		if !known {
			return maker, nil
		}
		owner, err := store.get(ctx, kind, pod.Namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err):
			return maker, nil
		case err != nil:
			return maker, err
		case owner.GetUID() != "" && ref.UID != "" && owner.GetUID() != ref.UID:
			return maker, nil // another of that name
		}
		maker.Object, object = owner, owner
	}
}
