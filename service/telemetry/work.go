package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ordeal/service/order"
)

// callBuckets bound the durations of calls in seconds; a call may take 3 s.
var callBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 4}

// workMetrics tell what the executor did.
type workMetrics struct {
	taken, attempts, retries, late, abandoned *prometheus.CounterVec
	failures                                  *prometheus.CounterVec
	leasesLost, reservationsExpired           prometheus.Counter
	calls                                     *prometheus.HistogramVec
}

// counters makes a family of counters.
func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func newWorkMetrics() workMetrics {
	return workMetrics{
		taken: counters("ordeal_steps_taken_total",
			"Steps taken under a lease.", "kind"),
		attempts: counters("ordeal_attempts_total",
			"Attempts whose result was accepted.", "kind", "outcome"),
		retries: counters("ordeal_retries_total",
			"Attempts that are to be repeated, those that were not sent apart.", "kind"),
		late: counters("ordeal_late_results_total",
			"Results that were refused because the lease was lost (fenced writes).",
			"kind", "outcome"),
		abandoned: counters("ordeal_leases_expired_total",
			"Attempts of any executor that this one found abandoned and ended.", "kind"),
		failures: counters("ordeal_executor_failures_total",
			"Statements of the executor that failed.", "operation"),
		leasesLost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ordeal_leases_lost_total",
			Help: "Leases that could not be renewed because somebody else may have the step.",
		}),
		reservationsExpired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ordeal_reservations_expired_total",
			Help: "Orders whose reservation this process found expired.",
		}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ordeal_provider_call_duration_seconds",
			Help:    "Duration of calls to the external systems.",
			Buckets: callBuckets,
		}, []string{"kind", "outcome"}),
	}
}

func (m workMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.taken, m.attempts, m.retries, m.late, m.abandoned,
		m.failures, m.leasesLost, m.reservationsExpired, m.calls}
}

// Took implements the executor's observer.
func (t *Telemetry) Took(began time.Time, steps []order.TakenStep) {
	for _, step := range steps {
		t.work.taken.WithLabelValues(string(step.Kind)).Inc()
	}
	var calls []call
	for _, step := range steps {
		calls = append(calls, call{step.TraceID, step.Ref, step.Attempt})
	}
	t.linked("take", began, calls)
}

// Calling implements the executor's observer.
func (t *Telemetry) Calling(
	ctx context.Context, step order.TakenStep,
) (context.Context, func(order.Outcome, string)) {
	began := t.clock.Now()
	ctx, end := t.calling(ctx, step)
	return ctx, func(outcome order.Outcome, code string) {
		t.work.calls.WithLabelValues(string(step.Kind), string(outcome)).
			Observe(t.clock.Since(began).Seconds())
		end(outcome, code)
	}
}

// Recorded implements the executor's observer.
func (t *Telemetry) Recorded(began time.Time, results []order.Result, kept []bool) {
	var calls []call
	for i, r := range results {
		calls = append(calls, call{r.TraceID, r.Ref, r.Attempt})
		t.recorded(r, kept[i])
	}
	t.linked("record", began, calls)
}

// recorded counts one result. A sweep that comes second is no late result: it has none.
func (t *Telemetry) recorded(r order.Result, kept bool) {
	kind, outcome := string(r.Kind), string(r.Outcome)
	switch {
	case r.Lost && kept:
		t.work.abandoned.WithLabelValues(kind).Inc()
	case r.Lost:
		return
	case !kept:
		t.work.late.WithLabelValues(kind, outcome).Inc()
		return
	default:
		t.work.attempts.WithLabelValues(kind, outcome).Inc()
	}
	if r.Follow.Status == order.StepDue && r.Outcome != order.OutcomeNotSent {
		t.work.retries.WithLabelValues(kind).Inc()
	}
}

// LeasesLost implements the executor's observer.
func (t *Telemetry) LeasesLost(leases int) { t.work.leasesLost.Add(float64(leases)) }

// ReservationsExpired implements the executor's observer.
func (t *Telemetry) ReservationsExpired(orders int) {
	t.work.reservationsExpired.Add(float64(orders))
}

// Failed implements the executor's observer.
func (t *Telemetry) Failed(operation string) {
	t.work.failures.WithLabelValues(operation).Inc()
}
