package audit

import (
	"strings"
	"testing"
)

func TestLostNote(t *testing.T) {
	long := strings.Repeat("x", 253)
	for want, nodes := range map[string][]string{
		`handler "nvidia" is gone since the last start of the runtime on node a: new Pods`:                             {"a"},
		`handler "nvidia" is gone since the last start of the runtime on 3 nodes a, b, c: new Pods`:                    {"a", "b", "c"},
		`handler "nvidia" is gone since the last start of the runtime on 5 nodes a, b, c and 2 more: new Pods`:         {"a", "b", "c", "d", "e"},
		`handler "nvidia" is gone since the last start of the runtime on 2 nodes ` + long + ", " + long + ": new Pods": {long, long},
	} {
		got := lostNote("nvidia", nodes)
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "kubectl get nruntime "+nodes[0]+" -o yaml says why") {
			t.Errorf("got %s\nwant %s…", got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcdef": "abcdef", "abcdefg": "abc…", "abäöü": "ab…"} {
		if got := cut(text, 6); got != want {
			t.Errorf("cut(%q): got %q, want %q", text, got, want)
		}
	}
}
