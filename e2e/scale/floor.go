package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// sources are what serve reads at its start, and how.
var sources = []struct {
	path string
	read func(ctx context.Context, client *http.Client, address string) (int64, error)
}{
	{"/api/v1/nodes", watchList},
	{"/apis/runtimegate.io/v1alpha1/noderuntimes", pages},
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
		// Until it has read all that is in etcd, an API server refuses or is slow.
		err := harness.Poll(interrupted, "the API server to serve "+from.path, 10*time.Minute, func(ctx context.Context) error {
			_, err := from.read(ctx, client, config.Host+from.path)
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
			sizes[i], err = from.read(ctx, client, config.Host+from.path)
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

func get(ctx context.Context, client *http.Client, address, accept string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", address, response.Status)
	}
	return response.Body, nil
}

// pages reads a list of custom resources, and returns how many bytes that are.
func pages(ctx context.Context, client *http.Client, address string) (size int64, err error) {
	for next := ""; ; {
		body, err := get(ctx, client, address+"?limit=500&continue="+url.QueryEscape(next), "application/json")
		if err != nil {
			return size, err
		}
		page, err := io.ReadAll(body)
		body.Close()
		if err != nil {
			return size, err
		}
		size += int64(len(page))
		// Its metadata come last.
		var metadata metav1.ListMeta
		last := page[bytes.LastIndex(page, []byte(`"metadata":`))+len(`"metadata":`):]
		if err := json.Unmarshal(bytes.TrimSuffix(bytes.TrimSpace(last), []byte("}")), &metadata); err != nil {
			return size, fmt.Errorf("metadata of a page of %s: %w", address, err)
		}
		if next = metadata.Continue; next == "" {
			return size, nil
		}
	}
}

// watchList reads a watch, as Protobuf, to the bookmark that ends what there is, and
// returns how many bytes that are.
func watchList(ctx context.Context, client *http.Client, address string) (size int64, err error) {
	body, err := get(ctx, client, address+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "application/vnd.kubernetes.protobuf;stream=watch")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	const end = "k8s.io/initial-events-end"
	buffer, kept := make([]byte, 1<<17), 0
	for {
		n, err := body.Read(buffer[kept:])
		size += int64(n)
		seen := buffer[:kept+n]
		if bytes.Contains(seen, []byte(end)) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		kept = copy(buffer, seen[max(0, len(seen)-len(end)):])
	}
}
