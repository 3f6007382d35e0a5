package integration_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"ordeal/sim/engine"
)

// fates are the faults that swarm offers.
var fates = map[engine.OperationKind][]engine.FaultKind{
	engine.Statement: {engine.ConnResetBefore, engine.LostAck, engine.CrashBefore,
		engine.CrashAfter, engine.CrashAnswered, engine.SerializationFailure, engine.Deadlock,
		engine.Hold, engine.Delay, engine.LoseAnswer, engine.LateArrival},
	engine.Call: {engine.DialFail, engine.LoseRequest, engine.LoseAnswer, engine.ResetAfter,
		engine.LateArrival, engine.Duplicate, engine.Delay, engine.Hold, engine.CrashBefore,
		engine.CrashAfter, engine.CrashAnswered},
	engine.Request:  {engine.DialFail, engine.Duplicate, engine.LoseRequest, engine.Delay},
	engine.Response: {engine.LoseRequest, engine.Hold, engine.ConnResetBefore},
}

// swarm offers every kind of fault, each rarely.
func swarm() engine.Policy {
	return engine.Policy{
		Operation: func(o *engine.Operation, d *engine.Draw) engine.Fate {
			for _, kind := range fates[o.Kind] {
				if d.Offer(kind, 60) {
					after := engine.Range{Max: 10 * time.Second}
					return engine.Fate{Kind: kind, After: d.Duration("after", after)}
				}
			}
			return engine.Fate{}
		},
		GivenUp: func(_ *engine.Operation, d *engine.Draw) engine.Fate {
			if d.Offer(engine.LateArrival, 2) {
				after := engine.Range{Max: time.Minute}
				return engine.Fate{Kind: engine.LateArrival, After: d.Duration("after", after)}
			}
			return engine.Fate{Kind: engine.Drop}
		},
	}
}

// disturb pauses, cuts, crashes and restarts at times drawn from the faults stream, and heals.
func disturb(w *engine.World) {
	f := w.Faults()
	when := func(label string) time.Duration {
		return f.Duration(label, engine.Range{Max: 40 * time.Second})
	}
	w.At(when("pause.at"), "pause", func() { w.Process("worker-1").Pause(when("pause.for")) })
	w.At(when("cut.at"), "cut", func() {
		w.Cut("worker-2", engine.Database, w.Now()+when("cut.for"))
	})
	w.At(when("crash.at"), "crash", func() { w.Process("api").Crash() })
	w.At(when("restart.at"), "restart", func() { w.RestartDatabase(2 * time.Second) })
	w.At(2*time.Minute, "heal", w.Heal)
}

// Two runs of one seed are the same, event for event, also while the machine is busy and
// several processors race.
func TestSameSeedSameRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	defer keepBusy(2)()
	fired := map[engine.FaultKind]int{}
	for seed := range uint64(100) {
		tr := trial{seed: seed, policy: swarm(), extra: disturb, trace: true}
		first, second := tr.run(t), tr.run(t)
		if first.Err != nil || first.Outcome != engine.GoalReached {
			t.Fatalf("seed %d: %s %v", seed, first.Outcome, first.Err)
		}
		if first.EventHash != second.EventHash {
			t.Errorf("seed %d: two runs differ\n%s", seed, difference(first, second))
		}
		if a, b, moved := balances(t); a != 1000-moved || b != 1000+moved {
			t.Errorf("seed %d: moved %d, but the balances are %d and %d", seed, moved, a, b)
		}
		for kind, n := range first.Faults {
			fired[kind] += n.Fired
		}
	}
	t.Log(fired)
	wanted := []engine.FaultKind{engine.Crash, engine.Pause, engine.Cut, engine.DatabaseRestart}
	for _, kinds := range fates {
		wanted = append(wanted, kinds...)
	}
	for _, kind := range wanted {
		if fired[kind] == 0 {
			t.Errorf("%s never fired", kind)
		}
	}
}

// difference shows where two event logs part, with what led there.
func difference(a, b *engine.Result) string {
	for i := range min(len(a.Trace), len(b.Trace)) {
		if a.Trace[i] != b.Trace[i] {
			text := ""
			for _, line := range a.Trace[max(0, i-5):i] {
				text += "  " + line + "\n"
			}
			return text + "- " + a.Trace[i] + "\n+ " + b.Trace[i]
		}
	}
	return "one is longer"
}

// keepBusy burns processors until the returned function is called.
func keepBusy(n int) (stop func()) {
	var stopped atomic.Bool
	done := make(chan struct{})
	for range n {
		go func() {
			for !stopped.Load() {
			}
			done <- struct{}{}
		}()
	}
	return func() {
		stopped.Store(true)
		for range n {
			<-done
		}
	}
}

// A recorded run is replayed by its choices alone, whatever its seed's streams would say; a
// recording that does not fit says where and why.
func TestReplay(t *testing.T) {
	tr := trial{seed: 7, policy: swarm(), extra: disturb}
	first := tr.run(t)
	tr.source = engine.Replay(first.Choices)
	if second := tr.run(t); second.EventHash != first.EventHash {
		t.Error("the replay is another run")
	}
	broken := slices.Clone(first.Choices)
	broken[20].N++
	tr.source = engine.Replay(broken)
	var mismatch *engine.ReplayError
	if r := tr.run(t); r.Outcome != engine.Failed || !asError(r.Err, &mismatch) ||
		mismatch.Index != 20 {
		t.Errorf("a broken recording gave %s %v", r.Outcome, r.Err)
	}
}
