package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/sim/imitation"
)

const (
	// supply stocks every SKU that somebody orders, in pieces.
	supply = 1_000_000

	// headerTime bounds the head of a request to a provider.
	headerTime = 5 * time.Second

	// stopTime bounds the answers that a provider is writing when it stops.
	stopTime = 5 * time.Second
)

// imitated is an imitation as this command needs it.
type imitated interface {
	http.Handler
	Close()
}

// provider is an imitation that is served.
type provider struct {
	name     string
	handler  imitated
	listener net.Listener
	server   *http.Server
	served   chan error
}

// providers are the three external systems.
type providers struct {
	warehouse, payment, shipping *provider
}

// startProviders serves the imitations on free ports of the loopback address.
func startProviders(f flags) (*providers, error) {
	planner, err := f.planner()
	if err != nil {
		return nil, err
	}
	c := imitation.Config{Clock: clockwork.NewRealClock(), Planner: planner}
	warehouse := imitation.WarehouseConfig{Config: c, DefaultSupply: supply}
	p := &providers{
		warehouse: &provider{name: "warehouse", handler: imitation.NewWarehouse(warehouse)},
		payment:   &provider{name: "payment", handler: imitation.NewPayment(c)},
		shipping:  &provider{name: "shipping", handler: imitation.NewShipping(c)},
	}
	for _, one := range p.all() {
		if err := one.start(); err != nil {
			return nil, errors.Join(err, p.stop())
		}
	}
	return p, nil
}

func (p *providers) all() []*provider {
	return []*provider{p.warehouse, p.payment, p.shipping}
}

// stop ends all that were started.
func (p *providers) stop() error {
	var failed []error
	for _, one := range p.all() {
		if one.server != nil {
			failed = append(failed, one.stop())
		}
	}
	return errors.Join(failed...)
}

// start opens a port and serves on it.
func (p *provider) start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.listener = listener
	p.server = &http.Server{Handler: p.handler, ReadHeaderTimeout: headerTime}
	p.served = make(chan error, 1)
	go func() { p.served <- p.server.Serve(listener) }()
	return nil
}

// url is where a started provider is.
func (p *provider) url() string { return "http://" + p.listener.Addr().String() }

// stop cuts calls that hang and lets the others finish, within bounds.
func (p *provider) stop() error {
	p.handler.Close()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, p.server.Close())
	}
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}
