package executor

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"

	"ordeal/service/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a store of steps in memory that notes what it is asked for and when. Hooks, called
// without its lock, make it slow or broken.
type desk struct {
	mu      sync.Mutex
	due     []order.TakenStep
	expired []order.ExpiredStep
	noted   notes

	taking    func()
	recording func([]order.Result) error
	renewing  func() error
	// keeps tells whether a guard holds; nil: always.
	keeps func(order.StepRef) bool
}

// notes are the requests that a desk got.
type notes struct {
	takes   []asked[order.TakeRequest]
	records []asked[[]order.Result]
	renews  []asked[[]order.StepRef]
	// reservations counts sweeps of reservations.
	reservations int
}

// asked is one request with its instant, before hooks.
type asked[T any] struct {
	at   time.Time
	what T
}

var errBroken = errors.New("the database is broken")

// TakeSteps hands out due steps, first come first.
func (d *desk) TakeSteps(_ context.Context, r order.TakeRequest) ([]order.TakenStep, error) {
	d.mu.Lock()
	d.noted.takes = append(d.noted.takes, asked[order.TakeRequest]{time.Now(), r})
	n := min(r.Limit, len(d.due))
	taken := slices.Clone(d.due[:n])
	d.due = d.due[n:]
	d.mu.Unlock()
	if d.taking != nil {
		d.taking()
	}
	return taken, nil
}

// RenewLeases keeps the leases whose guard holds.
func (d *desk) RenewLeases(
	_ context.Context, _ string, held []order.StepRef, _ time.Duration,
) (kept []order.StepRef, err error) {
	d.mu.Lock()
	d.noted.renews = append(d.noted.renews, asked[[]order.StepRef]{time.Now(), held})
	d.mu.Unlock()
	if d.renewing != nil {
		err = d.renewing()
	}
	for _, ref := range held {
		if d.keeps == nil || d.keeps(ref) {
			kept = append(kept, ref)
		}
	}
	return kept, err
}

// RecordResults accepts the results whose guard holds.
func (d *desk) RecordResults(_ context.Context, batch []order.Result) ([]bool, error) {
	d.mu.Lock()
	d.noted.records = append(d.noted.records, asked[[]order.Result]{time.Now(), batch})
	d.mu.Unlock()
	if d.recording != nil {
		if err := d.recording(batch); err != nil {
			return nil, err
		}
	}
	kept := make([]bool, len(batch))
	for n, result := range batch {
		kept[n] = d.keeps == nil || d.keeps(result.Ref)
	}
	return kept, nil
}

// ExpiredSteps hands out the expired steps once.
func (d *desk) ExpiredSteps(context.Context, []int16, int) ([]order.ExpiredStep, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	expired := d.expired
	d.expired = nil
	return expired, nil
}

// ExpireReservations fails, which must stop nobody.
func (d *desk) ExpireReservations(context.Context, string, []int16, int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noted.reservations++
	return 0, errBroken
}

// FlagUnknownVersions flags nothing.
func (d *desk) FlagUnknownVersions(
	context.Context, []int16, time.Duration, int,
) (int, error) {
	return 0, nil
}

// add makes steps due.
func (d *desk) add(steps ...order.TakenStep) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = append(d.due, steps...)
}

// expire lets leases run out.
func (d *desk) expire(steps ...order.ExpiredStep) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expired = append(d.expired, steps...)
}

// seen copies the notes.
func (d *desk) seen() notes {
	d.mu.Lock()
	defer d.mu.Unlock()
	return notes{
		takes:        slices.Clone(d.noted.takes),
		records:      slices.Clone(d.noted.records),
		renews:       slices.Clone(d.noted.renews),
		reservations: d.noted.reservations,
	}
}

// left counts the steps that are still due.
func (d *desk) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.due)
}

// results lists the results of all records, failed ones too.
func (n notes) results() (all []order.Result) {
	for _, record := range n.records {
		all = append(all, record.what...)
	}
	return all
}

// sizes lists the number of results of each record.
func (n notes) sizes() (all []int) {
	for _, record := range n.records {
		all = append(all, len(record.what))
	}
	return all
}

// id is the id of the n-th order.
func id(n int) order.ID { return order.ID{14: byte(n >> 8), 15: byte(n)} }

// step is the first attempt of a step of the n-th order.
func step(n int, kind order.StepKind) order.TakenStep {
	return order.TakenStep{
		Ref:     order.StepRef{OrderID: id(n), StepNo: 1, Generation: 1, Owner: "e"},
		Kind:    kind,
		Attempt: 1,
		Counted: 1,
		Series:  1,
	}
}

// steps are reserve steps of n orders.
func steps(n int) (all []order.TakenStep) {
	for i := range n {
		all = append(all, step(i, order.StepReserve))
	}
	return all
}

// provider performs every step by one function.
type provider func(context.Context, order.TakenStep) Reply

// Perform calls the function.
func (p provider) Perform(ctx context.Context, s order.TakenStep) Reply { return p(ctx, s) }

// Query finds nothing out.
func (p provider) Query(context.Context, order.TakenStep) Reply {
	return Reply{Outcome: order.OutcomeUnresolved, Sent: true}
}

var success = Reply{Outcome: order.OutcomeSucceeded, Sent: true, Reference: "r"}

// succeed answers at once.
func succeed(context.Context, order.TakenStep) Reply { return success }

// lasting answers after a while, or when the call is cut.
func lasting(d time.Duration) provider {
	return func(ctx context.Context, _ order.TakenStep) Reply {
		select {
		case <-time.After(d):
			return success
		case <-ctx.Done():
			return Reply{Outcome: order.OutcomeTransient, Sent: true, Code: "cut"}
		}
	}
}

// config is a complete configuration that polls so rarely that only nudges matter.
func config(d *desk, p provider, clock clockwork.Clock) Config {
	return Config{
		Name:      "e",
		PollEvery: time.Hour,
		Steps:     d,
		Provider:  p,
		Clock:     clock,
		Jitter:    func(loop string) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(len(loop)))) },
		Log:       slog.New(slog.DiscardHandler),
	}
}

// running is an executor at work.
type running struct {
	*testing.T
	*Executor
	desk  *desk
	begun time.Time
	stop  context.CancelFunc
	ended chan error
}

// start runs an executor inside a bubble, until end.
func start(t *testing.T, d *desk, p provider, changes ...func(*Config)) *running {
	t.Helper()
	c := config(d, p, clockwork.NewRealClock())
	for _, change := range changes {
		change(&c)
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &running{T: t, Executor: e, desk: d, begun: time.Now(), stop: stop,
		ended: make(chan error, 1)}
	go func() { r.ended <- e.Run(ctx) }()
	return r
}

// end stops the executor and returns what came of its drain.
func (r *running) end() error {
	r.stop()
	return <-r.ended
}

// wantEnd stops the executor, which must drain well.
func (r *running) wantEnd() {
	r.Helper()
	if err := r.end(); err != nil {
		r.Errorf("drain: %v", err)
	}
	if n := r.leases.count(); n != 0 {
		r.Errorf("%d steps are held after the end", n)
	}
}

// pass lets time pass and everything that happens meanwhile happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
