package order_test

import (
	"testing"

	"ordeal/service/order"
)

func TestOutcomes(t *testing.T) {
	answers, kinds := coverage{}, coverage{}
	for _, a := range order.Answers {
		answers.expect(string(a))
	}
	for _, k := range order.StepKinds {
		kinds.expect(string(k))
	}
	var groups [][]string
	for _, r := range readTable(t, "outcomes.txt") {
		if r.fields[0] == "group" {
			groups = append(groups, r.fields[3:])
			for _, kind := range r.fields[3:] {
				kinds.see(t, r, kind)
			}
			continue
		}
		answer := order.Answer(r.fields[0])
		answers.see(t, r, string(answer))
		if sent := r.fields[1] == "sent"; answer.Sent() != sent {
			r.errorf(t, "sent is %v", answer.Sent())
		}
		for group, want := range r.fields[2:] {
			for _, kind := range groups[group] {
				got := order.Classify(order.StepKind(kind), answer)
				if got != order.Outcome(want) {
					r.errorf(t, "%s: %s, want %s", kind, got, want)
				}
			}
		}
	}
	answers.complete(t, "outcomes.txt")
	kinds.complete(t, "outcomes.txt")
}

// TestStrangeAnswer: an answer outside the list is judged like one that nobody understands, and
// it may have been sent.
func TestStrangeAnswer(t *testing.T) {
	for _, answer := range []order.Answer{"", "Succeeded", "no_such_answer"} {
		for _, kind := range order.StepKinds {
			got, want := order.Classify(kind, answer), order.Classify(kind, order.AnswerMalformed)
			if got != want {
				t.Errorf("%s, %q: %s, want %s", kind, answer, got, want)
			}
		}
		if !answer.Sent() {
			t.Errorf("%q counts as not sent", answer)
		}
	}
}

// TestEveryAnswerHasAConsequence: whatever a step that can be taken is told, and whichever
// attempt is told so, something follows from it.
func TestEveryAnswerHasAConsequence(t *testing.T) {
	for _, take := range order.Takes {
		for _, answer := range order.Answers {
			outcome := order.Classify(take.Kind, answer)
			for _, last := range []bool{false, true} {
				if _, err := order.Follow(take.Kind, outcome, last); err != nil {
					t.Errorf("%s, %s, last %v: %v", take.Kind, answer, last, err)
				}
			}
		}
	}
}
