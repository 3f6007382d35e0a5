package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ordeal/sim/pgserver"
)

// Who creates orders on a stage, who decides about them, and the secrets that prove it.
const (
	customer      = "order_customer"
	operator      = "order_operator"
	customerToken = "chaos-customer"
	operatorToken = "chaos-operator"
)

// Ground is a durable PostgreSQL server with a template of the orders database, made by the
// service's own commands and cloned for every stage.
type Ground struct {
	server   *pgserver.Server
	template string
	binaries Binaries

	mu sync.Mutex // a template can be cloned by one at a time
}

// OpenGround finds or starts a server and prepares the template. Log is told which server.
func OpenGround(ctx context.Context, b Binaries, log io.Writer) (*Ground, error) {
	server, err := pgserver.Start(ctx, pgserver.Options{Durable: true, Log: log})
	if err != nil {
		return nil, err
	}
	g := &Ground{server: server, template: pgserver.UniqueName("chaos_template"), binaries: b}
	err = server.CreateDatabase(ctx, g.template)
	for _, command := range []string{"migrate", "seed"} {
		if err == nil {
			err = g.prepare(ctx, command)
		}
	}
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return g, nil
}

// prepare runs one of the service's own commands on the template.
func (g *Ground) prepare(ctx context.Context, command string) error {
	c := exec.CommandContext(ctx, g.binaries.Orderd, command)
	c.Env = append(environment(), "ORDERD_DATABASE_URL="+g.server.DatabaseURL(g.template),
		"ORDERD_SEED_CUSTOMER_TOKEN="+customerToken, "ORDERD_SEED_OPERATOR_TOKEN="+operatorToken)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("orderd %s: %w\n%s", command, err, out)
	}
	return nil
}

// CanRestart tells whether Restart works: the server is a process of ours.
func (g *Ground) CanRestart() bool { return g.server.CanSignal() }

// Restart stops the server as a crash would and starts it again. Everybody's connections end.
func (g *Ground) Restart(ctx context.Context) error { return g.server.Restart(ctx, true) }

// Close stops the server, or drops what was made on one that is not ours.
func (g *Ground) Close() error { return g.server.Close() }

// clone makes a database for a stage.
func (g *Ground) clone(ctx context.Context) (database, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := database{ground: g, name: pgserver.UniqueName("chaos")}
	if err := g.server.CloneDatabase(ctx, d.name, g.template); err != nil {
		return database{}, err
	}
	d.url = g.server.DatabaseURL(d.name)
	config, err := pgx.ParseConfig(d.url)
	if err != nil {
		return database{}, errors.Join(err, d.drop(ctx))
	}
	d.config = config
	return d, nil
}

// database is a stage's own database.
type database struct {
	ground *Ground
	name   string
	url    string
	config *pgx.ConnConfig
}

// address is where the server listens.
func (d database) address() (network, address string) {
	return pgconn.NetworkAddress(d.config.Host, d.config.Port)
}

// through is the URL of the database behind a proxy on a port.
func (d database) through(port int) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable",
		d.config.User, d.config.Password, port, d.name)
}

func (d database) drop(ctx context.Context) error {
	return d.ground.server.DropDatabase(ctx, d.name)
}
