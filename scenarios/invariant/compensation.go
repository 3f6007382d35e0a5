package invariant

import (
	"strings"

	"ordeal/scenarios/evidence"
)

var auditedRelease = Invariant{
	ID:    "INV-03",
	Title: "Every compensation is audited",
	Text: "Every release at the warehouse has its audit rows (start, attempt, end); every " +
		"compensation ends audited as done or incomplete; the order's compensation field " +
		"agrees with its state and with the ledger.",
	Needs: []string{"warehouse ledger", "audit", "history", "steps", "attempts", "orders"},
	Check: perOrder(judgeAuditedRelease),
}

// The audit actions that mark a compensation.
const (
	auditStarted    = "compensation_started"
	auditAttempt    = "compensation_attempt"
	auditDone       = "compensation_done"
	auditIncomplete = "compensation_incomplete"
)

func judgeAuditedRelease(t *tally, r *evidence.Run, v evidence.View) {
	judgeReleaseEntries(t, v)
	judgeCompensationMarks(t, v)
	judgeReleaseAttempts(t, r, v)
	if v.Order != nil {
		judgeCompensationField(t, v)
	}
}

// judgeReleaseEntries looks for the start and the attempt of every release that the service made.
// What the warehouse does by itself (a lapse) has no attempt of ours.
func judgeReleaseEntries(t *tally, v evidence.View) {
	for _, e := range v.Warehouse {
		if e.Operation != evidence.OpRelease || !e.Effect || e.Origin == originLapse {
			continue
		}
		t.met()
		if countAudit(v, auditStarted) == 0 {
			t.violated(v.ID, e.At, "warehouse entry %d released %s at %s, but no audit row says "+
				"that a compensation started", e.Seq, e.Subject(), clock(e.At))
		}
		if !hasAttemptRow(v, e.Step, e.Attempt) {
			t.violated(v.ID, e.At, "warehouse entry %d released %s at %s, but its attempt (step "+
				"%d attempt %d) has no audit row", e.Seq, e.Subject(), clock(e.At),
				e.Step, e.Attempt)
		}
	}
}

// judgeCompensationMarks compares the transitions into and out of a compensation with their
// audit rows: they commit together, so the counts agree at every moment.
func judgeCompensationMarks(t *tally, v evidence.View) {
	var begun, done, failed int
	for _, c := range v.History {
		switch {
		case c.To == releasing && c.Event != "release_retried":
			begun++
		case c.From == releasing && c.To == releaseFailed:
			failed++
		case c.From == releasing:
			done++
		}
	}
	if begun+done+failed > 0 {
		t.met()
	}
	compareMarks(t, v, auditStarted, begun)
	compareMarks(t, v, auditDone, done)
	compareMarks(t, v, auditIncomplete, failed)
}

// compareMarks compares how often something happened with how often it was audited. A person's
// release of stock is audited without a transition, so there may be more rows.
func compareMarks(t *tally, v evidence.View, action string, happened int) {
	rows := countAudit(v, action)
	if rows < happened || rows > happened && !closed(v) {
		t.violated(v.ID, v.LastAt(), "history has %d transitions that are audited as %s, audit "+
			"has %d rows", happened, action, rows)
	}
}

// judgeReleaseAttempts looks for the audit row of every release attempt. One in flight may get
// its row with its result; at rest none is missing.
func judgeReleaseAttempts(t *tally, r *evidence.Run, v evidence.View) {
	for _, a := range v.Attempts {
		if kindOf(v, a.Step) != stepRelease || !a.Recorded() && !r.AtRest {
			continue
		}
		t.met()
		if !hasAttemptRow(v, a.Step, a.No) {
			t.violated(v.ID, a.TakenAt, "release step %d attempt %d (taken %s by %s) has no "+
				"audit row", a.Step, a.No, clock(a.TakenAt), a.Executor)
		}
	}
}

// judgeCompensationField compares the field with the path of the order and with the ledger.
func judgeCompensationField(t *tally, v evidence.View) {
	o := v.Order
	if want := compensationOf(v); o.Compensation != want {
		t.met()
		t.violated(v.ID, v.LastAt(), "compensation is %q in state %s (version %d); after %s it "+
			"should be %q", o.Compensation, o.State, o.Version, path(v), want)
	}
	holds := heldKey(v)
	switch o.Compensation {
	case "none":
		if e, was := releaseEffect(v); was && !closed(v) {
			t.met()
			t.violated(v.ID, e.At, "compensation is none in state %s, but warehouse entry %d "+
				"released %s at %s", o.State, e.Seq, e.Subject(), clock(e.At))
		}
		if finalUnsuccessful(o.State) && holds != "" {
			t.met()
			t.violated(v.ID, v.LastAt(), "the order is %s with compensation none, but the "+
				"warehouse holds %s", o.State, holds)
		}
	case "done":
		t.met()
		if !releaseConfirmed(v) {
			t.violated(v.ID, v.LastAt(), "compensation is done in state %s, but the warehouse "+
				"never confirmed a release", o.State)
		}
		if holds != "" {
			t.violated(v.ID, v.LastAt(), "compensation is done in state %s, but the warehouse "+
				"holds %s", o.State, holds)
		}
	}
}

// compensationOf derives the field from the path of the order.
func compensationOf(v evidence.View) string {
	_, begun := v.Entered(releasing)
	switch state := v.Order.State; {
	case state == releasing:
		return "pending"
	case state == releaseFailed:
		return "incomplete"
	case finalUnsuccessful(state) && begun:
		return "done"
	case closed(v):
		return v.Order.Compensation // a person decided about the stock
	}
	return "none"
}

// The origin of a ledger entry that no request made.
const originLapse = "lapse"

// releaseEffect returns the first release that the service made with effect.
func releaseEffect(v evidence.View) (e evidence.Entry, ok bool) {
	for _, e := range v.Warehouse {
		if e.Operation == evidence.OpRelease && e.Effect && e.Origin != originLapse {
			return e, true
		}
	}
	return evidence.Entry{}, false
}

// releaseConfirmed reports whether the warehouse ever carried a release out, or had nothing left
// to release.
func releaseConfirmed(v evidence.View) bool {
	for _, e := range v.Warehouse {
		if e.Operation == evidence.OpRelease && e.Outcome == succeeded {
			return true
		}
	}
	return false
}

// hasAttemptRow reports whether an attempt of a release is audited.
func hasAttemptRow(v evidence.View, step, attempt int) bool {
	for _, a := range v.Audit {
		if a.Action == auditAttempt && a.Step == step && a.Attempt == attempt {
			return true
		}
	}
	return false
}

// countAudit counts the audit rows of an action.
func countAudit(v evidence.View, action string) (n int) {
	for _, a := range v.Audit {
		if a.Action == action {
			n++
		}
	}
	return n
}

// closed reports whether a person closed the order.
func closed(v evidence.View) bool { return v.Order != nil && !v.Order.ClosedAt.IsZero() }

// path prints the states that the order went through.
func path(v evidence.View) string {
	var states []string
	for _, c := range v.History {
		states = append(states, c.To)
	}
	return strings.Join(states, " → ")
}
