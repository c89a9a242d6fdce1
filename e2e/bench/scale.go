package bench

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/tools/benchmark/parse"
)

// A Scale is what benchmarks took, by their names and the numbers of nodes that are
// part of those.
type Scale map[string]map[int]float64 // ns an operation

var nodesPart = regexp.MustCompile(`^Benchmark(.*?)/(?:nodes=(\d+)|(\d+)_nodes)(/.*?)?(?:-\d+)?$`)

// ReadScale reads what go test -bench has printed, as far as it tells of numbers
// of nodes.
func ReadScale(r io.Reader) (Scale, error) {
	s := Scale{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		b, err := parse.ParseLine(lines.Text())
		if err != nil {
			continue // no line of a benchmark
		}
		part := nodesPart.FindStringSubmatch(b.Name)
		if part == nil {
			continue
		}
		nodes, err := strconv.Atoi(part[2] + part[3])
		if err != nil {
			return nil, err
		}
		name := part[1] + part[4]
		if s[name] == nil {
			s[name] = map[int]float64{}
		}
		s[name][nodes] = b.NsPerOp
	}
	return s, lines.Err()
}

func (s Scale) write(p *printer) {
	sizes := map[int]bool{}
	for _, times := range s {
		for size := range times {
			sizes[size] = true
		}
	}
	columns := slices.Sorted(maps.Keys(sizes))
	head := []string{"µs with nodes"}
	for _, size := range columns {
		head = append(head, strconv.Itoa(size))
	}
	p.line("")
	p.line("### By the number of nodes")
	p.line("")
	p.table(head...)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		cells := []string{name}
		for _, size := range columns {
			cell := "–"
			if ns, ok := s[name][size]; ok {
				cell = fmt.Sprintf("%.2f", ns/1000)
			}
			cells = append(cells, cell)
		}
		p.row(cells...)
	}
}
