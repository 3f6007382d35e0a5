package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of the HTTP server: a slow or greedy client is cut, not served.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// Serve answers requests on the listener, which it closes, until ctx ends. From then on the process
// is not ready; after the shutdown delay it finishes the requests under way, for no longer than
// the drain timeout, and returns nil when all were.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	return s.serve(ctx, listener, newServer(s.handler), s.shutdownDelay)
}

// profileTime is how long an answer of the admin listener may take: a profile lasts a while.
const profileTime = 3 * time.Minute

// ServeAdmin answers on the admin listener, which it closes, until ctx ends: metrics, profiles and
// health. It should outlast Serve and Run, so that a stop can be watched. Without telemetry there
// is nothing to serve.
func (s *Service) ServeAdmin(ctx context.Context, listener net.Listener) error {
	server := newServer(s.admin)
	server.WriteTimeout = profileTime
	return s.serve(ctx, listener, server, 0)
}

// serve runs a server until ctx ends, and then for the delay.
func (s *Service) serve(
	ctx context.Context, listener net.Listener, server *http.Server, delay time.Duration,
) error {
	failed := make(chan error, 1)
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() { failed <- server.Serve(listener) })
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.log.Info("draining", "address", listener.Addr().String(), "delay", delay.String(),
		"timeout", s.drainTimeout.String())
	if err := s.linger(delay, failed); err != nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainTimeout)
	defer cancel()
	err := server.Shutdown(drain)
	if err != nil {
		err = fmt.Errorf("finish requests: %w", errors.Join(err, server.Close()))
	}
	return err
}

// linger waits, unless the server fails meanwhile.
func (s *Service) linger(delay time.Duration, failed <-chan error) error {
	if delay <= 0 {
		return nil
	}
	timer := s.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case err := <-failed:
		return err
	case <-timer.Chan():
		return nil
	}
}

// ServeAndRun serves and drives orders side by side until ctx ends, and then drains both. The
// failure of either ends both.
func (s *Service) ServeAndRun(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var served error
	var serving sync.WaitGroup
	serving.Go(func() {
		defer stop()
		served = s.Serve(ctx, listener)
	})
	err := s.Run(ctx)
	stop()
	serving.Wait()
	return errors.Join(err, served)
}
