package invariant

import (
	"net/http"

	"ordeal/scenarios/evidence"
)

var oneAnswerPerKey = Invariant{
	ID:    "INV-13",
	Title: "One key, one effect, one answer",
	Text: "The same idempotency key has one effect and one answer, whatever a repeat met; the same " +
		"key with another body is a conflict; what was accepted exists.",
	Needs: []string{"client history", "orders"},
	Check: checkOneAnswerPerKey,
}

// request is the scope of an idempotency key.
type request struct{ client, route, order, key string }

func checkOneAnswerPerKey(r *evidence.Run) Result {
	r.Index()
	var t tally
	// first is the first answer of each key that had to be stored.
	first := map[request]evidence.Exchange{}
	for _, e := range r.Client {
		judgeAccepted(&t, r, e)
		if e.Key == "" || !stored(e) {
			continue
		}
		scope := request{e.Client, e.Route, e.Order, e.Key}
		f, repeated := first[scope]
		if !repeated {
			first[scope] = e
			continue
		}
		t.met()
		judgeRepeat(&t, f, e)
	}
	judgeOrderCount(&t, r)
	return t.result
}

// stored reports whether the answer is of the kind that every repeat must get again.
func stored(e evidence.Exchange) bool {
	return e.Accepted() || e.Status == http.StatusConflict && e.Code == "invalid_transition"
}

// judgeRepeat compares two stored answers of one key.
func judgeRepeat(t *tally, first, e evidence.Exchange) {
	order := orderOf(e)
	switch {
	case first.Fingerprint != e.Fingerprint:
		t.violated(order, e.AnsweredAt, "exchange %d: %s of %s under key %q asks for something else "+
			"than exchange %d did, and was answered %d instead of a conflict", e.Seq, e.Route,
			e.Client, e.Key, first.Seq, e.Status)
	case first.Shown.Order != e.Shown.Order:
		t.violated(order, e.AnsweredAt, "exchange %d: %s of %s under key %q was answered with order "+
			"%s, exchange %d with %s", e.Seq, e.Route, e.Client, e.Key, e.Shown.Order,
			first.Seq, first.Shown.Order)
	case first.Status != e.Status || first.AnswerDigest != e.AnswerDigest:
		t.violated(order, e.AnsweredAt, "exchange %d: %s of %s under key %q was answered %d (body "+
			"%s), exchange %d %d (body %s)", e.Seq, e.Route, e.Client, e.Key, e.Status,
			e.AnswerDigest, first.Seq, first.Status, first.AnswerDigest)
	}
}

// judgeAccepted looks for an accepted create that left nothing.
func judgeAccepted(t *tally, r *evidence.Run, e evidence.Exchange) {
	if e.Route != evidence.RouteCreate || !e.Accepted() {
		return
	}
	t.met()
	v, _ := r.View(e.Shown.Order)
	switch {
	case v.Order == nil:
		t.violated(e.Shown.Order, e.AnsweredAt, "exchange %d: a create of %s under key %q was "+
			"answered %d with order %q, which does not exist", e.Seq, e.Client, e.Key,
			e.Status, e.Shown.Order)
	case v.Order.Customer != e.Client:
		t.violated(e.Shown.Order, e.AnsweredAt, "exchange %d: a create of %s was answered with an "+
			"order of %s", e.Seq, e.Client, v.Order.Customer)
	}
}

// judgeOrderCount looks for a customer with more orders than keys: some create had two effects.
func judgeOrderCount(t *tally, r *evidence.Run) {
	type create struct{ client, key string }
	seen := map[create]bool{}
	keys := map[string]int{}
	for _, e := range r.Client {
		if c := (create{e.Client, e.Key}); e.Route == evidence.RouteCreate && !seen[c] {
			seen[c] = true
			keys[e.Client]++
		}
	}
	orders := map[string]int{}
	for _, o := range r.Orders {
		t.met()
		orders[o.Customer]++
		if orders[o.Customer] == keys[o.Customer]+1 {
			t.violated(o.ID, o.CreatedAt, "%s sent creates under %d keys, but has more orders",
				o.Customer, keys[o.Customer])
		}
	}
}

// orderOf is the order that an exchange is about.
func orderOf(e evidence.Exchange) string {
	if e.Order != "" {
		return e.Order
	}
	return e.Shown.Order
}
