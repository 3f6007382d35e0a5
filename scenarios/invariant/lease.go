package invariant

import (
	"cmp"
	"slices"
	"time"

	"ordeal/scenarios/evidence"
)

var workWithinLease = Invariant{
	ID:    "INV-09",
	Title: "Work stays within leases",
	Text: "Never more than 20 steps in work per executor; no call leaves for a step after its " +
		"lease by the holder's own clock. Seen from outside: no call leaves for an attempt " +
		"after a later attempt of its step was taken.",
	Needs: []string{"attempts", "calls"},
	Check: checkWorkWithinLease,
}

// inWorkMax is how many steps an executor may work on at once (STEP-4).
const inWorkMax = 20

func checkWorkWithinLease(r *evidence.Run) Result {
	var t tally
	for _, v := range r.Views() {
		judgeCallsInLease(&t, v)
	}
	judgeInWork(&t, r)
	return t.result
}

// judgeCallsInLease looks for requests of holders that had lost their step.
func judgeCallsInLease(t *tally, v evidence.View) {
	for _, c := range v.Calls {
		t.met()
		for _, a := range v.AttemptsOf(c.Step) {
			if a.No > c.Attempt && c.At.After(a.TakenAt) {
				t.violated(v.ID, c.At, "%s call %d left %s for step %d attempt %d at %s, after "+
					"attempt %d was taken by %s at %s", c.Operation, c.Seq, c.Process,
					c.Step, c.Attempt, clock(c.At), a.No, a.Executor, clock(a.TakenAt))
				break
			}
		}
	}
}

// edge is a moment at which an executor began or ended to work on a step.
type edge struct {
	executor string
	at       time.Time
	change   int
}

// judgeInWork counts the steps in work. An attempt without a result counts for nothing: its
// holder may be dead, and nobody saw it stop.
func judgeInWork(t *tally, r *evidence.Run) {
	var edges []edge
	for _, a := range r.Attempts {
		if a.Recorded() {
			edges = append(edges, edge{a.Executor, a.TakenAt, 1}, edge{a.Executor, a.RecordedAt, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.executor, b.executor), a.at.Compare(b.at),
			cmp.Compare(a.change, b.change))
	})
	inWork, executor := 0, ""
	for _, e := range edges {
		if e.executor != executor {
			inWork, executor = 0, e.executor
		}
		inWork += e.change
		if inWork == inWorkMax+1 && e.change > 0 {
			t.violated("", e.at, "executor %s had %d steps in work at %s, at most %d are allowed",
				executor, inWork, clock(e.at), inWorkMax)
		}
	}
}
