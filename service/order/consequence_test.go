package order_test

import (
	"slices"
	"strings"
	"testing"

	"ordeal/service/order"
)

func TestConsequences(t *testing.T) {
	cases := coverage{}
	for _, kind := range takenKinds() {
		for _, outcome := range order.Outcomes {
			cases.expect(string(kind), string(outcome), "more")
			cases.expect(string(kind), string(outcome), "last")
		}
	}
	for _, r := range readTable(t, "consequences.txt") {
		kind, outcome, attempts := r.fields[0], r.fields[1], []string{r.fields[2]}
		if attempts[0] == "any" {
			attempts = []string{"more", "last"}
		}
		for _, attempt := range attempts {
			cases.see(t, r, kind, outcome, attempt)
			got, err := order.Follow(order.StepKind(kind), order.Outcome(outcome),
				attempt == "last")
			checkConsequence(t, r, attempt, got, err)
		}
	}
	cases.complete(t, "consequences.txt")
}

// checkConsequence compares a consequence with what its row expects.
func checkConsequence(t *testing.T, r row, attempt string, got order.Consequence, err error) {
	t.Helper()
	_, expected := r.arrow()
	if len(expected) == 0 {
		if r.fields[3] != "never" {
			r.errorf(t, "neither an arrow nor never")
		}
		if err == nil {
			r.errorf(t, "%s attempt: got %+v and no error", attempt, got)
		}
		return
	}
	if err != nil {
		r.errorf(t, "%s attempt: %v", attempt, err)
		return
	}
	if text, want := consequenceText(got), cases(expected); text != want {
		r.errorf(t, "%s attempt:\n\tgot  %s\n\twant %s", attempt, text, want)
	}
}

// cases prints what a row expects with one field per case.
func cases(expected []string) string {
	a := attributes(expected[1:])
	event := func(names ...string) string {
		for _, n := range names {
			if a[n] != "" {
				return a[n]
			}
		}
		return "-"
	}
	_, series := a["new_series"]
	return caseText(expected[0], event("event"), event("sent", "waits", "event"),
		event("unsent", "waits", "event"), a["refund"], a["attention"], series)
}

func consequenceText(c order.Consequence) string {
	attention := string(c.Attention)
	if c.Also != "" {
		attention = string(c.Also) + "," + attention
	}
	return caseText(string(c.Status), string(c.Event), string(c.Cancelling),
		string(c.CancellingUnsent), string(c.Refund), attention, c.NewSeries)
}

func caseText(status, event, sent, unsent, refund, attention string, series bool) string {
	text := status
	for _, f := range [][2]string{
		{"event", event}, {"waiting+sent", sent}, {"waiting+unsent", unsent},
		{"refund", refund}, {"attention", attention},
	} {
		if f[1] == "" {
			f[1] = "-"
		}
		text += " " + f[0] + "=" + f[1]
	}
	if series {
		text += " new_series"
	}
	return text
}

// takenKinds lists the kinds of steps that can be taken.
func takenKinds() []order.StepKind {
	var kinds []order.StepKind
	for _, take := range order.Takes {
		if !slices.Contains(kinds, take.Kind) {
			kinds = append(kinds, take.Kind)
		}
	}
	return kinds
}

// TestNoConsequenceOfWhatIsNotTaken: a kind that no state admits, or an outcome outside the list,
// has no consequence, and Follow says which it was.
func TestNoConsequenceOfWhatIsNotTaken(t *testing.T) {
	for _, kind := range append(slices.Clone(order.StepKinds), "no_such_kind") {
		for _, outcome := range append(slices.Clone(order.Outcomes), "no_such_outcome", "",
			"exhausted") {
			if slices.Contains(takenKinds(), kind) && slices.Contains(order.Outcomes, outcome) {
				continue
			}
			for _, last := range []bool{false, true} {
				got, err := order.Follow(kind, outcome, last)
				if err == nil || !strings.Contains(err.Error(), string(kind)) {
					t.Errorf("%s, %q, last %v: got %+v and error %v", kind, outcome, last, got, err)
				}
			}
		}
	}
}

