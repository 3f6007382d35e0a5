package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

// EventKind names a kind of line in the event log.
type EventKind string

// The kinds of events.
const (
	EventStatement EventKind = "statement"
	EventCall      EventKind = "call"
	EventRequest   EventKind = "request"
	EventResponse  EventKind = "response"
	EventTimer     EventKind = "timer"
	EventGivenUp   EventKind = "given_up"
	EventLockWait  EventKind = "lock_wait"
	EventDeadlock  EventKind = "deadlock"
	EventStart     EventKind = "start"
	EventExit      EventKind = "exit"
	EventCrash     EventKind = "crash"
	EventPause     EventKind = "pause"
	EventResume    EventKind = "resume"
	EventCut       EventKind = "cut"
	EventHeal      EventKind = "heal"
	EventDatabase  EventKind = "database"
	EventAdvance   EventKind = "advance"
	EventScheduled EventKind = "scheduled"
)

// Event is one line of the event log: something that the driver did. Everything in it, apart
// from Operation, is part of the run's hash.
type Event struct {
	// Index counts from zero.
	Index int
	// At is the virtual time since the start of the run.
	At time.Duration
	// Kind says what happened.
	Kind EventKind
	// Process is the incarnation or client concerned ("executor-1#2"), empty for the world.
	Process string
	// Party is the other side: "database", a party, a process.
	Party string
	// Name is the statement's or operation's name, or a note.
	Name string
	// Fate is what was decided for an operation.
	Fate FaultKind
	// Result is a command tag, an SQLSTATE, an HTTP status, or "-" where there was none.
	Result string
	// Args and Rows are digests of what was sent and of what came back.
	Args, Rows uint64
	// Operation is the operation performed, nil for other events. It must not be changed.
	Operation *Operation
}

// String returns the line of the event log, without a line end.
func (e *Event) String() string { return string(e.append(nil)) }

func (e *Event) append(b []byte) []byte {
	b = strconv.AppendInt(b, int64(e.Index), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, e.At.Nanoseconds(), 10)
	for _, s := range []string{string(e.Kind), e.Process, e.Party, e.Name} {
		b = append(b, ' ')
		b = appendWord(b, s)
	}
	b = append(b, ' ')
	b = appendWord(b, string(e.Fate))
	b = append(b, ' ')
	b = appendWord(b, e.Result)
	b = append(b, ' ')
	b = strconv.AppendUint(b, e.Args, 16)
	b = append(b, ' ')
	return strconv.AppendUint(b, e.Rows, 16)
}

// appendWord appends s so that it is one word: quoted where it is empty or holds spaces.
func appendWord(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == '"' || s[i] >= 0x7f {
			return strconv.AppendQuote(b, s)
		}
	}
	return append(b, s...)
}

// eventLog keeps the running hash of all lines and, when asked, the lines.
type eventLog struct {
	hash  hash.Hash
	count int
	keep  bool
	lines []string
	line  []byte
}

func newEventLog(keep bool) *eventLog { return &eventLog{hash: sha256.New(), keep: keep} }

func (l *eventLog) add(e *Event) {
	e.Index = l.count
	l.count++
	l.line = append(e.append(l.line[:0]), '\n')
	l.hash.Write(l.line)
	if l.keep {
		l.lines = append(l.lines, string(l.line[:len(l.line)-1]))
	}
}

func (l *eventLog) sum() string { return hex.EncodeToString(l.hash.Sum(nil)) }

// emit writes an event to the log and hands it to the harness.
func (w *World) emit(e Event) {
	if w.closing {
		return
	}
	e.At = w.Now()
	w.log.add(&e)
	if w.cfg.Hooks.OnEvent != nil {
		w.cfg.Hooks.OnEvent(e)
	}
}

// digest is FNV-1a with 64 bits, written out because it runs over every row of every answer.
type digest uint64

const digestStart digest = 14695981039346656037

func (d digest) add(b []byte) digest { return d.bytes(b) }

func (d digest) bytes(b []byte) digest {
	for _, c := range b {
		d = (d ^ digest(c)) * 1099511628211
	}
	return d
}

func (d digest) string(s string) digest {
	for i := range len(s) {
		d = (d ^ digest(s[i])) * 1099511628211
	}
	return d
}
