package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"ordeal/service"
	"ordeal/service/telemetry"
)

// serveCmd runs one process of the service.
type serveCmd struct {
	Listen      string `env:"ORDERD_LISTEN" default:"127.0.0.1:8080" help:"Address of the REST API (port 0: any free; the log names it)."`
	AdminListen string `env:"ORDERD_ADMIN_LISTEN" help:"Address of /metrics, /debug/pprof, /livez and /readyz, which ask for no token; none by default."`
	Warehouse   string `env:"ORDERD_WAREHOUSE_URL" help:"Base URL of the warehouse."`
	Payment     string `env:"ORDERD_PAYMENT_URL" help:"Base URL of the payment provider."`
	Shipping    string `env:"ORDERD_SHIPPING_URL" help:"Base URL of the shipper."`
	API         bool   `name:"api" env:"ORDERD_API" default:"true" negatable:"" help:"Serve the REST API; without it the process drives orders only."`
	Execute     bool   `env:"ORDERD_EXECUTE" default:"true" negatable:"" help:"Drive orders; without it the process serves the API only."`
	Name        string `env:"ORDERD_NAME" help:"Name of this process in leases, at most 64 characters; a suffix makes it unique. Default is the host name."`
	Dev         bool   `env:"ORDERD_DEV" help:"Serve also where the database can lose what was committed (fsync or synchronous_commit off)."`

	CursorKey     string `env:"ORDERD_CURSOR_KEY" help:"Secret that signs the cursors of lists, by the variable only; all processes behind one address need the same. Drawn if not set."`
	CursorKeyFile string `env:"ORDERD_CURSOR_KEY_FILE" help:"File that holds it instead."`
	RateLimit     number `env:"ORDERD_RATE_LIMIT" default:"100" help:"Requests a second that this process answers per token, with bursts of twice as many; 0 is no limit."`
	FailureLimit  number `env:"ORDERD_FAILURE_LIMIT" default:"10" help:"The same for failed authentications per network address."`

	PoolSize      number `env:"ORDERD_POOL_SIZE" default:"16" help:"Database connections, beside two that are kept for leases."`
	PollEvery     span   `env:"ORDERD_POLL_EVERY" default:"500ms" help:"Pause of an idle executor."`
	SweepEvery    span   `env:"ORDERD_SWEEP_EVERY" default:"1s" help:"Pause between sweeps of expired leases and reservations."`
	Lease         span   `env:"ORDERD_LEASE" default:"30s" help:"How long a step is held; above the 3 s of a call."`
	RenewEvery    span   `env:"ORDERD_RENEW_EVERY" default:"10s" help:"How often leases are renewed."`
	DrainTimeout  span   `env:"ORDERD_DRAIN_TIMEOUT" default:"10s" help:"Bound of a stop."`
	ShutdownDelay span   `env:"ORDERD_SHUTDOWN_DELAY" default:"0s" help:"How long a stop goes on answering requests while /readyz fails, before the drain."`
}

// Bounds of settings.
const (
	maxRate      = 1_000_000
	minCursorKey = 16
)

