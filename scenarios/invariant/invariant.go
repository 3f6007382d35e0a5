// Package invariant judges what a run left behind. Every invariant is a value with a check that
// reads evidence and nothing else; the checks are written from the specification of the process
// and share no code with the service, so that a mistake there is not repeated here.
//
// A check never skips an order because faults were on. Where evidence is uncertain, both
// possibilities are weighed: a request that may have been delivered counts as delivered for those
// who must not release beside it. Some rules hold only once a run is at rest; everything else is
// judged at any quiet moment.
//
// On equal times. Rows and ledgers carry times of one clock that may stand still between two
// events, so "before" and "after" are strict where equality proves nothing, and rules prefer what
// needs no clock: versions, generations, and the order within one ledger.
package invariant

import (
	"fmt"
	"time"

	"ordeal/scenarios/evidence"
)

// Invariant is one thing that always holds.
type Invariant struct {
	// ID is stable: INV-01, INV-02, …
	ID    string
	Title string
	// Text is the rule itself.
	Text string
	// Needs lists the evidence that the check reads, or, where Check is nil, what it would.
	Needs []string
	// Check judges a run. It is nil for an invariant that this evidence cannot decide.
	Check func(*evidence.Run) Result
}

// Result is what a check found.
type Result struct {
	// Checked is how often there was something to check. A sweep in which it stays zero shows
	// nothing.
	Checked    int
	Violations []Violation
}

// Held reports whether nothing was violated.
func (r Result) Held() bool { return len(r.Violations) == 0 }

// Violation is one way in which an invariant did not hold.
type Violation struct {
	// Order is the order concerned, empty where there is none.
	Order string
	// Message says what is wrong, naming the rows, entries or requests that show it.
	Message string
	// At is the time of the fact that shows it, zero where it is a matter of the whole run.
	At time.Time
}

// Finding is the result of one invariant in one run.
type Finding struct {
	ID     string
	Result Result
}

// Judge runs the checks of the invariants that have one, in the given order.
func Judge(r *evidence.Run, list []Invariant) []Finding {
	r.Index()
	var findings []Finding
	for _, i := range list {
		if i.Check != nil {
			findings = append(findings, Finding{ID: i.ID, Result: i.Check(r)})
		}
	}
	return findings
}

// tally collects the result of one check.
type tally struct{ result Result }

// met counts something that was there to check.
func (t *tally) met() { t.result.Checked++ }

// violated records a violation that shows at a fact.
func (t *tally) violated(order string, at time.Time, format string, args ...any) {
	t.result.Violations = append(t.result.Violations, Violation{
		Order:   order,
		Message: fmt.Sprintf(format, args...),
		At:      at,
	})
}

// perOrder makes a check out of one that judges a single order.
func perOrder(judge func(*tally, *evidence.Run, evidence.View)) func(*evidence.Run) Result {
	return func(r *evidence.Run) Result {
		var t tally
		for _, v := range r.Views() {
			judge(&t, r, v)
		}
		return t.result
	}
}
