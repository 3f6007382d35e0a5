package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The elements of JUnit XML that its readers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit writes the result as JUnit XML: a suite per scenario, and in it a case per invariant,
// because readers drop all but the first of equally named cases. An invariant that never had
// anything to check is skipped, not passed.
func (r Result) JUnit(w io.Writer) error {
	var all junitSuites
	for _, s := range r.Scenarios {
		suite := r.junitSuite(s)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Skipped += suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r Result) junitSuite(s Scenario) junitSuite {
	suite := junitSuite{
		Name: s.Name,
		Time: fmt.Sprintf("%.3f", s.Elapsed.Seconds()),
		Properties: []junitProperty{
			{"version", r.Build.Version},
			{"commit", r.Build.Commit},
			{"go", r.Build.Go},
			{"seeds.run", fmt.Sprint(s.Run)},
			{"seeds.passed", fmt.Sprint(s.Passed)},
			{"seeds.failed", fmt.Sprint(s.Failed)},
			{"seeds.nondeterministic", fmt.Sprint(s.Nondeterministic)},
		},
	}
	for _, i := range r.Invariants {
		c := r.junitCase(s.Name, i.ID, i.ID+" "+i.Title)
		if i.Checked == 0 && c.Failure == nil {
			c.Skipped = &junitSkipped{"never had anything to check"}
		}
		suite.add(c)
	}
	for _, id := range r.otherReasons(s.Name) {
		suite.add(r.junitCase(s.Name, id, id))
	}
	return suite
}

// add counts a case in.
func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

// otherReasons lists what failures of a scenario name beside the invariants.
func (r Result) otherReasons(scenario string) []string {
	var reasons []string
	for _, f := range r.Failures {
		known := slices.ContainsFunc(r.Invariants, func(i Invariant) bool {
			return i.ID == f.Invariant
		})
		if f.Scenario == scenario && !known {
			reasons = append(reasons, f.Invariant)
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// junitCase makes a case of all failures of one scenario for one reason.
func (r Result) junitCase(scenario, id, name string) junitCase {
	c := junitCase{Class: "sim." + scenario, Name: name}
	var failed []Failure
	for _, f := range r.Failures {
		if f.Scenario == scenario && f.Invariant == id {
			failed = append(failed, f)
		}
	}
	if len(failed) == 0 {
		return c
	}
	var text strings.Builder
	for n, f := range failed {
		if n == failuresShown {
			fmt.Fprintf(&text, "… and %d more\n", len(failed)-n)
			break
		}
		fmt.Fprintf(&text, "seed=%d: %s\nreproduce: %s\n", f.Seed, oneLine(f.Message),
			f.Command)
	}
	c.Failure = &junitFailure{
		Message: fmt.Sprintf("%d failures, first: %s", len(failed), failed[0].Command),
		Text:    text.String(),
	}
	return c
}
