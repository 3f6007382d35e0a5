package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ordeal/chaos/provider"
	"ordeal/chaos/stage"
	"ordeal/reports"
	"ordeal/scenarios/evidence"
)

// drainBound limits a drain: its own timeout is 10 s.
const drainBound = 20 * time.Second

// terminate asks the worker to end while it has work.
func terminate(_ context.Context, p *play, h hit) bool {
	if err := h.node.Terminate(); err != nil {
		p.fail(reports.Broken, "%v", err)
	}
	return false
}

// drained waits for the end of a drain, which must leave nothing behind (STEP-5).
func drained(ctx context.Context, p *play, h hit) error {
	stop := make(chan struct{})
	p.load.stream("meanwhile", 100*time.Millisecond, p.rng, stop)
	defer close(stop)
	if err := p.ends(ctx, h.node); err != nil {
		return err
	}
	return p.recovered(ctx, h, "")
}

// ends waits until a process that was asked to end has ended well.
func (p *play) ends(ctx context.Context, node *stage.Node) error {
	executor := node.Executor()
	bound, cancel := context.WithTimeout(ctx, drainBound)
	defer cancel()
	status, err := node.Ended(bound)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		p.fail("STEP-5", "%s did not end within %s of SIGTERM", node.Name, drainBound)
		_, err := node.Kill()
		return err
	}
	if status != 0 {
		p.fail("STEP-5", "%s ended with status %d after SIGTERM", node.Name, status)
	}
	held, err := p.stage.Held(ctx, executor)
	if err != nil {
		return err
	}
	abandoned, err := p.stage.Abandoned(ctx, executor)
	if err != nil {
		return err
	}
	if held+abandoned > 0 {
		p.fail("STEP-5", "%s drained and left %d leases and %d attempts without a result",
			node.Name, held, abandoned)
	}
	return nil
}

// roll ends and starts every process in turn, while orders come.
func roll(ctx context.Context, p *play) error {
	stop := make(chan struct{})
	p.load.stream("rolling", 50*time.Millisecond, p.rng, stop)
	defer close(stop)
	for _, node := range p.stage.Nodes() {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		if err := node.Terminate(); err != nil {
			return err
		}
		if err := p.ends(ctx, node); err != nil {
			return err
		}
		if err := p.stage.Revive(ctx); err != nil {
			return err
		}
	}
	p.outcome.Hit = true
	return sleep(ctx, time.Second)
}

// The storm: waves of clients without patience.
const (
	stormClients  = 500
	stormWaves    = 4
	stormPatience = 5 * time.Millisecond
	// heldFor is how long providers take meanwhile, so that leases are held.
	heldFor = 2500 * time.Millisecond
)

// storm sends clients against every process while workers hold leases: no lease may be lost.
func storm(ctx context.Context, p *play) error {
	for _, party := range []string{evidence.PartyWarehouse, evidence.PartyPayment,
		evidence.PartyShipping} {
		p.eachProvider(party, func(x *provider.Proxy) { x.SetDelay(heldFor) })
		defer p.eachProvider(party, func(x *provider.Proxy) { x.SetDelay(0) })
	}
	for n := range 12 {
		p.load.order(fmt.Sprintf("held-%d", n+1), story{}, p.rng)
	}
	before := p.renewals()
	for wave := range stormWaves {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		p.wave(ctx, wave)
	}
	if p.renewals() == before {
		p.fail(reports.Coverage, "no lease was renewed during the storm")
		return nil
	}
	p.outcome.Hit = true
	return p.keptLeases(ctx)
}

// wave lets many clients come at once, to every process alike.
func (p *play) wave(ctx context.Context, wave int) {
	var clients sync.WaitGroup
	nodes := p.stage.Nodes()
	for n := range stormClients {
		clients.Go(func() {
			p.stage.Customers.Abort(ctx, nodes[n%len(nodes)], fmt.Sprintf("storm-%d-%d", wave, n),
				stormPatience)
		})
	}
	clients.Wait()
}

// renewals counts the renewals of leases that were sent.
func (p *play) renewals() (n int) {
	for _, node := range p.stage.Workers {
		n += node.Wire().Counts()["RenewLeases"]
	}
	return n
}

// keptLeases looks for leases that were lost although nobody died.
func (p *play) keptLeases(ctx context.Context) error {
	late, err := p.stage.LateResults(ctx, "")
	if err != nil {
		return err
	}
	lost, err := p.stage.Lost(ctx)
	if err != nil {
		return err
	}
	if late+lost > 0 {
		p.fail("STEP-4", "%d leases ran out and %d results were late, although nobody died",
			lost, late)
	}
	return nil
}

// The slowness of a database far away on a thin line.
const (
	slowDelay = 150 * time.Millisecond
	slowRate  = 64 << 10
)

// slowDatabase slows every link to the database while orders come: no lease may be lost.
func slowDatabase(ctx context.Context, p *play) error {
	for _, node := range p.stage.Workers {
		node.Wire().SetDelay(slowDelay)
		node.Wire().SetRate(slowRate)
		defer func() {
			node.Wire().SetDelay(0)
			node.Wire().SetRate(0)
		}()
	}
	stop := make(chan struct{})
	p.load.stream("slow", 100*time.Millisecond, p.rng, stop)
	err := sleep(ctx, 10*time.Second)
	close(stop)
	if err != nil {
		return err
	}
	p.outcome.Hit = true
	return p.keptLeases(ctx)
}
