package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is a statement whose effect waits for a lock of another transaction.
//
//	          perform                lock granted, its turn
//	pending ----------> waiting --------------------------------> performed
//	                    |  ^  |                                        ^
//	        given up,   |  |  |  part of a cycle, chosen               |
//	        cancelled   |  |  +-------> cancelled, reported as 40P01 --+
//	                    v  |
//	                  gone +-- woken, and waits for the next lock
//
// A statement can only wait where another transaction is open or another statement waits; else
// the driver just reads the answer. When the server stays silent, a monitor connection asks
// pg_blocking_pids: only a statement that waits for somebody is set aside; one that is merely
// slow is waited for, so that the outcome does not depend on real time.
//
// After each step the driver settles the waiting ones, in content order: those that have got
// their lock go on, one at a time, until they are done or wait again. To be exact, only one
// server process may run at a time, since several waiters that one commit has woken would race
// inside the server: a waiting process is stopped (SIGSTOP) and continued when its turn comes
// (BackendOptions.CanSignal). Deadlocks are the driver's: the server's own check is put out of
// reach, a cycle in the graph of waits is found by the driver, and the schedule stream chooses
// the victim.
type lockWait struct {
	o    *op
	fate Fate
	then func()
	seam *statementSeam
	by   []int // server processes that it waits for
}

// silentFor is how long the server may be silent before the monitor is asked (again).
const silentFor = 300 * time.Microsecond

// silent waits until the socket can be read. Where blocked is set it also returns, with true,
// once that says that the statement waits for a lock.
func (sc *serverConn) silent(blocked func() (bool, error)) (bool, error) {
	if blocked == nil {
		return false, nil
	}
	for {
		fds := []unix.PollFd{{Fd: int32(sc.fd), Events: unix.POLLIN}}
		limit := unix.NsecToTimespec(int64(silentFor))
		n, err := unix.Ppoll(fds, &limit, nil)
		if n > 0 || err != nil && err != unix.EINTR {
			return false, nil
		}
		if waits, err := blocked(); waits || err != nil {
			return waits, err
		}
	}
}

// lockCheck returns the question whether a statement on sc waits for a lock, nil where none can.
func (b *Backend) lockCheck(sc *serverConn) func() (bool, error) {
	b.moves++
	for _, other := range b.all {
		if other != sc && (other.waiting || other.status != 'I') {
			return func() (bool, error) {
				waits, err := b.waits([]*serverConn{sc})
				return err == nil && len(waits[int(sc.pid)]) > 0, err
			}
		}
	}
	return nil
}

// waits returns, by process id, which processes each of the connections waits for.
func (b *Backend) waits(conns []*serverConn) (map[int][]int, error) {
	if b.monitor == nil {
		var err error
		if b.monitor, err = b.dial(); err != nil {
			return nil, err
		}
	}
	pids := make([]string, len(conns))
	for i, sc := range conns {
		pids[i] = strconv.Itoa(int(sc.pid))
	}
	rows, err := b.monitor.query("select p || ',' || array_to_string(pg_blocking_pids(p), ',')" +
		" from unnest('{" + strings.Join(pids, ",") + "}'::int[]) p")
	if err != nil {
		return nil, fmt.Errorf("lock monitor: %w", err)
	}
	waits := map[int][]int{}
	for _, row := range rows {
		numbers := splitNumbers(row)
		waits[numbers[0]] = numbers[1:]
	}
	return waits, nil
}

