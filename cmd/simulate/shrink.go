package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim"
)

// shrinkCmd makes a failing run smaller.
type shrinkCmd struct {
	File      string        `arg:"" optional:"" type:"existingfile" help:"Replay file to shrink; or name a run by scenario and seed."`
	Scenario  string        `help:"Scenario of the run."`
	Seed      uint64        `help:"Seed of the run."`
	Invariant string        `placeholder:"ID" help:"What has to stay violated; default is what the run violates first."`
	Budget    time.Duration `default:"60s" help:"End the search after so much time, with the best found until then (default ${default})."`
	Workers   int           `default:"0" help:"Worker processes; 0 means one per CPU."`
	Out       string        `type:"path" placeholder:"FILE" help:"Replay file to write (default reports/out/SCENARIO-SEED.json)."`
	strategyFlags
}

// Run shrinks the run and writes its replay file.
func (c *shrinkCmd) Run(ctx context.Context) error {
	config, err := c.config()
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	ground, err := sim.OpenGround(ctx, os.Stderr)
	if err != nil {
		return environment(err)
	}
	defer func() { _ = ground.Close() }()
	told := time.Now()
	config.Progress = func(p sim.ShrinkProgress) {
		if time.Since(told) >= time.Second || p.Runs == 0 {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%d choices differ from the default run, %d before; %d runs, %s\n",
				p.Now, p.Before, p.Runs, p.Elapsed.Round(time.Second))
		}
	}
	shrunk, err := sim.Shrink(ctx, ground, config)
	switch {
	case errors.Is(err, sim.ErrNothingToShrink):
		fmt.Println("HELD:", err)
		return nil
	case shrunk.Replay.Format != "":
		err = errors.Join(err, c.write(config, shrunk))
	}
	switch {
	case ctx.Err() != nil:
		return exit{reports.ExitInterrupted, errors.New("interrupted; the file is the best so far")}
	case err != nil:
		return environment(err)
	}
	return exit{code: reports.ExitViolated}
}

// config checks the flags and turns them into what is to be shrunk.
func (c *shrinkCmd) config() (sim.ShrinkConfig, error) {
	config := sim.ShrinkConfig{Scenario: c.Scenario, Seed: c.Seed, Invariant: c.Invariant,
		Build: build(), Budget: c.Budget, Workers: c.Workers, Worker: workerProcess}
	if c.Workers == 0 {
		config.Workers = runtime.NumCPU()
	}
	if c.Budget <= 0 {
		return config, errors.New("--budget: want a duration above zero")
	}
	if c.File != "" {
		if c.Scenario != "" {
			return config, errors.New("name a file or a scenario, not both")
		}
		r, err := openReplay(c.File)
		if err != nil {
			return config, err
		}
		config.Scenario, config.Seed, config.Course = r.Scenario, r.Seed, r.Course(sim.Loosely)
		if config.Invariant == "" {
			config.Invariant = r.Expect.Invariant
		}
		return config, nil
	}
	if _, err := scenarios.Lookup(c.Scenario); err != nil {
		return config, fmt.Errorf("--scenario: %w", err)
	}
	var err error
	config.Course, err = c.course()
	return config, err
}

// write writes the replay file and tells about it.
func (c *shrinkCmd) write(config sim.ShrinkConfig, s sim.Shrunk) error {
	name := c.Out
	if name == "" {
		name = filepath.Join("reports", "out",
			fmt.Sprintf("%s-%d.json", config.Scenario, config.Seed))
	}
	if err := writeReplay(name, s.Replay); err != nil {
		return err
	}
	for _, d := range s.Replay.Deviations {
		fmt.Printf("choice %-5d %-9s %s: %d of %d %s\n", d.At, d.Stream, d.Label, d.Value, d.N,
			d.Note)
	}
	fmt.Printf("%s: %s\n", s.Replay.Expect.Invariant, s.Replay.Expect.Message)
	ended := ""
	if !s.Finished {
		ended = "; the search ended early"
	}
	label := "exact"
	if s.Repeats == 0 {
		label = "not tried"
	} else if s.Exact < s.Repeats {
		label = fmt.Sprintf("exact in %d of %d", s.Exact, s.Repeats)
	}
	if s.Difference != nil {
		fmt.Println(s.Difference)
	}
	fmt.Printf("SHRUNK: %d choices differ from the default run, %d before; %d runs in %s%s; "+
		"replay is %s\n", s.Now, s.Before, s.Runs, s.Elapsed.Round(time.Second), ended, label)
	fmt.Printf("go run ./cmd/simulate replay %s\n", name)
	return nil
}

// writeReplay writes a replay file, with the folders that it needs.
func writeReplay(name string, r sim.Replay) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(r.Encode(file), file.Close())
}
