package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ordeal/sim/engine"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ordeal/sim/engine_test.waitForEver"))
}

// waitForEver is the goroutine that TestLeak leaves behind on purpose.
func waitForEver(c chan struct{}) { <-c }

// play runs a world whose goal is that all processes and scripts have ended.
func play(t *testing.T, cfg engine.Config, build func(w *engine.World)) *engine.Result {
	t.Helper()
	if cfg.MaxTime == 0 {
		cfg.MaxTime = time.Hour
	}
	cfg.Trace = true
	if cfg.Goal == nil {
		cfg.Goal = func(w *engine.World) bool { return w.Idle() }
	}
	return engine.Run(t, cfg, build)
}

// once is a policy that gives the first operation of a kind one fate.
func once(kind engine.OperationKind, fate engine.Fate) engine.Policy {
	given := false
	return engine.Policy{Operation: func(o *engine.Operation, _ *engine.Draw) engine.Fate {
		if given || o.Kind != kind {
			return engine.Fate{}
		}
		given = true
		return fate
	}}
}

// caller is a process that calls a party once, with a timeout of three seconds, and reports what
// it learnt and when.
type caller struct {
	calls   int // that reached the party
	starts  int // of the process
	learnt  string
	at      time.Duration
	timeout bool
	refused bool
}

func (c *caller) build(w *engine.World) {
	w.Party("shop", http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		c.calls++
		body, _ := io.ReadAll(req.Body)
		fmt.Fprintf(rw, "%s %s %s", body, req.Header.Get("Plan"), req.URL.RawQuery)
	}))
	w.Process("p").Start(func(ctx context.Context, in *engine.Incarnation) error {
		c.starts++
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		learnt, err := c.call(ctx, in.Client())
		if in.Context().Err() != nil {
			return nil
		}
		c.learnt, c.at = learnt, w.Now()
		var op *net.OpError
		c.timeout = errors.Is(err, context.DeadlineExceeded)
		c.refused = errors.As(err, &op) && op.Op == "dial"
		return nil
	})
}

func (c *caller) call(ctx context.Context, client *http.Client) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", "http://shop/buy?x=1",
		strings.NewReader("bread"))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "error", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(body)), err
}

// What a caller learns from each fate of its call, how often the party saw it, and when.
func TestFatesOfCalls(t *testing.T) {
	second := func(kind engine.FaultKind) engine.Fate {
		return engine.Fate{Kind: kind, After: time.Second}
	}
	for _, c := range []struct {
		fate    engine.Fate
		learnt  string
		calls   int
		after   time.Duration
		timeout bool
		refused bool
	}{
		{engine.Fate{}, "200 bread  x=1", 1, 0, false, false},
		{engine.Fate{Header: http.Header{"Plan": {"ok"}}}, "200 bread ok x=1", 1, 0, false, false},
		{engine.Fate{Kind: engine.Override, Answer: &engine.Answer{Status: 503}}, "503 ", 0, 0,
			false, false},
		{engine.Fate{Kind: engine.DialFail}, "error", 0, 0, false, true},
		{engine.Fate{Kind: engine.ConnResetBefore}, "error", 0, 0, false, false},
		{engine.Fate{Kind: engine.ResetAfter}, "error", 1, 0, false, false},
		{engine.Fate{Kind: engine.LoseRequest}, "error", 0, 3 * time.Second, true, false},
		{engine.Fate{Kind: engine.LoseAnswer}, "error", 1, 3 * time.Second, true, false},
		{second(engine.LateArrival), "error", 1, 3 * time.Second, true, false},
		{second(engine.Hold), "200 bread  x=1", 1, time.Second, false, false},
		{second(engine.Delay), "200 bread  x=1", 1, time.Second, false, false},
		{second(engine.Duplicate), "200 bread  x=1", 2, 0, false, false},
	} {
		got := &caller{}
		r := play(t, engine.Config{Policy: once(engine.Call, c.fate)}, got.build)
		name := fmt.Sprintf("%s: ", c.fate.Kind)
		if r.Outcome != engine.GoalReached {
			t.Errorf("%s%s %v", name, r.Outcome, r.Err)
		}
		if got.learnt != c.learnt || got.calls != c.calls || got.timeout != c.timeout ||
			got.refused != c.refused {
			t.Errorf("%sgot %+v", name, *got)
		}
		if got.at.Round(10*time.Millisecond) != c.after {
			t.Errorf("%sanswered after %s", name, got.at)
		}
		if c.fate.Kind != "" && r.Faults[c.fate.Kind].Fired != 1 {
			t.Errorf("%scounted %+v", name, r.Faults)
		}
	}
}

// A crash before a call leaves no effect, one after it does; a restart repeats the work.
func TestCrashAtACall(t *testing.T) {
	for _, c := range []struct {
		kind  engine.FaultKind
		calls int
	}{{engine.CrashBefore, 1}, {engine.CrashAfter, 2}} {
		got := &caller{}
		r := play(t, engine.Config{
			Policy:  once(engine.Call, engine.Fate{Kind: c.kind}),
			Restart: engine.Range{Min: time.Second, Max: time.Second},
			Goal:    func(w *engine.World) bool { return got.learnt != "" && w.Idle() },
		}, got.build)
		if got.starts != 2 || got.calls != c.calls || got.learnt != "200 bread  x=1" {
			t.Errorf("%s: %+v", c.kind, *got)
		}
		if !contains(r.Trace, "start p#2") {
			t.Errorf("%s: no second incarnation in\n%s", c.kind, strings.Join(r.Trace, "\n"))
		}
	}
}

