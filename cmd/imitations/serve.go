package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"ordeal/sim/imitation"
)

// shutdownTime is how long a server may take to finish the answers that it is writing.
const shutdownTime = 5 * time.Second

// handler is an imitation as this command needs it.
type handler interface {
	http.Handler
	Close()
}

// site is one imitation with its address.
type site struct {
	name     string
	address  string
	handler  handler
	listener net.Listener
	server   *http.Server
}

// sites makes the three imitations.
func sites(f flags) ([]*site, error) {
	planner, err := f.planner()
	if err != nil {
		return nil, err
	}
	c := imitation.Config{Clock: clockwork.NewRealClock(), Planner: planner, Hang: f.Hang}
	warehouse := imitation.NewWarehouse(imitation.WarehouseConfig{
		Config:        c,
		Stock:         f.Stock,
		DefaultSupply: f.DefaultStock,
		SafetyTTL:     f.SafetyTTL,
	})
	return []*site{
		{name: "warehouse", address: f.Warehouse, handler: warehouse},
		{name: "payment", address: f.Payment, handler: imitation.NewPayment(c)},
		{name: "shipping", address: f.Shipping, handler: imitation.NewShipping(c)},
	}, nil
}

// run serves until the context ends or a server fails.
func run(ctx context.Context, f flags, out io.Writer, log *slog.Logger) error {
	all, err := sites(f)
	if err != nil {
		return err
	}
	for i, s := range all {
		if err := s.listen(log); err != nil {
			return errors.Join(err, closeListeners(all[:i]))
		}
	}
	if err := announce(all, out); err != nil {
		return errors.Join(err, closeListeners(all))
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range all {
		group.Go(s.serve)
	}
	group.Go(func() error {
		<-ctx.Done()
		log.Info("stopping")
		return stopAll(all)
	})
	return group.Wait()
}

// listen opens the address and prepares the server.
func (s *site) listen(log *slog.Logger) error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	log = log.With("provider", s.name)
	log.Info("listening", "address", listener.Addr().String())
	s.listener = listener
	s.server = &http.Server{
		Handler:           logged(s.handler, log),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return nil
}

func closeListeners(some []*site) error {
	var errs []error
	for _, s := range some {
		errs = append(errs, s.listener.Close())
	}
	return errors.Join(errs...)
}

// announce prints where the imitations are.
func announce(all []*site, out io.Writer) error {
	encoder := json.NewEncoder(out)
	for _, s := range all {
		line := struct {
			Provider string `json:"provider"`
			URL      string `json:"url"`
		}{s.name, "http://" + s.listener.Addr().String()}
		if err := encoder.Encode(line); err != nil {
			return fmt.Errorf("announce %s: %w", s.name, err)
		}
	}
	return nil
}

// serve answers until the server is shut down.
func (s *site) serve() error {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// stopAll cuts what hangs and lets the rest finish, within bounds.
func stopAll(all []*site) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	var errs []error
	for _, s := range all {
		s.handler.Close()
		if err := s.server.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: shutdown: %w", s.name, err), s.server.Close())
		}
	}
	return errors.Join(errs...)
}

// logged logs each call when it is over, also one that ends in a cut connection.
func logged(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusSeen{ResponseWriter: w}
		defer func() {
			log.Debug("call", "method", r.Method, "path", r.URL.Path, "status", seen.status,
				"order", r.Header.Get("Ordeal-Order-Id"), "step", r.Header.Get("Ordeal-Step"),
				"attempt", r.Header.Get("Ordeal-Attempt"))
		}()
		next.ServeHTTP(seen, r)
	})
}

// statusSeen remembers the status that was written; 0 means that there was no answer.
type statusSeen struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the status.
func (s *statusSeen) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (s *statusSeen) Unwrap() http.ResponseWriter { return s.ResponseWriter }
