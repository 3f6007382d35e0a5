package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ordeal/chaos"
	"ordeal/reports"
)

// programs are the binaries to test.
type programs struct {
	Orderd     string `type:"existingfile" placeholder:"PATH" help:"Binary of orderd; built if not given."`
	Imitations string `type:"existingfile" placeholder:"PATH" help:"Binary of imitations; built if not given."`
}

// runCmd plays cases.
type runCmd struct {
	programs
	Case     []string `arg:"" optional:"" help:"Ids of cases."`
	All      bool     `xor:"which" help:"Play every case."`
	Smoke    bool     `xor:"which" help:"Play the short selection (the default)."`
	Rounds   int      `default:"1" help:"How often each case is played, each time with the next seed."`
	Seed     uint64   `default:"1" help:"Seed of the first round."`
	Parallel int      `default:"4" help:"Plays that go on side by side."`
	Out      string   `default:"reports/out/chaos" type:"path" placeholder:"DIR" help:"Folder of the result and the logs (default ${default})."`
}

// Validate is called by kong.
func (c *runCmd) Validate() error {
	if c.Rounds < 1 || c.Parallel < 1 {
		return errors.New("--rounds and --parallel must be above zero")
	}
	if len(c.Case) > 0 && (c.All || c.Smoke) {
		return errors.New("name cases, or give --all or --smoke, not both")
	}
	return nil
}

// Run plays the cases, writes the result and prints the table and the summary.
func (c *runCmd) Run(ctx context.Context) error {
	cases, err := c.cases()
	if err != nil {
		return exit{reports.ExitUsage, err}
	}
	logs, err := logFolder(c.Out)
	if err != nil {
		return exit{reports.ExitEnvironment, err}
	}
	done := 0
	outcomes, runErr := chaos.Run(ctx, chaos.RunConfig{
		Programs: chaos.Programs(c.programs),
		Cases:    cases,
		Rounds:   c.Rounds,
		Seed:     c.Seed,
		Parallel: c.Parallel,
		LeaveOut: len(c.Case) == 0,
		Logs:     logs,
		Log:      os.Stderr,
		Progress: func(o chaos.Outcome) {
			done++
			fmt.Fprintf(os.Stderr, "%d/%d %s\n", done, len(cases)*c.Rounds, o.Case.ID)
		},
	})
	return c.report(ctx, outcomes, runErr)
}

// report writes and prints what ended, also if the run did not end well.
func (c *runCmd) report(ctx context.Context, outcomes []chaos.Outcome, runErr error) error {
	result := chaos.Result(reports.New(build(), map[string]string{
		"cases":  c.which(),
		"rounds": strconv.Itoa(c.Rounds),
		"seed":   strconv.FormatUint(c.Seed, 10),
	}), outcomes)
	err := errors.Join(runErr, chaos.Table(os.Stdout, outcomes))
	return finish(ctx, result, c.Out, err)
}

// finish writes a result and prints its summary, and returns the exit code that it deserves.
func finish(ctx context.Context, result reports.Result, out string, err error) error {
	err = errors.Join(err, result.Write(out), result.Summary(os.Stdout))
	if err != nil {
		return environment(ctx, err)
	}
	if code := reports.ExitCode(result); code != reports.ExitHeld {
		return exit{code: code}
	}
	return nil
}

// logFolder makes the folder of the logs of one run, empty.
func logFolder(out string) (string, error) {
	folder := filepath.Join(out, "logs")
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, os.MkdirAll(folder, 0o755)
}

func (c *runCmd) which() string {
	switch {
	case len(c.Case) > 0:
		return strings.Join(c.Case, ",")
	case c.All:
		return "all"
	}
	return "smoke"
}

func (c *runCmd) cases() ([]chaos.Case, error) {
	switch {
	case c.All:
		return chaos.All(), nil
	case len(c.Case) == 0:
		return chaos.Smoke(), nil
	}
	var cases []chaos.Case
	for _, id := range c.Case {
		one, err := chaos.Lookup(id)
		if err != nil {
			return nil, err
		}
		cases = append(cases, one)
	}
	return cases, nil
}
