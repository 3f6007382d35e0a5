package engine

import (
	"fmt"
	"testing/synctest"
	"time"
)

// deadlineLead is how long before its sender's deadline the driver ends a wait, so that it, and
// not the race of the runtime's timers, decides who learns first.
const deadlineLead = time.Microsecond

// quiet waits until every goroutine of the bubble but the driver is parked.
func (w *World) quiet() { synctest.Wait() }

// drive runs the world to its end.
func (w *World) drive() {
	for {
		w.quiet()
		if w.settle() {
			continue
		}
		if w.over() {
			return
		}
		if w.fireDue() {
			continue
		}
		if w.Now() < w.busyUntil {
			w.sleep(w.busyUntil)
			continue
		}
		if groups := groupOps(w.eligible()); len(groups) > 0 {
			w.step(groups)
			continue
		}
		w.sleep(w.cfg.MaxTime)
	}
}

// over decides whether the run has ended, and how.
func (w *World) over() bool {
	switch {
	case w.err != nil:
		w.outcome = Failed
	case w.cfg.Goal != nil && w.cfg.Goal(w):
		w.outcome = GoalReached
	case w.log.count >= w.cfg.MaxEvents:
		w.outcome = EventLimit
	case w.Now() >= w.cfg.MaxTime:
		w.outcome = TimeLimit
	default:
		return false
	}
	return true
}

// settle does what is no choice: preparing statements, and the ends of connections.
func (w *World) settle() bool {
	w.mu.Lock()
	prepares, expired, closed := w.prepares, w.expired, w.closed
	w.prepares, w.expired, w.closed = nil, nil, nil
	w.mu.Unlock()
	sortOps(prepares)
	for _, o := range prepares {
		o.seam.perform(o, Fate{})
		o.seam.deliver(o)
	}
	w.endConns(expired, closed)
	settled := w.settleLocks()
	return settled || len(prepares)+len(expired)+len(closed) > 0
}

// fireDue does one thing whose time has come, and reports whether there was one.
func (w *World) fireDue() bool {
	if o := w.overdue(); o != nil {
		err := error(errTimeout{})
		if o.cancelled != nil && !isTimeout(o.cancelled) {
			err = o.cancelled
		}
		w.giveUp(o, err)
		return true
	}
	if s := w.dueEvent(); s != nil {
		s.run()
		return true
	}
	group := w.dueTimers()
	if len(group) == 0 {
		return false
	}
	w.fireTimers(group)
	return true
}

// fireTimers fires timers that nothing tells apart, and parts them from what fires next.
func (w *World) fireTimers(group []*timer) {
	if in := group[0].c.in; in == nil || in.alive() {
		w.emit(Event{Kind: EventTimer, Process: group[0].owner(), Name: group[0].stack,
			Args: uint64(len(group))})
	}
	for _, t := range group {
		t.fire()
	}
	w.quiet()
	time.Sleep(time.Nanosecond)
}

// overdue returns the first operation, in content order, whose sender stops waiting now.
func (w *World) overdue() *op {
	now := time.Now().Add(deadlineLead)
	for _, o := range w.liveOps() {
		if o.held() {
			continue
		}
		if o.cancelled != nil || !o.deadline.IsZero() && !o.deadline.After(now) {
			return o
		}
	}
	return nil
}

// held reports whether the sender cannot be woken: it is paused, or was, past its deadline.
func (o *op) held() bool { return o.late || o.in != nil && o.in.alive() && o.in.proc.paused }

// eligible returns the operations that can be performed now, in content order.
func (w *World) eligible() []*op {
	now := w.Now()
	ops := w.liveOps()
	n := 0
	for _, o := range ops {
		if o.state != opPending || o.holdUntil > now || w.isCut(o) || o.held() && !o.late &&
			!o.inFlight || o.Kind == Request && w.Process(o.Party).paused {
			continue
		}
		ops[n] = o
		n++
	}
	return ops[:n]
}

// sleep lets virtual time pass until the next thing of the driver's own is due, at most until
// the given time, or until a goroutine has something for the driver.
func (w *World) sleep(until time.Duration) {
	d := min(until, w.nextDue()) - w.Now()
	if d <= 0 {
		return
	}
	w.timer.Reset(d)
	select {
	case <-w.wake:
	case <-w.timer.C:
	}
	w.timer.Stop()
}

