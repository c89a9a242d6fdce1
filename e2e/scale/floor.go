package scale

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// sources are what serve reads at its start, and the form in which it asks for it.
var sources = []struct{ path, accept string }{
	{"/api/v1/nodes", "application/vnd.kubernetes.protobuf;stream=watch"},
	{"/apis/runtimegate.io/v1alpha1/noderuntimes", "application/json"},
}

// floor tells how soon a client that looks at nothing has what serve reads at its
// start: sooner serve can't be ready.
func (c *cluster) floor(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for _, from := range sources {
		// Until it has read all that is in etcd, an API server refuses watches of it.
		err := harness.Poll(interrupted, "the API server to serve "+from.path, 10*time.Minute, func(ctx context.Context) error {
			_, err := watchList(ctx, client, config.Host+from.path, from.accept)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.rest(); err != nil {
		return err
	}
	before, err := c.plane.Usage()
	if err != nil {
		return err
	}
	started := time.Now()
	group, ctx := errgroup.WithContext(interrupted)
	sizes := make([]int64, len(sources))
	for i, from := range sources {
		group.Go(func() (err error) {
			sizes[i], err = watchList(ctx, client, config.Host+from.path, from.accept)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("read what serve reads: %w", err)
	}
	took := time.Since(started)
	after, err := c.plane.Usage()
	if err != nil {
		return err
	}
	fmt.Printf("scale: %d nodes: a client that looks at nothing has all of them after %.2f s, %d and %d MB, %.1f s of CPU of API server and etcd\n",
		*nodes, took.Seconds(), sizes[0]/1e6, sizes[1]/1e6, after.CPU-before.CPU)
	return nil
}

// watchList reads a watch to the bookmark that ends what there is, and returns how
// many bytes that are.
func watchList(ctx context.Context, client *http.Client, address, accept string) (size int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET %s: %s", address, response.Status)
	}
	const end = "k8s.io/initial-events-end"
	buffer, kept := make([]byte, 1<<17), 0
	for {
		n, err := response.Body.Read(buffer[kept:])
		size += int64(n)
		if seen := buffer[:kept+n]; bytes.Contains(seen, []byte(end)) {
			return size, nil
		} else if err != nil {
			return size, err
		} else {
			kept = copy(buffer, seen[max(0, len(seen)-len(end)):])
		}
	}
}
