package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// dialBound limits how long the server may take to accept a connection.
const dialBound = 5 * time.Second

// maxMessage bounds a message in bytes.
const maxMessage = 64 << 20

// session is one client's connection with its counterpart at the server.
type session struct {
	proxy *Proxy
	ctx   context.Context // ends when the session is cut
	end   context.CancelFunc

	client, server net.Conn
	backend        *pgproto3.Backend  // speaks to the client
	frontend       *pgproto3.Frontend // speaks to the server

	mu    sync.Mutex // guards server and queue
	queue []*batch   // sent, and not answered yet

	// statements and portals belong to the goroutine that reads from the client.
	statements map[string]string
	portals    map[string]*execution
}

// batch is what one Sync or Query ends.
type batch struct {
	executions []*execution
	// synced says that the batch is complete, so that its answers can be held back.
	synced bool
	// answered counts the executions whose answer is complete.
	answered int
}

// execution is one statement of a batch; unnamed ones are counted along.
type execution struct{ moment Moment }

func newSession(p *Proxy, client net.Conn) *session {
	s := &session{
		proxy:      p,
		client:     client,
		statements: map[string]string{},
		portals:    map[string]*execution{},
	}
	s.ctx, s.end = context.WithCancel(p.ctx)
	return s
}

// cut ends the session at once, from whatever goroutine.
func (s *session) cut() {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	reset(s.client)
	if s.server != nil {
		_ = s.server.Close()
	}
}

// reset closes a connection so that its peer notices at once.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// run carries the session until either side ends it.
func (s *session) run() {
	s.backend = pgproto3.NewBackend(s.client, s.client)
	s.backend.SetMaxBodyLen(maxMessage)
	opening, err := s.greet()
	if err != nil || opening == nil {
		return
	}
	if err := s.login(opening); err != nil {
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() {
		defer s.cut()
		s.forward()
	})
	defer pumps.Wait()
	defer s.cut()
	s.answer()
}

// dial opens the connection to the server.
func (s *session) dial() (net.Conn, error) {
	if !s.proxy.passage(s.ctx, 0) {
		return nil, s.ctx.Err()
	}
	d := net.Dialer{Timeout: dialBound}
	conn, err := d.DialContext(s.ctx, s.proxy.config.Network, s.proxy.config.Address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errors.Join(s.ctx.Err(), conn.Close())
	}
	s.server = conn
	return conn, nil
}

// greet reads what opens a connection. It refuses encryption and passes a request to cancel on;
// that is the end of such a connection, and nil is returned.
func (s *session) greet() (*pgproto3.StartupMessage, error) {
	for {
		message, err := s.backend.ReceiveStartupMessage()
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.StartupMessage:
			return m, nil
		case *pgproto3.CancelRequest:
			return nil, s.passCancel(m)
		default: // a request to encrypt, which may be refused and is then followed by another
			if _, err := s.client.Write([]byte{'N'}); err != nil {
				return nil, err
			}
		}
	}
}

func (s *session) passCancel(m *pgproto3.CancelRequest) error {
	server, err := s.dial()
	if err != nil {
		return err
	}
	text, err := m.Encode(nil)
	if err != nil {
		return err
	}
	if _, err := server.Write(text); err != nil {
		return err
	}
	_, err = server.Read(make([]byte, 1)) // the server answers by closing
	return err
}

// login carries the opening until the server is ready for queries. The two sides take turns, so
// one goroutine is enough, and the kind of the password is known before it is read.
func (s *session) login(opening *pgproto3.StartupMessage) error {
	server, err := s.dial()
	if err != nil {
		return err
	}
	s.frontend = pgproto3.NewFrontend(server, server)
	s.frontend.SetMaxBodyLen(maxMessage)
	s.frontend.Send(opening)
	if err := s.frontend.Flush(); err != nil {
		return err
	}
	for {
		message, err := s.frontend.Receive()
		if err != nil {
			return err
		}
		s.backend.Send(message)
		if !s.proxy.passage(s.ctx, 0) {
			return s.ctx.Err()
		}
		if err := s.backend.Flush(); err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.ReadyForQuery:
			return nil
		case *pgproto3.ErrorResponse:
			return errors.New("the server refused the connection: " + m.Code)
		case pgproto3.AuthenticationResponseMessage:
			if err := s.prove(m); err != nil {
				return err
			}
		}
	}
}

// prove passes the client's answer to a question about its identity, where there is one.
func (s *session) prove(question pgproto3.AuthenticationResponseMessage) error {
	switch question.(type) {
	case *pgproto3.AuthenticationOk, *pgproto3.AuthenticationSASLFinal:
		return nil
	}
	if err := s.backend.SetAuthType(s.frontend.GetAuthType()); err != nil {
		return err
	}
	proof, err := s.backend.Receive()
	if err != nil {
		return err
	}
	s.frontend.Send(proof)
	return s.frontend.Flush()
}

