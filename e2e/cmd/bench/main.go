// Command bench measures admission webhooks side by side and prints tables of what
// they cost. The programs must have been built: make bench does that.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/runtimegate/runtimegate/e2e/bench"
	"github.com/runtimegate/runtimegate/e2e/build"
)

func main() {
	var o bench.Options
	flag.IntVar(&o.Rounds, "rounds", 5, "how often each server has its turn")
	flag.DurationVar(&o.Duration, "duration", 2*time.Second, "how long it is kept busy then")
	profile := flag.String("profile", "", "file for a CPU profile of runtimegate")
	benchmarks := flag.String("benchmarks", "", "file of what go test -bench has printed, for a table by the number of nodes")
	document := flag.String("document", "", "file in which the tables take the place of those of the run before")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, *profile, *benchmarks, *document); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o bench.Options, profile, benchmarks, document string) error {
	if o.Rounds < 1 || o.Duration < 100*time.Millisecond {
		return errors.New("-rounds must be at least 1, -duration 100ms")
	}
	root, err := build.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "runtimegate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	report, err := bench.Run(ctx, filepath.Join(root, ".cache", "bin"), dir, o, profile, os.Stderr)
	if err != nil {
		return err
	}
	if report.Scale, err = readScale(benchmarks); err != nil {
		return err
	}
	var tables bytes.Buffer
	if err := report.Write(&tables); err != nil {
		return err
	}
	if document != "" {
		if err := replace(document, tables.String()); err != nil {
			return err
		}
	}
	_, err = os.Stdout.Write(tables.Bytes())
	return err
}

func readScale(path string) (bench.Scale, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bench.ReadScale(file)
}

// The lines of a document between which the tables are.
const (
	begin = "<!-- make bench: begin -->\n"
	end   = "<!-- make bench: end -->\n"
)

// replace puts the tables into a document.
func replace(path, tables string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s: want a line %q and then a line %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+tables+end+after), 0o644)
}
