package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/service/order"
)

// Steps is the store of steps.
type Steps interface {
	TakeSteps(context.Context, order.TakeRequest) ([]order.TakenStep, error)
	RenewLeases(
		ctx context.Context, owner string, held []order.StepRef, lease time.Duration,
	) (kept []order.StepRef, err error)
	RecordResults(context.Context, []order.Result) (kept []bool, err error)
	ExpiredSteps(
		ctx context.Context, versions []int16, limit int,
	) ([]order.ExpiredStep, error)
	ExpireReservations(
		ctx context.Context, owner string, versions []int16, limit int,
	) (moved int, err error)
	FlagUnknownVersions(
		ctx context.Context, versions []int16, patience time.Duration, limit int,
	) (flagged int, err error)
}

// Provider performs the call of a step and never fails: whatever happens is a reply, within
// order.CallTimeout.
type Provider interface {
	Perform(context.Context, order.TakenStep) Reply
	// Query asks for the real outcome behind a step and changes nothing.
	Query(context.Context, order.TakenStep) Reply
}

// Reply is what a call came to.
type Reply struct {
	// Outcome is the judged outcome.
	Outcome order.Outcome
	// Sent tells whether something of the request may have reached the provider.
	Sent bool
	// Code is a stable code of the cause, Reference the provider's reference of a success.
	Code, Reference string
}

// Config sets an executor up. Zero values mean the documented defaults.
type Config struct {
	// Name is the lease owner; it must differ between all executors and their incarnations.
	Name string
	// Versions are the process versions that this executor knows; default 1.
	Versions []int16
	// MaxInWork bounds the steps in work; default order.MaxInWork.
	MaxInWork int
	// Lease and RenewEvery default to order.LeaseDuration and order.RenewEvery.
	Lease, RenewEvery time.Duration
	// PollEvery is the pause of the take loop when nothing nudges it; default 500 ms.
	PollEvery time.Duration
	// SweepEvery is the pause of the sweep loop; default 1 s.
	SweepEvery time.Duration
	// DrainTimeout bounds a stop; default 10 s.
	DrainTimeout time.Duration
	// Steps and Provider are what the executor works with.
	Steps    Steps
	Provider Provider
	// Clock is the process's clock.
	Clock clockwork.Clock
	// Jitter returns a source of randomness for the loop of the given name.
	Jitter func(loop string) *rand.Rand
	// Log receives what an operator may want to know.
	Log *slog.Logger
	// Observer hears what happens; nil is nobody.
	Observer Observer
}

// Executor takes and performs steps. Make one with New and run it once.
type Executor struct {
	Config
	leases   leases
	recorder recorder
	nudged   chan struct{}
	emptied  chan struct{} // receives when the last step in work has ended
	workers  sync.WaitGroup
}

// New returns an executor, or an error that names what the configuration lacks.
func New(c Config) (*Executor, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	e := &Executor{
		Config:  c,
		leases:  leases{until: map[order.StepRef]time.Time{}},
		nudged:  make(chan struct{}, 1),
		emptied: make(chan struct{}, 1),
	}
	e.recorder.wake = make(chan struct{}, 1)
	return e, nil
}

// complete fills in defaults and reports every field that has none and is missing.
func (c *Config) complete() error {
	var problems []error
	need := func(ok bool, field string) {
		if !ok {
			problems = append(problems, errors.New("executor: "+field+" is missing"))
		}
	}
	need(c.Name != "", "Name")
	need(c.Steps != nil, "Steps")
	need(c.Provider != nil, "Provider")
	need(c.Clock != nil, "Clock")
	need(c.Jitter != nil, "Jitter")
	need(c.Log != nil, "Log")
	if len(c.Versions) == 0 {
		c.Versions = []int16{1}
	}
	if c.MaxInWork == 0 {
		c.MaxInWork = order.MaxInWork
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	defaultTo(&c.Lease, order.LeaseDuration)
	defaultTo(&c.RenewEvery, order.RenewEvery)
	defaultTo(&c.PollEvery, 500*time.Millisecond)
	defaultTo(&c.SweepEvery, time.Second)
	defaultTo(&c.DrainTimeout, 10*time.Second)
	if c.RenewEvery >= c.Lease {
		problems = append(problems, errors.New("executor: RenewEvery must be below Lease"))
	}
	if c.Lease <= order.CallTimeout {
		// No call would ever fit into the lease.
		problems = append(problems, errors.New("executor: Lease must be above a call's timeout"))
	}
	return errors.Join(problems...)
}

func defaultTo(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Run works until ctx ends and then drains. It returns nil after a complete drain, and an error
// when calls or records were still open at the drain timeout; their leases then expire.
func (e *Executor) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var loops sync.WaitGroup
	loops.Go(func() { e.renewLoop(work) })
	loops.Go(func() { e.recordLoop(work) })
	loops.Go(func() { e.sweepLoop(ctx, work) })
	e.takeLoop(ctx, work)
	err := e.drain()
	stop()
	loops.Wait()
	e.workers.Wait()
	return err
}

// drain waits until no step is in work, at most for the drain timeout.
func (e *Executor) drain() error {
	timeout := e.Clock.NewTimer(e.DrainTimeout)
	defer timeout.Stop()
	for e.leases.count() > 0 {
		select {
		case <-e.emptied:
		case <-timeout.Chan():
			return fmt.Errorf("executor %s: drain timed out with %d steps in work", e.Name,
				e.leases.count())
		}
	}
	return nil
}

// InWork returns the number of steps in work, which is that of the leases held.
func (e *Executor) InWork() int { return e.leases.count() }

// Nudge makes the take loop look for due steps now.
func (e *Executor) Nudge() { signal(e.nudged) }

// signal sends on a channel with room for one, unless it already holds a signal.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits for the duration, lengthened or shortened by up to a quarter; it returns early
// when wake receives, and false when ctx ends.
func (e *Executor) pause(
	ctx context.Context, d time.Duration, jitter *rand.Rand, wake <-chan struct{},
) bool {
	d += time.Duration((jitter.Float64() - 0.5) / 2 * float64(d))
	timer := e.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.Chan():
	}
	return ctx.Err() == nil
}
