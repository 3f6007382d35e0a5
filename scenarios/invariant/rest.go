package invariant

import (
	"slices"
	"strings"
	"time"

	"ordeal/scenarios/evidence"
)

var comesToRest = Invariant{
	ID:    "INV-15",
	Title: "Everything comes to rest",
	Text: "Some bounded time after faults ended, every order is final, closed, or in a state whose " +
		"attention names a person's next action, and no cancellation waits for anything else " +
		"than an unknown payment.",
	Needs: []string{"orders", "steps", "attention"},
	Check: checkComesToRest,
}

// checkComesToRest has nothing to say about a run that is not at rest.
func checkComesToRest(r *evidence.Run) Result {
	var t tally
	if !r.AtRest {
		return t.result
	}
	for _, v := range r.Views() {
		if v.Order != nil {
			t.met()
			judgeAtRest(&t, r, v)
		}
	}
	return t.result
}

// sweepTime is how long after its deadline an order may still wait for the sweep: the time after
// which its state escalates.
const sweepTime = 2 * time.Minute

func judgeAtRest(t *tally, r *evidence.Run, v evidence.View) {
	o := v.Order
	if o.CancelStatus == "waiting" && o.State != paymentUnknown {
		t.violated(v.ID, o.CancelRequestedAt, "at rest in %s, a cancellation requested at %s still "+
			"waits", o.State, clock(o.CancelRequestedAt))
	}
	switch {
	case final(o.State):
		judgeFinished(t, v)
		return
	case closed(v):
		return
	case !waitsForPerson(v):
		t.violated(v.ID, v.LastAt(), "at rest in %s since %s (version %d) with attention [%s] and "+
			"steps [%s]: nobody is told to act", o.State, clock(v.LastAt()), o.Version,
			reasons(v), openSteps(v))
		return
	}
	overdue := !o.Deadline.IsZero() && r.Horizon.After(o.Deadline.Add(sweepTime))
	if o.State == paying && overdue {
		t.violated(v.ID, o.Deadline, "at rest in paying at %s, although the reservation expired at "+
			"%s", clock(r.Horizon), clock(o.Deadline))
	}
}

// judgeFinished looks for work that a final order still has.
func judgeFinished(t *tally, v evidence.View) {
	if open := openSteps(v); open != "" {
		t.violated(v.ID, v.LastAt(), "at rest in %s, steps are still open: %s", v.Order.State, open)
	}
}

// callers are the reasons for attention that name a person's next action, by state.
var callers = map[string][]string{
	reserving:      {"retry_exhausted", "permanent_error"},
	paying:         {"retry_exhausted", "permanent_error"},
	paymentUnknown: {"payment_unresolved"},
	releaseFailed:  {"release_failed"},
	shippingFailed: {"shipping_failed"},
}

// waitsForPerson reports whether the order's attention names an action for its state. A process
// version that no worker knows stops an order anywhere.
func waitsForPerson(v evidence.View) bool {
	return v.Asks("unknown_process_version") ||
		slices.ContainsFunc(callers[v.Order.State], v.Asks)
}

// reasons prints the order's attention.
func reasons(v evidence.View) string {
	var all []string
	for _, a := range v.Attention {
		all = append(all, a.Reason)
	}
	return strings.Join(all, ", ")
}

// open reports whether a step is waiting to be taken or leased.
func open(s evidence.Step) bool { return s.Status == "due" || s.Status == "running" }

// openSteps prints the steps that are open.
func openSteps(v evidence.View) string {
	var all []string
	for _, s := range v.Steps {
		if open(s) {
			all = append(all, s.Kind+" "+s.Status)
		}
	}
	return strings.Join(all, ", ")
}

var nothingForgotten = Invariant{
	ID:    "INV-16",
	Title: "Nothing is forgotten",
	Text: "At every moment each order is final, closed, has a step that some poller will take in " +
		"the order's state, or is flagged for a person; no open step is beyond every poller.",
	Needs: []string{"orders", "steps", "attention"},
	Check: perOrder(judgeNothingForgotten),
}

// takenIn lists the states in which a poller takes a step of a kind. Kinds that are missing are
// bound to no state.
var takenIn = map[string][]string{
	stepReserve:   {created, reserving},
	stepPay:       {reserved, paying},
	stepReconcile: {paymentUnknown},
	stepVoid:      {paymentUnknown},
	stepShip:      {paid, shipping},
	stepRelease:   {releasing, shippingFailed},
	stepCommit:    {shipped},
}

func judgeNothingForgotten(t *tally, _ *evidence.Run, v evidence.View) {
	if v.Order == nil {
		return
	}
	t.met()
	moving := false
	for _, s := range v.Steps {
		if open(s) {
			moving = true
			judgeOpenStep(t, v, s)
		}
	}
	state := v.Order.State
	switch {
	case closed(v), finalUnsuccessful(state), moving:
	case state == shipped:
		judgeCommit(t, v)
	case !waitsForPerson(v):
		t.violated(v.ID, v.LastAt(), "the order is %s (version %d) without an open step, with "+
			"attention [%s]", state, v.Order.Version, reasons(v))
	}
}

// judgeOpenStep looks for an open step that no poller will ever find.
func judgeOpenStep(t *tally, v evidence.View, s evidence.Step) {
	states, bound := takenIn[s.Kind]
	if bound && !slices.Contains(states, v.Order.State) {
		t.violated(v.ID, v.LastAt(), "step %d (%s) is %s while the order is %s: nobody may take it",
			s.No, s.Kind, s.Status, v.Order.State)
	}
	if s.Status == "running" && (s.LeaseOwner == "" || s.LeaseExpiresAt.IsZero()) {
		t.violated(v.ID, s.CreatedAt, "step %d (%s) is running without a lease: it never expires",
			s.No, s.Kind)
	}
	if s.Status == "due" && s.DueAt.IsZero() {
		t.violated(v.ID, s.CreatedAt, "step %d (%s) is due at no time", s.No, s.Kind)
	}
}

// judgeCommit looks for shipped goods whose stock nobody will take off.
func judgeCommit(t *tally, v evidence.View) {
	for _, s := range v.Steps {
		if s.Kind == stepCommit && s.Status == succeeded {
			return
		}
	}
	if !v.Asks("stock_commit_failed") {
		t.violated(v.ID, v.LastAt(), "the order is shipped, its commit of stock did not succeed and "+
			"is not open, and nobody is told")
	}
}
