package engine

import (
	"net/http"
	"time"
)

// FaultKind names what happens to an operation, or to the world around it. Values are stable:
// reports and replay files hold them.
type FaultKind string

// What can happen to an operation when its turn comes.
const (
	// Deliver performs the operation and delivers its answer. It is no fault.
	Deliver FaultKind = "deliver"
	// ConnResetBefore breaks the connection; the operation is never performed.
	ConnResetBefore FaultKind = "conn_reset_before"
	// LostAck performs a statement and breaks the connection before the answer.
	LostAck FaultKind = "lost_ack"
	// CrashBefore crashes the sender's process; the operation is never performed.
	CrashBefore FaultKind = "crash_before"
	// CrashAfter performs the operation and crashes the sender's process before the answer.
	CrashAfter FaultKind = "crash_after"
	// CrashAnswered performs the operation, delivers the answer, and crashes the sender's
	// process when it is about to do the next thing at a seam.
	CrashAnswered FaultKind = "crash_answered"
	// SerializationFailure fails a statement, and its transaction, with SQLSTATE 40001.
	SerializationFailure FaultKind = "serialization_failure"
	// Deadlock fails a statement, and its transaction, with SQLSTATE 40P01.
	Deadlock FaultKind = "deadlock"
	// Hold leaves the operation pending and untouched for Fate.After.
	Hold FaultKind = "hold"
	// Delay performs the operation now and delivers the answer after Fate.After.
	Delay FaultKind = "delay"
	// DialFail fails a call or request before a byte of it left: a *net.OpError with Op "dial".
	DialFail FaultKind = "dial_fail"
	// LoseRequest drops the operation without effect; its sender learns nothing until its
	// deadline.
	LoseRequest FaultKind = "lose_request"
	// LoseAnswer performs the operation and drops the answer; its sender waits until its
	// deadline.
	LoseAnswer FaultKind = "lose_answer"
	// ResetAfter performs the operation and breaks the connection before the answer.
	ResetAfter FaultKind = "reset_after"
	// LateArrival performs the operation after Fate.After and drops the answer.
	LateArrival FaultKind = "late_arrival"
	// Duplicate performs a call or request now, and once more after Fate.After, for nobody.
	Duplicate FaultKind = "duplicate"
	// Disconnect performs a client's request, and lets the client hang up after Fate.After if
	// it still waits then.
	Disconnect FaultKind = "disconnect"
	// Override answers a call with Fate.Answer; the party is not asked.
	Override FaultKind = "override"
	// Drop forgets an operation that its sender has given up. It is no fault.
	Drop FaultKind = "drop"
)

// What can happen to the world. The engine counts these as fired where they are carried out.
const (
	// Crash cuts every seam of a process at once and loses its memory.
	Crash FaultKind = "crash"
	// Pause holds every seam of a process for a while.
	Pause FaultKind = "pause"
	// Cut holds everything between two parties for a while.
	Cut FaultKind = "cut"
	// DatabaseRestart breaks every connection and loses every open transaction.
	DatabaseRestart FaultKind = "database_restart"
)

// Fate is what a policy decides for one operation. The zero value means [Deliver].
type Fate struct {
	Kind FaultKind
	// After is used by Hold, Delay, LateArrival, Duplicate and Disconnect.
	After time.Duration
	// Header is added to the request of a call before its party sees it.
	Header http.Header
	// Answer is used by Override.
	Answer *Answer
}

// Answer is the reply to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Policy decides the fate of operations. Both functions are asked by the driver, one operation
// at a time, and draw from the faults stream only; nil means no faults. Neither may block or
// change the world.
type Policy struct {
	// Operation is asked when an operation's turn has come. Kinds that do not apply to the
	// operation's kind (see the kinds) are refused: the run fails.
	Operation func(*Operation, *Draw) Fate
	// GivenUp is asked when the sender stopped waiting (timeout, cancelled, crashed) for an
	// operation that has left it and was never performed: Drop, or LateArrival. A statement
	// still on its way then reaches the database although nobody waits for it.
	GivenUp func(*Operation, *Draw) Fate
}

// FaultCount says how often a fault kind could have happened and how often it did.
type FaultCount struct {
	Offered int `json:"offered"`
	Fired   int `json:"fired"`
}

// faultCounts counts by kind.
type faultCounts map[FaultKind]FaultCount

func (f faultCounts) offer(kind FaultKind) {
	c := f[kind]
	c.Offered++
	f[kind] = c
}

func (f faultCounts) fire(kind FaultKind) {
	if kind == "" || kind == Deliver || kind == Drop {
		return
	}
	c := f[kind]
	c.Fired++
	f[kind] = c
}
