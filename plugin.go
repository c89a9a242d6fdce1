package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// pluginName is the file name by which kubectl finds this program.
const pluginName = "kubectl-runtimegate"

// isPlugin tells whether the program was started as kubectl starts its plugins.
func isPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginName
}

// asPlugin makes help and examples say what is typed then.
func asPlugin(root *cobra.Command) {
	const typed = "kubectl runtimegate"
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: typed}
	for _, cmd := range root.Commands() {
		for _, text := range []*string{&cmd.Long, &cmd.Example} {
			*text = typedProgram.ReplaceAllString(*text, "${1}"+typed+" ")
		}
	}
}

// typedProgram matches the program where a command line has it.
var typedProgram = regexp.MustCompile(`(?m)(^ +|\| )runtimegate `)
