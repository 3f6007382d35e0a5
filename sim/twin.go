package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
	"ordeal/sim/engine"
	"ordeal/sim/imitation"
)

// Whether a fault mattered is measured with a twin: the same seed with the same workload, and
// nothing that goes wrong. A fault mattered where what became of the orders differs from the
// twin: their path through the transition table, or the attempts that it took. Only runs in which
// one kind of fault fired are compared, so that no kind is credited with what another one did.

// outcomeOf sums up what became of the orders, leaving out when and by whom.
func outcomeOf(run *evidence.Run) string {
	var orders []string
	for _, v := range run.Views() {
		orders = append(orders, fateOf(v))
	}
	slices.Sort(orders)
	return evidence.Digest([]byte(strings.Join(orders, "\n")))
}

// fateOf is what became of an order: its path, and what its steps took.
func fateOf(v evidence.View) string {
	var b strings.Builder
	if v.Order != nil {
		fmt.Fprint(&b, v.Order.Total, v.Order.CancelStatus, v.Order.Compensation)
	}
	for _, change := range v.History {
		fmt.Fprintf(&b, " %s>%s", change.Event, change.To)
	}
	for _, step := range v.Steps {
		fmt.Fprintf(&b, " %s:%s", step.Kind, step.Status)
		for _, attempt := range v.AttemptsOf(step.No) {
			b.WriteString("," + cmp.Or(attempt.Outcome, "lost"))
		}
	}
	return b.String()
}

// onlyKind returns the kind that fired in a run if it was the only one.
func onlyKind(faults []reports.Fault) (kind string, only bool) {
	for _, f := range faults {
		if f.Fired == 0 {
			continue
		}
		if kind != "" {
			return "", false
		}
		kind = f.Kind
	}
	return kind, kind != ""
}

// compare plays the twin of a run in which one kind of fault fired, and notes the difference.
func (l *Lab) compare(
	ctx context.Context, t *testing.T, s scenarios.Scenario, c Course, v *Verdict,
) error {
	kind, only := onlyKind(v.Faults)
	if !only || v.Broken != "" {
		return nil
	}
	c.Faultless, c.Choices = true, false
	twin, err := l.PlayCourse(ctx, t, s, v.Seed, c, false)
	if err != nil {
		return err
	}
	for i := range v.Faults {
		if f := &v.Faults[i]; f.Kind == kind {
			f.Compared = 1
			if twin.Outcome != v.Outcome {
				f.Mattered = 1
			}
		}
	}
	return nil
}

// peace is the trouble of a faultless run.
type peace struct{}

func (peace) begin(*engine.World)     {}
func (peace) end()                    {}
func (peace) counts() []reports.Fault { return nil }

func (peace) operation(*engine.Operation, *engine.Draw) engine.Fate { return engine.Fate{} }

func (peace) givenUp(*engine.Operation, *engine.Draw) engine.Fate {
	return engine.Fate{Kind: engine.Drop}
}

func (peace) plan(imitation.Call) imitation.Behaviour {
	return imitation.Behaviour{Kind: imitation.Succeed}
}
