package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// sources are what serve reads at its start, and how.
var sources = []struct {
	path string
	read func(ctx context.Context, client *http.Client, address string) (int64, error)
}{
	{"/api/v1/nodes", nodePages},
	{"/apis/runtimegate.io/v1alpha1/noderuntimes", reportPages},
}

// A floor is a client that looks at nothing: sooner than it serve can't be ready.
type floor struct {
	client *http.Client
	host   string
}

// newFloor waits until the API server serves it all: until it has read what is in
// etcd it is slow.
func (c *cluster) newFloor(kubeconfig string) (*floor, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.DisableCompression = true
	config.NextProtos = []string{"http/1.1"} // which costs less
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	for _, from := range sources {
		err := harness.Poll(interrupted, "the API server to serve "+from.path, 10*time.Minute, func(ctx context.Context) error {
			_, err := from.read(ctx, client, config.Host+from.path)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return &floor{client, config.Host}, c.rest()
}

// measure tells how soon it has what serve reads at its start.
func (f *floor) measure(c *cluster) error {
	before, err := c.used()
	if err != nil {
		return err
	}
	started := time.Now()
	group, ctx := errgroup.WithContext(interrupted)
	sizes := make([]int64, len(sources))
	for i, from := range sources {
		group.Go(func() (err error) {
			sizes[i], err = from.read(ctx, f.client, f.host+from.path)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("read what serve reads: %w", err)
	}
	took := time.Since(started)
	after, err := c.used()
	if err != nil {
		return err
	}
	fmt.Printf("scale: %d nodes: a client that looks at nothing has all of them after %.2f s, %d and %d MB (%s)\n",
		*nodes, took.Seconds(), sizes[0]/1e6, sizes[1]/1e6, after.since(before))
	return nil
}

// used is what API server and etcd have used of the machine.
type used struct {
	cpu float64 // seconds
	// collections are those of garbage: with all these objects in its memory one
	// takes the API server as long as half of a list.
	collections float64
}

func (c *cluster) used() (used, error) {
	usage, err := c.plane.Usage()
	if err != nil {
		return used{}, err
	}
	metrics, err := c.api.Must(interrupted, "", "kubectl", "get", "--raw=/metrics")
	if err != nil {
		return used{}, err
	}
	const name = "\ngo_gc_duration_seconds_count "
	_, after, found := strings.Cut(metrics, name)
	if !found {
		return used{}, fmt.Errorf("no metric %q", name)
	}
	count, _, _ := strings.Cut(after, "\n")
	collections, err := strconv.ParseFloat(count, 64)
	return used{usage.CPU, collections}, err
}

func (u used) since(before used) string {
	return fmt.Sprintf("API server and etcd %.1f s, %.0f collections of garbage", u.cpu-before.cpu, u.collections-before.collections)
}

// reportPages reads a list of custom resources as JSON.
func reportPages(ctx context.Context, client *http.Client, address string) (int64, error) {
	return pages(ctx, client, address, "application/json", func(page []byte) (string, error) {
		// Its metadata come last.
		var metadata metav1.ListMeta
		last := page[bytes.LastIndex(page, []byte(`"metadata":`))+len(`"metadata":`):]
		err := json.Unmarshal(bytes.TrimSuffix(bytes.TrimSpace(last), []byte("}")), &metadata)
		return metadata.Continue, err
	})
}

// nodePages reads a list of Nodes as Protobuf.
func nodePages(ctx context.Context, client *http.Client, address string) (int64, error) {
	return pages(ctx, client, address, runtime.ContentTypeProtobuf, func(page []byte) (string, error) {
		// A runtime.Unknown has the list in field 2, that has its metadata in field 1,
		// and those the token in field 3.
		message := bytes.TrimPrefix(page, []byte("k8s\x00"))
		for _, number := range []protowire.Number{2, 1, 3} {
			var err error
			if message, err = field(message, number); err != nil {
				return "", err
			}
		}
		return string(message), nil
	})
}

// field returns the first field of a message that has that number, or nothing.
func field(message []byte, number protowire.Number) ([]byte, error) {
	for len(message) > 0 {
		is, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		if is == number && kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			return value, protowire.ParseError(min(n, 0))
		}
		if n = protowire.ConsumeFieldValue(is, kind, message); n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
	}
	return nil, nil
}

// pages reads a list to its end, and returns how many bytes that are. next finds the
// token of the next page.
func pages(ctx context.Context, client *http.Client, address, accept string, next func(page []byte) (string, error)) (size int64, err error) {
	for token := ""; ; {
		page, err := get(ctx, client, address+"?limit=500&continue="+url.QueryEscape(token), accept)
		if err != nil {
			return size, err
		}
		size += int64(len(page))
		if token, err = next(page); err != nil {
			return size, fmt.Errorf("metadata of a page of %s: %w", address, err)
		}
		if token == "" {
			return size, nil
		}
	}
}

func get(ctx context.Context, client *http.Client, address, accept string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", address, response.Status)
	}
	return io.ReadAll(response.Body)
}
