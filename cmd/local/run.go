package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ordeal/migrations"
	"ordeal/service"
	"ordeal/sim/pgserver"
)

// poolSize is the number of database connections of the service, beside those for leases.
const poolSize = 16

// run starts everything, tells about it on out, serves until ctx ends, and takes everything down.
// The address comes first: that it is taken is the likeliest failure, and known at once.
func run(ctx context.Context, f flags, out, progress io.Writer) (err error) {
	listener, err := listen(f.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // the service closes it too
	p, err := startProviders(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	server, err := pgserver.Start(ctx, pgserver.Options{Durable: true, TCP: true, Log: progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	database, tokens, err := prepare(ctx, server)
	if err != nil {
		return err
	}
	told := announce(out, guide{
		URL:       "http://" + reachable(listener.Addr()),
		Customer:  tokens.Customer,
		Operator:  tokens.Operator,
		Database:  database,
		Warehouse: p.warehouse.url(),
		Payment:   p.payment.url(),
		Shipping:  p.shipping.url(),
	})
	if told != nil {
		return told
	}
	return serve(ctx, database, p, listener, slog.New(slog.NewTextHandler(progress, nil)))
}

// errTaken is a listen address that somebody else has.
var errTaken = errors.New("is taken; stop what listens there, or choose another with --listen " +
	"(port 0: any free)")

func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen: %s %w", address, errTaken)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return listener, nil
}

// reachable is an address at which a client on this machine reaches a listener.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
}

// prepare makes the orders database and its principals.
func prepare(
	ctx context.Context, server *pgserver.Server,
) (database string, tokens service.Tokens, err error) {
	name := pgserver.UniqueName("orders")
	if err := server.CreateDatabase(ctx, name); err != nil {
		return "", tokens, err
	}
	database = server.DatabaseURL(name)
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return "", tokens, fmt.Errorf("database URL: %w", err)
	}
	if _, err := migrations.Up(ctx, config); err != nil {
		return "", tokens, err
	}
	tokens, err = service.Seed(ctx, database, service.Tokens{})
	return database, tokens, err
}

// serve runs the service, API and executor, until ctx ends.
func serve(
	ctx context.Context, database string, p *providers, listener net.Listener, log *slog.Logger,
) error {
	pools, err := service.OpenPools(ctx, database, poolSize)
	if err != nil {
		return err
	}
	defer pools.Close()
	s, err := service.New(service.Config{
		Name:      "local-" + uuid.NewString(),
		Warehouse: p.warehouse.url(),
		Payment:   p.payment.url(),
		Shipping:  p.shipping.url(),
	}, service.Production(pools, log))
	if err != nil {
		return err
	}
	log.Info("running until Ctrl-C")
	return s.ServeAndRun(ctx, listener)
}
