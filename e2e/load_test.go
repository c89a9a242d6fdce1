package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A load is a steady stream of admissions, each of which has to pass.
type load struct {
	client kubernetes.Interface
	stop   context.CancelFunc
	group  sync.WaitGroup
	began  time.Time
	mu     sync.Mutex
	passed int
	failed []string
}

// admissionsPerSecond is how many the load makes at most.
const admissionsPerSecond = 200

// startLoad creates Pods of a class, and every fourth time a class, dry.
func startLoad(t *testing.T, client kubernetes.Interface, class string) *load {
	t.Helper()
	ctx, stop := context.WithCancel(interrupted)
	l := &load{client: client, stop: stop, began: time.Now()}
	t.Cleanup(func() { l.end() })
	turns := make(chan int)
	l.group.Go(func() {
		defer close(turns)
		tick := time.NewTicker(time.Second / admissionsPerSecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				turns <- n
			}
		}
	})
	for range 16 {
		l.group.Go(func() {
			for n := range turns {
				l.count(admit(interrupted, client, class, n%4 == 0))
			}
		})
	}
	return l
}

// admit has the API server ask the gate about one object.
func admit(ctx context.Context, client kubernetes.Interface, class string, classToo bool) error {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if classToo {
		_, err := client.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"}, Handler: class,
		}, dry)
		return err
	}
	_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"},
		Spec:       corev1.PodSpec{RuntimeClassName: &class, Containers: []corev1.Container{{Name: "main", Image: "app"}}},
	}, dry)
	return err
}

func (l *load) count(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = append(l.failed, time.Now().Format("15:04:05.000 ")+err.Error())
	} else {
		l.passed++
	}
}

// end stops the load, and says in one line what became of it.
func (l *load) end() (said string, failed []string) {
	l.stop()
	l.group.Wait()
	took := time.Since(l.began)
	return fmt.Sprintf("%d admissions in %.0f s (%.0f a second), %d failed",
		l.passed+len(l.failed), took.Seconds(), float64(l.passed+len(l.failed))/took.Seconds(), len(l.failed)), l.failed
}

// expectNone ends the load and fails the test if an admission failed.
func (l *load) expectNone(t *testing.T, during string) {
	t.Helper()
	said, failed := l.end()
	fmt.Printf("e2e: %s: %s\n", during, said)
	if len(failed) > 0 {
		t.Errorf("%s: %s:\n%s", during, said, strings.Join(slices.Compact(failed[:min(10, len(failed))]), "\n"))
	}
}
