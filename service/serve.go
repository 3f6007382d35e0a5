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

// Serve answers requests on the listener, which it closes, until ctx ends. Then it finishes the
// requests under way, for no longer than the drain timeout, and returns nil when all were.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	server := newServer(s.handler)
	failed := make(chan error, 1)
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() { failed <- server.Serve(listener) })
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.log.Info("draining", "timeout", s.drainTimeout.String())
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainTimeout)
	defer cancel()
	err := server.Shutdown(drain)
	if err != nil {
		err = fmt.Errorf("finish requests: %w", errors.Join(err, server.Close()))
	}
	return err
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
