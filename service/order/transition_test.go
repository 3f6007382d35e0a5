package order_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ordeal/service/order"
)

// none is the state of an order that does not exist, as the table writes it.
const none = "none"

func TestTransitions(t *testing.T) {
	pairs := coverage{}
	for _, s := range append([]string{none}, stateNames()...) {
		for _, e := range order.Events {
			pairs.expect(s, string(e))
		}
	}
	blocks := 0
	asked := map[string][]string{} // ends that a pair of several rows allows
	var from string
	for _, r := range readTable(t, "transitions.txt") {
		if r.fields[0] == "from" {
			from, blocks = r.fields[1], blocks+1
			continue
		}
		event := r.fields[0]
		_, expected := r.arrow()
		pair, end := from+" "+event, attributes(expected)["end"]
		if len(asked[pair]) == 0 {
			pairs.see(t, r, from, event)
		} else if end == "" || slices.Contains(asked[pair], end) {
			r.errorf(t, "a second row for the end %q", end)
		}
		asked[pair] = append(asked[pair], end)
		checkTransition(t, r, stateOf(from), order.Event(event), expected)
	}
	if blocks != len(order.States)+1 {
		t.Errorf("%d blocks for %d states and none", blocks, len(order.States))
	}
	pairs.complete(t, "transitions.txt")
	checkNoOtherEnd(t, asked)
}

// checkTransition plays one row.
func checkTransition(
	t *testing.T, r row, from order.State, event order.Event, expected []string,
) {
	t.Helper()
	if len(expected) == 0 {
		if r.fields[len(r.fields)-1] != "forbidden" {
			r.errorf(t, "neither an arrow nor forbidden")
		}
		for _, end := range ends() {
			checkForbidden(t, r, from, event, end)
		}
		return
	}
	got, err := order.Next(from, event, order.State(attributes(expected)["end"]))
	if err != nil {
		r.errorf(t, "got %v", err)
		return
	}
	want := strings.Join(expected, " ")
	if text := describe(got); text != want {
		r.errorf(t, "got  %s\n\twant %s", text, want)
	}
	if got.From != from || got.Event != event {
		r.errorf(t, "got the row of %q and %q", got.From, got.Event)
	}
	if want := compensation(got); got.Compensation != want {
		r.errorf(t, "compensation %q, want %q", got.Compensation, want)
	}
}

func checkForbidden(t *testing.T, r row, from order.State, event order.Event, end order.State) {
	t.Helper()
	got, err := order.Next(from, event, end)
	var forbidden *order.ForbiddenError
	if !errors.As(err, &forbidden) {
		r.errorf(t, "with end %q: got %+v and error %v", end, got, err)
		return
	}
	if *forbidden != (order.ForbiddenError{From: from, Event: event}) {
		r.errorf(t, "the error names %+v", *forbidden)
	}
	if got != (order.Transition{}) {
		r.errorf(t, "a transition beside the error: %+v", got)
	}
}

// checkNoOtherEnd asks every pair for every end: a pair of several rows allows no end but theirs,
// and a pair of one row ignores the end that it is asked for.
func checkNoOtherEnd(t *testing.T, asked map[string][]string) {
	t.Helper()
	for pair, allowed := range asked {
		state, event, _ := strings.Cut(pair, " ")
		for _, end := range ends() {
			got, err := order.Next(stateOf(state), order.Event(event), end)
			switch {
			case len(allowed) == 1 && err == nil && string(got.End) != allowed[0]:
				t.Errorf("%s asked for end %q: got %q", pair, end, got.End)
			case len(allowed) > 1 && (err == nil) != slices.Contains(allowed, string(end)):
				t.Errorf("%s asked for end %q: got %+v and error %v", pair, end, got, err)
			}
		}
	}
}

