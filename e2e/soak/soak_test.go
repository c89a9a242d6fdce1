package soak

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/inventory"
)

var (
	reporters = flag.Int("reporters", 200, "how many nodes report")
	duration  = flag.Duration("duration", 20*time.Second, "how long, after all of them are known; each restarts its runtime once meanwhile")

	interrupted context.Context
	bin, root   string
)

// enough bounds each wait. None takes that long but on a machine that has its
// hands full.
const enough = 15 * time.Minute

func TestMain(m *testing.M) {
	// What fails is counted.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
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

// A soak is what one run is made of.
type soak struct {
	t       *testing.T
	cluster *harness.Cluster
	gate    *harness.Gate
	link    *link
	fleet   *fleet
	phases  []*phase
}

// lead is how long before the end of the API server a restart is one that it
// does not hear of.
const lead = 2 * time.Second

// TestSoak fails when an update is lost. The times are told, not judged.
func TestSoak(t *testing.T) {
	s := &soak{t: t}
	before, err := observation("nvidia", "nvidia-cdi", "nvidia-legacy")
	must(t, err)
	after, err := observation("kata-clh", "kata-qemu", "nvidia", "nvidia-cdi", "nvidia-legacy")
	must(t, err)
	direct := s.start(before)

	away := min(20*time.Second, *duration/4)
	half := (*duration - away) / 2
	s.measure("start", func() {
		s.fleet.report(interrupted)
		s.settle("all nodes to report")
	})
	probing, stopProbing := context.WithCancel(interrupted)
	probed := make(chan struct{})
	s.measure("steady", func() {
		s.fleet.restart(*duration, after)
		go func() { defer close(probed); s.probe(probing) }()
		s.rest(half - lead)
	})
	s.measure("server away", func() {
		s.rest(lead)
		s.link.cut()
		s.rest(away)
	})
	s.measure("back", func() {
		must(t, s.link.mend())
		s.rest(half)
		s.fleet.due.Wait()
		stopProbing()
		<-probed
		s.settle("all restarts to be known")
	})
	s.fleet.stop()
	s.fleet.running.Wait()
	fmt.Printf("%d reporters, %s, on %d cores; a restart counts where it fell, and its first second is the agent's wait for more\n",
		*reporters, *duration, runtime.NumCPU())
	must(t, table(os.Stdout, s.phases))
	s.fleet.compare(t, direct)
}

// start starts all but the reporters. It returns a client that does not need
// the link.
func (s *soak) start(seen *inventory.Observation) client.Client {
	t := s.t
	var err error
	s.cluster, err = harness.StartCluster(interrupted, bin, t.TempDir())
	must(t, err)
	t.Cleanup(s.cluster.Stop)
	must(t, s.cluster.Install(interrupted, root))
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.Kubeconfig())
	must(t, err)
	config.QPS = -1 // one client for all
	direct, err := inventory.NewClient(config)
	must(t, err)
	kube, err := kubernetes.NewForConfig(config)
	must(t, err)

	server, err := url.Parse(config.Host)
	must(t, err)
	s.link, err = newLink(server.Host)
	must(t, err)
	t.Cleanup(s.link.cut)
	linked := rest.CopyConfig(config)
	linked.Host = "https://" + s.link.address
	// The API server queues what a service account asks of it; an admin has no
	// limits.
	linked.Impersonate.UserName = serviceAccount
	must(t, s.grant())
	c, err := inventory.NewClient(linked)
	must(t, err)

	names := []string{probeNode}
	for i := range *reporters - 1 {
		names = append(names, fmt.Sprintf("node-%05d", i))
	}
	s.fleet = newFleet(names, c, seen)
	must(t, s.fleet.register(interrupted, kube))
	s.gate, err = s.cluster.StartGate(interrupted)
	must(t, err)
	must(t, marked(kube))
	objects, err := cache.New(config, cache.Options{Scheme: direct.Scheme(), Mapper: direct.RESTMapper()})
	must(t, err)
	s.fleet.now.Store(&phase{})
	must(t, s.fleet.watch(interrupted, objects))
	go func() { _ = objects.Start(interrupted) }()
	return direct
}

