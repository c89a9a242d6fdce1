package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const recorded = `## Nodes
#
# Two nodes,
# one of them new.
$ kubectl get nodes
NAME   AGE
a      3d
b      …

% until kubectl get nodes; do sleep 1; done

$ kubectl get node c
Error from server (NotFound): nodes "…" not found
[exit 1]
`

func read(t *testing.T, text string) (*Session, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

func TestReadThenWriteGivesTheSameFile(t *testing.T) {
	s, err := read(t, recorded)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != recorded {
		t.Errorf("got:\n%s", got)
	}
}

func TestMatches(t *testing.T) {
	s, err := read(t, recorded)
	if err != nil {
		t.Fatal(err)
	}
	nodes, missing := s.Steps[0], s.Steps[2]
	tests := map[string]struct {
		step   Step
		output string
		exit   int
		want   bool
	}{
		"the same, and anything in place of the ellipsis": {nodes, "NAME   AGE\na      3d\nb      5s\n", 0, true},
		"spaces at the end of a line are not seen":        {nodes, "NAME   AGE  \na      3d\nb      5s\n\n", 0, true},
		"another line":                             {nodes, "NAME   AGE\na      4d\nb      5s\n", 0, false},
		"a line too many":                          {nodes, "NAME   AGE\na      3d\nb      5s\nc      5s\n", 0, false},
		"a line too few":                           {nodes, "NAME   AGE\na      3d\n", 0, false},
		"another exit code":                        {nodes, "NAME   AGE\na      3d\nb      5s\n", 1, false},
		"the same exit code":                       {missing, "Error from server (NotFound): nodes \"c\" not found\n", 1, true},
		"an exit code amiss":                       {missing, "Error from server (NotFound): nodes \"c\" not found\n", 0, false},
		"no character but the ellipsis is special": {missing, "Error from server NotFound: nodes \"c\" not found\n", 1, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.step.Matches(Lines(test.output, test.exit)); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestUpdateKeepsLinesThatStillMatch(t *testing.T) {
	step := Step{Want: []string{"NAME   AGE", "a      …", "b      …"}}
	step.Update([]string{"NAME   AGE", "a      7s", "c      7s", "d      7s"})
	want := "NAME   AGE\na      …\nc      7s\nd      7s"
	if got := strings.Join(step.Want, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a file with no command":             {"# only text\n", "no command in it"},
		"output with no command":             {"# text\noutput\n$ true\n", ":2: output without a command"},
		"output between text and command":    {"$ true\n# text\noutput\n$ true\n", ":3: output without a command"},
		"an empty file, which shows nothing": {"", "no command in it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := read(t, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q in it", err, test.want)
			}
		})
	}
}
