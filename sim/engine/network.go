package engine

import "time"

// pair names two parties regardless of direction.
func pair(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// Database is the party name of the database.
const Database = "database"

// Cut holds everything between a and b (processes without incarnation, clients, parties, or
// [Database]) until the given virtual time since the start. What is held meets the deadlines of
// its senders; what was sent and given up may still arrive, as the policy says. Driver.
func (w *World) Cut(a, b string, until time.Duration) {
	w.emit(Event{Kind: EventCut, Process: a, Party: b, Fate: Cut, Result: until.String()})
	w.faults.fire(Cut)
	w.cuts[pair(a, b)] = until
	w.after(until-w.Now(), "cut ends", func() {})
}

// isCut reports whether an operation cannot pass now.
func (w *World) isCut(o *op) bool {
	if len(w.cuts) == 0 {
		return false
	}
	return w.cuts[pair(o.from(), o.to())] > w.Now()
}

// from returns the sender without incarnation.
func (o *op) from() string {
	if o.in != nil {
		return o.in.proc.name
	}
	return o.Process
}

// to returns the receiver without incarnation.
func (o *op) to() string { return o.Party }

// RestartDatabase breaks every connection that is in use and loses every open transaction;
// statements fail until down has passed. Connections idle in a pool are not broken, since how
// many of them there are is a race: that a process meets a dead one is [ConnResetBefore]. Driver.
func (w *World) RestartDatabase(down time.Duration) {
	w.emit(Event{Kind: EventDatabase, Party: Database, Fate: DatabaseRestart,
		Result: down.String()})
	w.faults.fire(DatabaseRestart)
	w.dbDown = w.Now() + down
	for _, o := range w.liveOps() {
		if o.Kind == Statement && o.state != opDone {
			o.seam.abandon(o, false)
			w.finish(o, errReset)
			w.quiet()
		}
	}
	w.resetTransactions()
	w.after(down, "database is back", func() {})
}

// Heal ends the fault period: cuts end, paused processes resume, the policy is asked no more,
// crashed processes are restarted when their time comes. Driver.
func (w *World) Heal() {
	if w.healed {
		return
	}
	w.healed = true
	w.emit(Event{Kind: EventHeal})
	clear(w.cuts)
	w.dbDown = 0
	for _, p := range w.procOrder {
		if p.paused {
			p.resume()
		}
	}
	for _, o := range w.liveOps() {
		o.holdUntil = 0
	}
}
