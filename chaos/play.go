package chaos

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ordeal/chaos/stage"
	"ordeal/reports"
	"ordeal/scenarios/evidence"
	"ordeal/scenarios/invariant"
)

const (
	// hitBound limits how long a boundary may take to be reached.
	hitBound = 60 * time.Second
	// recoveryAllowance is what a recovery may take beside a lease: a retry delay, a sweep, a
	// poll, and the restart of what was killed, on a busy machine.
	recoveryAllowance = 20 * time.Second
	// restAllowance is what everything may take to come to rest beside two leases: five
	// attempts with their delays, and as much again.
	restAllowance = 90 * time.Second
	// watchEvery separates looks at the database.
	watchEvery = 25 * time.Millisecond
	// workers is how many processes drive orders.
	workers = 2
)

// targetKey is the key of the order that a boundary case is about.
const targetKey = "target"

// Problem is one reason why a play failed.
type Problem struct {
	// What is the id of an invariant or a requirement, or reports.Coverage or reports.Broken.
	What    string
	Message string
}

// Outcome is what one play of a case came to.
type Outcome struct {
	Case Case
	Seed uint64
	// Hit says that the boundary was reached and acted on.
	Hit bool
	// Kills counts processes that were killed.
	Kills  int
	Orders int
	// Recovery is the time from the act to the next move of the order that was hit; zero where
	// nothing was left to move.
	Recovery   time.Duration
	Statements int
	Elapsed    time.Duration
	Findings   []invariant.Finding
	Problems   []Problem
}

// Checked is how often an invariant had something to check.
func (o Outcome) Checked() (n int) {
	for _, f := range o.Findings {
		n += f.Result.Checked
	}
	return n
}

// Passed reports whether everything held.
func (o Outcome) Passed() bool { return len(o.Problems) == 0 }

// theatre is what plays share.
type theatre struct {
	binaries stage.Binaries
	ground   *stage.Ground
	// logs is a folder that gets a folder of process logs for every play.
	logs string
}

// openTheatre builds what is not given and opens a ground. Log is told which server it is.
func openTheatre(ctx context.Context, p Programs, logs string, log io.Writer) (theatre, error) {
	binaries, err := stage.Build(ctx, p.Orderd, p.Imitations)
	if err != nil {
		return theatre{}, err
	}
	ground, err := stage.OpenGround(ctx, binaries, log)
	if err != nil {
		return theatre{}, errors.Join(err, binaries.Remove())
	}
	return theatre{binaries: binaries, ground: ground, logs: logs}, nil
}

func (t theatre) close() error { return errors.Join(t.ground.Close(), t.binaries.Remove()) }

// play is one case under one seed.
type play struct {
	theatre  theatre
	c        Case
	workers  int
	rng      *rand.Rand
	stage    *stage.Stage
	director *director
	load     *load
	// resume lets a held connection go on.
	resume     chan struct{}
	resumeOnce sync.Once

	mu      sync.Mutex
	outcome Outcome
}

// play plays a case under a seed. An error means that the surroundings failed and nothing is
// known; what the service did wrong is in the outcome.
func (t theatre) play(ctx context.Context, c Case, seed uint64) (Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPlay(t, c, seed, workers)
	began := time.Now()
	err := p.perform(ctx)
	p.outcome.Elapsed = time.Since(began)
	if err != nil {
		return p.outcome, fmt.Errorf("%s seed %d: %w", c.ID, seed, err)
	}
	return p.outcome, nil
}

func newPlay(t theatre, c Case, seed uint64, workers int) *play {
	return &play{
		theatre: t,
		c:       c,
		workers: workers,
		rng:     seeded(c.ID, seed),
		resume:  make(chan struct{}),
		outcome: Outcome{Case: c, Seed: seed},
	}
}

// seeded is the source of a play's own choices.
func seeded(id string, seed uint64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func (p *play) perform(ctx context.Context) (err error) {
	if err := p.open(ctx); err != nil {
		return err
	}
	defer func() {
		p.release()
		p.load.stop()
		err = errors.Join(err, p.stage.Close())
	}()
	if err := p.act(ctx); err != nil {
		return err
	}
	if err := p.heal(ctx); err != nil {
		return err
	}
	if err := p.load.wait(); err != nil {
		p.fail(reports.Broken, "a customer got no final answer: %v", err)
	}
	return p.judge(ctx)
}

// open puts the service on the stage.
func (p *play) open(ctx context.Context) error {
	logs := filepath.Join(p.theatre.logs, fmt.Sprintf("%s-%d",
		strings.ReplaceAll(p.c.ID, "/", "-"), p.outcome.Seed))
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("folder for logs: %w", err)
	}
	p.director = newDirector(ctx)
	var err error
	p.stage, err = stage.Open(ctx, stage.Config{
		Ground:      p.theatre.ground,
		Binaries:    p.theatre.binaries,
		Workers:     p.workers,
		Lease:       p.c.Lease,
		Renew:       p.c.Renew,
		OnStatement: p.director.onStatement,
		OnCall:      p.director.onCall,
		Logs:        logs,
	})
	if err != nil {
		return err
	}
	p.director.stage = p.stage
	p.load = newLoad(ctx, p.stage, p.director)
	return nil
}

// release lets a held connection go on. It may be repeated.
func (p *play) release() { p.resumeOnce.Do(func() { close(p.resume) }) }

// fail notes a problem.
func (p *play) fail(what, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Problems = append(p.outcome.Problems,
		Problem{What: what, Message: fmt.Sprintf(format, args...)})
}

// killed counts a killed process.
func (p *play) killed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Kills++
}

// heal brings every process back.
func (p *play) heal(ctx context.Context) error {
	p.director.arm(nil)
	p.release()
	return p.stage.Revive(ctx)
}

// judge waits for rest and looks at what was left behind.
func (p *play) judge(ctx context.Context) error {
	patience := 2*p.c.Lease + restAllowance
	rested, err := p.until(ctx, patience, p.stage.Rested)
	if err != nil {
		return err
	}
	if !rested {
		p.fail(reports.Broken, "not at rest %s after everything had healed", patience)
	}
	if err := p.director.failure(); err != nil {
		p.fail(reports.Broken, "a story could not be told: %v", err)
	}
	run, err := p.stage.Evidence(ctx, true)
	if err != nil {
		return err
	}
	p.outcome.Orders = len(run.Orders)
	p.outcome.Statements = p.stage.Statements()
	p.outcome.weigh(run)
	return nil
}

// weigh judges evidence by every invariant that can be.
func (o *Outcome) weigh(run *evidence.Run) {
	o.Findings = invariant.Judge(run, invariant.Implemented())
	for _, f := range o.Findings {
		for _, v := range f.Result.Violations {
			o.Problems = append(o.Problems,
				Problem{What: f.ID, Message: fmt.Sprintf("order %s: %s", v.Order, v.Message)})
		}
	}
}

// until watches the database until something is so, at most for the patience. What cannot be read
// is not so: the server may be restarting. An error means that ctx ended.
func (p *play) until(
	ctx context.Context, patience time.Duration, so func(context.Context) (bool, error),
) (bool, error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if yes, err := so(ctx); err == nil && yes {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
	}
	return false, nil
}
