package sim

import (
	"fmt"
	"strings"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
)

// tally adds verdicts up, by scenario.
type tally struct {
	command func(scenario string, seed uint64) string
	rows    map[string]*reports.Scenario
	faults  map[string]map[string]reports.Fault // by scenario and kind
	judged  map[string]*reports.Invariant
	failed  []reports.Failure
	kept    map[string]int // failures, by scenario and invariant
}

func newTally(command func(string, uint64) string) tally {
	return tally{
		command: command,
		rows:    map[string]*reports.Scenario{},
		faults:  map[string]map[string]reports.Fault{},
		judged:  map[string]*reports.Invariant{},
		kept:    map[string]int{},
	}
}

// add counts a verdict, and what playing it again came to, and tells whether it is a failure.
func (t *tally) add(v Verdict, c check) (failed bool) {
	row := t.rows[v.Scenario]
	if row == nil {
		row = &reports.Scenario{Name: v.Scenario}
		t.rows[v.Scenario] = row
		t.faults[v.Scenario] = map[string]reports.Fault{}
	}
	row.Run++
	row.Statements += int64(v.Statements)
	row.Virtual += v.Virtual
	row.Elapsed += v.Elapsed
	for _, f := range v.Faults {
		sum := t.faults[v.Scenario][f.Kind]
		sum.Kind = f.Kind
		sum.Offered += f.Offered
		sum.Fired += f.Fired
		sum.Compared += f.Compared
		sum.Mattered += f.Mattered
		t.faults[v.Scenario][f.Kind] = sum
	}
	t.judge(v, c.repeats)
	switch {
	case c.difference != nil:
		row.Nondeterministic++
		t.fail(v, reports.Failure{
			Invariant: reports.Nondeterminism,
			Message:   c.difference.String(),
			Detail:    c.difference.Excerpt(),
			Repeats:   c.repeats,
		})
	case !v.Passed():
		row.Failed++
	default:
		row.Passed++
		return false
	}
	return true
}

// judge counts what the invariants found. Repeats tells how well the run repeats.
func (t *tally) judge(v Verdict, repeats string) {
	if v.Broken != "" {
		message, detail, _ := strings.Cut(v.Broken, "\n")
		t.fail(v, reports.Failure{
			Invariant: reports.Broken, Message: message, Detail: detail, Repeats: repeats,
		})
	}
	for _, j := range v.Invariants {
		row := t.judged[j.ID]
		if row == nil {
			row = &reports.Invariant{ID: j.ID, Title: j.Title}
			t.judged[j.ID] = row
		}
		row.Checked += int64(j.Checked)
		row.Violated += int64(len(j.Violations))
		for _, violation := range j.Violations {
			t.fail(v, reports.Failure{
				Invariant: j.ID,
				Message:   fmt.Sprintf("order %s: %s", violation.Order, violation.Message),
				Repeats:   repeats,
			})
		}
	}
}

// failuresKept bounds the failures that are kept of one scenario and invariant. All are counted.
const failuresKept = 100

// fail keeps a failure of a run.
func (t *tally) fail(v Verdict, f reports.Failure) {
	about := v.Scenario + " " + f.Invariant
	if t.kept[about]++; t.kept[about] > failuresKept {
		return
	}
	f.Scenario, f.Seed = v.Scenario, v.Seed
	f.Command = t.command(v.Scenario, v.Seed)
	if v.Replay != "" {
		f.Message = fmt.Sprintf("replay of %s: %s", v.Replay, f.Message)
		f.Command = "go run ./cmd/simulate replay --loose " + v.Replay
	}
	t.failed = append(t.failed, f)
}

// enoughSeeds is from how many runs of a scenario on its mandatory faults must have fired.
const enoughSeeds = 200

// result puts the counts into a result. Wall is the real time that passed, which is shared out
// among the scenarios by what each took.
func (t *tally) result(
	r reports.Result, wall time.Duration, all []scenarios.Scenario,
) reports.Result {
	var sum time.Duration
	for _, row := range t.rows {
		sum += row.Elapsed
	}
	for _, s := range all {
		row := t.rows[s.Name]
		if row == nil {
			continue
		}
		t.missing(s, row.Run)
		row.Elapsed = time.Duration(float64(wall) * float64(row.Elapsed) / float64(sum))
		r.Scenarios = append(r.Scenarios, *row)
		for _, f := range t.faults[s.Name] {
			r.Faults = append(r.Faults, f)
		}
	}
	for _, j := range t.judged {
		r.Invariants = append(r.Invariants, *j)
	}
	r.Failures = append(r.Failures, t.failed...)
	r.Settle()
	return r
}

// missing fails a sweep that was large enough and never did what its scenario must.
func (t *tally) missing(s scenarios.Scenario, runs int) {
	if runs < enoughSeeds {
		return
	}
	var never []string
	for _, kind := range s.Mandatory {
		if t.faults[s.Name][string(kind)].Fired == 0 {
			never = append(never, string(kind))
		}
	}
	if len(never) > 0 {
		t.fail(Verdict{Scenario: s.Name}, reports.Failure{
			Invariant: reports.Coverage,
			Message:   fmt.Sprintf("in %d runs never fired: %s", runs, strings.Join(never, ", ")),
		})
	}
}

// Report turns the verdict of a single run into its report.
func Report(
	v Verdict, r reports.Result, command func(scenario string, seed uint64) string,
) reports.Run {
	t := newTally(command)
	t.add(v, check{})
	return reports.Run{
		Result:    t.result(r, v.Elapsed, []scenarios.Scenario{{Name: v.Scenario}}),
		EventHash: v.EventHash,
		Events:    v.Events,
		Orders:    v.Orders,
	}
}
