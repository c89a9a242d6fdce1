package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CheckC says why no C program can be linked statically here; nil: one can.
func CheckC(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "env", "CC")
	cmd.Env = environ()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("find the C compiler: %w", err)
	}
	dir, err := os.MkdirTemp("", "cc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	compiler := strings.Fields(string(out))
	cmd = exec.CommandContext(ctx, compiler[0], append(compiler[1:], "-static", "-x", "c", "-", "-o", filepath.Join(dir, "out"))...)
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		said, _, _ := strings.Cut(string(out), "\n")
		return fmt.Errorf("no C compiler that links statically: %s: %w %s", strings.Join(compiler, " "), err, said)
	}
	return nil
}
