package sim

import (
	"context"
	"strings"
	"time"

	"ordeal/sim/engine"
)

// rest decides when a run is over: the customers are done, nothing is on its way, and no step is
// open. It asks the database only after a statement that may have changed the answer.
type rest struct {
	rig *rig
	// dirty says that a statement may have changed the answer since the last look.
	dirty bool
	// until is when the last request that is still on its way arrives.
	until time.Duration
}

// movers are the statements after which steps may be open or no longer.
var movers = []string{"CreateOrder", "CancelOrder", "RecordResults", "ExpireReservations"}

// saw looks at a performed statement.
func (r *rest) saw(e engine.Event) {
	if tag, poll := polls[e.Name]; poll && e.Result == tag {
		return
	}
	for _, name := range movers {
		if strings.Contains(e.Name, name) {
			r.dirty = true
		}
	}
}

// expect notes that something sent arrives only after d.
func (r *rest) expect(now, d time.Duration) { r.until = max(r.until, now+d) }

// reached is the goal of a run.
func (r *rest) reached(w *engine.World) bool {
	if !r.dirty || !r.rig.customers.done() || w.Pending() > 0 || w.Now() <= r.until {
		return false
	}
	r.dirty = false
	open := true
	w.Outside(func() {
		err := r.rig.conn.QueryRow(context.Background(), `select exists (
			select from workflow_steps where status in ('due', 'running'))`).Scan(&open)
		if err != nil {
			w.Fail(err)
		}
	})
	return !open
}
