package engine

import "time"

// Quiet tells the engine which statements of a service find nothing to do most of the time, so
// that it can give that answer without asking the server. Nothing else changes: the statement is
// an operation like any other, its event is the same line of the log. A run with and one without
// it therefore have equal hashes, which is also how to test that what is said here is true. The
// zero value asks the server every time.
//
// What a poll answers that finds nothing is remembered by its content for all runs of a backend.
// It is given where nothing can be found: nobody has written since the engine last asked for the
// next instant at which something might be, and that instant has not come.
//
//	             a poll was asked          next poll: asks for the next instant
//	unknown -------------------> asked ---------------------------------------> known
//	   ^                                                                          |
//	   +-- any other statement that may have written <----------------------------+
//
// The first poll after a write asks the server, since it is the one that is likely to find
// something.
type Quiet struct {
	// Polls holds, by statement name, the command tag of a poll that found nothing. It must
	// then have written nothing, and a poll must find something only where an instant stored in
	// the database has come.
	Polls map[string]string
	// Reads names statements that never write.
	Reads map[string]bool
	// Next returns the first stored instant at which a poll might find something, on the
	// database's clock, past ones included; zero where there is none. It may use
	// [World.Outside].
	Next func(w *World) time.Time
}

// memory is what a run knows of the next instant.
type memory struct {
	quiet Quiet
	// asked says that a poll was asked since anybody wrote; until is the next instant, known
	// where that is not zero.
	asked bool
	until time.Time
}

// remembered is the answer to a poll that found nothing.
type remembered struct {
	outcome outcome
	bytes   []byte
}

// mostRemembered bounds the answers that a backend keeps.
const mostRemembered = 4096

// endless is later than any run.
var endless = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// suits tells whether a group is a poll by itself, such that its answer depends on no connection.
func (m *memory) suits(o *op, g *group) bool {
	_, poll := m.quiet.Polls[o.Name]
	return poll && !o.InTransaction && !g.session && len(g.steps) == 0
}

// recall returns what the server would answer to the poll, where it can find nothing.
func (w *World) recall(o *op, g *group, fault FaultKind) (remembered, bool) {
	m, b := &w.memory, w.cfg.Backend
	if !m.asked || fault == SerializationFailure || fault == Deadlock || !m.suits(o, g) ||
		b.open() {
		return remembered{}, false
	}
	answer, ok := b.polls[string(o.canon)]
	if !ok {
		return remembered{}, false
	}
	if m.until.IsZero() {
		m.until = m.quiet.Next(w)
		if m.until.IsZero() {
			m.until = endless
		}
	}
	return answer, w.databaseTime().Before(m.until)
}

// learn looks at what the server has answered to a group.
func (w *World) learn(o *op, g *group, out outcome, answer []byte) {
	m, b := &w.memory, w.cfg.Backend
	tag, poll := m.quiet.Polls[o.Name]
	switch {
	case m.quiet.Reads[o.Name]:
		return
	case !poll || out.result != tag:
		m.asked, m.until = false, time.Time{}
		return
	}
	m.asked = true
	if _, known := b.polls[string(o.canon)]; known || !m.suits(o, g) {
		return
	}
	if len(b.polls) >= mostRemembered {
		clear(b.polls)
	}
	b.polls[string(o.canon)] = remembered{out, append([]byte(nil), answer...)}
}

// open tells whether some connection holds, or waits for, what another one may need.
func (b *Backend) open() bool {
	for _, sc := range b.all {
		if sc.waiting || sc.status != 'I' {
			return true
		}
	}
	return false
}