// check reports every setting that cannot be.
func (c *serveCmd) check(found *problems, given map[string]bool) {
	checkWeb(found, "--warehouse", c.Warehouse)
	checkWeb(found, "--payment", c.Payment)
	checkWeb(found, "--shipping", c.Shipping)
	found.unless(c.API || c.Execute, "--no-api and --no-execute leave nothing to do")
	found.unless(!c.PoolSize.wrong && c.PoolSize.int >= 1 && c.PoolSize.int <= 1000,
		"--pool-size must be from 1 to 1000")
	for _, pause := range []struct {
		flag  string
		value span
	}{
		{"--poll-every", c.PollEvery},
		{"--sweep-every", c.SweepEvery},
		{"--renew-every", c.RenewEvery},
		{"--lease", c.Lease},
		{"--drain-timeout", c.DrainTimeout},
	} {
		found.unless(!pause.value.wrong && pause.value.Duration > 0,
			"%s must be a duration above zero, like 500ms or 10s", pause.flag)
	}
	found.unless(c.Lease.Duration > c.RenewEvery.Duration || c.Lease.wrong || c.RenewEvery.wrong,
		"--lease must be above --renew-every")
	found.unless(c.Lease.Duration > service.MinLease || c.Lease.wrong,
		"--lease must be above %s", service.MinLease)
	found.unless(!c.ShutdownDelay.wrong && c.ShutdownDelay.Duration >= 0,
		"--shutdown-delay must be a duration of zero or more")
	for _, limit := range []struct {
		flag  string
		value number
	}{{"--rate-limit", c.RateLimit}, {"--failure-limit", c.FailureLimit}} {
		found.unless(!limit.value.wrong && limit.value.int >= 0 && limit.value.int <= maxRate,
			"%s must be from 0 to %d", limit.flag, maxRate)
	}
	found.unless(!given["cursor-key"], "--cursor-key must not be a flag, which others on this "+
		"machine can read: give it by its variable or in --cursor-key-file")
	readSecret(found, "--cursor-key", &c.CursorKey, c.CursorKeyFile)
	found.unless(c.CursorKey == "" || len(c.CursorKey) >= minCursorKey,
		"--cursor-key must have at least %d characters", minCursorKey)
	found.unless(len(c.Name) <= 64, "--name must have at most 64 characters")
}

// lastWords bounds the export of the last traces.
const lastWords = 5 * time.Second

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, global *cli) (err error) {
	log := telemetry.NewLogger(os.Stderr, global.LogLevel.Level)
	name, err := c.processName()
	if err != nil {
		return err
	}
	watcher, stop, err := service.NewTelemetry(ctx, log, name)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		err = errors.Join(err, stop(last))
	}()
	pools, err := service.OpenPools(ctx, global.DatabaseURL, c.PoolSize.int)
	if err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	defer pools.Close()
	if err := c.preflight(ctx, pools, log); err != nil {
		return err
	}
	needs := service.Production(pools, log)
	needs.Telemetry = watcher
	if c.CursorKey != "" {
		needs.CursorKey = []byte(c.CursorKey)
	}
	s, err := service.New(c.config(name), needs)
	if err != nil {
		return err
	}
	return c.serve(ctx, s, name, log)
}

// serve opens the listeners and works until ctx ends. The admin listener outlasts the rest.
func (c *serveCmd) serve(
	ctx context.Context, s *service.Service, name string, log *slog.Logger,
) error {
	admin, err := listen("--admin-listen", c.AdminListen)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watched, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	if admin != nil {
		log.Info("watched", "address", admin.Addr().String())
		watching.Go(func() {
			if err := s.ServeAdmin(watched, admin); err != nil {
				log.Error("nobody can watch", "error", err)
			}
		})
	}
	if !c.API {
		log.Info("executing", "executor", name)
		return s.Run(ctx)
	}
	listener, err := listen("--listen", c.Listen)
	if err != nil {
		return err
	}
	log.Info("serving", "address", listener.Addr().String(), "executor", name,
		"executes", c.Execute)
	if c.Execute {
		return s.ServeAndRun(ctx, listener)
	}
	return s.Serve(ctx, listener)
}

// listen opens an address; for an empty one there is no listener.
func listen(flag, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
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
		Name:          name,
		Warehouse:     c.Warehouse,
		Payment:       c.Payment,
		Shipping:      c.Shipping,
		PollEvery:     c.PollEvery.Duration,
		SweepEvery:    c.SweepEvery.Duration,
		Lease:         c.Lease.Duration,
		RenewEvery:    c.RenewEvery.Duration,
		DrainTimeout:  c.DrainTimeout.Duration,
		ShutdownDelay: c.ShutdownDelay.Duration,
		RateLimit:     c.RateLimit.int,
		FailureLimit:  c.FailureLimit.int,
	}
}
