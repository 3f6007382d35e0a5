package invariant

import (
	"fmt"
	"time"

	"ordeal/scenarios/evidence"
)

var noReleaseBesideCharge = Invariant{
	ID:    "INV-05",
	Title: "No release beside a charge",
	Text: "No reservation is released, by the service or by the warehouse, while a charge is " +
		"unresolved or after it succeeded (a close with release_stock apart). A charge that " +
		"arrives after the release breaks the rule too.",
	Needs: []string{"warehouse ledger", "payment ledger", "calls", "steps", "attempts"},
	Check: perOrder(judgeNoReleaseBesideCharge),
}

// letGo is a moment at which a reservation was released or a release was asked for.
type letGo struct {
	at   time.Time
	what string
}

func judgeNoReleaseBesideCharge(t *tally, _ *evidence.Run, v evidence.View) {
	for _, l := range lettingGo(v) {
		if orderedByClose(v, l.at) {
			continue
		}
		t.met()
		if effects := chargeEffects(v); len(effects) > 0 {
			e := effects[0]
			t.violated(v.ID, l.at, "%s at %s, but payment entry %d charged %d at %s",
				l.what, clock(l.at), e.Seq, e.Amount, clock(e.At))
			continue
		}
		if why := unresolvedCharge(v, l.at); why != "" {
			t.violated(v.ID, l.at, "%s at %s, while %s", l.what, clock(l.at), why)
		}
	}
}

// lettingGo lists the releases with effect, whoever made them, and the requests for one: a
// request that left may have its effect at any time.
func lettingGo(v evidence.View) []letGo {
	var all []letGo
	for _, e := range v.Warehouse {
		if e.Operation == evidence.OpRelease && e.Effect {
			all = append(all, letGo{e.At, fmt.Sprintf("warehouse entry %d (%s, step %d attempt "+
				"%d) released %s", e.Seq, e.Origin, e.Step, e.Attempt, e.Subject())})
		}
	}
	for _, c := range v.Calls {
		if c.Operation == evidence.OpRelease && c.Left() {
			all = append(all, letGo{c.At, fmt.Sprintf("%s asked for the release (call %d, step "+
				"%d attempt %d)", c.Process, c.Seq, c.Step, c.Attempt)})
		}
	}
	return all
}

// orderedByClose reports whether a person had decided by then to release a paid order's stock.
func orderedByClose(v evidence.View, at time.Time) bool {
	for _, e := range v.Client {
		if e.Route == evidence.RouteClose && e.ReleaseStock && !e.SentAt.After(at) &&
			(e.Accepted() || e.Undecided()) {
			return true
		}
	}
	return false
}

// unresolvedCharge says why, at a moment, a charge of the order was possible; empty if none was.
func unresolvedCharge(v evidence.View, at time.Time) string {
	if confirmedUncharged(v, at) {
		return ""
	}
	for _, a := range v.Attempts {
		if kindOf(v, a.Step) != stepPay || heldBack(v, a, at) {
			continue
		}
		if !a.Recorded() || a.RecordedAt.After(at) {
			return fmt.Sprintf("pay step %d attempt %d (taken %s by %s) had no result",
				a.Step, a.No, clock(a.TakenAt), a.Executor)
		}
		return fmt.Sprintf("pay step %d attempt %d had ended %s at %s and no confirmed "+
			"non-charge followed", a.Step, a.No, a.Outcome, clock(a.RecordedAt))
	}
	for _, c := range v.Calls {
		_, known := v.Attempt(c.Step, c.Attempt)
		if c.Operation == evidence.OpCharge && c.Left() && !known {
			return fmt.Sprintf("charge call %d, which belongs to no attempt, was unanswered for",
				c.Seq)
		}
	}
	return ""
}

// heldBack reports whether it was recorded by then, and no witness contradicts, that not a byte
// of a charge attempt had left.
func heldBack(v evidence.View, a evidence.Attempt, at time.Time) bool {
	if !a.Recorded() || a.RecordedAt.After(at) {
		return false
	}
	if a.Outcome != notSent && a.Sent {
		return false
	}
	for _, c := range v.Calls {
		if c.Step == a.Step && c.Attempt == a.No && c.Left() {
			return false
		}
	}
	return true
}

// confirmedUncharged reports whether it was recorded by then that the charge is refused or its
// key voided, on the word of the provider.
func confirmedUncharged(v evidence.View, at time.Time) bool {
	for _, a := range v.Attempts {
		if a.Recorded() && !a.RecordedAt.After(at) && provesUncharged(v, a) {
			return true
		}
	}
	return false
}

// provesUncharged reports whether an attempt ended in a confirmed non-charge that the provider
// really told: a claim without such an answer counts for nothing.
func provesUncharged(v evidence.View, a evidence.Attempt) bool {
	switch kindOf(v, a.Step) {
	case stepPay:
		return a.Outcome == refused && wasTold(v, a, evidence.OpCharge, refused)
	case stepReconcile:
		return a.Outcome == refused && wasTold(v, a, evidence.OpStatusCharge, refused) ||
			a.Outcome == voided && wasTold(v, a, evidence.OpStatusCharge, voided)
	case stepVoid:
		return a.Outcome == succeeded && wasTold(v, a, evidence.OpVoid, succeeded)
	}
	return false
}

// wasTold reports whether a call of an attempt was answered with a definite outcome.
func wasTold(v evidence.View, a evidence.Attempt, operation, outcome string) bool {
	for _, c := range v.Calls {
		if c.Step == a.Step && c.Attempt == a.No && c.Operation == operation &&
			c.Reply == evidence.ReplyAnswered && c.Answer.Outcome == outcome {
			return true
		}
	}
	return false
}

// kindOf is the kind of a step of the order; empty if it has no row.
func kindOf(v evidence.View, step int) string {
	s, _ := v.Step(step)
	return s.Kind
}

// clock prints a time as the messages show it.
func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }
