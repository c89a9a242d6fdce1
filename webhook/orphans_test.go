package webhook

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func TestOrphaned(t *testing.T) {
	const grace = 10 * time.Minute
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	report := func(created, renewed time.Duration) *v1alpha1.NodeRuntime {
		r := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(created)}}
		r.Spec.RenewedAt = ago(renewed)
		return r
	}
	node := func(created time.Duration) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(created)}}
	}
	for name, tt := range map[string]struct {
		report *v1alpha1.NodeRuntime
		node   *corev1.Node
		is     bool
		again  time.Duration
	}{
		"of a node that is there":                              {report(time.Hour, time.Minute), node(2 * time.Hour), false, 0},
		"of a node whose reporter is long silent":              {report(time.Hour, time.Hour), node(2 * time.Hour), false, 0},
		"without a Node":                                       {report(time.Hour, time.Minute), nil, true, 0},
		"without a Node, which may be about to register":       {report(4*time.Minute, time.Minute), nil, false, 6 * time.Minute},
		"without a Node, which had its time to register":       {report(grace, time.Minute), nil, true, 0},
		"of an earlier node":                                   {report(time.Hour, 31*time.Minute), node(30 * time.Minute), true, 0},
		"of an earlier node, whose reporter may write yet":     {report(time.Hour, 5*time.Minute), node(4 * time.Minute), false, 6 * time.Minute},
		"of an earlier node, and renewed since":                {report(time.Hour, time.Minute), node(30 * time.Minute), false, 0},
		"made since, by a clock that is behind":                {report(20*time.Minute, time.Hour), node(30 * time.Minute), false, 0},
		"just before its Node, and renewed after":              {report(61*time.Minute, time.Minute), node(time.Hour), false, 0},
		"of the same second as its Node":                       {report(time.Hour, time.Hour), node(time.Hour), false, 0},
		"from the future, by a clock that is ahead of serve's": {report(-time.Minute, -time.Minute), nil, false, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			is, again := orphaned(tt.report, tt.node, grace, now)
			if is != tt.is || again != tt.again {
				t.Errorf("got %v, again after %s; want %v, %s", is, again, tt.is, tt.again)
			}
		})
	}
}