// TestConsequencesFitTheTable: an event that follows from a step is allowed in every state in
// which the step may run, and a step that moves its order is not due any more.
func TestConsequencesFitTheTable(t *testing.T) {
	everyConsequence(t, func(kind order.StepKind, name string, c order.Consequence) {
		if c.Event != "" && c.Status == order.StepDue {
			t.Errorf("%s moves the order by %s and is due", name, c.Event)
		}
		for _, event := range []order.Event{c.Event, c.Cancelling, c.CancellingUnsent} {
			for _, state := range runsIn(kind) {
				if kind == order.StepRelease && state == order.ShippingFailed {
					continue // after a close: the store lets it move nothing
				}
				if event != "" && !slices.ContainsFunc(order.Transitions,
					func(t order.Transition) bool { return t.From == state && t.Event == event }) {
					t.Errorf("%s: %s is not allowed in %s", name, event, state)
				}
			}
		}
	})
}

// TestWhatStopsIsSeen: a step that ends without moving its order on leaves a person or a new
// series behind, and so does an event that leads to a state where only a person can help.
func TestWhatStopsIsSeen(t *testing.T) {
	everyConsequence(t, func(kind order.StepKind, name string, c order.Consequence) {
		ended := c.Status != order.StepDue && c.Status != order.StepSucceeded
		if ended && c.Event == "" && c.Refund == "" && c.Attention == "" && !c.NewSeries {
			t.Errorf("%s: the step is %s and nobody knows", name, c.Status)
		}
		for _, row := range order.Transitions {
			info, _ := order.Info(row.To)
			stuck := info.Class == order.Waiting && info.Escalates == 0
			if row.Event == c.Event && stuck && c.Attention == "" {
				t.Errorf("%s leads to %s and raises nothing", name, row.To)
			}
		}
	})
}

// TestOneMoreAttemptOrTheLast: while attempts are left, a step that is due again raises no alarm
// about giving up, and the last attempt never leaves it due, unless it was not sent.
func TestOneMoreAttemptOrTheLast(t *testing.T) {
	for _, kind := range takenKinds() {
		for _, outcome := range order.Outcomes {
			more, err := order.Follow(kind, outcome, false)
			if err != nil {
				continue
			}
			last, err := order.Follow(kind, outcome, true)
			if err != nil {
				t.Errorf("%s, %s: only the last attempt cannot end so: %v", kind, outcome, err)
			}
			if more.Status == order.StepExhausted {
				t.Errorf("%s, %s: exhausted with attempts left", kind, outcome)
			}
			due := last.Status == order.StepDue
			if due != (outcome == order.OutcomeNotSent) {
				t.Errorf("%s, %s: after the last attempt the step is %s", kind, outcome,
					last.Status)
			}
		}
	}
}

// everyConsequence visits the consequence of each kind, outcome and attempt that has one.
func everyConsequence(
	t *testing.T, visit func(kind order.StepKind, name string, c order.Consequence),
) {
	t.Helper()
	visited := 0
	for _, kind := range takenKinds() {
		for _, outcome := range order.Outcomes {
			for _, attempt := range []string{"more", "last"} {
				c, err := order.Follow(kind, outcome, attempt == "last")
				if err == nil {
					visit(kind, string(kind)+" "+string(outcome)+" "+attempt, c)
					visited++
				}
			}
		}
	}
	if visited == 0 {
		t.Fatal("no consequence at all")
	}
}

// runsIn lists the states in which a step of a kind runs: after its take has moved the order.
func runsIn(kind order.StepKind) []order.State {
	var states []order.State
	for _, take := range order.Takes {
		if take.Kind == kind && take.Event == "" {
			states = append(states, take.State)
		}
	}
	return states
}
