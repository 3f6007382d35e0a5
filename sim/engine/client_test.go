package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"ordeal/sim/engine"
)

// shop is a process that answers a request after a second.
func shop(w *engine.World, n *notes) {
	w.Process("api").Start(func(ctx context.Context, in *engine.Incarnation) error {
		in.Serve(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			select {
			case <-in.Clock().After(time.Second):
				fmt.Fprintf(rw, "hello %s", req.URL.Path)
			case <-req.Context().Done():
				n.add("hung up")
			}
		}))
		<-ctx.Done()
		return nil
	})
}

// visit makes one request as a client with the given patience.
func visit(w *engine.World, n *notes, patience time.Duration) {
	w.Go("alice", func(ctx context.Context) {
		w.Clock().Sleep(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://shop/bread", nil)
		resp, err := w.Client("alice", "api").Do(req)
		if err != nil {
			n.add(fmt.Sprint("error, timeout ", errors.Is(err, context.DeadlineExceeded)))
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		n.add(fmt.Sprint(resp.StatusCode, " ", string(body)))
	})
}

// What a client learns when its request, the answer, or the process goes wrong.
func TestClients(t *testing.T) {
	crash := func(w *engine.World) {
		w.At(500*time.Millisecond, "crash", w.Process("api").Crash)
	}
	pause := func(w *engine.World) {
		w.At(500*time.Millisecond, "pause", func() { w.Process("api").Pause(time.Minute) })
	}
	cut := func(w *engine.World) { w.Cut("alice", "api", time.Minute) }
	nothing := func(*engine.World) {}
	answer := func(kind engine.FaultKind) engine.Policy {
		return once(engine.Response, engine.Fate{Kind: kind})
	}
	request := func(kind engine.FaultKind) engine.Policy {
		return once(engine.Request, engine.Fate{Kind: kind})
	}
	none := engine.Policy{}
	const reset, timeout = "error, timeout false", "error, timeout true"
	const well = "200 hello /bread"
	for name, c := range map[string]struct {
		patience time.Duration
		policy   engine.Policy
		trouble  func(w *engine.World)
		want     []string
	}{
		"well":          {5 * time.Second, none, nothing, []string{well}},
		"crash":         {5 * time.Second, none, crash, []string{reset, "hung up"}},
		"impatient":     {time.Second / 2, none, nothing, []string{timeout, "hung up"}},
		"pause":         {5 * time.Second, none, pause, []string{timeout, "hung up"}},
		"patient pause": {time.Hour, none, pause, []string{well}},
		"cut":           {5 * time.Second, none, cut, []string{timeout}},
		"lost answer":   {5 * time.Second, answer(engine.LoseRequest), nothing, []string{timeout}},
		"reset answer":  {5 * time.Second, answer(engine.ConnResetBefore), nothing, []string{reset}},
		"refused":       {5 * time.Second, request(engine.DialFail), nothing, []string{reset}},
		"twice":         {5 * time.Second, request(engine.Duplicate), nothing, []string{well}},
		"disconnect": {5 * time.Second, request(engine.Disconnect), nothing,
			[]string{reset, "hung up"}},
		"crash at reply": {5 * time.Second, answer(engine.CrashBefore), nothing, []string{reset}},
	} {
		var n notes
		config := engine.Config{Policy: c.policy, MaxTime: 2 * time.Minute,
			Goal: func(*engine.World) bool { return false }}
		r := play(t, config, func(w *engine.World) {
			shop(w, &n)
			visit(w, &n, c.patience)
			c.trouble(w)
		})
		if r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
		// The server's own note is made on a goroutine of its own.
		slices.Sort(n.lines)
		if !slices.Equal(n.lines, c.want) {
			t.Errorf("%s: got %q, want %q", name, n.lines, c.want)
		}
	}
}

// A call parked in a paused process is not woken by its context; what the party did meanwhile is
// learnt at the resume, or the request leaves only then.
func TestPausedCall(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(40) {
		c := &caller{}
		config := engine.Config{Seed: seed, Policy: once(engine.Call,
			engine.Fate{Kind: engine.Hold, After: 2 * time.Second})}
		r := play(t, config, func(w *engine.World) {
			c.build(w)
			w.At(time.Second, "pause", func() { w.Process("p").Pause(time.Minute) })
		})
		if r.Outcome != engine.GoalReached || c.at < 61*time.Second {
			t.Fatalf("seed %d: %s %v, learnt after %s", seed, r.Outcome, r.Err, c.at)
		}
		seen[fmt.Sprint(c.learnt != "error", " ", c.calls)] = true
	}
	for _, want := range []string{"true 1", "false 0"} {
		if !seen[want] {
			t.Errorf("no run with %s in %v", want, seen)
		}
	}
}

// A call that leaves after its deadline, when a pause is over, and whose answer is lost, ends: its
// sender has nothing left to wait for.
func TestLateCallIsLost(t *testing.T) {
	policy := engine.Policy{Operation: func(o *engine.Operation, _ *engine.Draw) engine.Fate {
		if o.Holds == 0 {
			return engine.Fate{Kind: engine.Hold, After: 2 * time.Second}
		}
		return engine.Fate{Kind: engine.LoseAnswer}
	}}
	for seed := range uint64(20) {
		c := &caller{}
		r := play(t, engine.Config{Seed: seed, Policy: policy, MaxTime: time.Hour},
			func(w *engine.World) {
				c.build(w)
				w.At(time.Second, "pause", func() { w.Process("p").Pause(time.Minute) })
			})
		if c.learnt == "" || c.at > 62*time.Second {
			t.Fatalf("seed %d: %s %v, learnt %q after %s", seed, r.Outcome, r.Err, c.learnt, c.at)
		}
	}
}

// A process that crashes before a call does nothing any more, not even in the instant in which its
// goroutines learn that the call failed.
func TestCrashComesFirst(t *testing.T) {
	for seed := range uint64(20) {
		var events []engine.EventKind
		config := engine.Config{
			Seed:    seed,
			Policy:  once(engine.Call, engine.Fate{Kind: engine.CrashBefore}),
			MaxTime: time.Minute,
			Hooks: engine.Hooks{OnEvent: func(e engine.Event) {
				events = append(events, e.Kind)
				if e.Kind == engine.EventCrash {
					runtime.Gosched() // time for whoever has been woken too early
				}
			}},
		}
		r := play(t, config, func(w *engine.World) {
			w.Process("p").Start(func(ctx context.Context, in *engine.Incarnation) error {
				for i := range 3 {
					_, _ = in.Invoke(context.Background(), "payment", fmt.Sprint("call ", i), nil,
						func() ([]byte, error) { return nil, nil })
				}
				return nil
			})
		})
		want := []engine.EventKind{engine.EventStart, engine.EventCall, engine.EventCrash}
		if r.Err != nil || !slices.Equal(events, want) {
			t.Fatalf("seed %d: %v, %v, want %v", seed, r.Err, events, want)
		}
	}
}
