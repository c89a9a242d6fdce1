package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// An Admission is how long the API server takes to let a Pod pass, dry: seen by
// its client, one by one.
type Admission struct {
	Pod                 string
	Without, With       time.Duration // the median
	Without99, With99   time.Duration
	withoutAll, withAll []time.Duration
}

// An Admissions measures them.
type Admissions struct {
	field  *Field
	client kubernetes.Interface
	of     []*Admission
	pods   []*corev1.Pod
}

// NewAdmissions measures with a Pod as it is, and without its class.
func (f *Field) NewAdmissions(pod *corev1.Pod) (*Admissions, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	classed := pod.DeepCopy()
	classed.ManagedFields, classed.OwnerReferences = nil, nil
	plain := classed.DeepCopy()
	plain.Spec.RuntimeClassName = nil
	return &Admissions{f, client, []*Admission{{Pod: "no class"}, {Pod: "a class"}}, []*corev1.Pod{plain, classed}}, nil
}

// Create creates each kind of Pod a number of times by turns, dry.
func (a *Admissions) Create(ctx context.Context, times int, withGate bool) error {
	for range times {
		for i, pod := range a.pods {
			started := time.Now()
			if err := a.create(ctx, pod); err != nil {
				return fmt.Errorf("create a Pod with %s: %w", a.of[i].Pod, err)
			}
			if took := time.Since(started); withGate {
				a.of[i].withAll = append(a.of[i].withAll, took)
			} else {
				a.of[i].withoutAll = append(a.of[i].withoutAll, took)
			}
		}
	}
	return nil
}

// forget drops what was measured so far.
func (a *Admissions) forget() {
	for _, of := range a.of {
		of.withoutAll, of.withAll = nil, nil
	}
}

func (a *Admissions) create(ctx context.Context, pod *corev1.Pod) error {
	_, err := a.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// RemoveWebhook has the API server ask runtimegate no more.
func (a *Admissions) RemoveWebhook(ctx context.Context) error {
	if _, err := a.field.cluster.Must(ctx, "", "kubectl", "delete", "validatingwebhookconfiguration", harness.Release); err != nil {
		return err
	}
	class, pod := "denied", a.pods[0].DeepCopy()
	pod.Spec.RuntimeClassName = &class
	return harness.Poll(ctx, "the API server to ask no more", time.Minute, func(ctx context.Context) error {
		if err := a.create(ctx, pod); !apierrors.IsForbidden(err) {
			return err
		}
		return errors.New("it still does")
	})
}

// Results are what was measured.
func (a *Admissions) Results() []Admission {
	var results []Admission
	for _, of := range a.of {
		slices.Sort(of.withoutAll)
		slices.Sort(of.withAll)
		of.Without, of.Without99 = quantile(of.withoutAll, .5), quantile(of.withoutAll, .99)
		of.With, of.With99 = quantile(of.withAll, .5), quantile(of.withAll, .99)
		results = append(results, *of)
	}
	return results
}
