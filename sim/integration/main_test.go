// Package integration_test plays scenarios on a real PostgreSQL. It fails without one.
package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"ordeal/sim"
	"ordeal/sim/pgserver"
)

var (
	server   *pgserver.Server
	template = pgserver.UniqueName("sim_template")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	var err error
	server, err = pgserver.Start(ctx, pgserver.Options{Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = server.Close() }()
	if err = server.CreateDatabase(ctx, template); err == nil {
		err = sim.Prepare(ctx, server.DatabaseURL(template))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// lab opens a lab on a database of its own.
func lab(t *testing.T) *sim.Lab {
	t.Helper()
	name := pgserver.UniqueName("sim")
	if err := server.CloneDatabase(t.Context(), name, template); err != nil {
		t.Fatal(err)
	}
	l, err := sim.OpenLab(t.Context(), server.DatabaseURL(name), server.CanSignal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := server.DropDatabase(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return l
}
