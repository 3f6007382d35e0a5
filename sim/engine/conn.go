package engine

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// conn is a virtual connection to the database. Writes are cut into message groups, of which
// those that execute something become operations; reads park on a channel of the bubble. It
// borrows a server connection for each group, and keeps it while a transaction is open.
type conn struct {
	w  *World
	in *Incarnation

	// Guarded by w.mu.
	input    []byte
	started  bool
	building *group
	spare    []byte // for the messages of the next group
	stmts    map[string]*statement
	queue    []*op // groups written; the first is the one that waits
	output   []byte
	eof      bool
	err      error // of every further read and write
	timedOut bool  // the deadline has passed, and the driver has said so
	shut     bool
	readable chan struct{}
	deadline time.Time // of the context of the statement being sent
	status   byte
	wantsOut bool // the context of the statement has ended

	// Driver only.
	server *serverConn
	owned  bool // server is for this connection alone
	prior  digest
}

// DialFunc returns a function for pgconn's Config.DialFunc that connects to the simulated
// database. pool names the pool in messages; it is no part of any operation's content, since
// which connection carries a statement is a race. Prefer [Incarnation.ConfigurePool].
func (in *Incarnation) DialFunc(pool string) func(context.Context, string, string) (net.Conn,
	error) {
	return func(context.Context, string, string) (net.Conn, error) {
		w := in.proc.w
		if w.cfg.Backend == nil {
			return nil, &net.OpError{Op: "dial", Net: "sim", Err: errNoBackend}
		}
		if !in.alive() {
			return nil, errRefused
		}
		c := &conn{w: w, in: in, readable: make(chan struct{}, 1), status: 'I',
			stmts: map[string]*statement{}, prior: digestStart}
		w.mu.Lock()
		w.conns[c] = struct{}{}
		w.mu.Unlock()
		return c, nil
	}
}

func (c *conn) Read(b []byte) (int, error) {
	for {
		if n, err := c.tryRead(b); n > 0 || err != nil {
			return n, err
		}
		<-c.readable
	}
}

func (c *conn) tryRead(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch {
	case c.shut:
		return 0, net.ErrClosed
	case len(c.output) > 0:
		n := copy(b, c.output)
		c.output = c.output[n:]
		return n, nil
	case c.err != nil:
		return 0, c.err
	case c.eof:
		return 0, io.EOF
	case c.timedOut:
		return 0, errTimeout{}
	}
	return 0, nil
}

// wakeReader is called with w.mu held.
func (c *conn) wakeReader() {
	select {
	case c.readable <- struct{}{}:
	default:
	}
}

func (c *conn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch {
	case c.shut:
		return 0, net.ErrClosed
	case c.err != nil:
		return 0, &net.OpError{Op: "write", Net: "sim", Err: c.err}
	case !c.in.alive():
		return 0, errReset
	}
	c.input = append(c.input, b...)
	if err := c.consume(); err != nil {
		c.err = err
		return 0, err
	}
	return len(b), nil
}

// consume takes complete messages off the input.
func (c *conn) consume() error {
	for !c.started {
		if len(c.input) < 8 || len(c.input) < int(binary.BigEndian.Uint32(c.input)) {
			return nil
		}
		c.startup(int(binary.BigEndian.Uint32(c.input[4:])))
		c.input = c.input[binary.BigEndian.Uint32(c.input):]
	}
	left := c.input
	for {
		msg, rest, ok := nextMessage(left)
		if !ok {
			c.input = c.input[:copy(c.input, left)] // groups hold copies of what they need
			return nil
		}
		if err := c.message(msg); err != nil {
			return err
		}
		left = rest
	}
}

// startup answers the untyped messages that begin a connection.
func (c *conn) startup(code int) {
	switch code {
	case codeTLS, codeGSS:
		c.reply([]byte{'N'})
	case codeCancel:
		c.started, c.eof = true, true
		c.wakeReader()
	default:
		c.started = true
		c.reply(c.w.cfg.Backend.greeting)
	}
}

