package main

import "github.com/runtimegate/runtimegate/config"

// handlersOf are the handlers of all files with what became of them.
func handlersOf(r *config.Result) []*explainedHandler {
	var out []*explainedHandler
	for _, h := range loadedCRI(r).Handlers {
		out = append(out, &explainedHandler{Name: h.Name, Fate: "Loaded", Origins: []originView{}})
	}
	return out
}

func findingsOf(r *config.Result) []config.Finding {
	return nil
}
