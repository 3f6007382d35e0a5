package invariant

import "ordeal/scenarios/evidence"

var historyPath = Invariant{
	ID:    "INV-04",
	Title: "History is a path of the table",
	Text: "The history of each order is a path of the transition table, from its creation to its " +
		"state; versions increase by one from 1; no state is without history; a release ends " +
		"in the state that its beginning decided.",
	Needs: []string{"orders", "history"},
	Check: perOrder(judgeHistoryPath),
}

func judgeHistoryPath(t *tally, _ *evidence.Run, v evidence.View) {
	judgeOrderRow(t, v)
	state, end := "", ""
	for i, c := range v.History {
		t.met()
		if c.Version != i+1 {
			t.violated(v.ID, c.At, "change %d (%s) has version %d, expected %d",
				i+1, c.Event, c.Version, i+1)
		}
		if c.From != state {
			t.violated(v.ID, c.At, "version %d (%s) starts from %q, but the order was %q",
				c.Version, c.Event, c.From, state)
		}
		begins, allowed := transitions[transition{c.From, c.Event, c.To}]
		if !allowed {
			t.violated(v.ID, c.At, "version %d: %q –%s→ %q is not in the table",
				c.Version, c.From, c.Event, c.To)
		}
		if c.From == releasing && c.To != releaseFailed && !admits(end, c.To) {
			t.violated(v.ID, c.At, "version %d: the release ends in %s, but it began as one "+
				"that ends in %s", c.Version, c.To, end)
		}
		if begins != "" {
			end = decidedEnd(v, begins)
		}
		state = c.To
	}
}

// judgeOrderRow compares the row of the order with the end of its history.
func judgeOrderRow(t *tally, v evidence.View) {
	n := len(v.History)
	if v.Order == nil {
		if n > 0 {
			t.violated(v.ID, v.LastAt(), "history tells of an order that has no row")
		}
		return
	}
	t.met()
	if n == 0 {
		t.violated(v.ID, v.Order.UpdatedAt, "the order is %s (version %d) without history",
			v.Order.State, v.Order.Version)
		return
	}
	last := v.History[n-1]
	if last.To != v.Order.State || last.Version != v.Order.Version {
		t.violated(v.ID, last.At, "the order is %s (version %d), but its history ends in %s "+
			"(version %d)", v.Order.State, v.Order.Version, last.To, last.Version)
	}
}

// decidedEnd narrows an end that a waiting cancellation decides, once its decision is known.
func decidedEnd(v evidence.View, end string) string {
	if end != either || v.Order == nil {
		return end
	}
	if v.Order.CancelStatus == "done" {
		return cancelled
	}
	return paymentFailed
}

// admits reports whether a release that was to end somewhere may end in a state. An unknown
// beginning was reported already.
func admits(end, state string) bool {
	return end == "" || end == state || end == either && state != reservationFailed
}