func splitNumbers(row string) (numbers []int) {
	for part := range strings.SplitSeq(row, ",") {
		if n, err := strconv.Atoi(part); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// halt stops a waiting server process, wake lets it go on.
func (b *Backend) halt(sc *serverConn) {
	sc.waiting = true
	if b.options.CanSignal && !sc.stopped {
		sc.stopped = syscall.Kill(int(sc.pid), syscall.SIGSTOP) == nil
	}
}

func (sc *serverConn) wake() {
	sc.waiting = false
	if sc.stopped {
		syscall.Kill(int(sc.pid), syscall.SIGCONT)
		sc.stopped = false
	}
}

// cancel ends the statement that waits on sc and returns what the server says to that.
func (b *Backend) cancel(sc *serverConn) (reply, error) {
	b.moves++
	if err := b.monitor.simple(fmt.Sprintf("select pg_cancel_backend(%d)", sc.pid)); err != nil {
		return reply{}, err
	}
	sc.wake()
	return sc.advance(nil)
}

// wait sets an operation aside whose statement waits for a lock.
func (w *World) wait(o *op, f Fate, then func()) {
	seam := o.seam.(*statementSeam)
	if o.state != opDone {
		o.state = opWaiting
	}
	o.locked = true
	w.counters.LockWaits++
	w.cfg.Backend.halt(seam.waiting)
	w.emit(Event{Kind: EventLockWait, Process: o.Process, Party: o.Party, Name: o.Name,
		Fate: f.Kind, Args: uint64(o.args)})
	w.locks = append(w.locks, &lockWait{o: o, fate: f, then: then, seam: seam})
	slices.SortStableFunc(w.locks, func(a, b *lockWait) int { return compareOps(a.o, b.o) })
}

// settleLocks lets one waiting statement go on, or breaks one deadlock, and reports whether it
// did. It looks again only after something happened that may have released a lock.
func (w *World) settleLocks() bool {
	b := w.cfg.Backend
	w.locks = slices.DeleteFunc(w.locks, func(l *lockWait) bool { return l.seam.waiting == nil })
	if len(w.locks) == 0 || b.moves == w.settledMoves {
		return false
	}
	conns := make([]*serverConn, len(w.locks))
	for i, l := range w.locks {
		conns[i] = l.seam.waiting
	}
	waits, err := b.waits(conns)
	if err != nil {
		w.failBackend(err)
		return false
	}
	for _, l := range w.locks {
		l.by = waits[int(l.seam.waiting.pid)]
	}
	for _, l := range w.locks {
		if len(l.by) == 0 {
			w.goOn(l)
			return true
		}
	}
	if cycle := w.findCycle(); cycle != nil {
		w.breakDeadlock(cycle)
		return true
	}
	w.settledMoves = b.moves
	return false
}

// goOn continues a statement that has got its lock.
func (w *World) goOn(l *lockWait) {
	b, sc := w.cfg.Backend, l.seam.waiting
	sc.wake()
	r, err := sc.advance(b.lockCheck(sc))
	switch {
	case err != nil:
		w.failBackend(err)
		l.seam.waiting = nil
	case r.blocked:
		b.halt(sc)
	default:
		w.gotLock(l, r)
	}
}

// gotLock finishes a statement that no longer waits.
func (w *World) gotLock(l *lockWait, r reply) {
	sc := l.seam.waiting
	l.seam.waiting, l.o.locked = nil, false
	w.performed(l.o, l.fate, l.seam.performed(l.o, sc, r))
	if l.o.state == opDone {
		l.o.arriving = false
		l.seam.abandon(l.o, false)
		return
	}
	l.then()
}

// findCycle returns the waits of one deadlock in content order, nil where there is none.
func (w *World) findCycle() []*lockWait {
	byPID := map[int]*lockWait{}
	for _, l := range w.locks {
		byPID[int(l.seam.waiting.pid)] = l
	}
	for _, start := range w.locks {
		if path := cycleFrom(start, start, byPID, map[*lockWait]bool{}); path != nil {
			slices.SortStableFunc(path, func(a, b *lockWait) int { return compareOps(a.o, b.o) })
			return path
		}
	}
	return nil
}

// cycleFrom looks for a way of waits from l to goal, following blockers in content order.
func cycleFrom(l, goal *lockWait, byPID map[int]*lockWait, seen map[*lockWait]bool) []*lockWait {
	var next []*lockWait
	for _, pid := range l.by {
		if n := byPID[pid]; n != nil && !slices.Contains(next, n) {
			next = append(next, n)
		}
	}
	slices.SortStableFunc(next, func(a, b *lockWait) int { return compareOps(a.o, b.o) })
	for _, n := range next {
		if n == goal {
			return []*lockWait{l}
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		if path := cycleFrom(n, goal, byPID, seen); path != nil {
			return append(path, l)
		}
	}
	return nil
}

// breakDeadlock cancels one of the cycle's statements and reports it as the server would.
func (w *World) breakDeadlock(cycle []*lockWait) {
	victim := cycle[w.Schedule().Choose("deadlock.victim", len(cycle))]
	w.counters.Deadlocks++
	w.emit(Event{Kind: EventDeadlock, Process: victim.o.Process, Party: Database,
		Name: victim.o.Name, Args: uint64(victim.o.args), Result: strconv.Itoa(len(cycle))})
	r, err := w.cfg.Backend.cancel(victim.seam.waiting)
	if err != nil {
		w.failBackend(err)
		victim.seam.waiting = nil
		return
	}
	w.gotLock(victim, asDeadlock(r))
}

// endLocks cancels statements that still wait although their senders have gone.
func (w *World) endLocks() {
	for _, l := range w.locks {
		if l.seam.waiting != nil {
			l.seam.abandon(l.o, false)
		}
	}
}

// asDeadlock rewrites the error of a cancelled statement into that of a deadlock.
func asDeadlock(r reply) reply {
	if r.state != stateCanceled {
		return r
	}
	var out []byte
	for b := r.bytes; ; {
		msg, rest, ok := nextMessage(b)
		if !ok {
			break
		}
		if msg[0] == 'E' {
			out = appendError(out, "ERROR", stateDeadlock, "deadlock detected")
		} else {
			out = append(out, msg...)
		}
		b = rest
	}
	r.bytes, r.state = out, stateDeadlock
	return r
}

// SQLSTATEs that the engine reads or writes.
const (
	stateCanceled      = "57014"
	stateDeadlock      = "40P01"
	stateSerialization = "40001"
)
