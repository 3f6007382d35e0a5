package sim

import (
	"fmt"
	"strings"
	"testing"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/scenarios/invariant"
)

// Shards split a sweep: together they are everything, and no run is in two.
func TestShardsAreAPartition(t *testing.T) {
	c := SweepConfig{From: 5, To: 14, Scenarios: scenarios.All()}
	whole := (&sweep{SweepConfig: c}).jobs()
	if want := 10 * len(scenarios.All()); len(whole) != want {
		t.Fatalf("%d runs, want %d", len(whole), want)
	}
	seen := map[job]int{}
	c.ShardCount = 7
	for c.ShardIndex = 1; c.ShardIndex <= c.ShardCount; c.ShardIndex++ {
		for _, j := range (&sweep{SweepConfig: c}).jobs() {
			seen[j]++
		}
	}
	for _, j := range whole {
		if seen[j] != 1 {
			t.Errorf("%+v is in %d shards", j, seen[j])
		}
	}
}

// The last seed of all is no endless loop.
func TestLargestSeed(t *testing.T) {
	c := SweepConfig{From: ^uint64(0), To: ^uint64(0), Scenarios: scenarios.All()[:1]}
	if n := len((&sweep{SweepConfig: c}).jobs()); n != 1 {
		t.Fatalf("%d runs, want 1", n)
	}
}

func TestVerifyChoosesItsShare(t *testing.T) {
	for _, share := range []float64{0, 0.05, 1} {
		s := &sweep{SweepConfig: SweepConfig{Verify: share}}
		chosen := 0
		const runs = 10_000
		for seed := range uint64(runs) {
			if s.chosen(job{Scenario: "happy", Seed: seed}) {
				chosen++
			}
		}
		if got := float64(chosen) / runs; got < share*0.8 || got > share*1.2 {
			t.Errorf("share %v of the runs is verified, want %v", got, share)
		}
	}
}

func TestPart(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want Difference
	}{
		{"x y z", "x y z", Difference{Index: -1}},
		{"x y z", "x w z", Difference{First: "y", Again: "w", Index: 1}},
		{"x y", "x y z", Difference{Again: "z", Index: 2}},
		{"x y z", "x", Difference{First: "y", Index: 1}},
	} {
		got := part(strings.Fields(tc.a), strings.Fields(tc.b))
		if *got != tc.want {
			t.Errorf("%q and %q part at %+v, want %+v", tc.a, tc.b, *got, tc.want)
		}
	}
}

func command(scenario string, seed uint64) string { return fmt.Sprint("run ", scenario, " ", seed) }

func TestTallyCountsVerdicts(t *testing.T) {
	good := Verdict{Scenario: "happy", Seed: 1, Invariants: []Judgement{{ID: "INV-01", Checked: 3}}}
	bad := Verdict{Scenario: "happy", Seed: 2, Invariants: []Judgement{{
		ID: "INV-01", Checked: 2,
		Violations: []invariant.Violation{{Order: "o", Message: "charged twice"}},
	}}}
	broken := Verdict{Scenario: "happy", Seed: 3, Broken: "worker died"}
	count := newTally(command)
	for _, tc := range []struct {
		verdict    Verdict
		difference *Difference
		failed     bool
	}{
		{good, nil, false}, {bad, nil, true}, {broken, nil, true}, {good, &Difference{}, true},
	} {
		if got := count.add(tc.verdict, tc.difference); got != tc.failed {
			t.Errorf("%+v failed: %v", tc.verdict, got)
		}
	}
	r := count.result(reports.New(reports.Build{}, nil), 1, scenarios.All())
	if want := (reports.Seeds{Run: 4, Passed: 1, Failed: 2, Nondeterministic: 1}); r.Seeds != want {
		t.Errorf("counted %+v, want %+v", r.Seeds, want)
	}
	if len(r.Failures) != 3 || r.Failures[0].Command == "" {
		t.Errorf("failures %+v", r.Failures)
	}
	if reports.ExitCode(r) != reports.ExitViolated {
		t.Errorf("exit code %d", reports.ExitCode(r))
	}
}

// A large sweep whose scenario never did what it must has shown nothing.
func TestTallyMissesFaults(t *testing.T) {
	s := scenarios.Scenario{Name: "x", Mandatory: []scenarios.FaultKind{scenarios.Pause}}
	for _, tc := range []struct{ runs, fired, failures int }{
		{enoughSeeds, 0, 1}, {enoughSeeds, 1, 0}, {enoughSeeds - 1, 0, 0},
	} {
		count := newTally(command)
		for n := range tc.runs {
			v := Verdict{Scenario: "x", Seed: uint64(n)}
			if n < tc.fired {
				v.Faults = []reports.Fault{{Kind: string(scenarios.Pause), Offered: 1, Fired: 1}}
			}
			count.add(v, nil)
		}
		r := count.result(reports.New(reports.Build{}, nil), 1, []scenarios.Scenario{s})
		if len(r.Failures) != tc.failures {
			t.Errorf("%d runs, fired in %d: failures %+v", tc.runs, tc.fired, r.Failures)
		}
	}
}

func TestSplitIncarnation(t *testing.T) {
	for text, want := range map[string]struct {
		name string
		n    int
	}{
		"executor-1#2": {"executor-1", 2}, "api#11": {"api", 11}, "alice": {"alice", 0},
	} {
		if name, n := splitIncarnation(text); name != want.name || n != want.n {
			t.Errorf("%s is %s, %d", text, name, n)
		}
	}
}