// forward carries the client's messages to the server, a batch at a time.
func (s *session) forward() {
	current := &batch{}
	for {
		message, err := s.backend.Receive()
		if err != nil {
			return
		}
		s.note(current, message)
		s.frontend.Send(message)
		switch message.(type) {
		case *pgproto3.Sync, *pgproto3.Query, *pgproto3.FunctionCall:
			current.synced = true
			if !s.send(current) {
				return
			}
			current = &batch{}
		case *pgproto3.Flush, *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail,
			*pgproto3.Terminate:
			if s.frontend.Flush() != nil {
				return
			}
		}
	}
}

// note learns what a message of a batch means.
func (s *session) note(b *batch, message pgproto3.FrontendMessage) {
	switch m := message.(type) {
	case *pgproto3.Parse:
		s.statements[m.Name] = nameOf(m.Query)
	case *pgproto3.Bind:
		e := &execution{Moment{Statement: s.statements[m.PreparedStatement]}}
		if e.moment.Statement != "" {
			e.moment.Parameters = parameters(m)
		}
		s.portals[m.DestinationPortal] = e
	case *pgproto3.Execute:
		if e := s.portals[m.Portal]; e != nil {
			b.executions = append(b.executions, e)
		}
	case *pgproto3.Query:
		b.executions = append(b.executions, &execution{Moment{Statement: nameOf(m.String)}})
	}
}

// parameters copies the values of a Bind, whose memory is reused.
func parameters(m *pgproto3.Bind) []Parameter {
	all := make([]Parameter, len(m.Parameters))
	for i, value := range m.Parameters {
		switch len(m.ParameterFormatCodes) {
		case 0:
		case 1:
			all[i].Format = m.ParameterFormatCodes[0]
		default:
			all[i].Format = m.ParameterFormatCodes[i]
		}
		if value != nil {
			all[i].Value = append([]byte{}, value...)
		}
	}
	return all
}

// send passes a complete batch to the server, and reports whether the session goes on.
func (s *session) send(b *batch) bool {
	for _, e := range b.executions {
		if e.moment.Statement != "" {
			e.moment.Ordinal = s.proxy.counted(e.moment.Statement)
		}
	}
	if !s.tell(b, BeforeForward) || !s.proxy.passage(s.ctx, 0) {
		return false
	}
	s.mu.Lock()
	s.queue = append(s.queue, b)
	s.mu.Unlock()
	return s.frontend.Flush() == nil
}

// tell calls the hook for the named statements of a batch, and reports whether the session goes on.
func (s *session) tell(b *batch, at Point) bool {
	for _, e := range b.executions {
		if e.moment.Statement == "" {
			continue
		}
		e.moment.Point = at
		switch s.proxy.config.Hook(e.moment) {
		case Cut:
			s.cut()
			return false
		case Silence:
			<-s.ctx.Done()
			return false
		}
	}
	return s.ctx.Err() == nil
}

// front is the batch that the server is answering; nil if it speaks unasked.
func (s *session) front() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil
	}
	return s.queue[0]
}

func (s *session) pop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = s.queue[1:]
}

// answer carries the server's messages to the client; those of a batch with named statements
// only when the batch is done.
func (s *session) answer() {
	size := 0
	for {
		message, err := s.frontend.Receive()
		if err != nil {
			return
		}
		b := s.front()
		s.backend.Send(message)
		size += answerSize(message)
		done := false
		switch m := message.(type) {
		case *pgproto3.CommandComplete:
			b.completed(pgconn.NewCommandTag(string(m.CommandTag)).RowsAffected())
		case *pgproto3.EmptyQueryResponse:
			b.completed(0)
		case *pgproto3.ErrorResponse:
			b.failed()
		case *pgproto3.ReadyForQuery:
			done = b != nil
		case *pgproto3.CopyInResponse, *pgproto3.CopyBothResponse:
			b = nil // the client has to speak next
		}
		if b.held() && !done {
			continue
		}
		if done && !s.tell(b, BeforeAnswer) || !s.proxy.passage(s.ctx, size) {
			return
		}
		size = 0
		if s.backend.Flush() != nil {
			return
		}
		if done {
			s.pop()
			if !s.tell(b, AfterAnswer) {
				return
			}
		}
	}
}

// answerSize is about how many bytes a message takes, as far as rates care.
func answerSize(message pgproto3.BackendMessage) int {
	size := 8
	if row, ok := message.(*pgproto3.DataRow); ok {
		for _, value := range row.Values {
			size += 4 + len(value)
		}
	}
	return size
}

// held reports whether answers to the batch wait for its end.
func (b *batch) held() bool {
	if b == nil || !b.synced {
		return false
	}
	for _, e := range b.executions {
		if e.moment.Statement != "" {
			return true
		}
	}
	return false
}

// completed notes the end of a statement.
func (b *batch) completed(rows int64) {
	if b == nil || b.answered == len(b.executions) {
		return
	}
	b.executions[b.answered].moment.Rows = int(rows)
	b.answered++
}

// failed notes that the statement under way failed, and with it the rest of the batch.
func (b *batch) failed() {
	if b == nil {
		return
	}
	for _, e := range b.executions[b.answered:] {
		e.moment.Failed = true
	}
}
