package sim

import (
	"context"
	"io"
	"sync"

	"ordeal/sim/pgserver"
)

// Ground is the server that runs are played on: a template database, cloned for each worker.
type Ground struct {
	server   *pgserver.Server
	template string
	mu       sync.Mutex
	clones   []string
}

// OpenGround finds or starts a PostgreSQL server and prepares the template. Log is told which.
func OpenGround(ctx context.Context, log io.Writer) (*Ground, error) {
	server, err := pgserver.Start(ctx, pgserver.Options{
		Log: log,
		Settings: map[string]string{
			// The simulator finds deadlocks itself; the server must not choose the victim.
			"deadlock_timeout": "1h",
			// Nobody reads the server's statistics.
			"compute_query_id":     "off",
			"track_activities":     "off",
			"track_counts":         "off",
			"update_process_title": "off",
		},
	})
	if err != nil {
		return nil, err
	}
	g := &Ground{server: server, template: pgserver.UniqueName("ordeal_template")}
	err = server.CreateDatabase(ctx, g.template)
	if err == nil {
		err = Prepare(ctx, server.DatabaseURL(g.template))
	}
	if err != nil {
		_ = server.Close()
		return nil, err
	}
	return g, nil
}

// clone makes a database for a worker and returns its URL.
func (g *Ground) clone(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock() // a template can be cloned by one at a time
	name := pgserver.UniqueName("ordeal_worker")
	if err := g.server.CloneDatabase(ctx, name, g.template); err != nil {
		return "", err
	}
	g.clones = append(g.clones, name)
	return g.server.DatabaseURL(name), nil
}

// OpenLab opens a lab on a database of its own, in this process.
func (g *Ground) OpenLab(ctx context.Context) (*Lab, error) {
	url, err := g.clone(ctx)
	if err != nil {
		return nil, err
	}
	return OpenLab(ctx, url, g.server.CanSignal())
}

// Close stops the server, or drops what was made on one that is not ours.
func (g *Ground) Close() error { return g.server.Close() }
