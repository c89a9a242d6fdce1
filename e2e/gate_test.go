package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// paths are what the API server calls.
var paths = []string{"/validate-pods", "/validate-workloads", "/validate-runtimeclasses", "/validate-runtimepolicies"}

// insecure takes any certificate: these tests are about what is answered.
var insecure = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// startGate starts a cluster with one node and the gate.
func startGate(t *testing.T) *harness.Gate {
	t.Helper()
	c := startCluster(t)
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-a", Handlers: []string{"", "runc"}}))
	must(t, c.Install(interrupted, root))
	g, err := c.StartGate(interrupted)
	must(t, err)
	return g
}

func TestGateIsReadyOnlyOnceItsCachesAre(t *testing.T) {
	c := startCluster(t)
	must(t, c.Install(interrupted, root))
	slow := newDam(t, c)
	g, err := c.LaunchGate(interrupted, slow.kubeconfig)
	must(t, err)

	must(t, g.WaitFor(interrupted, "runtimegate to live", time.Minute, func(ctx context.Context) error {
		return expectProbe(ctx, g, "/healthz", http.StatusOK)
	}))
	must(t, g.WaitFor(interrupted, "runtimegate to ask for nodes", time.Minute, func(context.Context) error {
		if slow.held.Load() == 0 {
			return fmt.Errorf("it has asked nothing")
		}
		return nil
	}))
	must(t, expectProbe(interrupted, g, "/healthz", http.StatusOK))
	if expectProbe(interrupted, g, "/readyz", http.StatusOK) == nil {
		t.Error("it is ready before it knows the nodes")
	}
	status, answer := post(t, g, paths[0], "application/json", review(podOfNoClass))
	if status != http.StatusOK || !strings.Contains(answer, `"allowed":true`) || !strings.Contains(answer, "not checked") {
		t.Errorf("got %d %s, want it allowed and said that it was not checked", status, answer)
	}

	slow.open()
	must(t, g.WaitReady(interrupted))
}

// post calls one of the gate's paths as the API server does.
func post(t *testing.T, g *harness.Gate, path, contentType, body string) (status int, answer string) {
	t.Helper()
	response, err := insecure.Post("https://"+g.Webhook+path, contentType, strings.NewReader(body))
	must(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(content)
}

func expectProbe(ctx context.Context, g *harness.Gate, path string, want int) error {
	status, body, err := g.Probe(ctx, path)
	if err == nil && status != want {
		err = fmt.Errorf("%s: got %d %s, want %d", path, status, body, want)
	}
	return err
}

func TestGateAnswersNonsenseWithAnError(t *testing.T) {
	g := startGate(t)
	tests := map[string]struct {
		contentType, body string
	}{
		"no body":              {"application/json", ""},
		"no JSON":              {"application/json", "\x00\xff"},
		"a review cut short":   {"application/json", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", `},
		"another kind":         {"application/json", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}`},
		"no request":           {"application/json", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`},
		"another content type": {"text/plain", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`},
		"an object cut short":  {"application/json", review(`{"spec": {"runtimeClassName": `)},
	}
	for name, test := range tests {
		for _, path := range paths {
			t.Run(name+" to "+path, func(t *testing.T) {
				status, answer := post(t, g, path, test.contentType, test.body)
				if status < 400 || status >= 500 {
					t.Errorf("got %d %s, want a client's error", status, answer)
				}
				if strings.Contains(answer, "goroutine ") {
					t.Errorf("got a stack trace: %s", answer)
				}
			})
		}
	}
	must(t, expectProbe(interrupted, g, "/readyz", http.StatusOK))
}

const podOfNoClass = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "default"}}`

// review is an AdmissionReview of a Pod's or RuntimeClass's creation.
func review(object string) string {
	return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"kind": {"group": "", "version": "v1", "kind": "Pod"},
		"uid": "1", "operation": "CREATE", "object": ` + object + `}}`
}

// TestGateStopsGracefully has a review half read when the gate is told to stop:
// it is still answered. net/http (Go 1.26) drops a request whose header it had
// not read by then, so the test waits for the sign that it reads the body.
func TestGateStopsGracefully(t *testing.T) {
	g := startGate(t)
	conn, err := tls.Dial("tcp", g.Webhook, insecure.Transport.(*http.Transport).TLSClientConfig)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	body := review(podOfNoClass)
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		paths[0], len(body))
	must(t, err)
	answers := bufio.NewReader(conn)
	reading, err := http.ReadResponse(answers, nil)
	must(t, err)
	if reading.StatusCode != http.StatusContinue {
		t.Fatalf("got %s, want the gate to ask for the body", reading.Status)
	}
	_, err = io.WriteString(conn, body[:10])
	must(t, err)

	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := g.Terminate(30 * time.Second)
		ended <- end{code, err}
	}()
	must(t, harness.Poll(interrupted, "the gate to take no new calls", 10*time.Second, func(context.Context) error {
		fresh, err := net.Dial("tcp", g.Webhook)
		if err != nil {
			return nil
		}
		fresh.Close()
		return fmt.Errorf("it still does")
	}))
	_, err = io.WriteString(conn, body[10:])
	must(t, err)
	response, err := http.ReadResponse(answers, nil)
	must(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
		t.Errorf("got %s %s, want the review's answer", response.Status, answer)
	}
	if e := <-ended; e.err != nil || e.code != 0 {
		t.Errorf("got exit code %d and error %v, want 0; its last words:\n%s", e.code, e.err, g.Tail())
	}
}
