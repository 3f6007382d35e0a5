package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim"
)

// exploreCmd enumerates runs.
type exploreCmd struct {
	Scenario string `default:"one-order" help:"Scenario whose default run is explored (default ${default})."`
	Seed     uint64 `default:"1" help:"Seed of what is no choice, such as jitter (default ${default})."`
	Pairs    bool   `help:"Explore pairs of crashes too."`
	Outcomes int    `default:"1" help:"Most calls of one run that come to something else than success (default ${default})."`
	Workers  int    `default:"0" help:"Worker processes; 0 means one per CPU."`
	Out      string `default:"reports/out/explore" type:"path" placeholder:"DIR" help:"Folder of the result and of the replay files of failing runs (default reports/out/explore)."`
}

// Run enumerates, writes the result and prints what was counted.
func (c *exploreCmd) Run(ctx context.Context) error {
	config, err := c.config()
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	ground, err := sim.OpenGround(ctx, os.Stderr)
	if err != nil {
		return environment(err)
	}
	defer func() { _ = ground.Close() }()
	var bar *progress
	config.Before = func(l sim.ExploreLevel) {
		if bar != nil {
			bar.end()
		}
		bar = newProgress(os.Stderr)
		fmt.Printf("%d deviations: %d runs, of which %d add a crash and %d an outcome\n",
			l.Deviations, l.Runs, l.Crashes, l.Outcomes)
	}
	config.Progress = func(p sim.Progress) { bar.tell(p) }
	explored, err := sim.Explore(ctx, ground, config, reports.New(build(), c.flags()))
	if bar != nil {
		bar.end()
	}
	err = errors.Join(err, c.write(explored))
	switch {
	case ctx.Err() != nil:
		return exit{reports.ExitInterrupted, errors.New("interrupted; the result is partial")}
	case err != nil:
		return environment(err)
	}
	if code := reports.ExitCode(explored.Result); code != reports.ExitHeld {
		return exit{code: code}
	}
	return nil
}

// flags are the settings that the result names.
func (c *exploreCmd) flags() map[string]string {
	return map[string]string{
		"explore":  c.Scenario,
		"seed":     strconv.FormatUint(c.Seed, 10),
		"pairs":    strconv.FormatBool(c.Pairs),
		"outcomes": strconv.Itoa(c.Outcomes),
	}
}

// config checks the flags.
func (c *exploreCmd) config() (sim.ExploreConfig, error) {
	config := sim.ExploreConfig{Seed: c.Seed, Crashes: 1, Outcomes: c.Outcomes,
		Workers: c.Workers, Worker: workerProcess, Build: build(), Folder: c.Out}
	if c.Pairs {
		config.Crashes = 2
	}
	if c.Workers == 0 {
		config.Workers = runtime.NumCPU()
	}
	if c.Outcomes < 0 || c.Outcomes > 5 {
		return config, errors.New("--outcomes: want a number from 0 to 5")
	}
	var err error
	if config.Scenario, err = scenarios.Lookup(c.Scenario); err != nil {
		return config, fmt.Errorf("--scenario: %w", err)
	}
	return config, nil
}

// write writes the result and the replay files, and prints the summary.
func (c *exploreCmd) write(e sim.Explored) error {
	problems := []error{e.Result.Write(c.Out), e.Result.Summary(os.Stdout)}
	for _, name := range e.Names() {
		problems = append(problems, writeReplay(filepath.Join(c.Out, name), e.Replays[name]))
	}
	planned := 0
	for _, l := range e.Levels {
		planned += l.Runs
	}
	fmt.Printf("\nEXPLORED: %d of %d runs, %d different event logs, %s\n", e.Runs, planned,
		e.Distinct, e.Elapsed.Round(time.Second))
	return errors.Join(problems...)
}
