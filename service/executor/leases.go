package executor

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"ordeal/service/order"
)

// leases are the takes in work, each with the end of the trust in its lease.
type leases struct {
	mu    sync.Mutex
	until map[order.StepRef]time.Time
}

// hold adds a take whose lease was asked for at the given time.
func (l *leases) hold(ref order.StepRef, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[ref] = until
}

// drop forgets a take and returns how many are left.
func (l *leases) drop(ref order.StepRef) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.until, ref)
	return len(l.until)
}

// trusted tells whether the lease of a take still holds at a time.
func (l *leases) trusted(ref order.StepRef, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, held := l.until[ref]
	return held && at.Before(until)
}

// count returns the number of takes in work.
func (l *leases) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.until)
}

// held lists the takes in work in the order of their steps. A step may be there twice: an older
// take that this executor has lost without knowing, and the newest.
func (l *leases) held() []order.StepRef {
	l.mu.Lock()
	defer l.mu.Unlock()
	refs := make([]order.StepRef, 0, len(l.until))
	for ref := range l.until {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b order.StepRef) int {
		return cmp.Or(bytes.Compare(a.OrderID[:], b.OrderID[:]), cmp.Compare(a.StepNo, b.StepNo),
			cmp.Compare(a.Generation, b.Generation))
	})
	return refs
}

// renewed prolongs the trust in the takes that were kept and ends it for the others that were
// asked for; takes that ended meanwhile stay forgotten. It returns those that were lost.
func (l *leases) renewed(asked, kept []order.StepRef, until time.Time) []order.StepRef {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lost []order.StepRef
	for _, ref := range asked {
		if _, still := l.until[ref]; !still {
			continue
		}
		if slices.Contains(kept, ref) {
			l.until[ref] = until
			continue
		}
		l.until[ref] = time.Time{}
		lost = append(lost, ref)
	}
	return lost
}

// renewLoop renews all leases in one statement.
func (e *Executor) renewLoop(ctx context.Context) {
	jitter := e.Jitter("renew")
	for e.pause(ctx, e.RenewEvery*4/5, jitter, nil) {
		e.renew(ctx)
	}
}

func (e *Executor) renew(ctx context.Context) {
	held := e.leases.held()
	if len(held) == 0 {
		return
	}
	until := e.Clock.Now().Add(e.Lease)
	ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
	defer cancel()
	kept, err := e.Steps.RenewLeases(ctx, e.Name, held, e.Lease)
	if err != nil {
		e.Log.Warn("leases not renewed", "executor", e.Name, "held", len(held), "error", err)
		e.Observer.Failed("renew")
		return
	}
	lost := e.leases.renewed(held, kept, until)
	e.Observer.LeasesLost(len(lost))
	for _, ref := range lost {
		e.Log.Warn("lease lost", "executor", e.Name, "order", ref.OrderID, "step", ref.StepNo)
	}
}
