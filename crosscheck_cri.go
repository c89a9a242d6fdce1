package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// findSocket is the value of --cri without one.
const findSocket = "auto"

// checkCRI sorts out the argument, which is the endpoint after a bare --cri.
func (o *crosscheckOptions) checkCRI(arg string, given bool) error {
	if o.cri == "" {
		if o.observed.config != "" || o.observed.path != "" || o.observed.root != "/" {
			return errors.New("--host-root, --config and --daemon-path are for --cri")
		}
		return nil
	}
	switch {
	case o.cri == findSocket:
		o.observed.endpoint = arg
	case given:
		return fmt.Errorf("give the endpoint once, %s or %s: with --cri no dump is read", o.cri, arg)
	default:
		o.observed.endpoint = o.cri
	}
	return o.observed.check()
}

// runCRI compares with what the running runtime has loaded.
func (o *crosscheckOptions) runCRI(cmd *cobra.Command, wants []config.Want) error {
	seen, err := o.observed.observe(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	source := judged{Source: seen.Loaded, name: "the runtime at " + seen.Endpoint}
	if seen.Next == nil {
		source.notes = append(source.notes, "cannot tell what a restart of the runtime would bring: "+seen.NextUnknown)
	} else {
		for _, name := range seen.Next.Daemon.CRI.Names() {
			if _, ok := seen.Loaded.Handler(name); !ok {
				source.restart = append(source.restart, name)
			}
		}
	}
	source.notes = append(source.notes, doubts(seen, wants)...)
	return answer(source, wants, cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// doubts are the findings on wanted handlers that are there, and on all Pods
// of the node.
func doubts(seen *inventory.Observation, wants []config.Want) (notes []string) {
	report, err := inventory.FromStatus(seen, "")
	if err != nil {
		return []string{err.Error()}
	}
	for _, f := range report.Spec.Findings {
		wanted := slices.ContainsFunc(wants, func(w config.Want) bool { return w.Handler == f.Handler })
		switch f.Code {
		case v1alpha1.FindingBroken, v1alpha1.FindingExpiring:
			if wanted {
				notes = append(notes, f.Message)
			}
		case v1alpha1.FindingDefaultBroken, config.CodeDaemonWillNotStart, config.CodeCRIDisabled:
			notes = append(notes, f.Message)
		}
	}
	return notes
}
