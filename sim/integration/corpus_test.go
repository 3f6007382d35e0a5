package integration_test

import (
	"strings"
	"testing"

	"ordeal/scenarios"
	"ordeal/sim"
)

// What once broke an invariant holds now, and the recordings still reach what they are about.
func TestCorpusHolds(t *testing.T) {
	l := lab(t)
	all, err := sim.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			s, err := scenarios.Lookup(r.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			v, err := l.PlayCourse(t.Context(), t, s, r.Seed, r.Course(sim.Loosely), false)
			if err != nil {
				t.Fatal(err)
			}
			if id, message := v.Finding(); id != "" {
				t.Errorf("%s: %s", id, message)
			}
			if v.Missed*2 > len(r.Deviations) {
				t.Errorf("%d of %d choices no longer fit: shrink the bug anew", v.Missed,
					len(r.Deviations))
			}
		})
	}
}

// A replay of the corpus that fails is the finding of its file, with the command that repeats it.
func TestCorpusFailsTheSweepByName(t *testing.T) {
	all, err := sim.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Lookup(all[0].Scenario)
	if err != nil {
		t.Fatal(err)
	}
	r := sweep(t, sim.SweepConfig{Scenarios: []scenarios.Scenario{s}, From: 1, To: 1, Workers: 1,
		Corpus: all[:1], Worker: worker(dieEnv + "=1")})
	if r.Seeds.Run != 2 {
		t.Errorf("%d runs, want the replay and the seed", r.Seeds.Run)
	}
	file := sim.CorpusFolder + "/" + all[0].Name
	for _, f := range r.Failures {
		if strings.Contains(f.Message, "replay of "+file) &&
			strings.HasSuffix(f.Command, "replay --loose "+file) {
			return
		}
	}
	t.Errorf("no failure names %s: %+v", file, r.Failures)
}
