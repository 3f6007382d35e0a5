package telemetry

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"ordeal/service/order"
)

// Census asks the database how the orders stand. Each method is one statement.
type Census interface {
	// CountOpen counts the orders that are not closed.
	CountOpen(context.Context) ([]order.Backlog, error)
	// CountClosed counts the closed orders by state.
	CountClosed(context.Context) ([]order.Closed, error)
	// CountFlagged counts reasons for attention.
	CountFlagged(context.Context) ([]order.Flagged, error)
	// CountDiscrepancies counts the open discrepancies by kind.
	CountDiscrepancies(context.Context) ([]order.Discrepant, error)
	// MeasureOutbox tells what the outbox holds back.
	MeasureOutbox(context.Context) (order.Unpublished, error)
}

// How long an answer of the census is remembered: long enough that several scrapers cost one
// statement, short enough for an alarm. Closed orders are counted over their whole history.
const (
	remembered       = 5 * time.Second
	closedRemembered = time.Minute
)

// Watch adds gauges of how the orders stand. They are read when somebody scrapes.
func (t *Telemetry) Watch(c Census) {
	failures := counters("ordeal_census_failures_total",
		"Statements behind the gauges of orders that failed.", "statement")
	t.Register(failures)
	add := func(name string, keep time.Duration, g gauges, ask func(context.Context) error) {
		failed := failures.WithLabelValues(name)
		t.Register(&survey{clock: t.clock, keep: keep, gauges: g, ask: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), order.CallTimeout)
			defer cancel()
			err := ask(ctx)
			if err != nil {
				failed.Inc()
				t.log.Warn("census failed", "statement", name, "error", err)
			}
			return err
		}, turn: make(chan struct{}, 1)})
	}
	open, closed, flagged, outbox := newBacklog(), newClosed(), newFlagged(), newOutbox()
	add("CountOpen", remembered, open.gauges(), filling(c.CountOpen, open.fill))
	add("CountClosed", closedRemembered, closed.gauges(), filling(c.CountClosed, closed.fill))
	add("CountFlagged", remembered, flagged.gauges(), filling(c.CountFlagged, flagged.fill))
	discrepant := newDiscrepant()
	add("CountDiscrepancies", remembered, discrepant.gauges(),
		filling(c.CountDiscrepancies, discrepant.fill))
	add("MeasureOutbox", remembered, outbox.gauges(), filling(c.MeasureOutbox, outbox.fill))
}

// filling asks and fills gauges with the answer.
func filling[T any](
	ask func(context.Context) (T, error), fill func(T),
) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := ask(ctx)
		if err == nil {
			fill(answer)
		}
		return err
	}
}

// gauges are families that one statement fills.
type gauges []prometheus.Collector

// survey is a collector of gauges that one statement fills, at most every keep. Turn admits one
// scrape at once; the others wait for it and find its answer.
type survey struct {
	gauges gauges
	clock  clockwork.Clock
	keep   time.Duration
	ask    func() error
	turn   chan struct{}

	// Guarded by turn.
	asked time.Time
	err   error
}

// Describe implements prometheus.Collector.
func (s *survey) Describe(to chan<- *prometheus.Desc) {
	for _, g := range s.gauges {
		g.Describe(to)
	}
}

// Collect implements prometheus.Collector. After a failure there is nothing to collect.
func (s *survey) Collect(to chan<- prometheus.Metric) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.asked.IsZero() || s.clock.Since(s.asked) >= s.keep {
		s.err = s.ask()
		s.asked = s.clock.Now()
	}
	if s.err != nil {
		return
	}
	for _, g := range s.gauges {
		g.Collect(to)
	}
}
