package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/e2e/session"
)

// A teller tells the story of one cluster.
type teller struct {
	page    page
	cluster *harness.Cluster
	shell   func(ctx context.Context, dir, line string) (output string, exit int, err error)
	stop    func() error // ends what the story started in the cluster
	update  bool

	// node is the real node, and around what is said of it to who looks around.
	node   *harness.RealNode
	around string
}

// tell plays the whole story with the cluster's files in dir. Given wait, it
// leaves everything up until that returns.
func tell(ctx context.Context, dir string, options options, wait func() error) (err error) {
	root, err := build.Root()
	if err != nil {
		return err
	}
	bin := filepath.Join(root, ".cache", "bin")
	t := &teller{page: newPage(os.Stdout), update: options.update, stop: func() error { return nil }}
	started := time.Now()
	t.page.note("Starting a control plane on the loopback address ...")
	if t.cluster, err = harness.StartCluster(ctx, bin, dir); err != nil {
		return err
	}
	defer t.cluster.Stop()
	t.shell = t.cluster.Shell
	defer func() { err = errors.Join(err, t.stop()) }()
	play := t.play
	if options.node {
		play = t.playNode
	}
	if err := play(ctx, root); err != nil {
		return err
	}
	verdict := "All as promised"
	if options.update {
		verdict = "All written down"
	}
	t.page.note(fmt.Sprintf("%s, in %s.", verdict, time.Since(started).Round(time.Second)))
	if wait == nil {
		return nil
	}
	if t.node != nil {
		if err := t.node.RestartReporter(ctx); err != nil {
			return err
		}
	}
	t.page.note(fmt.Sprintf("It stays up. To look around:\n  export KUBECONFIG=%s PATH=%s:$PATH%s\nTo stop it:\n  kill %d",
		t.cluster.Kubeconfig(), bin, t.around, os.Getpid()))
	if t.node != nil {
		defer t.restartWhenTold(ctx)()
	}
	return wait()
}

// play tells what runtimegate is for, on nodes that kwok plays.
func (t *teller) play(ctx context.Context, root string) error {
	s, err := harness.LoadScenario(filepath.Join(root, "e2e", "demo"))
	if err != nil {
		return err
	}
	if err := s.SetUp(ctx, t.cluster, root); err != nil {
		return err
	}
	if err := t.session(ctx, filepath.Join(s.Dir, "without.session")); err != nil {
		return err
	}
	t.page.note("Installing runtimegate ...")
	if _, err := s.InstallGate(ctx, t.cluster, root); err != nil {
		return err
	}
	return t.session(ctx, filepath.Join(s.Dir, "with.session"))
}

// session shows a session's text, commands, and what these print now, which
// has to be what is written there.
func (t *teller) session(ctx context.Context, path string) error {
	s, err := session.Read(path)
	if err != nil {
		return err
	}
	for i := range s.Steps {
		if err := t.step(ctx, &s.Steps[i], path); err != nil {
			return err
		}
	}
	if t.update {
		return s.Write()
	}
	return nil
}

func (t *teller) step(ctx context.Context, step *session.Step, path string) error {
	if !step.Hidden {
		t.page.text(step.Text)
		t.page.command(step.Command)
	}
	output, exit, err := t.shell(ctx, filepath.Dir(path), step.Command)
	if err != nil {
		return fmt.Errorf("%s: %w", step.Command, err)
	}
	if !step.Hidden {
		t.page.output(session.Lines(output, 0))
	}
	got := session.Lines(output, exit)
	if t.update {
		step.Update(got)
	} else if !step.Matches(got) {
		return fmt.Errorf("this is not what the demo promises (%s):\n%s", path, step.Mismatch(got))
	}
	return nil
}
