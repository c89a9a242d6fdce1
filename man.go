package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand writes the man pages. It is hidden: packagers run it.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the man pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("%s: %w", args[0], pathCause(err))
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			for _, c := range root.Commands() {
				if f := c.Flags().Lookup("cache-dir"); f != nil {
					f.DefValue = "$HOME/.kube/cache" // not the packager's
				}
				if f := c.Flags().Lookup("node"); f != nil {
					f.DefValue = ""
				}
			}
			// The date is that of SOURCE_DATE_EPOCH, so that a version's pages are the
			// same whenever they are made.
			header := &doc.GenManHeader{Section: "1", Source: "runtimegate " + thisBuild().Version, Manual: "runtimegate"}
			return doc.GenManTree(root, header, args[0])
		},
	}
}
