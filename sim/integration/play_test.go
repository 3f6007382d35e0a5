package integration_test

import (
	"testing"

	"ordeal/scenarios"
	"ordeal/sim"
)

// A few seeds of every scenario hold, and replay event for event, also where the second run asks
// the database again for what the first took from memory.
func TestScenariosHoldAndReplay(t *testing.T) {
	l := lab(t)
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			for seed := range uint64(10) {
				first, err := l.Play(t.Context(), t, s, seed, true)
				if err != nil {
					t.Fatal(err)
				}
				if first.Broken != "" {
					t.Fatalf("seed %d: %s", seed, first.Broken)
				}
				for _, j := range first.Invariants {
					for _, v := range j.Violations {
						t.Errorf("seed %d: %s: %s", seed, j.ID, v.Message)
					}
				}
				unaided := sim.Course{Unaided: true}
				again, err := l.PlayCourse(t.Context(), t, s, seed, unaided, true)
				if err != nil {
					t.Fatal(err)
				}
				if first.EventHash != again.EventHash {
					t.Fatalf("seed %d: %s", seed, firstDifference(first.Trace, again.Trace))
				}
				t.Logf("seed %d: %d events, %d statements, %s virtual in %s", seed, first.Events,
					first.Statements, first.Virtual, first.Elapsed)
			}
		})
	}
}

// firstDifference shows where two event logs part.
func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "first difference:\n" + a[i] + "\n" + b[i]
		}
	}
	return "one log is longer"
}
