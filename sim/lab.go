package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
	"ordeal/scenarios/invariant"
	"ordeal/sim/engine"
)

// Lab plays scenarios on one database, which nobody else may use meanwhile.
type Lab struct {
	backend *engine.Backend
	conn    *pgx.Conn // for what the harness itself reads, at real time
	played  int
}

// OpenLab connects to a database made by Prepare. CanSignal says that the server's processes may
// be stopped and continued by this one.
func OpenLab(ctx context.Context, url string, canSignal bool) (*Lab, error) {
	backend, err := engine.OpenBackend(ctx, url, engine.BackendOptions{CanSignal: canSignal})
	if err != nil {
		return nil, fmt.Errorf("open lab: %w", err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open lab: %w", err), backend.Close())
	}
	return &Lab{backend: backend, conn: conn}, nil
}

// Close disconnects.
func (l *Lab) Close(ctx context.Context) error {
	return errors.Join(l.conn.Close(ctx), l.backend.Close())
}

// Verdict is what one run came to.
type Verdict struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// EventHash is the SHA-256 of the event log, Events its length.
	EventHash string `json:"event_hash"`
	Events    int    `json:"events"`
	// Statements and RoundTrips are those of all processes of the service.
	Statements int `json:"statements"`
	RoundTrips int `json:"round_trips"`
	// Virtual is the virtual time that the run took, Elapsed the real one.
	Virtual time.Duration `json:"virtual_ns"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// Invariants holds one row per invariant of the scenario.
	Invariants []Judgement `json:"invariants"`
	// Faults holds one row per kind that had an opportunity.
	Faults []reports.Fault `json:"faults"`
	// Orders is what each order cost.
	Orders []reports.OrderCost `json:"orders"`
	// Outcome is a digest of what became of the orders.
	Outcome string `json:"outcome"`
	// Broken says why the run itself broke off, empty if it did not.
	Broken string `json:"broken,omitempty"`
	// Trace is the event log, where it was asked for.
	Trace []string `json:"trace,omitempty"`
	// Choices are those of the run, where they were asked for.
	Choices []engine.Choice `json:"choices,omitempty"`
	// Missed counts recorded deviations that the run never asked for, or could not take.
	Missed int `json:"missed,omitempty"`
	// Misfit says where and why a strictly followed recording no longer fits the run.
	Misfit string `json:"misfit,omitempty"`
	// Replay names the replay file of the run, empty where it has none.
	Replay string `json:"replay,omitempty"`
}

// Judgement is what one invariant found.
type Judgement struct {
	ID         string                `json:"id"`
	Title      string                `json:"title"`
	Checked    int                   `json:"checked"`
	Violations []invariant.Violation `json:"violations,omitempty"`
}

// Passed reports whether everything held.
func (v Verdict) Passed() bool {
	if v.Broken != "" {
		return false
	}
	for _, j := range v.Invariants {
		if len(j.Violations) > 0 {
			return false
		}
	}
	return true
}

// Play plays one seed of a scenario and judges it. The error is about the surroundings (the
// database); whatever the run itself does is in the verdict.
func (l *Lab) Play(
	ctx context.Context, t *testing.T, s scenarios.Scenario, seed uint64, trace bool,
) (Verdict, error) {
	return l.PlayCourse(ctx, t, s, seed, Course{}, trace)
}

// PlayCourse plays a run whose choices are made as the course says.
func (l *Lab) PlayCourse(
	ctx context.Context, t *testing.T, s scenarios.Scenario, seed uint64, c Course, trace bool,
) (Verdict, error) {
	if err := l.clear(ctx); err != nil {
		return Verdict{}, err
	}
	start := time.Now()
	r := newRig(s, seed, c, l.conn)
	config := r.config(l.backend, trace)
	config.Source = c.source(seed)
	result := engine.Run(t, config, r.build)
	if errors.Is(result.Err, engine.ErrBackend) {
		return Verdict{}, result.Err
	}
	r.end = result.Counters.Virtual
	v := Verdict{
		Scenario:   s.Name,
		Seed:       seed,
		EventHash:  result.EventHash,
		Events:     result.Counters.Events,
		Statements: result.Counters.Statements,
		RoundTrips: result.Counters.RoundTrips,
		Virtual:    result.Counters.Virtual,
		Faults:     r.faults.counts(),
		Trace:      result.Trace,
		Broken:     brokenBy(result),
	}
	if c.Choices {
		v.Choices = result.Choices
	}
	if recalled, ok := config.Source.(*engine.Recalled); ok {
		v.Missed, v.Misfit = misfit(recalled, c.Follow, result)
	}
	run, err := r.collect(ctx, result.Outcome != engine.EventLimit)
	if err != nil {
		return Verdict{}, err
	}
	v.Outcome = outcomeOf(run)
	v.Orders = r.costs(run)
	v.Invariants = judge(s, run)
	v.Elapsed = time.Since(start)
	return v, nil
}

// misfit tells how far a recording fitted the run.
func misfit(r *engine.Recalled, f Follow, result *engine.Result) (missed int, why string) {
	var mismatch *engine.RecallError
	left := r.Missed()
	switch {
	case errors.As(result.Err, &mismatch):
		why = mismatch.Error()
	case f == Strictly && len(left) > 0:
		why = fmt.Sprintf("choice %d no longer fits: recorded is %s %q, but the run ended before",
			left[0].At, left[0].Stream, left[0].Label)
	}
	return len(left), why
}

// brokenBy tells why a run did not end as runs should. Running out of time is no reason: the
// evidence then shows which orders did not come to rest.
func brokenBy(r *engine.Result) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Outcome == engine.EventLimit:
		return fmt.Sprintf("no end after %d events", r.Counters.Events)
	}
	return ""
}

// judge asks every invariant of the scenario.
func judge(s scenarios.Scenario, run *evidence.Run) []Judgement {
	var all []Judgement
	for _, id := range s.Invariants {
		i, ok := invariant.Lookup(id)
		if !ok {
			continue // the catalogue's own test refuses such a scenario
		}
		found := i.Check(run)
		all = append(all, Judgement{
			ID: i.ID, Title: i.Title, Checked: found.Checked, Violations: found.Violations,
		})
	}
	return all
}
