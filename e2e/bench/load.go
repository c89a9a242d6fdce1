package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// newClient speaks HTTP/2 if it is told to, as API servers do to a webhook that has
// a URL, or else HTTP/1.1, as they do to a Service.
func newClient(http2 bool) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		Protocols: protocols, MaxIdleConnsPerHost: busy, DisableCompression: true,
		// What is asked are servers that this process has started.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

// A spell is a time of load.
type spell struct {
	took   []time.Duration // sorted
	lasted time.Duration
}

// load posts a review over and over, several at a time. Every answer has to allow.
func load(ctx context.Context, client *http.Client, url string, body []byte, workers int, duration time.Duration) (spell, error) {
	var (
		mu     sync.Mutex
		group  sync.WaitGroup
		all    spell
		failed error
	)
	began := time.Now()
	for range workers {
		group.Go(func() {
			var took []time.Duration
			var err error
			for err == nil && time.Since(began) < duration {
				started := time.Now()
				err = post(ctx, client, url, body)
				took = append(took, time.Since(started))
			}
			mu.Lock()
			defer mu.Unlock()
			all.took = append(all.took, took...)
			if err != nil {
				failed = err
			}
		})
	}
	group.Wait()
	all.lasted = time.Since(began)
	slices.Sort(all.took)
	if failed == nil && len(all.took) == 0 {
		failed = fmt.Errorf("no request in %s", duration)
	}
	return all, failed
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	return nil
}
