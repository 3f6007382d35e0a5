package engine_test

import (
	"errors"
	"slices"
	"testing"

	"ordeal/sim/engine"
)

// A run is its deviations: they alone repeat it.
func TestDeviationsAreTheRun(t *testing.T) {
	first := play(t, engine.Config{Seed: 1}, crowd)
	deviations := engine.Deviations(first.Choices)
	if len(deviations) == 0 || len(deviations) == len(first.Choices) {
		t.Fatalf("%d of %d choices deviate: the test shows nothing", len(deviations),
			len(first.Choices))
	}
	for name, source := range map[string]*engine.Recalled{
		"recalled": engine.Recall(deviations), "adapted": engine.Adapt(deviations),
	} {
		r := play(t, engine.Config{Seed: 1, Source: source}, crowd)
		if r.EventHash != first.EventHash || r.Err != nil || len(source.Missed()) > 0 {
			t.Errorf("%s: another run: %v, missed %v", name, r.Err, source.Missed())
		}
	}
}

// What does not fit ends a strict replay with where and why; a loose one goes on without it.
func TestDeviationsThatDoNotFit(t *testing.T) {
	first := play(t, engine.Config{Seed: 1}, crowd)
	deviations := engine.Deviations(first.Choices)
	const spoilt = 7
	for name, spoil := range map[string]func(*engine.Deviation){
		"label":  func(d *engine.Deviation) { d.Label = "x" },
		"stream": func(d *engine.Deviation) { d.Stream = "x" },
		"size":   func(d *engine.Deviation) { d.N++ },
		"value":  func(d *engine.Deviation) { d.Value = d.N },
		"nth":    func(d *engine.Deviation) { d.Nth += 1000 },
	} {
		list := slices.Clone(deviations)
		spoil(&list[spoilt])
		r := play(t, engine.Config{Seed: 1, Source: engine.Recall(list)}, crowd)
		var mismatch *engine.RecallError
		if !errors.As(r.Err, &mismatch) || mismatch.At != list[spoilt].At {
			t.Errorf("%s: %v", name, r.Err)
		}
		r = play(t, engine.Config{Seed: 1, Source: engine.Adapt(list)}, crowd)
		if r.Outcome != engine.GoalReached {
			t.Errorf("%s: the loose replay ended with %s %v", name, r.Outcome, r.Err)
		}
	}
}

// A deviation at another place than recorded is refused, and said where it belongs.
func TestDeviationAtAnotherPlace(t *testing.T) {
	first := play(t, engine.Config{Seed: 1}, crowd)
	deviations := engine.Deviations(first.Choices)
	last := &deviations[len(deviations)-1]
	belongs := last.At
	last.At += 5
	r := play(t, engine.Config{Seed: 1, Source: engine.Recall(deviations)}, crowd)
	var mismatch *engine.RecallError
	if !errors.As(r.Err, &mismatch) || mismatch.At != belongs || mismatch.Recorded.At != last.At {
		t.Errorf("got %v", r.Err)
	}
}

// Without bytes every choice is zero; bytes decide, one each, over the whole range.
func TestBytes(t *testing.T) {
	plain := play(t, engine.Config{Seed: 1, Source: engine.Bytes(nil)}, crowd)
	if d := engine.Deviations(plain.Choices); len(d) > 0 {
		t.Errorf("without bytes there are deviations: %v", d)
	}
	source := engine.Bytes([]byte{0, 1, 128, 255, 255})
	for i, want := range []int{0, 3, 501, 999, 1, 0} {
		n := 1000
		if i == 4 {
			n = 2
		}
		if got, err := source.Choose("", "", n); err != nil || got != want {
			t.Errorf("choice %d: got %d %v, want %d", i, got, err, want)
		}
	}
}
