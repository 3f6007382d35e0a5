package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// serverConn is a connection to the real server. It reads and writes its socket with blocking
// system calls on the driver's own thread: cheaper than parking in the runtime's poller, and no
// durable block, so virtual time stands still meanwhile.
type serverConn struct {
	file     *os.File
	fd       int
	pid      uint32
	status   byte
	stmts    map[string]*statement // prepared here, by name; nil: perhaps
	greeting []byte
	pending  pending
	stopped  bool // by SIGSTOP, while it waits for a lock
	waiting  bool // for a lock

	out        []byte
	in         []byte
	start, end int // of what was read and not yet used
}

// Names and texts of the statements that set the clock.
const (
	clockTransaction = "sim_clock_transaction"
	clockStatement   = "sim_clock_statement"
)

const readBuffer = 64 << 10

// newServerConn takes the socket out of a connected pgconn.
func newServerConn(h *pgconn.HijackedConn) (*serverConn, error) {
	filer, ok := h.Conn.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, errors.New("backend dial: TLS connections are not supported")
	}
	file, err := filer.File()
	if err != nil {
		return nil, fmt.Errorf("backend dial: %w", err)
	}
	h.Conn.Close()
	sc := &serverConn{file: file, fd: int(file.Fd()), pid: h.PID, status: h.TxStatus,
		stmts: map[string]*statement{}, greeting: greeting(h), in: make([]byte, readBuffer)}
	if err := syscall.SetNonblock(sc.fd, false); err != nil {
		return nil, fmt.Errorf("backend dial: %w", err)
	}
	// Deadlocks are the driver's; a server that does not allow this decides them itself.
	_ = sc.simple("set deadlock_timeout = '10d'")
	return sc, sc.prepareClock()
}

// greeting is what a server says to a client it has authenticated, with a fixed process id.
func greeting(h *pgconn.HijackedConn) []byte {
	b, at := beginMessage(nil, 'R')
	b = endMessage(append(b, 0, 0, 0, 0), at)
	for _, name := range slices.Sorted(maps.Keys(h.ParameterStatuses)) {
		b = appendMessage(b, 'S', name, "\x00", h.ParameterStatuses[name], "\x00")
	}
	b = appendMessage(b, 'K', "\x00\x00\x00\x01", "\x00\x00\x00\x01")
	return appendReady(b, 'I')
}

func (sc *serverConn) close() {
	sc.wake()
	sc.send(appendMessage(nil, 'X'))
	sc.file.Close()
}

// prepareClock prepares the statements that set the session's clock.
func (sc *serverConn) prepareClock() error {
	b := appendParse(nil, clockTransaction,
		"select set_config('sim_clock.now', $1, false)\x00\x00\x00")
	b = appendParse(b, clockStatement,
		"select set_config('sim_clock.statement', $1, true)\x00\x00\x00")
	if err := sc.send(appendSync(b)); err != nil {
		return err
	}
	r, err := sc.receive(1, nil)
	if err == nil && r.state != "" {
		err = fmt.Errorf("backend dial: SQLSTATE %s", r.state)
	}
	return err
}

func (sc *serverConn) send(b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(sc.fd, b)
		if err != nil && err != syscall.EINTR {
			return fmt.Errorf("backend write: %w", err)
		}
		b = b[max(n, 0):]
	}
	return nil
}

// fill reads more bytes, making room for the message that has begun.
func (sc *serverConn) fill() error {
	if sc.start == sc.end {
		sc.start, sc.end = 0, 0
	}
	have := sc.in[sc.start:sc.end]
	need := readBuffer
	if len(have) >= headerSize {
		need = 1 + int(binary.BigEndian.Uint32(have[1:]))
	}
	if sc.start > 0 && len(sc.in)-sc.start < need || sc.end == len(sc.in) {
		if len(sc.in) < need {
			sc.in = make([]byte, need+readBuffer)
		}
		sc.start, sc.end = 0, copy(sc.in, have)
	}
	return sc.read()
}

// read reads what the socket has, at least one byte.
func (sc *serverConn) read() error {
	for {
		n, err := syscall.Read(sc.fd, sc.in[sc.end:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("backend read: %w", err)
		case n <= 0:
			return errors.New("backend read: the server closed the connection")
		}
		sc.end += n
		return nil
	}
}

// reply is a server's answer to one group.
type reply struct {
	bytes   []byte // all messages for the client; valid until the connection's next use
	tag     string // of the last command
	state   string // SQLSTATE of an error
	rows    digest
	blocked bool
}

func (r *reply) result() string {
	if r.state != "" {
		return r.state
	}
	return r.tag
}

// pending is an answer that is being received.
type pending struct {
	readies int                   // how many ReadyForQuery are still to come
	pass    func(msg []byte) bool // whether a message belongs to the answer; nil: none does
	r       reply
}

// receive reads messages up to the readies-th ReadyForQuery; see pending.
func (sc *serverConn) receive(readies int, pass func(msg []byte) bool) (reply, error) {
	sc.expect(readies, pass)
	return sc.advance(nil)
}

func (sc *serverConn) expect(readies int, pass func(msg []byte) bool) {
	sc.pending = pending{readies, pass, reply{rows: digestStart, bytes: sc.out[:0]}}
}

// advance goes on receiving what was expected. While the server is silent it asks blocked, where
// that is set, whether the statement waits for a lock; the reply is then marked so, and advance
// can be called again.
func (sc *serverConn) advance(blocked func() (bool, error)) (reply, error) {
	p := &sc.pending
	for p.readies > 0 {
		msg, _, ok := nextMessage(sc.in[sc.start:sc.end])
		if !ok {
			if waits, err := sc.silent(blocked); waits || err != nil {
				return reply{blocked: waits}, err
			}
			if err := sc.fill(); err != nil {
				return reply{}, err
			}
			continue
		}
		sc.start += len(msg)
		if err := p.take(sc, msg); err != nil {
			return reply{}, err
		}
	}
	sc.out = p.r.bytes
	return p.r, nil
}

// take takes one message of the answer.
func (p *pending) take(sc *serverConn, msg []byte) error {
	if msg[0] == 'Z' {
		p.readies--
		sc.status = msg[headerSize]
	}
	if p.pass != nil && !p.pass(msg) {
		return nil
	}
	p.r.bytes = append(p.r.bytes, msg...)
	return p.r.note(msg)
}

// note takes what a message tells into the digests.
func (r *reply) note(msg []byte) error {
	body := msg[headerSize:]
	switch msg[0] {
	case 'D':
		r.rows = r.rows.bytes(body)
	case 'C':
		tag, _, _ := cString(body)
		if r.tag != "" {
			r.rows = r.rows.string(r.tag)
		}
		r.tag = tag
	case 'E':
		var e pgproto3.ErrorResponse
		if err := e.Decode(body); err != nil {
			return fmt.Errorf("backend read: %w", err)
		}
		r.state = e.Code
	}
	return nil
}

// simple runs a simple query whose answer nobody needs.
func (sc *serverConn) simple(sql string) error {
	_, err := sc.query(sql)
	return err
}

// query runs a simple query and returns the first column of its rows.
func (sc *serverConn) query(sql string) (column []string, err error) {
	if err := sc.send(appendQuery(nil, sql)); err != nil {
		return nil, err
	}
	r, err := sc.receive(1, func(msg []byte) bool {
		if msg[0] == 'D' {
			column = append(column, string(msg[headerSize+6:]))
		}
		return msg[0] == 'E'
	})
	if err == nil && r.state != "" {
		err = fmt.Errorf("%s: SQLSTATE %s", sql, r.state)
	}
	return column, err
}
