package engine

import "errors"

// statementSeam performs one message group of a virtual connection.
type statementSeam struct {
	c      *conn
	g      *group
	answer []byte
	err    error // the connection broke although the server was asked

	// Once the sender has gone, what it held stays with a group that is still on its way.
	detached bool
	waiting  *serverConn // for a lock
	server   *serverConn
	owned    bool
}

func (s *statementSeam) perform(o *op, f Fate) (outcome, bool) {
	if !s.g.executes {
		s.prepare()
		return outcome{}, false
	}
	w := s.c.w
	w.counters.Statements += len(s.g.sql)
	w.counters.RoundTrips++
	if w.dbDown > w.Now() {
		s.err = errReset
		return outcome{result: "down"}, false
	}
	if known, ok := w.recall(o, s.g, f.Kind); ok {
		w.counters.Remembered++
		s.answer = append(s.answer[:0], known.bytes...)
		return known.outcome, false
	}
	sc, err := s.borrow()
	if err != nil {
		return s.broken(err)
	}
	r, err := sc.exec(s.g, w.databaseTime(), f.Kind, w.cfg.Backend.lockCheck(sc))
	if err != nil {
		return s.broken(err)
	}
	if r.blocked {
		s.waiting = sc
		return outcome{}, true
	}
	return s.performed(o, sc, r), false
}

// broken ends the run: the real database is gone, and nothing simulated may look like it.
func (s *statementSeam) broken(err error) (outcome, bool) {
	s.c.w.failBackend(err)
	s.err = errReset
	return outcome{result: "lost"}, false
}

// performed takes the server's answer over.
func (s *statementSeam) performed(o *op, sc *serverConn, r reply) outcome {
	s.answer = append(s.answer[:0], r.bytes...)
	s.keep(sc)
	out := outcome{r.result(), r.rows}
	if serverFailed(r.state) {
		s.c.w.failBackend(errors.New("SQLSTATE " + r.state))
	}
	s.c.w.learn(o, s.g, out, s.answer)
	return out
}

// borrow returns the server connection of the open transaction, or a free one.
func (s *statementSeam) borrow() (*serverConn, error) {
	switch {
	case s.detached && s.server != nil:
		return s.server, nil
	case !s.detached && s.c.server != nil:
		return s.c.server, nil
	}
	return s.c.w.cfg.Backend.borrow()
}

// keep decides where the server connection goes after a group: it stays while a transaction is
// open or the session has been changed, else it is free for anyone.
func (s *statementSeam) keep(sc *serverConn) {
	c := s.c
	owned := s.g.session || (s.detached && s.owned) || (!s.detached && c.owned)
	stays := sc.status != 'I' || owned
	if !stays {
		c.w.cfg.Backend.giveBack(sc)
		sc = nil
	}
	if s.detached {
		s.server, s.owned = sc, owned
		return
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.server, c.owned = sc, owned
	c.status, c.prior = 'I', digestStart
	if sc != nil && sc.status != 'I' {
		c.status, c.prior = sc.status, c.prior.add(s.g.canon)
	}
}

func (s *statementSeam) deliver(o *op) {
	if s.err != nil {
		s.abandon(o, false)
		s.fail(o, s.err)
		return
	}
	c := s.c
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.reply(s.answer)
	c.next()
}

func (s *statementSeam) fail(_ *op, err error) {
	c := s.c
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if isTimeout(err) {
		c.timedOut = true
	} else {
		c.err = err
	}
	c.queue = nil
	c.wakeReader()
}

func (s *statementSeam) abandon(o *op, late bool) {
	c := s.c
	if s.waiting != nil && !late {
		s.cancel(o)
	}
	switch {
	case late && !s.detached:
		s.detached, s.server, s.owned = true, c.server, c.owned
		c.server, c.owned = nil, false
	case s.detached && !late:
		c.w.cfg.Backend.release(s.server, s.owned)
		s.server = nil
	case !late:
		c.release()
	}
}

// cancel ends a statement that waits for a lock, as a cancel request does.
func (s *statementSeam) cancel(o *op) {
	sc := s.waiting
	s.waiting = nil
	r, err := s.c.w.cfg.Backend.cancel(sc)
	if err != nil {
		s.broken(err)
		return
	}
	s.performed(o, sc, r)
}

// release frees the server connection; an open transaction is rolled back. Driver.
func (c *conn) release() {
	if c.server != nil {
		c.w.cfg.Backend.release(c.server, c.owned)
		c.server, c.owned = nil, false
	}
}

// prepare answers a preparing group of which something was not on record.
func (s *statementSeam) prepare() {
	b := s.c.w.cfg.Backend
	sc, err := s.borrow()
	if err != nil {
		s.broken(err)
		return
	}
	for i, step := range s.g.steps {
		t := s.g.targets[i]
		if step != 'P' || b.statements.description(t.st) != nil {
			continue
		}
		failure, err := sc.prepare(t, &b.statements)
		if err != nil {
			s.broken(err)
			return
		}
		if failure != nil {
			s.answer = appendReady(failure, sc.status)
			break
		}
	}
	if s.answer == nil {
		s.answer = s.g.recorded(&b.statements, sc.status)
	}
	s.keepPrepared(sc)
}

// keepPrepared is keep without a group that executed: the transaction's history is unchanged,
// but a failed preparation fails the transaction.
func (s *statementSeam) keepPrepared(sc *serverConn) {
	c := s.c
	if c.server == nil {
		c.w.cfg.Backend.giveBack(sc)
		return
	}
	c.w.mu.Lock()
	c.status = sc.status
	c.w.mu.Unlock()
}

// endConns does what the deadlines and closings of connections lead to.
func (w *World) endConns(expired, closed []*conn) {
	w.mu.Lock()
	for _, c := range expired {
		switch {
		case !c.wantsOut:
		case len(c.queue) > 0:
			c.queue[0].cancelled = errTimeout{}
		default:
			c.timedOut = true
			c.wakeReader()
		}
	}
	var left []*op
	for _, c := range closed {
		delete(w.conns, c)
		left = append(left, c.queue...)
	}
	w.mu.Unlock()
	sortOps(left)
	for _, o := range left {
		if o.state != opDone {
			w.giveUp(o, errReset)
		}
	}
	for _, c := range closed {
		c.release()
	}
}

// releaseConns breaks all connections of a dead incarnation.
func (w *World) releaseConns(in *Incarnation) {
	for _, c := range w.connections() {
		if c.in != in {
			continue
		}
		w.mu.Lock()
		c.err, c.queue = errReset, nil
		c.wakeReader()
		delete(w.conns, c)
		w.mu.Unlock()
		c.release()
	}
}

// resetTransactions breaks the connections whose transactions a database restart has lost.
func (w *World) resetTransactions() {
	for _, c := range w.connections() {
		if c.server == nil {
			continue
		}
		w.mu.Lock()
		c.err = errReset
		c.wakeReader()
		w.mu.Unlock()
		c.release()
	}
}

// connections returns the open connections, in no order that may matter.
func (w *World) connections() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*conn, 0, len(w.conns))
	for c := range w.conns {
		all = append(all, c)
	}
	return all
}
