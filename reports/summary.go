package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// failuresShown is how many failures the renderings for people show; the JSON holds all.
const failuresShown = 10

// Summary writes the result for a console: aligned tables, then one block per failure with the
// command that reproduces it, and the verdict in the last line.
func (r Result) Summary(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "build %s (commit %s, %s)\n",
		orDash(r.Build.Version), orDash(r.Build.Commit), orDash(r.Build.Go))
	table(&b, r.scenarioTable())
	table(&b, r.invariantTable())
	table(&b, r.faultTable())
	fmt.Fprintf(&b, "\n%.1f runs/s, %.0f virtual s/s, %.1f statements/run\n",
		r.Rate.RunsPerSecond, r.Rate.VirtualSecondsPerSecond, r.Rate.StatementsPerRun)
	r.notes(&b)
	r.failureBlocks(&b)
	fmt.Fprintf(&b, "\n%s: %s\n", Verdict(r), r.Seeds)
	_, err := b.WriteTo(w)
	return err
}

// String prints the counts as one line.
func (s Seeds) String() string {
	return fmt.Sprintf("%d seeds run, %d passed, %d failed, %d nondeterministic",
		s.Run, s.Passed, s.Failed, s.Nondeterministic)
}

// table writes rows, of which the first is the head, with every column but the last set to the
// right. A table without rows is left out.
func table(b *bytes.Buffer, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		last := len(row) - 1
		fmt.Fprintf(t, "%s\t  %s\n", strings.Join(row[:last], "\t"), row[last])
	}
	_ = t.Flush() // a bytes.Buffer cannot fail
}

func (r Result) scenarioTable() [][]string {
	rows := [][]string{{"run", "passed", "failed", "nondeterministic", "scenario"}}
	for _, s := range r.Scenarios {
		rows = append(rows, []string{number(int64(s.Run)), number(int64(s.Passed)),
			number(int64(s.Failed)), number(int64(s.Nondeterministic)), s.Name})
	}
	return rows
}

func (r Result) invariantTable() [][]string {
	rows := [][]string{{"checked", "violated", "invariant"}}
	for _, i := range r.Invariants {
		rows = append(rows, []string{number(i.Checked), number(i.Violated), i.ID + " " + i.Title})
	}
	return rows
}

func (r Result) faultTable() [][]string {
	rows := [][]string{{"offered", "fired", "mattered", "compared", "fault"}}
	for _, f := range r.Faults {
		rows = append(rows, []string{number(f.Offered), number(f.Fired), number(f.Mattered),
			number(f.Compared), f.Kind})
	}
	return rows
}

// notes says what the result shows nothing about.
func (r Result) notes(b *bytes.Buffer) {
	if ids := r.Unchecked(); len(ids) > 0 {
		fmt.Fprintf(b, "never checked: %s\n", strings.Join(ids, ", "))
	}
	if kinds := r.Unfired(); len(kinds) > 0 {
		fmt.Fprintf(b, "never fired: %s\n", strings.Join(kinds, ", "))
	}
}

func (r Result) failureBlocks(b *bytes.Buffer) {
	for n, f := range r.Failures {
		if n == failuresShown {
			fmt.Fprintf(b, "\n… and %d more failures in %s\n", len(r.Failures)-n, ResultFile)
			return
		}
		fmt.Fprintf(b, "\nFAIL %s seed=%d %s%s\n  %s\n%s  reproduce: %s\n", f.Scenario, f.Seed,
			f.Invariant, repeats(f), oneLine(f.Message), detail(f), f.Command)
	}
}

// repeats tells how well a failure repeats, in brackets.
func repeats(f Failure) string {
	if f.Repeats == "" {
		return ""
	}
	return " (" + f.Repeats + ")"
}

// detailMax bounds the lines of a detail in the renderings, detailWidth each of them, in runes.
const (
	detailMax   = 30
	detailWidth = 200
)

// detail shows the first lines of what there is to look at.
func detail(f Failure) string {
	var b strings.Builder
	lines := 0
	for line := range strings.Lines(f.Detail) {
		if lines++; lines > detailMax {
			b.WriteString("    …\n")
			break
		}
		runes := []rune(strings.TrimRight(line, "\n"))
		b.WriteString("    " + string(runes[:min(len(runes), detailWidth)]) + "\n")
	}
	return b.String()
}

// messageMax bounds a message in the renderings, in runes.
const messageMax = 600

// oneLine makes one line of a text, and a short one.
func oneLine(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > messageMax {
		return string(runes[:messageMax]) + " …"
	}
	return string(runes)
}

func number(n int64) string { return fmt.Sprint(n) }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
