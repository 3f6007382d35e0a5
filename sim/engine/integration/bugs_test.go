package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/sim/engine"
)

// A balance that is read in one statement and written in another loses updates under the right
// interleaving. No fault is needed; the schedule alone finds it, and its choices show it again.
func TestLostUpdateIsFound(t *testing.T) {
	const within = 50
	for seed := range uint64(within) {
		tr := trial{seed: seed, lostUpdate: true}
		found := tr.run(t)
		a, b, moved := balances(t)
		if found.Err != nil {
			t.Fatal(found.Err)
		}
		if a == 1000-moved && b == 1000+moved {
			continue
		}
		t.Logf("seed %d: %d moved, balances %d and %d", seed, moved, a, b)
		tr.source = engine.Replay(found.Choices)
		replayed := tr.run(t)
		if x, y, _ := balances(t); replayed.EventHash != found.EventHash || x != a || y != b {
			t.Errorf("the replay ended with %d and %d: %v", x, y, replayed.Err)
		}
		return
	}
	t.Errorf("not found within %d seeds", within)
}

// A process can crash at any statement, before and after it was executed, and the transfers are
// still decided, each moved once.
func TestCrashAtAnyStatement(t *testing.T) {
	for _, kind := range []engine.FaultKind{engine.CrashBefore, engine.CrashAfter} {
		points := 0
		for fired := true; fired; points++ {
			n := 0
			policy := engine.Policy{
				Operation: func(o *engine.Operation, _ *engine.Draw) engine.Fate {
					if o.Kind != engine.Statement {
						return engine.Fate{}
					}
					if n++; n == points+1 {
						return engine.Fate{Kind: kind}
					}
					return engine.Fate{}
				}}
			r := trial{seed: 3, policy: policy}.run(t)
			if r.Outcome != engine.GoalReached {
				t.Fatalf("%s %d: %s %v", kind, points, r.Outcome, r.Err)
			}
			if a, b, moved := balances(t); a != 1000-moved || b != 1000+moved || moved != 33 {
				t.Errorf("%s %d: moved %d, balances %d and %d", kind, points, moved, a, b)
			}
			fired = r.Faults[kind].Fired == 1
		}
		t.Logf("%d statements with %s", points-1, kind)
		if points < 10 {
			t.Errorf("%s: only %d points", kind, points)
		}
	}
}

// In random runs, a paused worker's write reaches the database after its lease has run out and
// gone to the other worker. The guard by generation is what holds it off; without the guard,
// both would have moved the money.
func TestStaleWriterIsPlayed(t *testing.T) {
	stale := 0
	for seed := range uint64(200) {
		pause := func(w *engine.World) {
			at := w.Faults().Duration("pause.at", engine.Range{Max: 3 * time.Second})
			w.At(at, "pause", func() { w.Process("worker-1").Pause(90 * time.Second) })
		}
		r := trial{seed: seed, extra: pause, onEvent: func(_ *engine.World, e engine.Event) {
			if e.Name == "Pay" && e.Result == "UPDATE 0" {
				stale++
			}
		}}.run(t)
		if r.Err != nil || r.Outcome != engine.GoalReached {
			t.Fatalf("seed %d: %s %v", seed, r.Outcome, r.Err)
		}
		if a, b, moved := balances(t); a != 1000-moved || b != 1000+moved {
			t.Fatalf("seed %d: moved %d, balances %d and %d", seed, moved, a, b)
		}
	}
	t.Logf("%d stale writes", stale)
	if stale == 0 {
		t.Error("no stale write in all the runs")
	}
}

// session plays one process that uses the database directly.
func session(t *testing.T, cfg engine.Config,
	use func(ctx context.Context, w *engine.World, in *engine.Incarnation, pool *pgxpool.Pool) error,
) *engine.Result {
	t.Helper()
	reset(t)
	cfg.Backend, cfg.MaxTime, cfg.Trace = backend, time.Hour, true
	cfg.Goal = func(w *engine.World) bool { return w.Idle() }
	var failed error
	r := engine.Run(t, cfg, func(w *engine.World) {
		w.Process("p").Start(func(ctx context.Context, in *engine.Incarnation) error {
			pool, err := pgxpool.NewWithConfig(context.Background(), poolConfig(in))
			if err != nil {
				return err
			}
			defer pool.Close()
			if err := use(ctx, w, in, pool); err != nil && in.Context().Err() == nil {
				failed = fmt.Errorf("%s: %w", in.Name(), err)
			}
			return nil
		})
	})
	if r.Outcome != engine.GoalReached || failed != nil {
		t.Errorf("%s %v %v", r.Outcome, r.Err, failed)
	}
	return r
}
