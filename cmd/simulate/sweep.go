package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/sim"
	"ordeal/sim/engine"
)

// sweepCmd plays a range of seeds.
type sweepCmd struct {
	Scenario    []string      `default:"all" placeholder:"NAME,…" help:"Scenarios to play, or all."`
	Seeds       string        `default:"1-200" placeholder:"A-B" help:"First and last seed, or one seed (default ${default})."`
	Workers     int           `default:"0" help:"Worker processes; 0 means one per CPU."`
	Budget      time.Duration `help:"End after so much time, with what was played until then."`
	Shard       string        `placeholder:"I/N" help:"Play only every N-th run, starting with the I-th."`
	Verify      float64       `default:"0.05" help:"Share of the runs that are played twice; failing ones always are (default ${default})."`
	Compare     float64       `default:"0.5" help:"Share of the runs with a single kind of fault whose twin without faults is played too, to tell whether the fault mattered (default ${default})."`
	StopOnFirst bool          `help:"End at the first failure."`
	Out         string        `default:"reports/out" type:"path" placeholder:"DIR" help:"Folder of the result (default reports/out)."`
	strategyFlags
}

// Run plays the sweep, writes the result and prints its summary.
func (c *sweepCmd) Run(ctx context.Context) error {
	config, err := c.config()
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
	result, err := sim.Sweep(ctx, ground, config, reports.New(build(), c.flags()))
	progress.end()
	return conclude(ctx, result, err, c.Out)
}

// flags are the settings that the result names.
func (c *sweepCmd) flags() map[string]string {
	return map[string]string{
		"scenario": strings.Join(c.Scenario, ","),
		"seeds":    c.Seeds,
		"workers":  strconv.Itoa(c.workers()),
		"shard":    c.Shard,
		"verify":   strconv.FormatFloat(c.Verify, 'g', -1, 64),
		"strategy": c.Strategy,
		"depth":    strconv.Itoa(c.Depth),
	}
}

func (c *sweepCmd) workers() int {
	if c.Workers == 0 {
		return runtime.NumCPU()
	}
	return c.Workers
}

// config checks the flags, all of them, and turns them into a sweep.
func (c *sweepCmd) config() (sim.SweepConfig, error) {
	s := sim.SweepConfig{
		Workers:     c.workers(),
		Budget:      c.Budget,
		Verify:      c.Verify,
		Compare:     c.Compare,
		StopOnFirst: c.StopOnFirst,
		Worker:      workerProcess,
		Command:     c.reproduce,
	}
	var problems []error
	note := func(flag string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	course, err := c.course()
	note("strategy", err)
	s.Course = &course
	s.Corpus, err = sim.Corpus()
	note("corpus", err)
	s.Scenarios, err = chosen(c.Scenario)
	note("scenario", err)
	s.From, s.To, err = seedRange(c.Seeds)
	note("seeds", err)
	s.ShardIndex, s.ShardCount, err = shard(c.Shard)
	note("shard", err)
	if c.Verify < 0 || c.Verify > 1 {
		note("verify", errors.New("want a number from 0 to 1"))
	}
	if c.Compare < 0 || c.Compare > 1 {
		note("compare", errors.New("want a number from 0 to 1"))
	}
	if c.Workers < 0 || c.Workers > 1024 {
		note("workers", errors.New("want a number from 0 to 1024"))
	}
	if c.Budget < 0 {
		note("budget", errors.New("want a duration above zero"))
	}
	return s, errors.Join(problems...)
}

// chosen looks scenarios up.
func chosen(names []string) ([]scenarios.Scenario, error) {
	if len(names) == 1 && names[0] == "all" {
		return scenarios.All(), nil
	}
	var list []scenarios.Scenario
	seen := map[string]bool{}
	for _, name := range names {
		s, err := scenarios.Lookup(name)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("scenario %q is named twice", name)
		}
		seen[name] = true
		list = append(list, s)
	}
	return list, nil
}

// maxSeeds bounds a range, so that a slip of the finger does not fill the memory.
const maxSeeds = 10_000_000

// seedRange reads "A-B" or "A".
func seedRange(text string) (from, to uint64, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, errFrom := strconv.ParseUint(first, 10, 64)
	to, errTo := strconv.ParseUint(last, 10, 64)
	switch {
	case errFrom != nil || errTo != nil:
		return 0, 0, fmt.Errorf("%q is neither a seed nor a range like 1-200", text)
	case to < from:
		return 0, 0, fmt.Errorf("%q ends before it begins", text)
	case to-from >= maxSeeds:
		return 0, 0, fmt.Errorf("%q is more than %d seeds", text, maxSeeds)
	}
	return from, to, nil
}

// shard reads "I/N"; empty means everything.
func shard(text string) (index, count int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, last, ok := strings.Cut(text, "/")
	index, errIndex := strconv.Atoi(first)
	count, errCount := strconv.Atoi(last)
	if !ok || errIndex != nil || errCount != nil || index < 1 || count < index {
		return 0, 0, fmt.Errorf("%q is not like 1/4, with the first number from 1 to the second",
			text)
	}
	return index, count, nil
}

// workerProcess runs this program as a worker. A worker ends when its standard input does.
func workerProcess(ctx context.Context, url string, canSignal bool) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := []string{"worker", "--database", url}
	if canSignal {
		args = append(args, "--can-signal")
	}
	return exec.CommandContext(ctx, self, args...)
}

// workerCmd plays what it is asked for.
type workerCmd struct {
	Database  string `required:"" help:"URL of the worker's database."`
	CanSignal bool   `help:"The server's processes may be stopped and continued."`
}

// Run works until standard input ends.
func (c *workerCmd) Run() error {
	engine.Main(func(t *testing.T) int {
		// Signals are for the sweep, which ends its workers itself.
		err := sim.Work(context.Background(), t, c.Database, c.CanSignal, os.Stdin, os.Stdout)
		if err != nil {
			return code(environment(err))
		}
		return reports.ExitHeld
	})
	return nil
}
