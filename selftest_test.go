package main

import (
	"errors"
	"testing"
	"time"
)

func TestSelftestHearsRuntimegateOnly(t *testing.T) {
	const warning = `handler "runtimegate-selftest" (RuntimeClass "runtimegate-selftest-x") is loaded on none of the 5 nodes of this cluster`
	const denial = `runtimeclasses.node.k8s.io "runtimegate-selftest-x" is forbidden: admission webhook "runtimeclasses.runtimegate.io" denied the request: ` + warning
	for name, tt := range map[string]struct {
		warned warnings
		err    error
		said   string
	}{
		"nothing":                {nil, nil, ""},
		"a warning":              {warnings{"other", warning}, nil, warning},
		"a denial":               {nil, errors.New(denial), denial},
		"somebody else's denial": {nil, errors.New(`admission webhook "classes.example.org" denied the request: handler "runtimegate-selftest" is not allowed`), ""},
		"runtimegate, too early": {warnings{"runtime handlers were not checked: runtimegate has only just started and does not know the nodes yet"}, nil, ""},
		"no right":               {nil, errors.New(`runtimeclasses.node.k8s.io is forbidden: User "x" cannot create resource`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if said := runtimegateSaid(tt.warned, tt.err); said != tt.said {
				t.Errorf("got %q, want %q", said, tt.said)
			}
		})
	}
}

func TestSelftestTellsSilenceFromNotKnowing(t *testing.T) {
	var exit *exitError
	if err := silence("https://api", time.Minute, warnings{"not checked"}, nil); !errors.As(err, &exit) || exit.code != 1 {
		t.Errorf("silence: got %v", err)
	}
	if err := silence("https://api", time.Minute, nil, errors.New("no right")); errors.As(err, &exit) {
		t.Errorf("cannot tell: got %v", err)
	}
}
