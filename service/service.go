// Package service puts the order service together: configuration and dependencies in, an HTTP
// handler and a run loop out. New opens nothing itself and reads no clock, environment or
// randomness of its own, so whoever starts it decides what it talks to.
//
// What every command that runs the service for real needs beside New is here too, once: OpenPools,
// Production for the dependencies, Seed for the local principals, and Serve or ServeAndRun on a
// listener.
package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"

	"ordeal/service/api"
	"ordeal/service/executor"
	"ordeal/service/order"
	"ordeal/service/store"
	"ordeal/service/telemetry"
)

// MinLease is what a lease must exceed: into a shorter one no call would ever fit.
const MinLease = order.CallTimeout

// Config is what an operator decides. Zero durations mean the defaults of the executor.
type Config struct {
	// Name names this process; it owns the leases that the process takes, so it must differ
	// between all processes and their incarnations.
	Name string
	// Warehouse, Payment and Shipping are the base URLs of the external systems.
	Warehouse, Payment, Shipping string
	// PollEvery and SweepEvery are the pauses of an idle executor's loops.
	PollEvery, SweepEvery time.Duration
	// Lease is how long a step is held, RenewEvery how often leases are renewed.
	Lease, RenewEvery time.Duration
	// DrainTimeout bounds a stop; of the executor and of the HTTP server.
	DrainTimeout time.Duration
	// ShutdownDelay is how long the HTTP server goes on answering after a stop has begun, so that
	// whoever spreads requests sees that the process is not ready any more; default none.
	ShutdownDelay time.Duration
	// RateLimit bounds the requests a second of one token, FailureLimit the failed
	// authentications from one network, each by this process alone, with bursts of twice as
	// many; the default is no bound.
	RateLimit, FailureLimit int
}

// defaultDrainTimeout is what a stop may take where the configuration says nothing.
const defaultDrainTimeout = 10 * time.Second

// Dependencies is what a process brings along.
type Dependencies struct {
	// Work is the pool for everything but the renewal of leases, which has Leases to itself.
	Work, Leases *pgxpool.Pool
	// Transport carries the calls to the external systems.
	Transport http.RoundTripper
	// Clock is the process's clock; durations are measured with it, decisions of the process
	// are made on the database's clock.
	Clock clockwork.Clock
	// Rand returns a source of randomness for a named purpose.
	Rand func(purpose string) *rand.Rand
	// CursorKey signs the cursors of lists. Processes that answer for each other share it.
	CursorKey []byte
	// NewRequestID names a request that brings no name of its own; nothing depends on it.
	NewRequestID func() string
	// Log receives structured logs.
	Log *slog.Logger
	// Telemetry watches the process; nil: nobody does. One telemetry watches one service.
	Telemetry *telemetry.Telemetry
}

// processVersion is the version of the process that new orders follow (ORD-2).
const processVersion = 1

// Service is one process of the order service.
type Service struct {
	executor      *executor.Executor
	handler       http.Handler
	admin         http.Handler
	ping          func(context.Context) error
	draining      atomic.Bool
	drainTimeout  time.Duration
	shutdownDelay time.Duration
	clock         clockwork.Clock
	log           *slog.Logger
}

// New returns a service, or an error that names everything that is wrong with its configuration.
func New(c Config, d Dependencies) (*Service, error) {
	s := store.New(d.Work, d.Leases)
	calls, errCalls := newProviders(c, d.Transport)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, defaultDrainTimeout)
	settings := executor.Config{
		Name:         c.Name,
		Lease:        c.Lease,
		RenewEvery:   c.RenewEvery,
		PollEvery:    c.PollEvery,
		SweepEvery:   c.SweepEvery,
		DrainTimeout: c.DrainTimeout,
		Steps:        s,
		Provider:     calls,
		Clock:        d.Clock,
		Jitter:       d.Rand,
		Log:          d.Log,
	}
	if d.Telemetry != nil {
		settings.Observer = d.Telemetry
	}
	work, errWork := executor.New(settings)
	if err := errors.Join(errCalls, errWork); err != nil {
		return nil, err
	}
	made := &Service{
		executor:      work,
		ping:          s.Ping,
		drainTimeout:  c.DrainTimeout,
		shutdownDelay: c.ShutdownDelay,
		clock:         d.Clock,
		log:           d.Log,
	}
	made.handler = api.New(api.Config{
		Orders:         s,
		Principals:     s,
		Clock:          d.Clock,
		Log:            d.Log,
		Ready:          made.ready,
		NewRequestID:   d.NewRequestID,
		ProcessVersion: processVersion,
		CursorKey:      d.CursorKey,
		TokenRate:      rate(c.RateLimit),
		FailureRate:    rate(c.FailureLimit),
		Created:        work.Nudge,
	})
	if d.Telemetry != nil {
		made.watch(d, s)
	}
	return made, nil
}

// rate is a limit a second, with bursts of twice as much.
func rate(limit int) api.Rate { return api.Rate{PerSecond: limit, Burst: 2 * limit} }

// errDraining is why a process that stops is not ready.
var errDraining = errors.New("the process is stopping")

// ready tells why the process should get no requests: it is stopping, or has no database.
func (s *Service) ready(ctx context.Context) error {
	if s.draining.Load() {
		return errDraining
	}
	return s.ping(ctx)
}

// Handler returns the REST API. It works whether or not Run does: creating an order depends on
// the database alone.
func (s *Service) Handler() http.Handler { return s.handler }

// Run takes and performs steps until ctx ends, then drains. From then on the process is not ready.
func (s *Service) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.draining.Store(true) })
	defer stop()
	return s.executor.Run(ctx)
}
