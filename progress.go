package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progressDelay is how long something may take before anything is said of it.
const progressDelay = time.Second

// progress tells people at a terminal what is waited for, in one line that goes
// away by itself. Anywhere else it says nothing. What it returns ends it.
func progress(stderr io.Writer, format string, args ...any) (done func()) {
	file, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	return showProgress(file, printable(fmt.Sprintf(format, args...)), progressDelay)
}

// showProgress writes the line after a while, and counts seconds.
func showProgress(w io.Writer, text string, delay time.Duration) (done func()) {
	end := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		started := time.Now()
		for shown := false; ; shown = true {
			select {
			case <-end:
				if shown {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-time.After(delay):
			}
			fmt.Fprintf(w, "\r\x1b[K%s, for %s", text, time.Since(started).Round(time.Second))
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		over.Wait()
	})
}
