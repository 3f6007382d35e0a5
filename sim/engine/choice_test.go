package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ordeal/sim/engine"
)

// crowd is a world with many choices and no database.
func crowd(w *engine.World) {
	for i := range 4 {
		w.Process(fmt.Sprint("p", i)).Start(
			func(ctx context.Context, in *engine.Incarnation) error {
				r := in.Rand("pauses")
				for range 5 {
					in.Invoke(ctx, "broker", "publish", []byte("x"),
						func() ([]byte, error) { return nil, nil })
					in.Clock().Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
				}
				return nil
			})
	}
}

// Equal seeds give equal runs, different ones different runs, and streams do not disturb each
// other: another draw of the faults stream leaves the schedule's draws as they were.
func TestSeeds(t *testing.T) {
	a, again := play(t, engine.Config{Seed: 1}, crowd), play(t, engine.Config{Seed: 1}, crowd)
	other := play(t, engine.Config{Seed: 2}, crowd)
	if a.EventHash != again.EventHash || a.EventHash == other.EventHash {
		t.Errorf("hashes %s %s %s", a.EventHash, again.EventHash, other.EventHash)
	}
	drawing := engine.Policy{Operation: func(_ *engine.Operation, d *engine.Draw) engine.Fate {
		d.Choose("idle", 10)
		return engine.Fate{}
	}}
	if b := play(t, engine.Config{Seed: 1, Policy: drawing}, crowd); b.EventHash != a.EventHash {
		t.Error("a draw of the faults stream has changed the schedule")
	}
}

// The recorded choices alone repeat a run; what does not fit is an error that says where.
func TestReplayErrors(t *testing.T) {
	first := play(t, engine.Config{Seed: 1}, crowd)
	config := engine.Config{Seed: 1, Source: engine.Replay(first.Choices)}
	if r := play(t, config, crowd); r.EventHash != first.EventHash || r.Err != nil {
		t.Errorf("the replay is another run: %v", r.Err)
	}
	for name, spoil := range map[string]func([]engine.Choice) []engine.Choice{
		"short": func(c []engine.Choice) []engine.Choice { return c[:7] },
		"label": func(c []engine.Choice) []engine.Choice { c[7].Label = "x"; return c },
		"size":  func(c []engine.Choice) []engine.Choice { c[7].N++; return c },
		"value": func(c []engine.Choice) []engine.Choice { c[7].Value = c[7].N; return c },
	} {
		spoilt := spoil(append([]engine.Choice(nil), first.Choices...))
		config.Source = engine.Replay(spoilt)
		var mismatch *engine.ReplayError
		if r := play(t, config, crowd); !errors.As(r.Err, &mismatch) || mismatch.Index != 7 {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}
