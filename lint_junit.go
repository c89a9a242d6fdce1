package main

import (
	"encoding/xml"
	"io"
	"strings"
)

// What of JUnit's format CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string         `xml:"name,attr"`
		ClassName string         `xml:"classname,attr"`
		File      string         `xml:"file,attr,omitempty"`
		Line      int            `xml:"line,attr,omitempty"`
		Failures  []junitMessage `xml:"failure"`
		Errors    []junitMessage `xml:"error"`
		Out       string         `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit prints a test case for each object that was judged, which fails if
// something about it makes the exit code 1, and one for each fault.
func (o *lintOutput) junit(w io.Writer) error {
	suite := junitSuite{Name: "runtimegate lint"}
	byObject := map[*lintResult][]lintFinding{}
	for _, f := range o.findings() {
		byObject[f.object] = append(byObject[f.object], f)
	}
	for i := range o.results {
		suite.add(judgedCase(&o.results[i], byObject[&o.results[i]]))
	}
	for _, f := range byObject[nil] {
		suite.add(junitCase{
			Name: f.place.String(), ClassName: f.title, File: f.place.File, Line: f.place.Line,
			Errors: []junitMessage{{Type: "Fault", Message: f.message, Text: f.message}},
		})
	}
	suites := junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Suites: []junitSuite{suite}}
	text, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// judgedCase is the case of one object. What does not fail is said as output.
func judgedCase(r *lintResult, findings []lintFinding) junitCase {
	c := junitCase{Name: printable(r.title()), ClassName: printable(r.Place.File), File: printable(r.Place.File), Line: r.Place.Line}
	if r.Place.Source != "" {
		c.ClassName, c.File, c.Line = printable(r.Place.Source), printable(r.Place.Source), 0
	}
	var said []string
	for _, f := range findings {
		if f.level == levelError {
			c.Failures = append(c.Failures, junitMessage{Type: f.rule, Message: f.message, Text: printable(f.place.String()) + ": " + f.message})
		} else {
			said = append(said, f.rule+": "+f.message)
		}
	}
	c.Out = strings.Join(said, "\n")
	return c
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if len(c.Failures) > 0 {
		s.Failures++
	}
	if len(c.Errors) > 0 {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}
