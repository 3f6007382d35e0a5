package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"ordeal/reports"
	"ordeal/sim/pgserver"
)

var (
	// ErrNoSeed tells that no seed that was looked at meets the boundary.
	ErrNoSeed = errors.New("no seed meets the boundary")
	// ErrOtherRun tells that a seed met the boundary when it was looked at, and then did not.
	ErrOtherRun = errors.New("the seed met the boundary when it was looked at, and does not now")
)

// simulator is the program that plays a seed.
type simulator struct {
	folder, path string
}

// Replay looks, from a seed on, for the first one whose simulated run meets the boundary of a
// case, plays it with its event log, which goes to out, and returns the exit code of that. It must
// run inside the module. Log is told which seed it is, and how to play it.
func Replay(
	ctx context.Context, c Case, from uint64, most int, out, log io.Writer,
) (code int, err error) {
	s, err := newSimulator(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.folder)) }()
	seed, line, err := s.search(ctx, c.Simulated, from, most, log)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.ID, err)
	}
	fmt.Fprintf(log, "boundary: %s\ngo run ./cmd/simulate %s\n", line,
		strings.Join(runArguments(c.Simulated.Scenario, seed), " "))
	return s.play(ctx, c, seed, out, log)
}

// newSimulator builds the simulation into a folder of its own.
func newSimulator(ctx context.Context) (s simulator, err error) {
	if s.folder, err = os.MkdirTemp("", "ordeal-replay-"); err != nil {
		return s, fmt.Errorf("folder for the simulation: %w", err)
	}
	s.path = filepath.Join(s.folder, "simulate")
	text, err := exec.CommandContext(ctx, "go", "build", "-o", s.path,
		"ordeal/cmd/simulate").CombinedOutput()
	if err != nil {
		return s, errors.Join(fmt.Errorf("build simulate: %w\n%s", err, text),
			os.RemoveAll(s.folder))
	}
	return s, nil
}

// search returns the first seed that meets the boundary, and the line of the event log that shows
// it. The looks share a server, so that each is quick.
func (s simulator) search(
	ctx context.Context, b Simulated, from uint64, most int, log io.Writer,
) (seed uint64, line string, err error) {
	server, err := pgserver.Start(ctx, pgserver.Options{Log: log,
		Settings: map[string]string{"deadlock_timeout": "1h"}})
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for n := range most {
		seed = from + uint64(n)
		events, err := s.trace(ctx, b.Scenario, seed, server.URL())
		if err != nil {
			return 0, "", err
		}
		if line, found := b.Found(bytes.NewReader(events)); found {
			return seed, line, nil
		}
	}
	return 0, "", fmt.Errorf("%w: looked at %d seeds of scenario %s from %d on", ErrNoSeed, most,
		b.Scenario, from)
}

// trace plays a seed and returns its event log. That the run violates something is no error here.
func (s simulator) trace(
	ctx context.Context, scenario string, seed uint64, database string,
) ([]byte, error) {
	command := exec.CommandContext(ctx, s.path, runArguments(scenario, seed)...)
	command.Env = append(os.Environ(), "ORDEAL_POSTGRES=url", "ORDEAL_DATABASE_URL="+database)
	var errs bytes.Buffer
	command.Stderr = &errs
	events, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok &&
		failed.ExitCode() == reports.ExitViolated {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("simulate seed %d of %s: %w\n%s", seed, scenario, err, errs.String())
	}
	return events, nil
}

func runArguments(scenario string, seed uint64) []string {
	return []string{"run", "--scenario", scenario, "--seed", strconv.FormatUint(seed, 10),
		"--trace"}
}

// play plays the seed as anybody would, on a server of its own.
func (s simulator) play(
	ctx context.Context, c Case, seed uint64, out, log io.Writer,
) (code int, err error) {
	command := exec.CommandContext(ctx, s.path, runArguments(c.Simulated.Scenario, seed)...)
	var events bytes.Buffer
	command.Stdout, command.Stderr = io.MultiWriter(out, &events), log
	err = command.Run()
	failed, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && (!exited || ctx.Err() != nil) {
		return 0, fmt.Errorf("simulate seed %d: %w", seed, err)
	}
	if _, found := c.Simulated.Found(&events); !found {
		return 0, fmt.Errorf("%s seed %d: %w", c.ID, seed, ErrOtherRun)
	}
	if exited {
		return failed.ExitCode(), nil
	}
	return reports.ExitHeld, nil
}
