package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/webhook"
)

// gateFlags are the flags that decide on verdicts, the same for all commands
// that give any.
type gateFlags struct {
	classMissing string
	maxAction    string
	inventory    inventory.Options
}

func (g *gateFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&g.classMissing, "runtimeclass-missing", webhook.Warn.String(), "what to do about a RuntimeClass whose handler no node has loaded: Warn or Deny")
	flags.StringVar(&g.maxAction, "max-action", webhook.Deny.String(), "strictest action on anything: Deny, Warn or Audit (to roll out step by step)")
	flags.DurationVar(&g.inventory.StaleAfter, "stale-after", inventory.DefaultOptions.StaleAfter, "age at which a NodeRuntime no longer counts")
	flags.DurationVar(&g.inventory.NodeSettle, "node-settle", inventory.DefaultOptions.NodeSettle, "age of a node below which a handler that it lacks counts as unknown")
}

// options checks the flags.
func (g *gateFlags) options() (webhook.Options, error) {
	o := webhook.Options{Inventory: g.inventory}
	if g.inventory.StaleAfter <= 0 || g.inventory.NodeSettle < 0 {
		return o, errors.New("--stale-after must be above 0, --node-settle not below 0")
	}
	var err error
	if o.ClassMissing, err = parseAction("--runtimeclass-missing", g.classMissing, webhook.Warn, webhook.Deny); err != nil {
		return o, err
	}
	o.MaxAction, err = parseAction("--max-action", g.maxAction, webhook.Deny, webhook.Warn, webhook.Audit)
	return o, err
}
