package executor

import (
	"context"
	"time"

	"ordeal/service/order"
)

// maxSwept bounds what one sweep handles of each kind.
const maxSwept = 100

// sweepLoop looks after what nobody else does: steps whose lease ran out, and reservations whose
// deadline passed. Stop ends it; ctx is that of its statements.
func (e *Executor) sweepLoop(stop, ctx context.Context) {
	jitter := e.Jitter("sweep")
	for e.pause(stop, e.SweepEvery, jitter, nil) {
		if err := e.sweepLeases(ctx); err != nil {
			e.Log.Warn("expired leases not swept", "executor", e.Name, "error", err)
			e.Observer.Failed("sweep")
		}
		if err := e.sweepReservations(ctx); err != nil {
			e.Log.Warn("reservations not swept", "executor", e.Name, "error", err)
			e.Observer.Failed("sweep")
		}
		if err := e.sweepVersions(ctx); err != nil {
			e.Log.Warn("unknown process versions not swept", "executor", e.Name, "error", err)
		}
	}
}

// sweepLeases records the end of attempts whose lease ran out: for a charge the outcome is
// unknown, everything else is repeated on its schedule, or exhausted.
func (e *Executor) sweepLeases(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	expired, err := e.Steps.ExpiredSteps(ctx, e.Versions, maxSwept)
	if err != nil || len(expired) == 0 {
		return err
	}
	var results []order.Result
	for _, step := range expired {
		result, err := abandoned(step)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	began := e.Clock.Now()
	kept, err := e.Steps.RecordResults(ctx, results)
	if err != nil {
		return err
	}
	e.Observer.Recorded(began, results, kept)
	for i, result := range results {
		if kept[i] {
			e.Log.Info("lease expired", "executor", e.Name, "order", result.Ref.OrderID,
				"step", result.Ref.StepNo, "attempt", result.Attempt, "kind", result.Kind,
				"owner", result.Ref.Owner)
		}
	}
	e.Nudge()
	return nil
}

// abandoned judges an attempt without a result like one whose answer did not come in time.
func abandoned(step order.ExpiredStep) (order.Result, error) {
	outcome := order.Classify(step.Kind, order.AnswerTimeout)
	follow, err := order.Follow(step.Kind, outcome, step.Counted >= order.MaxAttempts)
	if err != nil {
		return order.Result{}, err
	}
	return order.Result{
		Ref:         step.Ref,
		Kind:        step.Kind,
		Attempt:     step.Attempt,
		Outcome:     outcome,
		Sent:        true,
		Code:        "lease_expired",
		Lost:        true,
		Follow:      follow,
		Retry:       retryDelay(step.Ref, step.Kind, step.Series, step.Counted),
		SeriesDelay: seriesDelay(step.Kind),
	}, nil
}

func (e *Executor) sweepReservations(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	moved, err := e.Steps.ExpireReservations(ctx, e.Name, e.Versions, maxSwept)
	if moved > 0 {
		e.Observer.ReservationsExpired(moved)
		e.Log.Info("reservations expired", "orders", moved)
		e.Nudge()
	}
	return err
}

// versionPatience is how long a due step may wait for somebody who knows its process version.
const versionPatience = time.Minute

// sweepVersions flags steps that nobody takes because nobody knows their process version (ORD-2).
func (e *Executor) sweepVersions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	flagged, err := e.Steps.FlagUnknownVersions(ctx, e.Versions, versionPatience, maxSwept)
	if flagged > 0 {
		e.Log.Warn("unknown process version", "steps", flagged)
	}
	return err
}
