package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout bounds each step of the start. They take seconds.
const startTimeout = 2 * time.Minute

func newClient(path string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func waitReady(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, "kube-apiserver is not ready", func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// waitServiceAccount waits for the default service account, which the
// controllers make at their start: no Pod is admitted before it is there.
func waitServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, "the default service account is not there", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// poll calls try until it gives no error.
func poll(ctx context.Context, complaint string, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s (%w): %w", complaint, err, last)
	}
	return nil
}
