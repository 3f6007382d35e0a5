package executor

import (
	"context"
	"hash/fnv"
	"time"

	"ordeal/service/order"
)

// work performs one step and hands its result to the recorder.
func (e *Executor) work(stop, ctx context.Context, step order.TakenStep) {
	defer e.workers.Done()
	result, err := e.resultOf(step, e.attempt(stop, ctx, step))
	if err != nil {
		e.inconsequent(step, err)
		return
	}
	e.recorder.add(result)
}

// inconsequent gives up a step whose outcome has no consequence: the outcome table and the
// consequences do not fit together, a mistake of ours. The lease expires, and the step counts as
// abandoned.
func (e *Executor) inconsequent(step order.TakenStep, err error) {
	e.Log.Error("no consequence", "order", step.Ref.OrderID, "step", step.Ref.StepNo,
		"error", err)
	e.finish(step.Ref)
}

// finish forgets steps in work, all of them before the take loop is told to fill their places, or
// a drain to end: a loop that woke after the first would count the room that there is by chance.
func (e *Executor) finish(refs ...order.StepRef) {
	if len(refs) == 0 {
		return
	}
	left := 0
	for _, ref := range refs {
		left = e.leases.drop(ref)
	}
	if left == 0 {
		signal(e.emptied)
	}
	e.Nudge()
}

// attempt calls the provider, unless the executor is stopping or the call could outlive the lease.
func (e *Executor) attempt(stop, ctx context.Context, step order.TakenStep) Reply {
	if !e.mayCall(stop, step) {
		return Reply{Outcome: order.OutcomeNotSent}
	}
	ctx, ended := e.Observer.Calling(ctx, step)
	reply := e.Provider.Perform(ctx, step)
	if step.Kind == order.StepShip && last(step) && reply.Outcome == order.OutcomeTransient {
		reply = e.shipped(ctx, step, reply)
	}
	ended(reply.Outcome, reply.Code)
	return reply
}

// mayCall tells whether a call may still leave: nobody stops, and it must end within the lease.
func (e *Executor) mayCall(stop context.Context, step order.TakenStep) bool {
	end := e.Clock.Now().Add(order.CallTimeout)
	return stop.Err() == nil && e.leases.trusted(step.Ref, end)
}

// codeShipUnknown is the reason of a shipment of which no attempt got a definite answer.
const codeShipUnknown = "ship_outcome_unknown"

// shipped asks once what became of a shipment whose last attempt told nothing: found, it is a
// success (STEP-9). A query has no effect, so it may leave beside the attempt's one request.
func (e *Executor) shipped(ctx context.Context, step order.TakenStep, reply Reply) Reply {
	if e.leases.trusted(step.Ref, e.Clock.Now().Add(order.CallTimeout)) {
		found := e.Provider.Query(ctx, step)
		if found.Outcome == order.OutcomeSucceeded {
			return found
		}
	}
	reply.Code = codeShipUnknown
	return reply
}

// last tells whether an attempt is the last one that its step is allowed.
func last(step order.TakenStep) bool { return step.Counted >= order.MaxAttempts }

// resultOf derives what follows from a reply.
func (e *Executor) resultOf(step order.TakenStep, reply Reply) (order.Result, error) {
	follow, err := order.Follow(step.Kind, reply.Outcome, last(step))
	if err != nil {
		return order.Result{}, err
	}
	return order.Result{
		Ref:         step.Ref,
		Kind:        step.Kind,
		TraceID:     step.TraceID,
		Attempt:     step.Attempt,
		Outcome:     reply.Outcome,
		Sent:        reply.Sent,
		Code:        reply.Code,
		Reference:   reply.Reference,
		Follow:      follow,
		Retry:       retryDelay(step.Ref, step.Kind, step.Series, step.Counted),
		SeriesDelay: seriesDelay(step.Kind),
	}, nil
}

// retryDelay is the domain's delay, lengthened by up to a tenth. The jitter is a hash of the take,
// so that it depends on no order of events.
func retryDelay(ref order.StepRef, kind order.StepKind, series, counted int) time.Duration {
	delay, ok := order.RetryDelay(kind, series, counted)
	if !ok {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write(ref.OrderID[:])
	_, _ = h.Write([]byte{byte(ref.StepNo), byte(ref.Generation)})
	return delay + delay/10*time.Duration(h.Sum32()%1000)/1000
}

// seriesDelay is the pause before a new reconciliation series: none after a void, which only
// starts one when the charge is already decided.
func seriesDelay(kind order.StepKind) time.Duration {
	if kind == order.StepVoid {
		return 0
	}
	return order.ReconcileEvery
}
