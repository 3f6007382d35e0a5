package engine

import "time"

// exec performs a group: sets the clock where a transaction begins, prepares what is missing,
// sends the group, all in one write, and returns the answer to the group alone. blocked is as in
// advance.
func (sc *serverConn) exec(g *group, now time.Time, fault FaultKind,
	blocked func() (bool, error)) (reply, error) {
	if fault == SerializationFailure || fault == Deadlock {
		return sc.execFailure(g, fault)
	}
	b, last := sc.setClock(sc.out[:0], g, now)
	b, ahead := sc.prepareAhead(b, g)
	b = append(b, g.raw...)
	sc.out = b[:0]
	if err := sc.send(b); err != nil {
		return reply{}, err
	}
	sc.expectAnswer(g, last, ahead)
	return sc.advance(blocked)
}

// expectAnswer expects the answer to the group behind those to what the engine itself sent ahead
// of it: to the clock's setting, up to a message of type last (0: there was none), and then the
// messages that ahead stands for.
func (sc *serverConn) expectAnswer(g *group, last byte, ahead []named) {
	for _, p := range g.parses {
		sc.stmts[p.name] = nil
	}
	readies := 1
	if last == 'Z' {
		readies++
	}
	parses := g.parses
	sc.expect(readies, func(msg []byte) bool {
		switch {
		case last != 0:
			if msg[0] == last {
				last = 0
			}
			return msg[0] == 'E'
		case msg[0] != '1' && (msg[0] != '3' || len(ahead) == 0):
			return true
		case len(ahead) > 0:
			sc.prepared(ahead[0])
			ahead = ahead[1:]
			return false
		case len(parses) > 0:
			sc.prepared(parses[0])
			parses = parses[1:]
		}
		return true
	})
}

// prepared notes that a name stands for a statement now, or for none.
func (sc *serverConn) prepared(n named) {
	if n.st == nil {
		delete(sc.stmts, n.name)
		return
	}
	sc.stmts[n.name] = n.st
}

// setClock appends the messages that set the session's clock, and returns the type of the last
// message of their answer. A statement that is a transaction by itself gets them into the same
// one, which is cheaper; where a transaction is about to begin they are one of their own, so that
// the service's can still choose its isolation level.
func (sc *serverConn) setClock(b []byte, g *group, now time.Time) ([]byte, byte) {
	name := clockTransaction
	switch {
	case sc.status == 'E':
		return b, 0
	case sc.status == 'T':
		name = clockStatement
		switch g.ends {
		case "set", "commit", "end", "rollback", "abort", "savepoint", "release":
			return b, 0
		}
	}
	b, at := beginMessage(b, 'B')
	b = append(b, 0)
	b = append(b, name...)
	b = append(b, 0, 0, 0, 0, 1, 0, 0, 0, byte(len(clockLayout)))
	b = now.AppendFormat(b, clockLayout)
	b = endMessage(append(b, 0, 0), at)
	b = append(b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
	if g.single() {
		return b, 'C'
	}
	return appendSync(b), 'Z'
}

// clockLayout has a fixed width; setClock relies on it.
const clockLayout = "2006-01-02 15:04:05.000000+00"

// prepareAhead appends Parse messages for statements that this connection lacks, and Close where
// a name is taken. It returns what the answers ParseComplete and CloseComplete will mean: the
// name gets its statement, or none.
func (sc *serverConn) prepareAhead(b []byte, g *group) ([]byte, []named) {
	var ahead []named
	closeName := func(name string) {
		if _, taken := sc.stmts[name]; taken {
			b = appendMessage(b, 'C', "S", name, "\x00")
			ahead = append(ahead, named{name, nil})
		}
	}
	for i, n := range g.binds {
		if sc.stmts[n.name] == n.st || containsNamed(g.binds[:i], n) {
			continue
		}
		closeName(n.name)
		b = appendParse(b, n.name, n.st.key)
		ahead = append(ahead, n)
	}
	for _, n := range g.parses {
		closeName(n.name)
	}
	return b, ahead
}

func containsNamed(list []named, n named) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

// execFailure fails the group with a real error of the wanted kind, so that the transaction's
// state is the server's own. A failed commit has also ended the transaction.
func (sc *serverConn) execFailure(g *group, fault FaultKind) (reply, error) {
	code := stateSerialization
	if fault == Deadlock {
		code = stateDeadlock
	}
	b := appendQuery(sc.out[:0], "do $$ begin raise exception 'injected "+string(fault)+
		"' using errcode = '"+code+"'; end $$")
	sc.out = b[:0]
	if err := sc.send(b); err != nil {
		return reply{}, err
	}
	r, err := sc.receive(1, func([]byte) bool { return true })
	if err != nil || sc.status != 'E' || g.ends != "commit" && g.ends != "end" {
		return r, err
	}
	kept := append([]byte(nil), r.bytes[:len(r.bytes)-len(appendReady(nil, 'I'))]...)
	if err := sc.simple("rollback"); err != nil {
		return r, err
	}
	r.bytes = appendReady(kept, 'I')
	return r, nil
}

// prepare prepares a statement and records its description. failure is the server's refusal.
func (sc *serverConn) prepare(n named, known *statements) (failure []byte, err error) {
	b := sc.out[:0]
	if _, taken := sc.stmts[n.name]; taken {
		b = appendMessage(b, 'C', "S", n.name, "\x00")
	}
	delete(sc.stmts, n.name)
	b = appendParse(b, n.name, n.st.key)
	b = appendSync(appendMessage(b, 'D', "S", n.name, "\x00"))
	sc.out = b[:0]
	if err := sc.send(b); err != nil {
		return nil, err
	}
	r, err := sc.receive(1, func(msg []byte) bool {
		return msg[0] == 't' || msg[0] == 'T' || msg[0] == 'n' || msg[0] == 'E'
	})
	if err != nil {
		return nil, err
	}
	kept := append([]byte(nil), r.bytes...)
	if r.state != "" {
		return kept, nil
	}
	if n.name != "" {
		sc.stmts[n.name] = n.st
	}
	known.describe(n.st, kept)
	return nil, nil
}
