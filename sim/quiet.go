package sim

import (
	"context"
	"time"

	"ordeal/sim/engine"
)

// polls are the statements with which idle processes look for work, and what they answer where
// there is none.
var polls = map[string]string{
	"TakeSteps":           "SELECT 0",
	"ExpiredSteps":        "SELECT 0",
	"ExpireReservations":  "SELECT 0",
	"FlagUnknownVersions": "INSERT 0 0",
}

// reads are the statements that never write.
var reads = map[string]bool{
	"FindOrder":     true,
	"FindPrincipal": true,
	"ListAudit":     true,
	"ListOrders":    true,
	"OrderExists":   true,
}

// quiet tells the engine which polls find nothing until when; nothing in an unaided run.
func (r *rig) quiet() engine.Quiet {
	if r.course.Unaided {
		return engine.Quiet{}
	}
	return engine.Quiet{Polls: polls, Reads: reads, Next: r.nextInstant}
}

// nextInstant returns the first stored instant that a poll compares with the time: a step becomes
// due, a lease runs out, a reservation ends.
func (r *rig) nextInstant(w *engine.World) (next time.Time) {
	const sql = `
		select min(at)
		from (
			select due_at as at from workflow_steps where status = 'due'
			union all
			select lease_expires_at from workflow_steps where status = 'running'
			union all
			select reservation_deadline from orders where state in ('reserved', 'paying')
		) instants`
	w.Outside(func() {
		var at *time.Time // none: nothing is waited for
		if err := r.conn.QueryRow(context.Background(), sql).Scan(&at); err != nil {
			w.Fail(err)
		}
		if at != nil {
			next = at.UTC()
		}
	})
	return next
}
