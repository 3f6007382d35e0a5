package integration_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim"
)

// workerEnv makes this test binary a worker: the value is the URL of its database.
const workerEnv = "ORDEAL_TEST_WORKER"

// dieEnv makes the worker die when it is asked for a seed, as a panic in it would.
const dieEnv = "ORDEAL_TEST_DIE"

// TestWorker is the worker process of the other tests, and nothing by itself.
func TestWorker(t *testing.T) {
	url := os.Getenv(workerEnv)
	if url == "" {
		return
	}
	if os.Getenv(dieEnv) != "" {
		fmt.Fprintln(os.Stderr, "panic: planted")
		os.Exit(2)
	}
	if err := sim.Work(t.Context(), t, url, false, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
	os.Exit(0)
}

func worker(env ...string) sim.WorkerCommand {
	return func(ctx context.Context, url string, _ bool) *exec.Cmd {
		c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWorker$")
		c.Args = append([]string{"env"}, append(append(env, workerEnv+"="+url), c.Args...)...)
		c.Path, c.Err = "/usr/bin/env", nil
		return c
	}
}

func sweep(t *testing.T, c sim.SweepConfig) reports.Result {
	t.Helper()
	ground, err := sim.OpenGround(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ground.Close(); err != nil {
			t.Error(err)
		}
	}()
	c.Command = func(scenario string, seed uint64) string { return fmt.Sprint(scenario, " ", seed) }
	result, err := sim.Sweep(t.Context(), ground, c, reports.New(reports.Build{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Every run is played in one process and again in another one.
func TestSweepVerifiesEverything(t *testing.T) {
	r := sweep(t, sim.SweepConfig{
		Scenarios: scenarios.All(), From: 1, To: 4, Workers: 2, Verify: 1, Worker: worker(),
	})
	want := reports.Seeds{Run: 4 * len(scenarios.All()), Passed: 4 * len(scenarios.All())}
	if r.Seeds != want {
		t.Fatalf("got %+v, want %+v: %+v", r.Seeds, want, r.Failures)
	}
}

// A worker that dies is the finding of the seed it was playing, with what it left behind and how
// often that comes back, and the sweep goes on.
func TestSweepSurvivesItsWorkers(t *testing.T) {
	r := sweep(t, sim.SweepConfig{
		Scenarios: scenarios.All()[:1], From: 1, To: 1, Workers: 1, Worker: worker(dieEnv + "=1"),
	})
	if r.Seeds.Run != 1 || len(r.Failures) != 1 {
		t.Fatalf("got %+v with failures %+v", r.Seeds, r.Failures)
	}
	f := r.Failures[0]
	if f.Invariant != reports.Broken || !strings.Contains(f.Detail, "panic: planted") ||
		f.Repeats != "10 of 10" {
		t.Errorf("failure %+v does not tell how the worker died", f)
	}
}

// A budget ends a sweep early, without an error, with what was played.
func TestSweepKeepsItsBudget(t *testing.T) {
	r := sweep(t, sim.SweepConfig{
		Scenarios: scenarios.All(), From: 1, To: 1_000_000, Workers: 1, Budget: 8 * time.Second,
		Worker: worker(),
	})
	if r.Seeds.Run == 0 || r.Seeds.Failed > 0 {
		t.Fatalf("got %+v with failures %+v", r.Seeds, r.Failures)
	}
}
