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

// runCmd plays one seed.
type runCmd struct {
	Scenario string `required:"" help:"Scenario to play."`
	Seed     uint64 `required:"" help:"Seed to play."`
	Trace    bool   `help:"Print the event log, on standard output before the summary, or on standard error with --json."`
	JSON     bool   `help:"Print the result as JSON."`
	Record   string `type:"path" placeholder:"FILE" help:"Write a replay file of the run."`
	strategyFlags
}

// Run plays the seed and prints what it came to.
func (c *runCmd) Run(ctx context.Context) error {
	s, err := scenarios.Lookup(c.Scenario)
	if err != nil {
		return exit{reports.ExitUsage, fmt.Errorf("--scenario: %w", err)}
	}
	course, err := c.course()
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	engine.Main(func(t *testing.T) int {
		return code(c.play(ctx, t, s, course))
	})
	return nil
}

func (c *runCmd) play(
	ctx context.Context, t *testing.T, s scenarios.Scenario, course sim.Course,
) error {
	lab, closeLab, err := openLab(ctx)
	if err != nil {
		return environment(err)
	}
	defer closeLab()
	course.Choices = c.Record != ""
	verdict, err := lab.PlayCourse(ctx, t, s, c.Seed, course, c.Trace)
	if ctx.Err() != nil {
		return exit{reports.ExitInterrupted, errors.New("interrupted")}
	}
	if err != nil {
		return environment(err)
	}
	if c.Record != "" {
		if err := writeReplay(c.Record, sim.NewReplay(build(), course, verdict)); err != nil {
			return environment(err)
		}
	}
	run := sim.Report(verdict, reports.New(build(), map[string]string{
		"scenario": c.Scenario,
		"seed":     fmt.Sprint(c.Seed),
	}), c.reproduce)
	if err := c.print(run, verdict); err != nil {
		return environment(err)
	}
	if code := reports.ExitCode(run.Result); code != reports.ExitHeld {
		return exit{code: code}
	}
	return nil
}

// print writes the event log, if wanted, and the result.
func (c *runCmd) print(run reports.Run, v sim.Verdict) error {
	log := os.Stdout
	if c.JSON {
		log = os.Stderr
	}
	for _, line := range v.Trace {
		if _, err := fmt.Fprintln(log, line); err != nil {
			return err
		}
	}
	if c.JSON {
		return run.Encode(os.Stdout)
	}
	if err := run.Summary(os.Stdout); err != nil {
		return err
	}
	_, err := fmt.Printf("\nevent hash %s, %d events\n", run.EventHash, run.Events)
	return err
}
