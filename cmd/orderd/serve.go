package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/google/uuid"

	"ordeal/service"
)

// serveCmd runs one process of the service.
type serveCmd struct {
	Listen    string `env:"ORDERD_LISTEN" default:"127.0.0.1:8080" help:"Address of the REST API (port 0: any free; the log names it)."`
	Warehouse string `env:"ORDERD_WAREHOUSE_URL" required:"" help:"Base URL of the warehouse."`
	Payment   string `env:"ORDERD_PAYMENT_URL" required:"" help:"Base URL of the payment provider."`
	Shipping  string `env:"ORDERD_SHIPPING_URL" required:"" help:"Base URL of the shipper."`
	Execute   bool   `env:"ORDERD_EXECUTE" default:"true" negatable:"" help:"Drive orders; without it the process serves the API only."`
	Name      string `env:"ORDERD_NAME" help:"Name of this process in leases, at most 64 characters; a suffix makes it unique. Default is the host name."`

	PoolSize     int           `env:"ORDERD_POOL_SIZE" default:"16" help:"Database connections, beside two that are kept for leases."`
	PollEvery    time.Duration `env:"ORDERD_POLL_EVERY" default:"500ms" help:"Pause of an idle executor."`
	SweepEvery   time.Duration `env:"ORDERD_SWEEP_EVERY" default:"1s" help:"Pause between sweeps of expired leases and reservations."`
	Lease        time.Duration `env:"ORDERD_LEASE" default:"30s" help:"How long a step is held; above the 3 s of a call."`
	RenewEvery   time.Duration `env:"ORDERD_RENEW_EVERY" default:"10s" help:"How often leases are renewed."`
	DrainTimeout time.Duration `env:"ORDERD_DRAIN_TIMEOUT" default:"10s" help:"Bound of a stop."`
}

// Validate reports every flag that cannot be.
func (c *serveCmd) Validate() error {
	var problems []error
	at := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, errors.New(problem))
		}
	}
	at(webAddress(c.Warehouse), "--warehouse must be http(s)://host[:port][/path]")
	at(webAddress(c.Payment), "--payment must be http(s)://host[:port][/path]")
	at(webAddress(c.Shipping), "--shipping must be http(s)://host[:port][/path]")
	at(c.PoolSize >= 1 && c.PoolSize <= 1000, "--pool-size must be from 1 to 1000")
	at(c.PollEvery > 0, "--poll-every must be above zero")
	at(c.SweepEvery > 0, "--sweep-every must be above zero")
	at(c.RenewEvery > 0, "--renew-every must be above zero")
	at(c.Lease > c.RenewEvery, "--lease must be above --renew-every")
	at(c.Lease > service.MinLease, fmt.Sprintf("--lease must be above %s", service.MinLease))
	at(c.DrainTimeout > 0, "--drain-timeout must be above zero")
	at(len(c.Name) <= 64, "--name must have at most 64 characters")
	return errors.Join(problems...)
}

// webAddress tells whether a text is the base URL of an HTTP server.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.RawQuery == "" && u.Fragment == ""
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, global *cli) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	name, err := c.processName()
	if err != nil {
		return err
	}
	pools, err := service.OpenPools(ctx, global.DatabaseURL, c.PoolSize)
	if err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	defer pools.Close()
	s, err := service.New(c.config(name), service.Production(pools, log))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	log.Info("serving", "address", listener.Addr().String(), "executor", name,
		"executes", c.Execute)
	if c.Execute {
		return s.ServeAndRun(ctx, listener)
	}
	return s.Serve(ctx, listener)
}

// processName makes the configured name, or the host's, unique.
func (c *serveCmd) processName() (string, error) {
	name := c.Name
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("--name is not set, and the host has none: %w", err)
		}
		name = host
	}
	return name + "-" + uuid.NewString(), nil
}

func (c *serveCmd) config(name string) service.Config {
	return service.Config{
		Name:         name,
		Warehouse:    c.Warehouse,
		Payment:      c.Payment,
		Shipping:     c.Shipping,
		PollEvery:    c.PollEvery,
		SweepEvery:   c.SweepEvery,
		Lease:        c.Lease,
		RenewEvery:   c.RenewEvery,
		DrainTimeout: c.DrainTimeout,
	}
}
