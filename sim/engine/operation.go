package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"
)

// OperationKind names a kind of seam.
type OperationKind string

// The kinds of operations.
const (
	// Statement is one message group (up to Sync) of a connection to the database.
	Statement OperationKind = "statement"
	// Call is a request of a process to a party, through HTTP or [Incarnation.Invoke].
	Call OperationKind = "call"
	// Request is a client's HTTP request on its way to a process.
	Request OperationKind = "request"
	// Response is a process's answer on its way to the client.
	Response OperationKind = "response"
)

// Operation is something that a process or client has sent and that waits for its turn, as
// policies and hooks see it. It must not be changed.
type Operation struct {
	Kind OperationKind
	// Process is who sent it: an incarnation ("executor-1#2") or a client ("alice").
	Process string
	// Party is who it is for: "database", a party, a process or a client.
	Party string
	// Name is the statement's name (several joined by "+"), its SQL where it has none, or
	// "POST /charges" for a call.
	Name string
	// SQL holds the texts of the statements of a group, in order.
	SQL []string
	// InTransaction says that the group belongs to a transaction opened before.
	InTransaction bool
	// Holds counts how often the operation was held or found a fate again.
	Holds int
	// GivenUp says that the sender no longer waits.
	GivenUp bool
	// Method, URL, Header and Body are those of a call or request.
	Method string
	URL    string
	Header http.Header
	Body   []byte
	// Answer is what came back, once a call was performed; for a Response, what it carries.
	Answer *Answer
	// Err is set instead of Answer where the effect of a call failed.
	Err error
}

// opState says how far an operation has come.
type opState int

const (
	opPending opState = iota // not performed
	opWaiting                // its turn is over, the sender waits for an answer or its deadline
	opDone                   // the sender has its answer, or has gone
)

// seam is the kind-specific half of an operation; all methods are called by the driver.
type seam interface {
	// perform has the effect and keeps the answer. blocked: the effect waits for a lock.
	perform(o *op, f Fate) (outcome, bool)
	// deliver hands the kept answer to the sender.
	deliver(o *op)
	// fail hands err to the sender instead.
	fail(o *op, err error)
	// abandon releases what the operation holds; late says that it will be performed yet.
	abandon(o *op, late bool)
}

// outcome is what an event says about a performed operation.
type outcome struct {
	result string
	rows   digest
}

// op is an operation with its state.
type op struct {
	Operation
	seam  seam
	in    *Incarnation // the sender, nil for clients
	canon []byte       // all content that is not in Operation's names
	prior digest       // what the transaction sent before
	args  digest

	state     opState
	deadline  time.Time // of the sender's context; zero means none
	cancelled error     // why the sender wants to stop waiting
	late      bool      // let go after a pause although the deadline has passed
	holdUntil time.Duration
	inFlight  bool // was written before its process was paused
	locked    bool // waits for a lock in the database
	arriving  bool // will be performed although nobody waits

	done chan struct{} // closed towards senders parked in call or request
}

// compareOps orders operations by content only: who, to whom, what, with which arguments, after
// what. Operations that compare equal cannot be told apart by anything the engine can see.
func compareOps(a, b *op) int {
	return cmp.Or(
		cmp.Compare(a.Process, b.Process),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Party, b.Party),
		cmp.Compare(a.Name, b.Name),
		bytes.Compare(a.canon, b.canon),
		cmp.Compare(a.prior, b.prior),
	)
}

func sortOps(ops []*op) { slices.SortStableFunc(ops, compareOps) }

// groupOps splits sorted operations into runs of equal content: the candidates of a choice.
func groupOps(ops []*op) [][]*op {
	var groups [][]*op
	for start, i := 0, 1; i <= len(ops); i++ {
		if i == len(ops) || compareOps(ops[start], ops[i]) != 0 {
			groups = append(groups, ops[start:i])
			start = i
		}
	}
	return groups
}

// enqueue adds an operation from a goroutine of the bubble and wakes the driver.
func (w *World) enqueue(o *op) {
	o.args = digestStart.bytes(o.canon)
	w.mu.Lock()
	w.ops = append(w.ops, o)
	w.mu.Unlock()
	w.kick()
}

// kick wakes a driver that sleeps through virtual time.
func (w *World) kick() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// liveOps drops finished operations and returns the others in content order.
func (w *World) liveOps() []*op {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops = slices.DeleteFunc(w.ops, func(o *op) bool { return o.state == opDone })
	sortOps(w.ops)
	return slices.Clone(w.ops)
}

// errTimeout is what a seam returns when its driver ends a wait just before the deadline of the
// sender's context. It is both kinds of deadline error, as a real transport's may be.
type errTimeout struct{}

func (errTimeout) Error() string   { return "deadline exceeded" }
func (errTimeout) Timeout() bool   { return true }
func (errTimeout) Temporary() bool { return true }
func (errTimeout) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}

var (
	errReset   = &net.OpError{Op: "read", Net: "sim", Err: syscall.ECONNRESET}
	errRefused = &net.OpError{Op: "dial", Net: "sim", Err: syscall.ECONNREFUSED}
)

// isTimeout reports whether a seam's error stands for a passed deadline.
func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