// serviceAccount is who the reporters are.
const serviceAccount = "system:serviceaccount:default:reporter"

// grant lets the reporters read and write NodeRuntimes.
func (s *soak) grant() error {
	_, err := s.cluster.Must(interrupted, "", "kubectl", "create", "clusterrole", "reporter", "--verb=get,create,patch", "--resource=noderuntimes.runtimegate.io")
	if err != nil {
		return err
	}
	_, err = s.cluster.Must(interrupted, "", "kubectl", "create", "clusterrolebinding", "reporter", "--clusterrole=reporter", "--user="+serviceAccount)
	return err
}

// marked waits until the node controller has taken the mark from all Nodes that
// the API server gives to new ones.
func marked(c kubernetes.Interface) error {
	return harness.Poll(interrupted, "the node controller", enough, func(ctx context.Context) error {
		nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		fresh := 0
		for _, n := range nodes.Items {
			if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }) {
				fresh++
			}
		}
		if fresh > 0 {
			time.Sleep(time.Second) // the list is long
			return fmt.Errorf("%d nodes are still marked as new", fresh)
		}
		return nil
	})
}

// measure runs a phase.
func (s *soak) measure(name string, run func()) {
	s.t.Helper()
	p := &phase{name: name}
	s.phases = append(s.phases, p)
	s.fleet.now.Store(p)
	plane, gate, own := s.usage(s.cluster.ControlPlane().Pid()), s.usage(s.gate.Pid()), s.usage(os.Getpid())
	busy, err := harness.Busy()
	must(s.t, err)
	p.sent, p.received = -s.link.sent.Load(), -s.link.received.Load()
	started := time.Now()
	run()
	p.took = time.Since(started)
	p.sent += s.link.sent.Load()
	p.received += s.link.received.Load()
	p.plane = s.since(plane, s.cluster.ControlPlane().Pid(), p.took)
	p.gate, p.own = s.since(gate, s.gate.Pid(), p.took), s.since(own, os.Getpid(), p.took)
	after, err := harness.Busy()
	must(s.t, err)
	p.machine = (after - busy) / p.took.Seconds()
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	p.heap = memory.HeapAlloc
}

func (s *soak) usage(pid int) harness.Usage {
	s.t.Helper()
	u, err := harness.UsageOf(pid)
	must(s.t, err)
	return u
}

func (s *soak) since(before harness.Usage, pid int, took time.Duration) cost {
	s.t.Helper()
	after := s.usage(pid)
	return cost{after, (after.CPU - before.CPU) / took.Seconds()}
}

// settle waits until all that has happened is written and seen.
func (s *soak) settle(what string) {
	s.t.Helper()
	must(s.t, harness.Poll(interrupted, what, enough, func(context.Context) error { return s.fleet.unsettled() }))
}

func (s *soak) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-interrupted.Done():
	}
}

// probeNode is the node whose restarts serve is asked about.
const probeNode = "probe"

// probe restarts a node every now and then with a handler that no other has,
// and asks serve until that knows it.
func (s *soak) probe(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		handler := fmt.Sprintf("probe-%d", i)
		seen, err := observation(handler)
		if err != nil {
			s.t.Error(err)
			return
		}
		p, started := s.fleet.now.Load(), time.Now()
		s.fleet.nodes[probeNode].restart(p, *seen)
		err = harness.Poll(interrupted, "serve to know "+handler, enough, func(context.Context) error { return s.asks(handler) })
		if err != nil {
			s.t.Error(err)
			return
		}
		p.serve.add(time.Since(started))
		s.rest(time.Second + time.Second/2)
	}
}

// asks gives an error until serve says of a RuntimeClass that one node has its
// handler.
func (s *soak) asks(handler string) error {
	said, err := s.gate.Ask(handler)
	if err == nil && !strings.Contains(said, "is loaded on 1 of ") {
		err = fmt.Errorf("it answers %q", said)
	}
	return err
}
