package scale

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

var (
	nodes    = flag.Int("nodes", 1000, "how many nodes there are")
	starts   = flag.Int("starts", 1, "how often serve is started")
	duration = flag.Duration("duration", 3*time.Second, "how long each phase is")
	profile  = flag.String("profile", "", "file for a profile of serve's memory, once it is ready")
	cpu      = flag.String("cpu", "", "file for a profile of the first 30 seconds of serve's last start")

	interrupted context.Context
	bin, root   string
)

// heartbeat is the time between two of a node's, and restarted the part of the
// nodes whose runtimes are restarted during the storm.
const (
	heartbeat = 5 * time.Minute
	restarted = 10
)

func TestMain(m *testing.M) {
	harness.Main(func(ctx context.Context, programs, repository string) int {
		interrupted, bin, root = ctx, programs, repository
		return m.Run()
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A cluster is one of many nodes, and serve.
type cluster struct {
	t     *testing.T
	etcd  *clientv3.Client
	gate  *harness.Gate
	plane *harness.Process
	api   *harness.Cluster
	pprof string // the address of serve's profiles
}

// TestScale fails when serve does not come to know what it is told. The times and
// sizes are told, not judged.
func TestScale(t *testing.T) {
	plane, err := harness.StartAPI(interrupted, bin, t.TempDir())
	must(t, err)
	t.Cleanup(plane.Stop)
	must(t, plane.Install(interrupted, root))
	url, err := plane.Etcd()
	must(t, err)
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, DialTimeout: 10 * time.Second})
	must(t, err)
	t.Cleanup(func() { etcd.Close() })
	c := &cluster{t: t, etcd: etcd, plane: plane.ControlPlane(), api: plane}
	sizes(t)
	must(t, c.fill())
	kubeconfig, err := plane.KubeconfigOf(interrupted, "gate", "kube-system", harness.Release)
	must(t, err)
	floor, err := c.newFloor(kubeconfig)
	must(t, err)
	for n := range *starts {
		if n > 0 {
			code, err := c.gate.Terminate(time.Minute)
			must(t, err)
			if code != 0 {
				t.Fatalf("runtimegate ended with %d:\n%s", code, c.gate.Tail())
			}
		}
		must(t, floor.measure(c))
		must(t, c.rest())
		must(t, c.start(kubeconfig, n == *starts-1))
	}
	if *profile != "" {
		must(t, save("http://"+c.pprof+"/debug/pprof/heap?gc=1", *profile))
	}
	must(t, c.gate.ForgetPeak())

	idle, beats, storm := &writer{}, &writer{every: heartbeat / time.Duration(*nodes)}, &writer{every: *duration / time.Duration(max(1, *nodes/restarted)), restarts: true}
	c.phase("idle", idle)
	c.phase("heartbeats", beats)
	c.phase("storm", beats, storm)
	c.phase("after", beats)
}

// start starts serve, and tells how soon it is ready.
func (c *cluster) start(kubeconfig string, last bool) error {
	ports, err := harness.FreePorts(1)
	if err != nil {
		return err
	}
	c.pprof = ports[0]
	before, err := c.used()
	if err != nil {
		return err
	}
	launched := time.Now()
	if c.gate, err = c.api.LaunchReplica("runtimegate", kubeconfig, "--self-signed", "--pprof-bind-address="+c.pprof); err != nil {
		return err
	}
	if *cpu != "" && last {
		go func() {
			time.Sleep(2 * time.Second) // until it answers
			if err := save("http://"+c.pprof+"/debug/pprof/profile?seconds=30", *cpu); err != nil {
				c.t.Error(err)
			}
		}()
	}
	err = c.gate.WaitFor(interrupted, "runtimegate to be ready", 10*time.Minute, func(ctx context.Context) error {
		status, body, err := c.gate.Probe(ctx, "/readyz")
		if err == nil && status != 200 {
			err = fmt.Errorf("/readyz: %d %s", status, body)
		}
		return err
	})
	if err != nil {
		return err
	}
	took := time.Since(launched)
	usage, err := c.gate.Usage()
	if err != nil {
		return err
	}
	after, err := c.used()
	if err != nil {
		return err
	}
	fmt.Printf("scale: %d nodes: ready %.2f s after its start, %.1f s of CPU (%s), RSS %d MiB, at most %d MiB\n",
		*nodes, took.Seconds(), usage.CPU, after.since(before), usage.RSS>>20, usage.Peak>>20)
	return nil
}

// rest waits until the API server has taken in what is in etcd: serve is what is
// measured.
func (c *cluster) rest() error {
	return harness.Poll(interrupted, "the API server to rest", 10*time.Minute, func(context.Context) error {
		before, err := c.plane.Usage()
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		after, err := c.plane.Usage()
		if err == nil && after.CPU-before.CPU > .15 {
			err = fmt.Errorf("it works on %.2f cores", after.CPU-before.CPU)
		}
		return err
	})
}

// save writes what is at a URL into a file.
func save(url, path string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// sizes tells how large the objects are.
func sizes(t *testing.T) {
	now := time.Now()
	asJSON, err := json.Marshal(node(0, now))
	must(t, err)
	stored, err := nodeValue(0, now)
	must(t, err)
	report, err := reportValue(0, now, handlers(0))
	must(t, err)
	fmt.Printf("scale: a Node is %d bytes as JSON, %d as it is stored; a NodeRuntime %d\n", len(asJSON), len(stored), len(report))
}

// fill puts all Nodes and NodeRuntimes into etcd.
func (c *cluster) fill() error {
	const batch = 50
	started := time.Now()
	group, ctx := errgroup.WithContext(interrupted)
	group.SetLimit(4)
	for from := 0; from < *nodes; from += batch {
		group.Go(func() error {
			var puts []clientv3.Op
			for i := from; i < min(from+batch, *nodes); i++ {
				object, err := nodeValue(i, started)
				if err != nil {
					return err
				}
				report, err := reportValue(i, started, handlers(i))
				if err != nil {
					return err
				}
				puts = append(puts, clientv3.OpPut(nodeKey(i), object), clientv3.OpPut(reportKey(i), report))
			}
			_, err := c.etcd.Txn(ctx).Then(puts...).Commit()
			return err
		})
	}
	err := group.Wait()
	fmt.Printf("scale: %d Nodes and NodeRuntimes are in etcd after %s\n", *nodes, time.Since(started).Round(time.Second))
	return err
}
