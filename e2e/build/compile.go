package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// heartbeat is how often a running build says how far it is.
const heartbeat = 15 * time.Second

// compile runs a go build -v and says how far it is while it runs.
func compile(ctx context.Context, dir string, args, env []string, name string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var log progress
	stop := log.report(name, out)
	log.read(stderr)
	err = cmd.Wait()
	stop()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, strings.Join(log.messages, "\n"))
	}
	return nil
}

// progress is what a go build -v has said so far.
type progress struct {
	mu         sync.Mutex
	downloaded int
	compiled   int
	messages   []string // what was neither a download nor a package
}

// packagePath matches what -v prints for each package that it compiles.
var packagePath = regexp.MustCompile(`^[\w./~-]+$`)

func (p *progress) read(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		p.add(lines.Text())
	}
}

func (p *progress) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		p.downloaded++
	case packagePath.MatchString(line):
		p.compiled++
	default:
		p.messages = append(p.messages, line)
	}
}

// report prints the progress until stop is called.
func (p *progress) report(name string, out io.Writer) (stop func()) {
	started, done := time.Now(), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				fmt.Fprintf(out, "build: %s: %5s  %s\n", name, now.Sub(started).Round(time.Second), p)
			}
		}
	})
	return func() { close(done); ended.Wait() }
}

// String says how far the build is.
func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.compiled == 0 && p.downloaded > 0 {
		return fmt.Sprintf("%d modules downloaded", p.downloaded)
	}
	return fmt.Sprintf("%d packages compiled", p.compiled)
}
