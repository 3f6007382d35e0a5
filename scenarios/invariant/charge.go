package invariant

import (
	"slices"

	"ordeal/scenarios/evidence"
)

var singleCharge = Invariant{
	ID:    "INV-01",
	Title: "One charge per order",
	Text: "At most one successful charge per order and per key in the payment ledger; no two keys " +
		"for one payment.",
	Needs: []string{"payment ledger", "calls", "steps"},
	Check: checkSingleCharge,
}

// checkSingleCharge judges each order, and then the keys across all orders.
func checkSingleCharge(r *evidence.Run) Result {
	var t tally
	charged := map[string]evidence.Entry{}
	for _, v := range r.Views() {
		judgeSingleCharge(&t, v)
		for _, e := range chargeEffects(v) {
			first, twice := charged[e.Key]
			if twice && first.Order != e.Order {
				t.violated(e.Order, e.At, "payment entry %d charged key %s, which entry %d "+
					"had charged for order %s", e.Seq, e.Key, first.Seq, first.Order)
			}
			charged[e.Key] = e
		}
	}
	return t.result
}

func judgeSingleCharge(t *tally, v evidence.View) {
	keys := chargeKeys(v)
	effects := chargeEffects(v)
	if len(keys) > 0 || len(effects) > 0 {
		t.met()
	}
	if len(effects) > 1 {
		first, second := effects[0], effects[1]
		t.violated(v.ID, second.At, "charged %d times: payment entry %d (key %s, %d) at %s, "+
			"then entry %d (key %s, %d)", len(effects), first.Seq, first.Key, first.Amount,
			clock(first.At), second.Seq, second.Key, second.Amount)
	}
	if len(keys) > 1 {
		t.violated(v.ID, v.LastAt(), "%d keys for one payment: %v", len(keys), keys)
	}
}

// chargeEffects lists the entries that took money for an order.
func chargeEffects(v evidence.View) []evidence.Entry {
	var effects []evidence.Entry
	for _, e := range v.Payment {
		if e.Operation == evidence.OpCharge && e.Effect {
			effects = append(effects, e)
		}
	}
	return effects
}

// chargeKeys lists, sorted, every key that any witness has seen a charge of the order under.
func chargeKeys(v evidence.View) []string {
	var keys []string
	for _, e := range v.Payment {
		if e.Operation == evidence.OpCharge {
			keys = append(keys, e.Key)
		}
	}
	for _, c := range v.Calls {
		if c.Operation == evidence.OpCharge {
			keys = append(keys, c.Key)
		}
	}
	for _, s := range v.Steps {
		if s.Kind == stepPay {
			keys = append(keys, s.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

var paidMeansCharged = Invariant{
	ID:    "INV-06",
	Title: "Paid means charged, charged means paid",
	Text: "An order that is paid or later has its charge in the payment ledger, with equal amount " +
		"and reference; a charge in the ledger belongs to an order that is paid or later, or " +
		"payment_unknown, or (not at rest) paying.",
	Needs: []string{"orders", "history", "payment ledger"},
	Check: perOrder(judgePaidMeansCharged),
}

func judgePaidMeansCharged(t *tally, r *evidence.Run, v evidence.View) {
	effects := chargeEffects(v)
	if v.Order == nil {
		for _, e := range effects {
			t.met()
			t.violated(v.ID, e.At, "payment entry %d charged %d for an order that does not "+
				"exist", e.Seq, e.Amount)
		}
		return
	}
	if paidOrLater(v.Order.State) || len(effects) > 0 {
		t.met()
	}
	for _, e := range effects {
		judgeChargedState(t, r, v, e)
	}
	judgePaidState(t, v, effects)
	if change, was := v.Entered(paid); was {
		judgePaidMoment(t, v, change, effects)
	}
}

// judgeChargedState looks at the state of an order that was charged.
func judgeChargedState(t *tally, r *evidence.Run, v evidence.View, e evidence.Entry) {
	state := v.Order.State
	if paidOrLater(state) || state == paymentUnknown || state == paying && !r.AtRest {
		return
	}
	t.violated(v.ID, e.At, "payment entry %d charged %d at %s, but the order is %s (version %d)",
		e.Seq, e.Amount, clock(e.At), state, v.Order.Version)
}

// judgePaidState compares an order that counts as paid with its charge.
func judgePaidState(t *tally, v evidence.View, effects []evidence.Entry) {
	o := v.Order
	if !paidOrLater(o.State) {
		return
	}
	if len(effects) == 0 {
		t.violated(v.ID, v.LastAt(), "the order is %s (version %d), but the payment ledger has "+
			"no charge of it", o.State, o.Version)
		return
	}
	e := effects[0]
	if e.Amount != o.Total || e.Currency != o.Currency {
		t.violated(v.ID, e.At, "payment entry %d charged %d %s, but the order's total is %d %s",
			e.Seq, e.Amount, e.Currency, o.Total, o.Currency)
	}
	if e.Reference != o.PaymentRef {
		t.violated(v.ID, e.At, "payment entry %d has reference %q, but the order stores %q",
			e.Seq, e.Reference, o.PaymentRef)
	}
}

// judgePaidMoment looks for a charge that was there when the order became paid.
func judgePaidMoment(t *tally, v evidence.View, c evidence.Change, effects []evidence.Entry) {
	for _, e := range effects {
		if !e.At.After(c.At) {
			return
		}
	}
	t.violated(v.ID, c.At, "%s made the order paid at %s (version %d), when the payment ledger "+
		"had no charge of it", c.Event, clock(c.At), c.Version)
}
