package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the result for the summary page of a CI run. Its size is bounded, because such
// pages are dropped whole when they are too long.
func (r Result) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s: %s\n\n", Verdict(r), r.Seeds)
	fmt.Fprintf(&b, "%.1f runs/s, %.0f virtual s/s, %.1f statements/run; commit %s\n",
		r.Rate.RunsPerSecond, r.Rate.VirtualSecondsPerSecond, r.Rate.StatementsPerRun,
		cell(orDash(r.Build.Commit)))
	r.markdownFailures(&b)
	markdownTable(&b, "Invariants", r.invariantTable())
	markdownTable(&b, "Faults", r.faultTable())
	markdownTable(&b, "Scenarios", r.scenarioTable())
	_, err := b.WriteTo(w)
	return err
}

func (r Result) markdownFailures(b *bytes.Buffer) {
	if len(r.Failures) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Failures\n")
	for n, f := range r.Failures {
		if n == failuresShown {
			fmt.Fprintf(b, "\n… and %d more in `%s`\n", len(r.Failures)-n, ResultFile)
			return
		}
		fmt.Fprintf(b, "\n**%s** seed %d, %s%s: %s\n\n%s    %s\n", cell(f.Scenario), f.Seed,
			cell(f.Invariant), repeats(f), cell(f.Message), detail(f), indent.Replace(f.Command))
	}
}

// markdownTable writes rows, of which the first is the head, with every column but the last set
// to the right.
func markdownTable(b *bytes.Buffer, title string, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	columns := len(rows[0])
	fmt.Fprintf(b, "\n### %s\n\n", title)
	for n, row := range rows {
		cells := make([]string, columns)
		for i, text := range row {
			cells[i] = cell(text)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if n == 0 {
			fmt.Fprintf(b, "|%s---|\n", strings.Repeat("---:|", columns-1))
		}
	}
}

// special are the characters that mean something to Markdown within a line.
var special = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "<", "&lt;", "[", "\\[",
)

// indent keeps a command of several lines within its block.
var indent = strings.NewReplacer("\n", "\n    ")

// cell makes a text safe within one line of Markdown.
func cell(text string) string { return special.Replace(oneLine(text)) }
