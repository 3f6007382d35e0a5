package invariant

import "ordeal/scenarios/evidence"

var cancelledUnpaid = Invariant{
	ID:    "INV-02",
	Title: "Cancelled means unpaid",
	Text:  "No cancelled order was ever paid; no cancellation is accepted after paid.",
	Needs: []string{"orders", "history", "payment ledger", "client history"},
	Check: perOrder(judgeCancelledUnpaid),
}

func judgeCancelledUnpaid(t *tally, _ *evidence.Run, v evidence.View) {
	if v.Order != nil {
		judgeCancelledOrder(t, v)
	}
	for i, e := range v.Client {
		if e.Route == evidence.RouteCancel && e.Accepted() {
			t.met()
			judgeAcceptedCancel(t, v, v.Client[:i], e)
		}
	}
}

// judgeCancelledOrder looks at the rows and the payment ledger.
func judgeCancelledOrder(t *tally, v evidence.View) {
	o := v.Order
	payment, wasPaid := v.Entered(paid)
	if o.CancelStatus == "waiting" && paidOrLater(o.State) {
		t.met()
		t.violated(v.ID, o.CancelRequestedAt, "a cancellation requested at %s waits in state %s",
			clock(o.CancelRequestedAt), o.State)
	}
	_, wasCancelled := v.Entered(cancelled)
	if !wasCancelled && o.State != cancelled && o.CancelStatus != "done" {
		return
	}
	t.met()
	if wasPaid {
		t.violated(v.ID, payment.At, "the order counts as cancelled (state %s, cancellation %q) "+
			"but became paid at %s (version %d)", o.State, o.CancelStatus,
			clock(payment.At), payment.Version)
	}
	for _, e := range chargeEffects(v) {
		t.violated(v.ID, e.At, "the order counts as cancelled (state %s, cancellation %q) but "+
			"payment entry %d charged %d at %s", o.State, o.CancelStatus,
			e.Seq, e.Amount, clock(e.At))
	}
}

// judgeAcceptedCancel looks at one accepted cancellation. What the answer shows decides, because
// versions need no clock; only an answer that shows nothing is judged by the time at which its
// key was first sent. A repeat shows what the first answer showed.
func judgeAcceptedCancel(t *tally, v evidence.View, before []evidence.Exchange,
	e evidence.Exchange) {
	payment, wasPaid := v.Entered(paid)
	if !wasPaid {
		return
	}
	if e.Status == 200 {
		t.violated(v.ID, e.AnsweredAt, "exchange %d: %s was told 200, cancelled, but the order "+
			"became paid at %s (version %d)", e.Seq, e.Client, clock(payment.At),
			payment.Version)
		return
	}
	late := e.Shown.Version >= payment.Version
	if e.Shown.Version == 0 {
		late = firstSent(before, e).SentAt.After(payment.At)
	}
	if late || paidOrLater(e.Shown.State) {
		t.violated(v.ID, e.AnsweredAt, "exchange %d: a cancellation sent by %s at %s was accepted "+
			"(%d, state %q, version %d) after the order became paid at %s (version %d)",
			e.Seq, e.Client, clock(e.SentAt), e.Status, e.Shown.State, e.Shown.Version,
			clock(payment.At), payment.Version)
	}
}

// firstSent finds the first sending of the same request, whose answer a repeat repeats.
func firstSent(before []evidence.Exchange, e evidence.Exchange) evidence.Exchange {
	for _, b := range before {
		if e.Key != "" && b.Client == e.Client && b.Route == e.Route && b.Key == e.Key {
			return b
		}
	}
	return e
}
