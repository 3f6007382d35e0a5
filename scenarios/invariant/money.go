package invariant

import "ordeal/scenarios/evidence"

var moneyAdds = Invariant{
	ID:    "INV-12",
	Title: "Money adds up",
	Text: "Charged minus refunded in the payment ledger equals the same in our tables; refunds " +
		"never exceed what was captured; one refund has one effect.",
	Needs: []string{"payment ledger", "orders", "refunds"},
	Check: perOrder(judgeMoneyAdds),
}

// The states of refunds that rules speak of.
const (
	refundDone   = "refunded"
	refundFailed = "refund_failed"
)

func judgeMoneyAdds(t *tally, r *evidence.Run, v evidence.View) {
	given := refundEffects(v)
	if len(v.Refunds) == 0 && len(given) == 0 {
		return
	}
	t.met()
	judgeRefundLimit(t, r, v, given)
	byKey := map[string]evidence.Entry{}
	for _, e := range given {
		if first, twice := byKey[e.Key]; twice {
			t.violated(v.ID, e.At, "payment entry %d refunded %d under key %s, which entry %d had "+
				"refunded before", e.Seq, e.Amount, e.Key, first.Seq)
		}
		byKey[e.Key] = e
	}
	for _, f := range v.Refunds {
		judgeRefund(t, r, v, f, byKey)
	}
	if len(byKey) > len(v.Refunds) {
		t.violated(v.ID, r.Horizon, "the payment ledger has %d refunds, the order %d",
			len(byKey), len(v.Refunds))
	}
}

// judgeRefundLimit compares the sums: what may still be given back counts as given.
func judgeRefundLimit(t *tally, r *evidence.Run, v evidence.View, given []evidence.Entry) {
	captured, back, promised := int64(0), int64(0), int64(0)
	for _, e := range chargeEffects(v) {
		captured += e.Amount
	}
	for _, e := range given {
		back += e.Amount
	}
	for _, f := range v.Refunds {
		if f.State != refundFailed {
			promised += f.Amount
		}
	}
	if back > captured {
		t.violated(v.ID, r.Horizon, "the payment ledger gave back %d of %d charged", back, captured)
	}
	if promised > captured {
		t.violated(v.ID, r.Horizon, "refunds of %d were accepted, %d was charged", promised,
			captured)
	}
}

// judgeRefund compares one row with the ledger. Keys are found by the refund's own steps.
func judgeRefund(
	t *tally, r *evidence.Run, v evidence.View, f evidence.Refund,
	byKey map[string]evidence.Entry,
) {
	e, found := byKey[refundKey(v, f)]
	switch {
	case f.State == refundDone && !found:
		t.violated(v.ID, r.Horizon, "refund %d counts as refunded, but the ledger has none", f.No)
	case f.State == refundDone && (e.Amount != f.Amount || e.Reference != f.Reference):
		t.violated(v.ID, e.At, "refund %d of %d (%q) is %d (%q) in payment entry %d", f.No,
			f.Amount, f.Reference, e.Amount, e.Reference, e.Seq)
	case f.State == refundFailed && found:
		t.violated(v.ID, e.At, "refund %d counts as failed, but payment entry %d gave back %d",
			f.No, e.Seq, e.Amount)
	}
}

// refundKey is the key under which a refund was sent: that of the n-th different refund key of
// the order's steps, since refunds and their keys are numbered alike.
func refundKey(v evidence.View, f evidence.Refund) string {
	var keys []string
	seen := map[string]bool{}
	for _, s := range v.Steps {
		if s.Kind == stepRefund && !seen[s.Key] {
			seen[s.Key] = true
			keys = append(keys, s.Key)
		}
	}
	if f.No < 1 || f.No > len(keys) {
		return ""
	}
	return keys[f.No-1]
}

// stepRefund is the kind of the steps that send refunds.
const stepRefund = "refund"

// refundEffects are the entries that gave money back.
func refundEffects(v evidence.View) []evidence.Entry {
	var given []evidence.Entry
	for _, e := range v.Payment {
		if e.Operation == evidence.OpRefund && e.Effect {
			given = append(given, e)
		}
	}
	return given
}
