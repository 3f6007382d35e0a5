package chaos

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ordeal/reports"
	"ordeal/scenarios/invariant"
)

// Result puts outcomes into the common form: a scenario per case, a run per play, and as faults
// the boundaries with how often they were to be hit and were.
func Result(r reports.Result, outcomes []Outcome) reports.Result {
	for _, o := range outcomes {
		row := reports.Scenario{
			Name:       o.Case.ID,
			Seeds:      reports.Seeds{Run: 1},
			Statements: int64(o.Statements),
			Elapsed:    o.Elapsed,
		}
		if o.Passed() {
			row.Passed = 1
		} else {
			row.Failed = 1
		}
		r.Scenarios = append(r.Scenarios, row)
		r.Faults = append(r.Faults, reports.Fault{Kind: o.Case.ID, Offered: 1, Fired: count(o.Hit)})
		r.Invariants = append(r.Invariants, judged(o.Findings)...)
		for _, p := range o.Problems {
			r.Failures = append(r.Failures, reports.Failure{
				Scenario:  o.Case.ID,
				Seed:      o.Seed,
				Invariant: p.What,
				Message:   p.Message,
				Command:   command(o),
			})
		}
	}
	r.Settle()
	return r
}

func count(hit bool) int64 {
	if hit {
		return 1
	}
	return 0
}

// command plays an outcome again.
func command(o Outcome) string {
	return fmt.Sprintf("go run ./cmd/chaos run %s --seed %d", o.Case.ID, o.Seed)
}

// judged counts findings per invariant.
func judged(findings []invariant.Finding) (rows []reports.Invariant) {
	for _, f := range findings {
		i, _ := invariant.Lookup(f.ID)
		rows = append(rows, reports.Invariant{
			ID:       f.ID,
			Title:    i.Title,
			Checked:  int64(f.Result.Checked),
			Violated: int64(len(f.Result.Violations)),
		})
	}
	return rows
}

// Table writes a line per outcome.
func Table(w io.Writer, outcomes []Outcome) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "case\tseed\tverdict\tboundary\tkills\torders\trecovery\tlease\tchecks\ttook")
	for _, o := range outcomes {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%d\t%d\t%s\t%s\t%d\t%s\n", o.Case.ID, o.Seed,
			o.verdict(), o.boundary(), o.Kills, o.Orders, brief(o.Recovery), o.Case.Lease,
			o.Checked(), brief(o.Elapsed))
	}
	return t.Flush()
}

func (o Outcome) verdict() string {
	if o.Passed() {
		return "held"
	}
	var what []string
	for _, p := range o.Problems {
		what = append(what, p.What)
	}
	slices.Sort(what)
	return "FAILED " + strings.Join(slices.Compact(what), ",")
}

func (o Outcome) boundary() string {
	if o.Hit {
		return "hit"
	}
	return "NOT HIT"
}

// brief prints a duration in seconds; a dash where there was none.
func brief(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}
