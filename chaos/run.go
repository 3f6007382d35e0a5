package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"ordeal/chaos/stage"
)

// Programs are paths of the binaries to put on the stage; what is empty is built.
type Programs struct{ Orderd, Imitations string }

// RunConfig says what a run plays.
type RunConfig struct {
	Programs Programs
	Cases    []Case
	// Rounds is how often each case is played, with the seeds Seed, Seed+1, …
	Rounds int
	Seed   uint64
	// Parallel is how many plays go on side by side: most of the time they wait for leases.
	Parallel int
	// LeaveOut leaves cases out that crash the database where the server is not ours to crash,
	// and says so in Log; without it such a case is ErrNoRestart.
	LeaveOut bool
	// Logs is an existing folder for the logs of all processes.
	Logs string
	// Log is told about the surroundings, Progress about every play that ended.
	Log      io.Writer
	Progress func(Outcome)
}

// ErrNoRestart tells that a case crashes the database, but the server is not ours to crash.
var ErrNoRestart = errors.New("the PostgreSQL server cannot be restarted: it is no process of ours")

// Run plays cases and returns what they came to, in the order of cases and rounds. An error means
// that the surroundings failed or ctx ended; the outcomes are those of the plays that ended.
func Run(ctx context.Context, c RunConfig) (outcomes []Outcome, err error) {
	t, err := openTheatre(ctx, c.Programs, c.Logs, c.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return t.run(ctx, c)
}

func (t theatre) run(ctx context.Context, c RunConfig) ([]Outcome, error) {
	cases, err := t.possible(c)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.Parallel))
	all := make([]*Outcome, len(cases)*c.Rounds)
	var told sync.Mutex
	for n := range all {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			o, err := t.playOn(ctx, cases[n/c.Rounds], c.Seed+uint64(n%c.Rounds))
			if err != nil {
				return err
			}
			told.Lock()
			defer told.Unlock()
			all[n] = &o
			c.Progress(o)
			return nil
		})
	}
	err = group.Wait()
	var ended []Outcome
	for _, o := range all {
		if o != nil {
			ended = append(ended, *o)
		}
	}
	return ended, err
}

// possible are the cases that can be played on this server.
func (t theatre) possible(c RunConfig) (cases []Case, err error) {
	for _, one := range c.Cases {
		switch {
		case one.Action != RestartDatabase || t.ground.CanRestart():
			cases = append(cases, one)
		case !c.LeaveOut:
			return nil, fmt.Errorf("%s: %w", one.ID, ErrNoRestart)
		default:
			fmt.Fprintf(c.Log, "left out: %s: %v\n", one.ID, ErrNoRestart)
		}
	}
	return cases, nil
}

// playOn plays a case on the common ground, or on one of its own if it crashes that.
func (t theatre) playOn(ctx context.Context, c Case, seed uint64) (o Outcome, err error) {
	if c.Action == RestartDatabase {
		if t.ground, err = stage.OpenGround(ctx, t.binaries, nil); err != nil {
			return Outcome{}, err
		}
		defer func() { err = errors.Join(err, t.ground.Close()) }()
	}
	return t.play(ctx, c, seed)
}
