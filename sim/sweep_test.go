package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/scenarios/invariant"
)

// Shards split a sweep: together they are everything, and no run is in two.
func TestShardsAreAPartition(t *testing.T) {
	c := SweepConfig{From: 5, To: 14, Scenarios: scenarios.All()}
	all := &sweep{SweepConfig: c}
	whole := slices.Collect(all.jobs())
	want := 10 * len(scenarios.All())
	if len(whole) != want || all.total() != want {
		t.Fatalf("%d runs of %d, want %d", len(whole), all.total(), want)
	}
	seen := map[job]int{}
	c.ShardCount = 7
	for c.ShardIndex = 1; c.ShardIndex <= c.ShardCount; c.ShardIndex++ {
		shard, runs := &sweep{SweepConfig: c}, 0
		for j := range shard.jobs() {
			seen[j]++
			runs++
		}
		if runs != shard.total() {
			t.Errorf("shard %d has %d runs, not %d", c.ShardIndex, runs, shard.total())
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
	s := &sweep{SweepConfig: c}
	if n := len(slices.Collect(s.jobs())); n != 1 || s.total() != 1 {
		t.Fatalf("%d runs of %d, want 1", n, s.total())
	}
}

func TestHashChoosesItsShare(t *testing.T) {
	for _, want := range []float64{0, 0.05, 1} {
		chosen := 0
		const runs = 10_000
		for seed := range uint64(runs) {
			if share("verify", job{Scenario: "happy", Seed: seed}) < want {
				chosen++
			}
		}
		if got := float64(chosen) / runs; got < want*0.8 || got > want*1.2 {
			t.Errorf("share %v of the runs is chosen, want %v", got, want)
		}
	}
}

func TestPart(t *testing.T) {
	for _, tc := range []struct {
		a, b, text string
		want       Difference
	}{
		{"x y z", "x y z", "did not show where", Difference{Index: -1}},
		{"x y z", "x w z", "event 1: y | w", Difference{Index: 1, Shared: []string{"x"},
			First: []string{"y", "z"}, Again: []string{"w", "z"}}},
		{"x y", "x y z", "event 2: the end | z", Difference{Index: 2,
			Shared: []string{"x", "y"}, First: []string{}, Again: []string{"z"}}},
		{"x y z", "x", "event 1: y | the end", Difference{Index: 1, Shared: []string{"x"},
			First: []string{"y", "z"}, Again: []string{}}},
	} {
		got := part(strings.Fields(tc.a), strings.Fields(tc.b))
		if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%q and %q: %s", tc.a, tc.b, diff)
		}
		if !strings.Contains(got.String(), tc.text) {
			t.Errorf("%q and %q part at %q, want %q", tc.a, tc.b, got, tc.text)
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
		verdict Verdict
		check   check
		failed  bool
	}{
		{good, check{}, false},
		{bad, check{repeats: exact}, true},
		{broken, check{repeats: "0 of 10"}, true},
		{good, check{difference: &Difference{}}, true},
	} {
		if got := count.add(tc.verdict, tc.check); got != tc.failed {
			t.Errorf("%+v failed: %v", tc.verdict, got)
		}
	}
	r := count.result(reports.New(reports.Build{}, nil), 1, scenarios.All())
	if want := (reports.Seeds{Run: 4, Passed: 1, Failed: 2, Nondeterministic: 1}); r.Seeds != want {
		t.Errorf("counted %+v, want %+v", r.Seeds, want)
	}
	if len(r.Failures) != 3 || r.Failures[0].Command == "" || r.Failures[1].Repeats != exact {
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
			count.add(v, check{})
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