// describe prints what a transition does as the table does.
func describe(t order.Transition) string {
	text := string(t.To)
	if t.End != "" {
		text += " end=" + string(t.End)
	}
	var steps []string
	if t.Step != "" {
		steps = append(steps, string(t.Step))
	}
	if t.StepIfCancelling != "" {
		steps = append(steps, string(t.StepIfCancelling)+"?")
	}
	if len(steps) > 0 {
		text += " steps=" + strings.Join(steps, ",")
	}
	if t.Cancel != "" {
		text += " cancel=" + string(t.Cancel)
	}
	return text
}

// compensation is what ORD-1 says of the field: it tells how far the undoing of a reservation is,
// and undoing happens in releasing only.
func compensation(t order.Transition) order.Compensation {
	switch {
	case t.To == order.Releasing:
		return order.CompensationPending
	case t.From == order.Releasing && t.To == order.ReleaseFailed:
		return order.CompensationIncomplete
	case t.From == order.Releasing:
		return order.CompensationDone
	default:
		return ""
	}
}

// ends lists every end that a caller may ask for, also wrong ones.
func ends() []order.State {
	list := []order.State{"", "no_such_state"}
	for _, s := range stateNames() {
		list = append(list, order.State(s))
	}
	return list
}

func stateNames() []string {
	var names []string
	for _, i := range order.States {
		names = append(names, string(i.State))
	}
	return names
}

func stateOf(name string) order.State {
	if name == none {
		return ""
	}
	return order.State(name)
}

// reach returns the states that an order can get to from a state, itself included.
func reach(from order.State) []order.State {
	seen := map[order.State]bool{from: true}
	for todo := []order.State{from}; len(todo) > 0; todo = todo[1:] {
		for _, t := range order.Transitions {
			if t.From == todo[0] && !seen[t.To] {
				seen[t.To] = true
				todo = append(todo, t.To)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// TestNothingIsUndoneAfterTheCharge: from paid on, no path leads back to where stock is released
// or an order is cancelled (ORD-4, ORD-5).
func TestNothingIsUndoneAfterTheCharge(t *testing.T) {
	want := []order.State{order.Paid, order.Shipped, order.Shipping, order.ShippingFailed}
	if got := reach(order.Paid); !slices.Equal(got, want) {
		t.Errorf("from paid an order can get to %v, want %v", got, want)
	}
}

// TestUnknownChargeIsLeftByAnAnswer: only what tells how the charge ended leaves payment_unknown
// (section 1.1), so no reservation is released while it is open (ORD-4).
func TestUnknownChargeIsLeftByAnAnswer(t *testing.T) {
	answers := []order.Event{order.ReconciledPaid, order.ReconciledRefused, order.Voided}
	for _, row := range order.Transitions {
		if row.From == order.PaymentUnknown && !slices.Contains(answers, row.Event) {
			t.Errorf("%s leaves %s", row.Event, row.From)
		}
	}
}

// TestWalks lets random events befall an order that keeps the end of its release as the process
// does. Whatever happens, the order stays in the list, ends as its release was meant to, and is
// paid at most once, never after a release has begun.
func TestWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var state, stored order.State
		var path []order.State
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			next, err := order.Next(state, rapid.SampledFrom(possible(state)).Draw(t, "event"), stored)
			var forbidden *order.ForbiddenError
			if errors.As(err, &forbidden) {
				continue
			}
			if _, known := order.Info(next.To); !known {
				t.Fatalf("%v leads to %q", path, next.To)
			}
			if state == order.Releasing && next.To != order.ReleaseFailed && next.To != stored {
				t.Fatalf("%v: the release was to end in %s and ends in %s", path, stored, next.To)
			}
			if next.End != "" {
				stored = next.End
			}
			if slices.Contains(path, order.Releasing) && next.To == order.Paid {
				t.Fatalf("%v leads to paid", path)
			}
			state, path = next.To, append(path, next.To)
		}
	})
}

// possible lists the events that a state knows, and one that it may not.
func possible(s order.State) []order.Event {
	events := []order.Event{order.CancelledEvent}
	for _, t := range order.Transitions {
		if t.From == s {
			events = append(events, t.Event)
		}
	}
	return events
}