// nextDue returns the time of the next thing that fireDue or eligible would find.
func (w *World) nextDue() time.Duration {
	next := w.cfg.MaxTime
	now := w.Now()
	for _, o := range w.liveOps() {
		if o.holdUntil > now {
			next = min(next, o.holdUntil)
		}
		if !o.held() && !o.deadline.IsZero() {
			next = min(next, o.deadline.Add(-deadlineLead).Sub(w.start))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.schedule) > 0 {
		next = min(next, w.schedule[0].at)
	}
	if len(w.timers) > 0 {
		next = min(next, w.timers[0].due)
	}
	return next
}

// step performs one choice out of the candidates, or lets time pass although they wait.
func (w *World) step(groups [][]*op) {
	s := w.Schedule()
	if n := w.cfg.Advance.OneIn; n > 0 && s.Choose("advance", n) == n-1 {
		w.advance(s)
		return
	}
	group := groups[w.pick(groups)]
	fate := w.fate(group[0])
	latency := s.Duration("latency", w.cfg.Latency)
	for _, o := range group {
		if o.state == opPending && w.err == nil {
			w.apply(o, fate)
			w.quiet()
			w.settle()
		}
	}
	w.busyUntil = w.Now() + latency
}

// pick chooses whose turn it is.
func (w *World) pick(groups [][]*op) int {
	n := len(groups)
	if n < 2 {
		return 0
	}
	var chosen int
	if p, ok := w.source.(Picker); ok && w.err == nil {
		names := make([]string, n)
		for i, g := range groups {
			names[i] = g[0].Process + " " + g[0].Name
		}
		v, err := p.Pick(names)
		chosen = w.chosen(Choice{Stream: StreamSchedule, Label: pickLabel, N: n, Value: v}, err)
	} else {
		chosen = w.choose(StreamSchedule, pickLabel, n)
	}
	if chosen > 0 {
		o := groups[chosen][0]
		w.noteChoice(o.Process + " " + o.Name)
	}
	return chosen
}

// pickLabel labels the choice of the next operation.
const pickLabel = "pick"

// advance lets a while pass, drawn from scales that grow fourfold from a millisecond.
func (w *World) advance(s *Draw) {
	scales := 1
	for d := 4 * time.Millisecond; d < w.cfg.Advance.Max; d *= 4 {
		scales++
	}
	low := time.Millisecond << (2 * s.Choose("advance.scale", scales))
	d := s.Duration("advance.for", Range{low, min(4*low, w.cfg.Advance.Max)})
	w.emit(Event{Kind: EventAdvance, Result: d.String()})
	w.busyUntil = w.Now() + d
}

// fate asks the policy.
func (w *World) fate(o *op) Fate {
	if w.healed || w.cfg.Policy.Operation == nil {
		return Fate{Kind: Deliver}
	}
	w.subject = o
	f := w.cfg.Policy.Operation(&o.Operation, w.Faults())
	w.subject = nil
	if f.Kind == "" {
		f.Kind = Deliver
	}
	return f
}

// apply carries out a fate.
func (w *World) apply(o *op, f Fate) {
	if !f.fits(o) {
		w.Fail(fmt.Errorf("fate %q does not apply to %s %s", f.Kind, o.Kind, o.Name))
		return
	}
	w.faults.fire(f.Kind)
	switch f.Kind {
	case Hold:
		w.note(o, f)
		o.Holds++
		o.holdUntil = w.Now() + f.After
	case ConnResetBefore, DialFail:
		w.note(o, f)
		o.seam.abandon(o, false)
		w.finish(o, map[FaultKind]error{ConnResetBefore: errReset, DialFail: errRefused}[f.Kind])
	case CrashBefore:
		w.note(o, f)
		o.seam.abandon(o, false)
		o.state = opDone
		o.in.proc.Crash() // first, else the woken sender may be quick enough to send more
		o.seam.fail(o, errReset)
	case LoseRequest:
		w.note(o, f)
		w.lose(o)
	case LateArrival:
		w.note(o, f)
		w.arriveLate(o, f)
		w.lose(o)
	default:
		w.perform(o, f, func() { w.conclude(o, f) })
	}
}

// fits reports whether a fate can happen to an operation.
func (f Fate) fits(o *op) bool {
	switch f.Kind {
	case Deliver, Hold, ConnResetBefore, LoseRequest, LoseAnswer, LateArrival, Delay, ResetAfter:
		return true
	case CrashBefore, CrashAfter, CrashAnswered:
		return o.in != nil
	case LostAck, SerializationFailure, Deadlock:
		return o.Kind == Statement
	case DialFail, Duplicate:
		return o.Kind == Call || o.Kind == Request
	case Disconnect:
		return o.Kind == Request
	case Override:
		return o.Kind == Call && f.Answer != nil
	}
	return false
}

// perform has the effect of an operation, logs it, and goes on with then; where the effect waits
// for a lock, all of that happens when it has got it.
func (w *World) perform(o *op, f Fate, then func()) {
	out, blocked := o.seam.perform(o, f)
	if blocked {
		w.wait(o, f, then)
		return
	}
	if o.state == opPending {
		o.state = opWaiting
	}
	w.performed(o, f, out)
	then()
}

func (w *World) performed(o *op, f Fate, out outcome) {
	w.emit(Event{Kind: eventOf[o.Kind], Process: o.Process, Party: o.Party, Name: o.Name,
		Fate: f.Kind, Result: out.result, Args: uint64(o.args), Rows: uint64(out.rows),
		Operation: &o.Operation})
}

// note logs a fate that has no effect (yet).
func (w *World) note(o *op, f Fate) {
	if f.After > 0 {
		w.performed(o, f, outcome{result: f.After.String()})
		return
	}
	w.performed(o, f, outcome{})
}

var eventOf = map[OperationKind]EventKind{
	Statement: EventStatement, Call: EventCall, Request: EventRequest, Response: EventResponse,
}

// conclude is what follows the effect.
func (w *World) conclude(o *op, f Fate) {
	switch f.Kind {
	case LostAck, ResetAfter:
		o.seam.abandon(o, false)
		w.finish(o, errReset)
	case LoseAnswer:
		w.lose(o)
	case CrashAfter:
		if o.in.alive() {
			o.in.proc.Crash()
		}
	case CrashAnswered:
		w.deliver(o)
		w.quiet()
		if o.in.alive() {
			o.in.proc.Crash()
		}
	case Delay:
		o.state = opWaiting
		if o.Kind == Request {
			return // its response is held instead
		}
		w.after(f.After, "answer "+o.Process+" "+o.Name, func() { w.deliver(o) })
	case Disconnect:
		w.deliver(o)
		w.after(f.After, "disconnect "+o.Process+" "+o.Name, func() {
			if o.state != opDone {
				w.giveUp(o, errReset)
			}
		})
	case Duplicate:
		w.deliver(o)
		again := *o
		w.after(f.After, "duplicate "+o.Process+" "+o.Name, func() {
			w.perform(&again, Fate{Kind: Duplicate, Header: f.Header}, func() {})
		})
	default:
		w.deliver(o)
	}
}

// deliver hands the answer to a sender that still waits and is awake.
func (w *World) deliver(o *op) {
	switch {
	case o.state == opDone:
	case o.in != nil && o.in.alive() && o.in.proc.paused:
		o.state = opWaiting
		o.in.proc.answers = append(o.in.proc.answers, o)
	default:
		o.state = opDone
		o.seam.deliver(o)
	}
}

// lose leaves the sender without an answer until its deadline; without one it is reset now. Who
// waits for a response is its client, not its sender.
func (w *World) lose(o *op) {
	if response, ok := o.seam.(*responseSeam); ok {
		o.state = opDone
		o = response.request
	}
	if o.state == opDone {
		return
	}
	o.state = opWaiting
	o.late = false // whoever was let go after its deadline has nothing left to wait for
	if o.deadline.IsZero() {
		o.seam.abandon(o, o.arriving)
		w.finish(o, errReset)
	}
}

// arriveLate performs the operation after f.After, for nobody.
func (w *World) arriveLate(o *op, f Fate) {
	o.arriving = true
	w.after(f.After, "late "+o.Process+" "+o.Name, func() {
		o.arriving = false
		w.perform(o, Fate{Kind: LateArrival, Header: f.Header}, func() {
			if o.state == opDone {
				o.seam.abandon(o, false)
			}
		})
	})
}

// giveUp ends the wait of a sender. What was never performed may still be on its way.
func (w *World) giveUp(o *op, err error) {
	fate := Fate{Kind: Drop}
	if (o.state == opPending || o.locked) && !w.closing && !w.healed &&
		w.cfg.Policy.GivenUp != nil {
		w.subject = o
		fate = w.cfg.Policy.GivenUp(&o.Operation, w.Faults())
		w.subject = nil
	}
	o.GivenUp = true
	w.emit(Event{Kind: EventGivenUp, Process: o.Process, Party: o.Party, Name: o.Name,
		Fate: fate.Kind, Args: uint64(o.args), Operation: &o.Operation})
	if fate.Kind == LateArrival {
		w.faults.fire(LateArrival)
		o.arriving = true
		if !o.locked {
			w.arriveLate(o, fate)
		}
	}
	o.seam.abandon(o, o.arriving)
	w.finish(o, err)
}

// finish ends an operation with an error for its sender, once.
func (w *World) finish(o *op, err error) {
	if o.state == opDone {
		return
	}
	o.state = opDone
	o.seam.fail(o, err)
}
