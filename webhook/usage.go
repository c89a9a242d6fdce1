package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The bounds of one survey, which the API server waits for: PodSecurity's own
// for a change of a Namespace are the same (kubernetes 1.37).
const (
	surveyObjects = 3000
	surveyTime    = time.Second
	// surveyPage bounds what is held in memory at a time.
	surveyPage = 500
)

// A Lister lists objects. Any client.Reader is one; for a survey it must ask
// the API server, since a cache of all Pods would be as large as the cluster.
type Lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// surveyed are the kinds that a survey lists, in this order: what runs counts
// most, and ReplicaSets and Jobs come last, since most of them are made by
// others and are passed over.
var surveyed = []struct {
	resource, apiVersion string
	list                 func() client.ObjectList
}{
	{"pods", "v1", func() client.ObjectList { return &corev1.PodList{} }},
	{"deployments.apps", "apps/v1", func() client.ObjectList { return &appsv1.DeploymentList{} }},
	{"statefulsets.apps", "apps/v1", func() client.ObjectList { return &appsv1.StatefulSetList{} }},
	{"daemonsets.apps", "apps/v1", func() client.ObjectList { return &appsv1.DaemonSetList{} }},
	{"cronjobs.batch", "batch/v1", func() client.ObjectList { return &batchv1.CronJobList{} }},
	{"jobs.batch", "batch/v1", func() client.ObjectList { return &batchv1.JobList{} }},
	{"replicasets.apps", "apps/v1", func() client.ObjectList { return &appsv1.ReplicaSetList{} }},
}

// A user is what uses a handler: a Pod that has not finished, or a workload from
// whose template Pods will be made.
type user struct {
	owner
	// pod is the Pod, or one as the template makes it.
	pod      *corev1.Pod
	template bool
	// jobs are the names of the running Jobs of a CronJob.
	jobs []string
}

// An owner is an object that a person manages: a workload, or a Pod of none.
type owner struct {
	kind, namespace, name string
}

func (o owner) String() string { return o.namespace + "/" + o.name }

// A reach is how far a survey came.
type reach struct {
	looked int
	// cut: it stopped at a bound, before it had seen all.
	cut bool
	// err is the first error; the kind that it names was not seen.
	err error
}

// survey shows all users of handlers in the namespaces ("" for all of them) to
// visit, within the bounds.
func survey(ctx context.Context, live Lister, namespaces []string, visit func(context.Context, *user)) reach {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	var r reach
	for _, kind := range surveyed {
		for _, namespace := range namespaces {
			err := r.list(ctx, live, kind.list, namespace, visit)
			if r.cut = r.cut || ctx.Err() != nil; r.cut {
				return r
			}
			if err != nil && r.err == nil {
				r.err = fmt.Errorf("list %s: %w", kind.resource, err)
			}
		}
	}
	return r
}

var errBound = errors.New("a bound was reached")

// list shows the users among the objects of one list.
func (r *reach) list(ctx context.Context, live Lister, newList func() client.ObjectList, namespace string, visit func(context.Context, *user)) error {
	limit := func() int {
		r.cut = r.looked == surveyObjects
		return min(surveyPage, surveyObjects-r.looked)
	}
	return eachObject(ctx, live, newList, namespace, limit, func(object runtime.Object) error {
		if r.cut = ctx.Err() != nil || r.looked == surveyObjects; r.cut {
			return errBound
		}
		r.looked++
		if u := userOf(object); u != nil {
			visit(ctx, u)
		}
		return nil
	})
}

// eachObject shows the objects of one list, page by page; limit is how many the
// next page may have, errBound ends it at 0. No resourceVersion is asked for: with "0" an API server
// would answer with all objects, whatever the limit.
func eachObject(ctx context.Context, live Lister, newList func() client.ObjectList, namespace string, limit func() int, visit func(runtime.Object) error) error {
	for token := ""; ; {
		most := limit()
		if most <= 0 {
			return errBound
		}
		page := newList()
		if err := live.List(ctx, page, client.InNamespace(namespace), client.Limit(most), client.Continue(token)); err != nil {
			return err
		}
		if err := meta.EachListItem(page, visit); err != nil {
			return err
		}
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}

// userOf returns what an object uses, nil for one that makes no Pods any more,
// or that another makes: that one is seen itself.
func userOf(object runtime.Object) *user {
	switch o := object.(type) {
	case *corev1.Pod:
		if o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
			return nil
		}
		return &user{owner: owner{"Pod", o.Namespace, o.Name}, pod: o}
	case *appsv1.Deployment:
		return templateUser("Deployment", o, &o.Spec.Template)
	case *appsv1.StatefulSet:
		return templateUser("StatefulSet", o, &o.Spec.Template)
	case *appsv1.DaemonSet:
		u := templateUser("DaemonSet", o, &o.Spec.Template)
		if u != nil {
			u.pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		}
		return u
	case *batchv1.CronJob:
		u := templateUser("CronJob", o, &o.Spec.JobTemplate.Spec.Template)
		if u != nil {
			for _, job := range o.Status.Active {
				u.jobs = append(u.jobs, job.Name)
			}
		}
		return u
	case *batchv1.Job:
		if isFinished(o) {
			return nil
		}
		return templateUser("Job", o, &o.Spec.Template)
	case *appsv1.ReplicaSet:
		return templateUser("ReplicaSet", o, &o.Spec.Template)
	}
	return nil
}

func templateUser(kind string, object metav1.Object, template *corev1.PodTemplateSpec) *user {
	if metav1.GetControllerOf(object) != nil {
		return nil
	}
	return &user{
		owner:    owner{kind, object.GetNamespace(), object.GetName()},
		pod:      &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec},
		template: true,
	}
}

func isFinished(job *batchv1.Job) bool {
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