// What a process had sent when it crashed is dropped, or arrives late, as the policy says.
func TestCrashWithACallOnItsWay(t *testing.T) {
	for _, late := range []bool{false, true} {
		got := &caller{}
		policy := once(engine.Call, engine.Fate{Kind: engine.Hold, After: 2 * time.Second})
		if late {
			policy.GivenUp = func(*engine.Operation, *engine.Draw) engine.Fate {
				return engine.Fate{Kind: engine.LateArrival, After: time.Minute}
			}
		}
		r := play(t, engine.Config{Policy: policy}, func(w *engine.World) {
			got.build(w)
			w.At(time.Second, "crash", w.Process("p").Crash)
		})
		if want := map[bool]int{false: 0, true: 1}[late]; got.calls != want {
			t.Errorf("late %t: %d calls arrived", late, got.calls)
		}
		if late != (r.Counters.Virtual > time.Minute) || got.learnt != "" {
			t.Errorf("late %t: over after %s, learnt %q", late, r.Counters.Virtual, got.learnt)
		}
	}
}

func contains(lines []string, part string) bool {
	return strings.Contains(strings.Join(lines, "\n"), part)
}

// Virtual time costs nothing, and a run is over when the goal says so.
func TestSleepingIsFree(t *testing.T) {
	start := time.Now()
	var slept time.Duration
	r := play(t, engine.Config{}, func(w *engine.World) {
		w.Process("p").Start(func(_ context.Context, in *engine.Incarnation) error {
			before := in.Clock().Now()
			in.Clock().Sleep(30 * time.Second)
			slept = in.Clock().Since(before)
			return nil
		})
	})
	if slept != 30*time.Second || r.Counters.Virtual < slept {
		t.Errorf("slept %s of %s", slept, r.Counters.Virtual)
	}
	if real := time.Since(start); real > 5*time.Second {
		t.Errorf("took %s", real)
	}
}

// Bounds end a run that has no end of its own.
func TestBounds(t *testing.T) {
	forever := func(w *engine.World) {
		w.Process("p").Start(func(ctx context.Context, in *engine.Incarnation) error {
			ticker := in.Clock().NewTicker(time.Second)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-ticker.Chan():
				}
			}
		})
	}
	never := func(*engine.World) bool { return false }
	r := play(t, engine.Config{Goal: never, MaxTime: time.Minute}, forever)
	if r.Outcome != engine.TimeLimit || r.Counters.Virtual != time.Minute {
		t.Errorf("%s after %s", r.Outcome, r.Counters.Virtual)
	}
	r = play(t, engine.Config{Goal: never, MaxEvents: 10}, forever)
	if r.Outcome != engine.EventLimit || r.Counters.Events != 10 {
		t.Errorf("%s after %d events", r.Outcome, r.Counters.Events)
	}
}

// What goes wrong in the harness or on an engine's goroutine becomes the run's error, and names
// the seed.
func TestFailures(t *testing.T) {
	boom := func() { panic("boom") }
	for name, build := range map[string]func(w *engine.World){
		"build": func(*engine.World) { boom() },
		"process": func(w *engine.World) {
			w.Process("p").Start(func(context.Context, *engine.Incarnation) error {
				boom()
				return nil
			})
		},
		"event":  func(w *engine.World) { w.At(time.Second, "e", boom) },
		"script": func(w *engine.World) { w.Go("s", func(context.Context) { boom() }) },
		"party": func(w *engine.World) {
			(&caller{}).build(w)
			w.Party("shop", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { boom() }))
		},
		"fail": func(w *engine.World) {
			w.At(time.Second, "e", func() { w.Fail(errors.New("boom")) })
		},
	} {
		r := play(t, engine.Config{Seed: 4711, Goal: func(*engine.World) bool { return false }},
			build)
		if r.Outcome != engine.Failed || r.Err == nil {
			t.Errorf("%s: %s", name, r.Outcome)
			continue
		}
		if s := r.Err.Error(); !strings.Contains(s, "seed 4711") || !strings.Contains(s, "boom") {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// A goroutine that does not end with its process is reported, with its stack.
func TestLeak(t *testing.T) {
	r := play(t, engine.Config{Seed: 4712}, func(w *engine.World) {
		w.Process("p").Start(func(context.Context, *engine.Incarnation) error {
			forever := make(chan struct{})
			go waitForEver(forever)
			return nil
		})
	})
	var leak *engine.LeakError
	if !errors.As(r.Err, &leak) || leak.Seed != 4712 ||
		!strings.Contains(leak.Stacks, "waitForEver") {
		t.Errorf("%s: %v", r.Outcome, r.Err)
	}
}
