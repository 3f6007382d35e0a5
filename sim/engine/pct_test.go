package engine_test

import (
	"testing"

	"ordeal/sim/engine"
)

// Equal seeds pick alike, different ones differently, and a run is replayed without the picker.
func TestPCT(t *testing.T) {
	first := play(t, engine.Config{Seed: 1, Source: engine.PCT(1, 3)}, crowd)
	again := play(t, engine.Config{Seed: 1, Source: engine.PCT(1, 3)}, crowd)
	other := play(t, engine.Config{Seed: 1, Source: engine.PCT(2, 3)}, crowd)
	if first.EventHash != again.EventHash || first.EventHash == other.EventHash {
		t.Errorf("hashes %s %s %s", first.EventHash, again.EventHash, other.EventHash)
	}
	config := engine.Config{Seed: 1, Source: engine.Replay(first.Choices)}
	if r := play(t, config, crowd); r.EventHash != first.EventHash || r.Err != nil {
		t.Errorf("the replay is another run: %v", r.Err)
	}
}

// Without changes the order of priorities is the same all along: whoever wins once against
// another always does. Each change lets at most one candidate fall behind all others.
func TestPCTPriorities(t *testing.T) {
	candidates := []string{"a", "b", "c", "d"}
	changed := 0
	for seed := range uint64(50) {
		steady, moody := engine.PCT(seed, 1), engine.PCT(seed, 4)
		first, changes := pick(t, steady, candidates), 0
		before := pick(t, moody, candidates)
		for range 600 {
			if now := pick(t, steady, candidates); now != first {
				t.Fatalf("seed %d: %d wins, then %d", seed, first, now)
			}
			if now := pick(t, moody, candidates); now != before {
				before = now
				changes++
			}
		}
		if changes > 3 {
			t.Errorf("seed %d: %d changes with depth 4", seed, changes)
		}
		changed += changes
	}
	if changed < 50 {
		t.Errorf("only %d changes in 50 seeds", changed)
	}
}

func pick(t *testing.T, p engine.Picker, candidates []string) int {
	t.Helper()
	n, err := p.Pick(candidates)
	if err != nil || n < 0 || n >= len(candidates) {
		t.Fatalf("picked %d: %v", n, err)
	}
	return n
}
