package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"
)

// Config says between whom a proxy stands.
type Config struct {
	// Network and Address are the server's, such as "unix" and "/run/x/.s.PGSQL.5432".
	Network, Address string
	// Hook is called at every point of every named statement; nil lets everything pass.
	Hook Hook
}

// Link is the state of the whole way between client and server.
type Link int

// The states of a link.
const (
	// Up lets everything pass.
	Up Link = iota
	// Down resets all connections, and new ones as they come.
	Down
	// Silent keeps connections open, accepts new ones, and lets nothing pass.
	Silent
)

// Proxy stands between one process and its server. Its methods may be called concurrently.
type Proxy struct {
	config   Config
	listener net.Listener
	work     sync.WaitGroup
	ctx      context.Context
	stop     context.CancelFunc

	mu       sync.Mutex
	link     Link
	changed  chan struct{} // closed at the next change of link
	delay    time.Duration
	rate     int
	counts   map[string]int
	sessions map[*session]bool
}

// Listen starts a proxy on a free port of the loopback address. Close ends it.
func Listen(c Config) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire proxy: %w", err)
	}
	if c.Hook == nil {
		c.Hook = func(Moment) Fate { return Pass }
	}
	p := &Proxy{
		config:   c,
		listener: listener,
		changed:  make(chan struct{}),
		counts:   map[string]int{},
		sessions: map[*session]bool{},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.work.Go(p.accept)
	return p, nil
}

// Port is the TCP port of 127.0.0.1 on which the proxy takes connections.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Counts tells how often each named statement was sent.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// SetLink changes the state of the link.
func (p *Proxy) SetLink(l Link) {
	p.mu.Lock()
	p.link = l
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if l == Down {
		p.cutAll()
	}
}

// SetDelay lets everything that passes wait; zero means no longer.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// SetRate limits each connection and direction to so many bytes a second; zero is no limit.
func (p *Proxy) SetRate(bytesPerSecond int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = bytesPerSecond
}

// Close cuts all connections and waits until nothing of the proxy runs, hooks included.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.cutAll()
	p.work.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("wire proxy: %w", err)
	}
	return nil
}

func (p *Proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sessions {
		s.cut()
	}
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(conn) })
	}
}

// serve carries one connection to its end.
func (p *Proxy) serve(client net.Conn) {
	s := newSession(p, client)
	if !p.enter(s) {
		s.cut()
		return
	}
	defer p.leave(s)
	s.run()
}

// enter admits a session unless the link is down.
func (p *Proxy) enter(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == Down || p.ctx.Err() != nil {
		return false
	}
	p.sessions[s] = true
	return true
}

func (p *Proxy) leave(s *session) {
	s.cut()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

// counted numbers a statement that is about to be sent.
func (p *Proxy) counted(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[name]++
	return p.counts[name]
}

// passage waits until n bytes may pass, and reports whether they may at all.
func (p *Proxy) passage(ctx context.Context, n int) bool {
	for {
		p.mu.Lock()
		link, changed, delay, rate := p.link, p.changed, p.delay, p.rate
		p.mu.Unlock()
		if link != Silent {
			if rate > 0 {
				delay += time.Duration(float64(n) / float64(rate) * float64(time.Second))
			}
			return wait(ctx, delay)
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// wait reports whether the time passed before the context ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
