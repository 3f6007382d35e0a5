package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim"
	"ordeal/sim/engine"
)

// replayCmd plays a replay file.
type replayCmd struct {
	File  string `arg:"" type:"existingfile" help:"Replay file, such as one that shrink has written."`
	Loose bool   `help:"Take of the file what fits, instead of ending where it no longer does."`
	Times int    `default:"1" help:"Replay so often (default ${default})."`
	Trace bool   `help:"Print the event log before the summary."`
}

// Run replays the file and tells whether what failed fails again.
func (c *replayCmd) Run(ctx context.Context) error {
	r, err := openReplay(c.File)
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	if c.Times < 1 {
		return exit{reports.ExitUsage, errors.New("--times: want a number from 1")}
	}
	engine.Main(func(t *testing.T) int { return code(c.play(ctx, t, r)) })
	return nil
}

// openReplay reads a replay file.
func openReplay(name string) (sim.Replay, error) {
	file, err := os.Open(name)
	if err != nil {
		return sim.Replay{}, err
	}
	defer func() { _ = file.Close() }()
	r, err := sim.ReadReplay(file)
	if err != nil {
		return sim.Replay{}, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func (c *replayCmd) play(ctx context.Context, t *testing.T, r sim.Replay) error {
	lab, closeLab, err := openLab(ctx)
	if err != nil {
		return environment(err)
	}
	defer closeLab()
	s, err := scenarios.Lookup(r.Scenario)
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	follow := sim.Strictly
	if c.Loose {
		follow = sim.Loosely
	}
	var v sim.Verdict
	again, exact := 0, 0
	for range c.Times {
		v, err = lab.PlayCourse(ctx, t, s, r.Seed, r.Course(follow), c.Trace)
		if ctx.Err() != nil {
			return exit{reports.ExitInterrupted, errors.New("interrupted")}
		}
		if err != nil {
			return environment(err)
		}
		if v.Violates(r.Expect.Invariant) {
			again++
		}
		if v.EventHash == r.Expect.EventHash {
			exact++
		}
	}
	c.print(r, v, again, exact)
	return verdictCode(v)
}

// verdictCode is the exit code of a single run.
func verdictCode(v sim.Verdict) error {
	switch {
	case v.Misfit != "":
		return exit{code: reports.ExitNondeterministic}
	case !v.Passed():
		return exit{code: reports.ExitViolated}
	}
	return nil
}

// print tells what came of the last replay, and how often it was as recorded.
func (c *replayCmd) print(r sim.Replay, v sim.Verdict, again, exact int) {
	for _, line := range v.Trace {
		fmt.Println(line)
	}
	for _, d := range r.Deviations {
		fmt.Printf("choice %-5d %-9s %s: %d of %d %s\n", d.At, d.Stream, d.Label, d.Value, d.N,
			d.Note)
	}
	fmt.Printf("%s, seed %d, %d of %d choices differ from the default run\n", r.Scenario, r.Seed,
		len(r.Deviations), r.Choices)
	switch {
	case v.Misfit != "":
		fmt.Printf("NO LONGER FITS: %s\n", v.Misfit)
		return
	case v.Missed > 0:
		fmt.Printf("%d choices did not fit and were left out\n", v.Missed)
	}
	if id, message := v.Finding(); id != "" {
		fmt.Printf("violated: %s: %s\n", id, message)
	}
	label := "exact"
	if exact < c.Times {
		label = fmt.Sprintf("events as recorded in %d", exact)
	}
	switch {
	case r.Expect.Invariant == "":
		fmt.Printf("REPLAYED %d times (%s)\n", c.Times, label)
	case again == 0:
		fmt.Printf("%s held in %d of %d replays (%s)\n", r.Expect.Invariant, c.Times, c.Times,
			label)
	default:
		fmt.Printf("%s failed in %d of %d replays (%s)\n", r.Expect.Invariant, again, c.Times,
			label)
	}
}
