package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A client is one that counts the warnings it gets.
type client struct {
	*kubernetes.Clientset
	missing, unread, uncounted, other atomic.Int64
}

func newClient(t *testing.T, kubeconfig string) *client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(t, err)
	c := &client{}
	config.QPS, config.Burst = 1000, 1000
	config.WarningHandler = c
	c.Clientset, err = kubernetes.NewForConfig(config)
	must(t, err)
	return c
}

var _ rest.WarningHandler = &client{}

// HandleWarningHeader implements rest.WarningHandler.
func (c *client) HandleWarningHeader(_ int, _, text string) {
	switch {
	case strings.Contains(text, "is not loaded on gpu-a"):
		c.missing.Add(1)
	case strings.Contains(text, "could not be read"):
		c.unread.Add(1)
	case strings.Contains(text, "is still used is not known"):
		c.uncounted.Add(1)
	default:
		c.other.Add(1)
	}
}

// TestPodRightAfterItsClass makes RuntimeClasses and their Pods without a pause, and
// mends the classes as one must, by deleting and making them anew: the cache is
// behind, and no verdict may be.
func TestPodRightAfterItsClass(t *testing.T) {
	const pairs, hands = 1000, 16
	g := startGate(t)
	c := newClient(t, g.Cluster().Kubeconfig())
	var denied, passed atomic.Int64 // that should not be
	expect := func(class, handler string) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: class + "-"}, Spec: corev1.PodSpec{
			RuntimeClassName: &class, Containers: []corev1.Container{{Name: "main", Image: "main"}}}}
		_, err := c.CoreV1().Pods("default").Create(interrupted, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch forbidden := apierrors.IsForbidden(err); {
		case forbidden && handler == "runc":
			denied.Add(1)
			return fmt.Errorf("denied, though %s is loaded: %w", handler, err)
		case forbidden:
			return nil
		case err == nil && handler != "runc":
			passed.Add(1)
		}
		return err
	}
	mend := func(i int) error {
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("class-%d", i)}}
		for _, class.Handler = range []string{"rnuc", "runc"} {
			if _, err := c.NodeV1().RuntimeClasses().Create(interrupted, class, metav1.CreateOptions{}); err != nil {
				return err
			}
			if err := expect(class.Name, class.Handler); err != nil {
				return err
			}
			if err := c.NodeV1().RuntimeClasses().Delete(interrupted, class.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		return nil
	}
	next := make(chan int)
	var all sync.WaitGroup
	for range hands {
		all.Go(func() {
			for i := range next {
				if err := mend(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range pairs {
		next <- i
	}
	close(next)
	all.Wait()
	t.Logf("%d classes with a Pod, mended, with another: %d denied and %d passed that should not be, %d told that the class could not be read in time",
		pairs, denied.Load(), passed.Load(), c.unread.Load())
	// On a busy machine a look-up may take too long. That is told, and never a
	// reason to deny.
	if got := passed.Load(); got > c.unread.Load() {
		t.Errorf("%d Pods passed without a word", got-c.unread.Load())
	}
	if c.missing.Load() != pairs || c.other.Load() != 0 || max(c.unread.Load(), c.uncounted.Load()) > pairs/20 {
		t.Errorf("warnings: %d of missing handlers, %d of classes not read, %d of users not counted, %d others; want %d, few, few and none",
			c.missing.Load(), c.unread.Load(), c.uncounted.Load(), c.other.Load(), pairs)
	}
}