// message takes one typed message.
func (c *conn) message(msg []byte) error {
	switch msg[0] {
	case 'X':
		c.eof = true
		c.wakeReader()
		return nil
	case 'H':
		c.eof = true
		c.reply(appendError(nil, "FATAL", "0A000", "the simulation does not support Flush"))
		return nil
	case 'd', 'c', 'f': // the rest of a COPY that was refused
		return nil
	}
	if c.building == nil {
		c.building = &group{raw: c.spare}
		c.spare = nil
	}
	g := c.building
	if err := g.add(msg, c.stmts, &c.w.cfg.Backend.statements); err != nil {
		return err
	}
	if msg[0] == 'S' || msg[0] == 'Q' {
		c.building = nil
		c.send(g)
	}
	return nil
}

// send answers a complete group at once where that is no choice, else makes it an operation.
func (c *conn) send(g *group) {
	o := &op{in: c.in, canon: g.canon, seam: &statementSeam{c: c, g: g}, deadline: c.deadline,
		Operation: Operation{Kind: Statement, Process: c.in.name, Party: Database, Name: g.name(),
			SQL: g.sql}}
	if len(c.queue) == 0 && c.sendAtOnce(o, g) {
		c.spare = g.raw[:0]
		return
	}
	c.queue = append(c.queue, o)
	if len(c.queue) == 1 {
		c.submit(o)
	}
}

// sendAtOnce answers pings and what is on record, and queues other preparations for the driver.
func (c *conn) sendAtOnce(o *op, g *group) bool {
	if g.refused != nil {
		c.reply(appendReady(g.refused, c.status))
		return true
	}
	if g.isPing() {
		c.reply(appendReady([]byte{'I', 0, 0, 0, 4}, c.status))
		return true
	}
	if g.executes {
		return false
	}
	if answer := g.recorded(&c.w.cfg.Backend.statements, c.status); answer != nil {
		c.reply(answer)
		return true
	}
	return false
}

// submit hands the first group of the queue to the driver. w.mu is held.
func (c *conn) submit(o *op) {
	o.args = digestStart.bytes(o.canon)
	o.prior = c.prior
	o.InTransaction = c.status != 'I'
	if g := o.seam.(*statementSeam).g; g.executes {
		c.w.ops = append(c.w.ops, o)
	} else {
		o.canon = g.raw
		c.w.prepares = append(c.w.prepares, o)
	}
	c.w.kick()
}

// next takes the finished first group off the queue and submits the one behind it.
func (c *conn) next() {
	if len(c.queue) > 0 {
		c.queue = c.queue[1:]
	}
	for len(c.queue) > 0 {
		o := c.queue[0]
		if !c.sendAtOnce(o, o.seam.(*statementSeam).g) {
			c.submit(o)
			return
		}
		c.queue = c.queue[1:]
	}
}

func (c *conn) reply(b []byte) {
	c.output = append(c.output, b...)
	c.wakeReader()
}

func (c *conn) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.shut {
		return net.ErrClosed
	}
	c.shut = true
	c.wakeReader()
	c.w.closed = append(c.w.closed, c)
	c.w.kick()
	return nil
}

type simAddr string

func (simAddr) Network() string  { return "sim" }
func (a simAddr) String() string { return string(a) }

func (c *conn) LocalAddr() net.Addr  { return simAddr(c.in.name) }
func (c *conn) RemoteAddr() net.Addr { return simAddr(Database) }

// SetDeadline with a passed time is how pgx says that a context has ended. The driver then ends
// the wait when its turn comes. Future deadlines are pgx's bounds on closing a connection, which
// is never slow here.
func (c *conn) SetDeadline(t time.Time) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if t.IsZero() || t.After(time.Now()) {
		c.timedOut, c.wantsOut = false, false
		return nil
	}
	c.wantsOut = true
	c.w.expired = append(c.w.expired, c)
	c.w.kick()
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }
