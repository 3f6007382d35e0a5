package chaos

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ordeal/chaos/provider"
	"ordeal/chaos/stage"
	"ordeal/chaos/wire"
	"ordeal/reports"
)

// deed is what an action does.
type deed struct {
	// caught is called in the goroutine that carries what the trap caught, and says whether the
	// connection is cut.
	caught func(context.Context, *play, hit) (cut bool)
	// holds says that the connection waits until the play releases it.
	holds bool
	// then is called after it, in the play's own goroutine.
	then func(context.Context, *play, hit) error
	// whole, if set, is all that the action does; it has no boundary.
	whole func(context.Context, *play) error
}

var deeds = map[Action]deed{
	Kill:            {caught: kill, then: moves},
	Stop:            {caught: stop, holds: true, then: takeOver},
	StopRival:       {caught: stop, holds: true, then: meetRival},
	LoseAnswer:      {caught: cut, then: moves},
	RestartDatabase: {caught: restartDatabase, then: moves},
	CutDatabase:     {caught: cutDatabase, then: relink},
	SilenceDatabase: {caught: silenceDatabase, then: relink},
	CutProvider:     {caught: cutProvider, then: reopen},
	ProviderDown:    {caught: providerDown, then: reopen},
	Drain:           {caught: terminate, then: drained},
	Roll:            {whole: roll},
	Storm:           {whole: storm},
	SlowDatabase:    {whole: slowDatabase},
}

// act does what the case is about.
func (p *play) act(ctx context.Context) error {
	d, known := deeds[p.c.Action]
	if !known {
		return fmt.Errorf("action %q is unknown", p.c.Action)
	}
	if d.whole != nil {
		return d.whole(ctx, p)
	}
	key := targetKey
	if p.c.Step == "" || p.c.Step == stepCreate {
		key = "" // whoever comes first
	}
	t := newTrap(p.c.Step, p.c.Boundary, key, func(h hit) bool { return d.caught(ctx, p, h) })
	if d.holds {
		t.hold = p.resume
	}
	p.director.arm(t)
	p.load.order(targetKey, stories[p.c.Step], p.rng)
	for n := range 2 + p.rng.IntN(3) {
		p.load.order(fmt.Sprintf("bystander-%d", n+1), story{}, p.rng)
	}
	select {
	case h := <-t.sprung:
		p.outcome.Hit = true
		return d.then(ctx, p, h)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(hitBound):
		p.fail(reports.Coverage, "%s of %s was not reached within %s", p.c.Boundary,
			cmp.Or(p.c.Step, "any step"), hitBound)
		return nil
	}
}

// kill kills the process.
func kill(_ context.Context, p *play, h hit) bool {
	if _, err := h.node.Kill(); err != nil {
		p.fail(reports.Broken, "%v", err)
		return true
	}
	p.killed()
	return true
}

// moves waits until the order has moved again. What was killed comes back before or after that,
// as the seed says, so that also others take over; the API has nobody who could.
func moves(ctx context.Context, p *play, h hit) error {
	if h.node.Role == stage.RoleAPI {
		if err := p.stage.Revive(ctx); err != nil {
			return err
		}
		return p.created(ctx, h)
	}
	if p.rng.IntN(2) == 0 {
		if err := p.stage.Revive(ctx); err != nil {
			return err
		}
	}
	return p.recovered(ctx, h, "")
}

// created waits until every customer was answered: the recovery of a creation.
func (p *play) created(_ context.Context, h hit) error {
	if err := p.load.wait(); err != nil {
		p.fail(reports.Broken, "a customer got no final answer: %v", err)
	}
	p.recovery(h, time.Now())
	return nil
}

// recovered waits until the order that was hit has moved; moves of one executor may not count.
func (p *play) recovered(ctx context.Context, h hit, but string) error {
	var movedAt time.Time
	patience := p.c.Lease + recoveryAllowance
	moved, err := p.until(ctx, patience, func(ctx context.Context) (yes bool, err error) {
		if h.order == "" {
			h.order, err = p.stage.InWork(ctx, h.node.Executor())
			return false, err
		}
		// What rests now has made its last move before it is looked for.
		rested, err := p.stage.RestedOrder(ctx, h.order)
		if err != nil {
			return false, err
		}
		movedAt, err = p.stage.Moved(ctx, h.order, h.at, but)
		return err == nil && (rested || !movedAt.IsZero()), err
	})
	if err != nil {
		return err
	}
	if !moved {
		p.fail("WF-006", "order %s did not move within %s (lease %s)", h.order, patience, p.c.Lease)
		return nil
	}
	if !movedAt.IsZero() {
		p.recovery(h, movedAt)
	}
	return nil
}

// recovery notes how long the recovery took.
func (p *play) recovery(h hit, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Recovery = until.Sub(h.at)
}

// stop stops the worker; what was caught is held until the play lets it go on.
func stop(_ context.Context, p *play, h hit) bool {
	if err := h.node.Stop(); err != nil {
		p.fail(reports.Broken, "stop %s: %v", h.node.Name, err)
		return true
	}
	return false
}

// cut loses what was caught.
func cut(context.Context, *play, hit) bool { return true }

// restartDatabase crashes the server, and lets what was caught meet the consequences.
func restartDatabase(ctx context.Context, p *play, _ hit) bool {
	if err := p.stage.Restart(ctx); err != nil {
		p.fail(reports.Broken, "%v", err)
	}
	return false
}

func cutDatabase(_ context.Context, _ *play, h hit) bool {
	h.node.Wire().SetLink(wire.Down)
	return true
}

func silenceDatabase(_ context.Context, _ *play, h hit) bool {
	h.node.Wire().SetLink(wire.Silent)
	return false
}

// relink waits for the takeover and restores the link to the database.
func relink(ctx context.Context, p *play, h hit) error {
	if err := p.recovered(ctx, h, h.node.Executor()); err != nil {
		return err
	}
	h.node.Wire().SetLink(wire.Up)
	return nil
}

// linkDown is how long a worker's own link to a provider is down.
const linkDown = 5 * time.Second

func cutProvider(_ context.Context, _ *play, h hit) bool {
	h.node.Provider(parties[h.step]).Down()
	return true
}

func providerDown(_ context.Context, p *play, h hit) bool {
	p.eachProvider(parties[h.step], (*provider.Proxy).Down)
	return true
}

// eachProvider does something with the links of all processes to a provider.
func (p *play) eachProvider(party string, do func(*provider.Proxy)) {
	for _, node := range p.stage.Nodes() {
		do(node.Provider(party))
	}
}

// reopen restores the links to a provider when their time is over, and waits for the order to
// move. While they are down, orders go on coming.
func reopen(ctx context.Context, p *play, h hit) error {
	down := max(linkDown, p.c.Down)
	stop := make(chan struct{})
	p.load.stream("meanwhile", 500*time.Millisecond, p.rng, stop)
	err := sleep(ctx, down)
	close(stop)
	if err != nil {
		return err
	}
	p.eachProvider(parties[h.step], func(x *provider.Proxy) {
		if err := x.Up(); err != nil {
			p.fail(reports.Broken, "%v", err)
		}
	})
	return p.recovered(ctx, h, "")
}

// sleep returns an error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// lateBound limits how long a stale holder's result may take to show.
const lateBound = 20 * time.Second

// takeOver lets another worker take over from one that is stopped, and then continues that one.
func takeOver(ctx context.Context, p *play, h hit) error {
	if err := p.recovered(ctx, h, h.node.Executor()); err != nil {
		return err
	}
	return p.fenced(ctx, h)
}

// meetRival is takeOver at the instant at which the new holder's call is under way: the order
// still is where the stale holder left it, and only the fencing token tells the two apart.
func meetRival(ctx context.Context, p *play, h hit) error {
	fenced := make(chan struct{})
	defer close(fenced)
	t := newTrap(p.c.Step, BeforeCall, targetKey, func(hit) bool { return false })
	t.hold = fenced
	p.director.arm(t)
	patience := p.c.Lease + recoveryAllowance
	select {
	case rival := <-t.sprung:
		p.recovery(h, rival.at)
		return p.fenced(ctx, h)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		p.fail("WF-006", "nobody took %s over within %s (lease %s)", p.c.Step, patience, p.c.Lease)
		return nil
	}
}

// fenced lets a stale holder go on, and looks for its result among the late facts. A statement that
// was held arrives while its sender still stands still: once awake, that finds its time over, and
// cancels what the server may not have begun.
func (p *play) fenced(ctx context.Context, h hit) error {
	p.release()
	if p.c.Boundary != BeforeCommit {
		if err := h.node.Continue(); err != nil {
			return err
		}
	}
	late, err := p.until(ctx, lateBound, func(ctx context.Context) (bool, error) {
		n, err := p.stage.LateResults(ctx, h.order)
		return n > 0, err
	})
	if err != nil {
		return err
	}
	if !late {
		p.fail("STEP-4", "the result of the stale holder %s of order %s left no late_result",
			h.node.Executor(), h.order)
	}
	return h.node.Continue()
}
