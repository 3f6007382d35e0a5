package sim

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/migrations"
	"ordeal/sim/engine"
)

// reset empties what a run fills. The guards of the service refuse deletes of orders and of its
// append-only tables, so they are set aside for this transaction.
const reset = `
set local session_replication_role = replica;
delete from order_attention;
delete from discrepancies;
delete from refunds;
delete from idempotency_keys;
delete from outbox;
delete from audit_events;
delete from order_history;
delete from step_attempts;
delete from workflow_steps;
delete from orders;`

// vacuum removes what reset leaves in the tables, which grow with every run otherwise. The server
// of a sweep does not do so by itself, at a time that nobody chose. It makes all statements be
// planned anew, hence it is done rarely.
const vacuum = "vacuum"

// vacuumEvery is how many runs are between two vacuums.
const vacuumEvery = 1000

// clear empties the database for the next run.
func (l *Lab) clear(ctx context.Context) error {
	if err := l.backend.Exec(ctx, reset); err != nil {
		return fmt.Errorf("reset database: %w", err)
	}
	l.played++
	if l.played%vacuumEvery == 0 {
		if err := l.backend.Exec(ctx, vacuum); err != nil {
			return fmt.Errorf("vacuum database: %w", err)
		}
	}
	return nil
}

// Prepare makes a database ready for simulation: the simulated clock ahead of the schema, so that
// everything binds to it, then the service's migrations, then the customers' tokens. Clone it for
// each worker.
func Prepare(ctx context.Context, url string) (err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("prepare database: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("prepare database: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := engine.InstallClock(ctx, conn.PgConn()); err != nil {
		return fmt.Errorf("prepare database: %w", err)
	}
	config.RuntimeParams["search_path"] = engine.DefaultSearchPath
	if _, err := migrations.Up(ctx, config); err != nil {
		return fmt.Errorf("prepare database: %w", err)
	}
	for n := range maxCustomers {
		if err := principal(ctx, conn, customerName(n)); err != nil {
			return fmt.Errorf("prepare database: %w", err)
		}
	}
	for n := range maxOperators {
		if err := principal(ctx, conn, operatorName(n)); err != nil {
			return fmt.Errorf("prepare database: %w", err)
		}
	}
	return nil
}

// principal gives a simulated client its token.
func principal(ctx context.Context, conn *pgx.Conn, name string) error {
	hash := sha256.Sum256([]byte(token(name)))
	_, err := conn.Exec(ctx, `insert into principals (token_hash, name, role, created_at)
		values ($1, $2, $3, '2000-01-01')`, hash[:], name, roleOf(name))
	if err != nil {
		return fmt.Errorf("principal %s: %w", name, err)
	}
	return nil
}

// maxCustomers is how many customers have tokens.
const maxCustomers = 4

func customerName(n int) string { return fmt.Sprintf("customer-%d", n+1) }

// token is the bearer token of a simulated client. It opens nothing outside of a simulation.
func token(customer string) string { return "simulated-" + customer }
