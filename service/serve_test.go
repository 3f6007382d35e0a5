package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// site is a handler that is served.
type site struct {
	*testing.T
	url    string
	stop   context.CancelFunc
	ended  chan error
	client *http.Client
}

// open serves a handler with a drain timeout.
func open(t *testing.T, drain time.Duration, h http.HandlerFunc) *site {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s := &site{T: t, stop: stop, ended: make(chan error, 1),
		client: &http.Client{Transport: transport}}
	listener := listen(t)
	s.url = "http://" + listener.Addr().String()
	service := &Service{handler: h, drainTimeout: drain, log: slog.New(slog.DiscardHandler)}
	go func() { s.ended <- service.Serve(ctx, listener) }()
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// get sends a request and returns the body.
func (s *site) get() (string, error) {
	response, err := s.client.Get(s.url)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// TestServeFinishes: a request under way at the stop is answered, and no new one is.
func TestServeFinishes(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	s := open(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-release
		_, _ = w.Write([]byte("done"))
	})
	answered := make(chan string, 1)
	go func() {
		body, err := s.get()
		answered <- body
		if err != nil {
			t.Error(err)
		}
	}()
	<-reached
	s.stop()
	for refused := false; !refused; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp", s.url[len("http://"):])
		if refused = err != nil; !refused {
			_ = conn.Close()
		}
	}
	close(release)
	if body := <-answered; body != "done" {
		t.Errorf("answer %q", body)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("end: %v", err)
	}
}

// TestServeCuts: a request that outlasts the drain timeout is cut, and the stop says so.
func TestServeCuts(t *testing.T) {
	reached := make(chan struct{})
	s := open(t, 50*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	cut := make(chan error, 1)
	go func() {
		_, err := s.get()
		cut <- err
	}()
	<-reached
	s.stop()
	if err := <-s.ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("end: %v", err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
}

// TestListenerFails: the end of the listener is an error, and ends the executor too.
func TestListenerFails(t *testing.T) {
	config, err := PoolConfig("postgres://nobody@127.0.0.1:1/none", "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const nowhere = "http://127.0.0.1:1"
	s, err := New(Config{Name: "test", Warehouse: nowhere, Payment: nowhere, Shipping: nowhere},
		Production(Pools{Work: pool, Leases: pool}, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	listener := listen(t)
	_ = listener.Close()
	if err := s.ServeAndRun(t.Context(), listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("end: %v", err)
	}
}
