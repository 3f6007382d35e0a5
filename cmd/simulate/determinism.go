package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"ordeal/reports"
	"ordeal/sim"
)

// determinismCmd proves that seeds repeat.
type determinismCmd struct {
	Scenario []string `default:"all" placeholder:"NAME,…" help:"Scenarios to play, or all."`
	Seeds    string   `default:"1-20" placeholder:"A-B" help:"First and last seed, or one seed (default ${default})."`
	Out      string   `default:"reports/out/determinism" type:"path" placeholder:"DIR" help:"Folder of the result (default reports/out/determinism)."`
	strategyFlags
}

// Help tells what the command varies.
func (*determinismCmd) Help() string {
	return "Plays every run once in each of these surroundings, side by side, and compares the " +
		"event logs: " + strings.Join(sim.Surroundings(), ", ") + "."
}

// Run plays, writes the result and prints its summary.
func (c *determinismCmd) Run(ctx context.Context) error {
	flags := sweepCmd{Scenario: c.Scenario, Seeds: c.Seeds, strategyFlags: c.strategyFlags}
	config, err := flags.config()
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	ground, err := sim.OpenGround(ctx, os.Stderr)
	if err != nil {
		return environment(err)
	}
	defer func() { _ = ground.Close() }()
	progress := newProgress(os.Stderr)
	config.Progress = progress.tell
	result, err := sim.Determinism(ctx, ground, config, reports.New(build(), map[string]string{
		"scenario": strings.Join(c.Scenario, ","),
		"seeds":    c.Seeds,
		"vary":     strings.Join(sim.Surroundings(), ", "),
	}))
	progress.end()
	return conclude(ctx, result, err, c.Out)
}

// conclude writes and prints what a sweep came to, and returns what its exit code says.
func conclude(ctx context.Context, result reports.Result, err error, out string) error {
	if writeErr := result.Write(out); writeErr != nil {
		err = errors.Join(err, writeErr)
	}
	if summaryErr := result.Summary(os.Stdout); summaryErr != nil {
		err = errors.Join(err, summaryErr)
	}
	switch {
	case ctx.Err() != nil:
		return exit{reports.ExitInterrupted, errors.New("interrupted; the result is partial")}
	case err != nil:
		return environment(fmt.Errorf("the result is partial: %w", err))
	}
	if code := reports.ExitCode(result); code != reports.ExitHeld {
		return exit{code: code}
	}
	return nil
}
