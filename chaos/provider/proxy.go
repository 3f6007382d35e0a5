// Package provider puts a reverse proxy between one process of the service and one provider. It
// witnesses every request that leaves the process, and lets its owner act at three points:
//
//	process            proxy                     provider
//	   │ POST /v1/charges │                          │
//	   │ ───────────────> │ BeforeEffect             │
//	   │                  │ ───────────────────────> │ takes money
//	   │                  │ <─────────────────────── │
//	   │                  │ BeforeAnswer             │
//	   │ <─────────────── │                          │
//	   │                  │ AfterAnswer              │
//
// The owner's Hook is called at each point in the goroutine of the call, which waits for it, and
// decides whether the call goes on or its connection is cut. A request that has passed
// BeforeEffect reaches the provider even if the process dies meanwhile.
//
// The whole link can be taken down at any time: open connections are reset and new ones refused,
// so that a dial fails before a byte has left. SetDelay slows every call.
package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ordeal/scenarios/evidence"
)

// Point is an instant in the life of a call.
type Point int

// The points.
const (
	// BeforeEffect: the request has left the process, the provider has not got it.
	BeforeEffect Point = iota + 1
	// BeforeAnswer: the provider has answered, the process has not learnt so.
	BeforeAnswer
	// AfterAnswer: the process's network has the answer.
	AfterAnswer
)

// Moment is a call at a point.
type Moment struct {
	// Operation is what the call asks for, in the words of package evidence.
	Operation string
	Point     Point
	Order     string
	Step      int
	Attempt   int
	// Body is the request.
	Body []byte
}

// Fate is what becomes of a call.
type Fate int

// The fates.
const (
	// Pass lets the call, or its answer, go on.
	Pass Fate = iota
	// Cut resets the connection of the call.
	Cut
)

// Hook decides about a call at a point. Only that call waits for it.
type Hook func(Moment) Fate

// Config says between whom a proxy stands.
type Config struct {
	// Process and Incarnation name the process in the calls that are witnessed.
	Process     string
	Incarnation int
	// Party is the provider, in the words of package evidence, and URL its address.
	Party string
	URL   string
	// Hook is called at every point of every call; nil lets everything pass.
	Hook Hook
}

const (
	// forwardBound limits a call to the provider: the process gives up after 3 s.
	forwardBound = 8 * time.Second
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 4 << 20
	// reopenBound limits how long a link that comes up again may fight for its port.
	reopenBound = 5 * time.Second
)

// Proxy stands between one process and one provider. Its methods may be called concurrently.
type Proxy struct {
	config Config
	url    string
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup // servers, and calls under way

	mu     sync.Mutex
	server *http.Server // nil while the link is down
	delay  time.Duration
	calls  []evidence.Call
}

// Listen starts a proxy on a free port of the loopback address. Close ends it.
func Listen(c Config) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", c.Party, err)
	}
	if c.Hook == nil {
		c.Hook = func(Moment) Fate { return Pass }
	}
	p := &Proxy{
		config: c,
		url:    "http://" + listener.Addr().String(),
		client: &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.serve(listener)
	return p, nil
}

// URL is the base URL that the process is given.
func (p *Proxy) URL() string { return p.url }

// serve takes calls from a listener until the server is closed.
func (p *Proxy) serve(listener net.Listener) {
	server := &http.Server{Handler: p, ReadHeaderTimeout: forwardBound}
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	p.work.Go(func() { _ = server.Serve(listener) })
}

// Down takes the link down until Up: connections are reset, dials refused.
func (p *Proxy) Down() {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server != nil {
		_ = server.Close()
	}
}

// Up restores the link at the same address; it does nothing where the link is up.
func (p *Proxy) Up() error {
	p.mu.Lock()
	up := p.server != nil
	p.mu.Unlock()
	if up || p.ctx.Err() != nil {
		return nil
	}
	deadline := time.Now().Add(reopenBound)
	for {
		listener, err := net.Listen("tcp", p.url[len("http://"):])
		if err == nil {
			p.serve(listener)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("proxy of %s comes up again: %w", p.config.Party, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// SetDelay lets every call wait before it reaches the provider; zero means no longer.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Calls are the calls that were witnessed so far, in the order in which they left.
func (p *Proxy) Calls() []evidence.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]evidence.Call{}, p.calls...)
}

// Close cuts everything and waits until nothing of the proxy runs, hooks included.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.Down()
	p.work.Wait()
	p.client.CloseIdleConnections()
}

// ServeHTTP carries one call.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		cut(w)
		return
	}
	defer p.work.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n, m := p.left(r, body)
	if p.config.Hook(m) == Cut || !p.wait() {
		p.update(n, func(c *evidence.Call) { c.Reply = evidence.ReplyReset })
		cut(w)
		return
	}
	answer, err := p.forward(r, body)
	m.Point = BeforeAnswer
	if p.config.Hook(m) == Cut || err != nil {
		p.update(n, func(c *evidence.Call) { c.Reply = evidence.ReplyReset })
		cut(w)
		return
	}
	// What was written may be read at once, so the witness speaks first.
	p.update(n, func(c *evidence.Call) { answer.note(c) })
	if answer.write(w) != nil || r.Context().Err() != nil {
		p.update(n, func(c *evidence.Call) {
			c.Reply, c.Answer, c.Status, c.AnsweredAt =
				evidence.ReplyNone, evidence.Answer{}, 0, time.Time{}
		})
		return
	}
	m.Point = AfterAnswer
	if p.config.Hook(m) == Cut {
		cut(w)
	}
}

// enter counts a call in, unless the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.work.Add(1)
	return true
}

// left notes that a request has left the process.
func (p *Proxy) left(r *http.Request, body []byte) (n int, m Moment) {
	step, _ := strconv.Atoi(r.Header.Get("Ordeal-Step"))
	attempt, _ := strconv.Atoi(r.Header.Get("Ordeal-Attempt"))
	c := evidence.Call{
		Process:     p.config.Process,
		Incarnation: p.config.Incarnation,
		Party:       p.config.Party,
		Method:      r.Method,
		Path:        r.URL.Path,
		Operation:   evidence.OperationOf(p.config.Party, r.Method, r.URL.Path),
		Key:         r.Header.Get("Idempotency-Key"),
		Order:       r.Header.Get("Ordeal-Order-Id"),
		Step:        step,
		Attempt:     attempt,
		At:          now(),
		Reply:       evidence.ReplyNone,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	return len(p.calls) - 1, Moment{
		Operation: c.Operation,
		Point:     BeforeEffect,
		Order:     c.Order,
		Step:      step,
		Attempt:   attempt,
		Body:      body,
	}
}

// now is the time with the precision of the database.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (p *Proxy) update(n int, change func(*evidence.Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.calls[n])
}

// wait lets the delay pass, and reports whether the proxy still works then.
func (p *Proxy) wait() bool {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay == 0 {
		return p.ctx.Err() == nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// forward makes the call. It does not end with the process's connection: what has left arrives.
func (p *Proxy) forward(r *http.Request, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(p.ctx, forwardBound)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, p.config.URL+r.URL.RequestURI(),
		io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return answer{}, err
	}
	request.Header = r.Header.Clone()
	request.ContentLength = int64(len(body))
	response, err := p.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, text}, nil
}

// cut resets the connection of a call.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if errors.Is(err, http.ErrNotSupported) {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		return // it is cut already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
