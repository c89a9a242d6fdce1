package configdiff

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

func TestPrintDocs(t *testing.T) {
	out := os.Getenv("DOCS")
	if out == "" {
		t.Skip()
	}
	f, _ := os.Create(out)
	defer f.Close()
	w := bufio.NewWriter(f)
	defer w.Flush()
	for s := range uint64(60000) {
		for _, c := range Generate(s, false).Files {
			b, _ := json.Marshal([]byte(c))
			w.Write(append(b, '\n'))
		}
	}
}
