package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/sim/engine"
)

// check collects what is not as it should be, on a goroutine that must not fail the test itself.
type check []string

func (c *check) equal(what string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		*c = append(*c, fmt.Sprintf("%s: got %v, want %v", what, got, want))
	}
}

func (c *check) err() error {
	if len(*c) > 0 {
		return errors.New(strings.Join(*c, "\n"))
	}
	return nil
}

// pgx works as it does on a real connection: all ways to run a statement, errors, transactions,
// batches, results larger than any buffer.
func TestProtocol(t *testing.T) {
	for range 2 { // with statements unknown to the backend, and known
		session(t, engine.Config{}, protocol)
	}
}

func protocol(ctx context.Context, _ *engine.World, _ *engine.Incarnation, pool *pgxpool.Pool,
) error {
	var c check
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement,
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol} {
		var balance int64
		err := pool.QueryRow(ctx, "select balance from account where name = $1", mode, "a").
			Scan(&balance)
		c.equal(mode.String(), fmt.Sprint(balance, err), "1000 <nil>")
	}
	_, err := pool.Exec(ctx, "select * from nothing where x = $1", 1)
	c.equal("unknown table", stateOf(err), "42P01")
	_, err = pool.Exec(ctx, "insert into account values ($1, 1)", "a")
	c.equal("duplicate", stateOf(err), "23505")

	batch := &pgx.Batch{}
	batch.Queue("update account set balance = balance + $1 where name = 'a'", 5)
	batch.Queue("select balance from account where name = $1", "a").QueryRow(
		func(row pgx.Row) error {
			var n int64
			err := row.Scan(&n)
			c.equal("in the batch", n, 1005)
			return err
		})
	c.equal("batch", pool.SendBatch(ctx, batch).Close(), nil)

	var size int
	err = pool.QueryRow(ctx, "select length(string_agg(repeat('x', 1000), '')) "+
		"from generate_series(1, $1)", 300).Scan(&size)
	c.equal("long row", fmt.Sprint(size, err), "300000 <nil>")
	rows, err := pool.Query(ctx, "select repeat('x', $1) from generate_series(1, 1000)", 1000)
	c.equal("query", err, nil)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	c.equal("many rows", fmt.Sprint(len(texts), err), "1000 <nil>")

	_, err = pool.CopyFrom(ctx, pgx.Identifier{"account"}, []string{"name", "balance"},
		pgx.CopyFromRows([][]any{{"z", 1}}))
	c.equal("copy", stateOf(err), "0A000")
	c.equal("ping", pool.Ping(ctx), nil)
	return errors.Join(c.err(), transactions(ctx, pool))
}

func transactions(ctx context.Context, pool *pgxpool.Pool) error {
	var c check
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	c.equal("begin", err, nil)
	var level string
	err = tx.QueryRow(ctx, "select current_setting('transaction_isolation')").Scan(&level)
	c.equal("level", fmt.Sprint(level, " ", err), "serializable <nil>")
	_, err = tx.Exec(ctx, "select 1 / $1::int", 0)
	c.equal("division", stateOf(err), "22012")
	_, err = tx.Exec(ctx, "select $1::int", 1)
	c.equal("aborted", stateOf(err), "25P02")
	c.equal("rollback", tx.Rollback(ctx), nil)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "update account set balance = 1 where name = 'b'")
		return errors.Join(err, pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "update account set balance = 2 where name = 'b'")
			c.equal("inner", err, nil)
			return nil
		}))
	})
	c.equal("commit", err, nil)
	var balance int
	err = pool.QueryRow(ctx, "select balance from account where name = 'b'").Scan(&balance)
	c.equal("committed", fmt.Sprint(balance, err), "2 <nil>")
	return c.err()
}

func stateOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return fmt.Sprint(err)
}

// Session state stays with its virtual connection, and goes with it.
func TestSessionState(t *testing.T) {
	session(t, engine.Config{}, func(ctx context.Context, w *engine.World, _ *engine.Incarnation,
		pool *pgxpool.Pool) error {
		var c check
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "set application_name = 'changed'")
		c.equal("set", err, nil)
		var name string
		err = pool.QueryRow(ctx, "select current_setting('application_name')").Scan(&name)
		c.equal("elsewhere", fmt.Sprint(name, " ", err), " <nil>")
		err = conn.QueryRow(ctx, "select current_setting('application_name')").Scan(&name)
		c.equal("here", fmt.Sprint(name, " ", err), "changed <nil>")
		c.equal("open", w.OpenConnections(), 2)
		c.equal("close", conn.Hijack().Close(ctx), nil)
		for range 3 {
			err = pool.QueryRow(ctx, "select current_setting('application_name')").Scan(&name)
			c.equal("afterwards", fmt.Sprint(name, " ", err), " <nil>")
		}
		return c.err()
	})
}

// The database's clock is virtual time plus its own skew; it stands still in a transaction.
func TestDatabaseClock(t *testing.T) {
	config := engine.Config{DatabaseSkew: time.Hour}
	session(t, config, func(ctx context.Context, w *engine.World, in *engine.Incarnation,
		pool *pgxpool.Pool) error {
		var c check
		at := func(q interface {
			QueryRow(context.Context, string, ...any) pgx.Row
		}, function string) time.Duration {
			var now time.Time
			err := q.QueryRow(ctx, "select "+function+"()").Scan(&now)
			c.equal(function, err, nil)
			return now.Sub(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)).Round(time.Second)
		}
		c.equal("at first", at(pool, "now"), time.Duration(0))
		in.Clock().Sleep(10 * time.Second)
		c.equal("later", at(pool, "now"), 10*time.Second)
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		in.Clock().Sleep(10 * time.Second)
		c.equal("in a transaction", at(tx, "now"), 10*time.Second)
		c.equal("its start", at(tx, "transaction_timestamp"), 10*time.Second)
		c.equal("its statement", at(tx, "statement_timestamp"), 20*time.Second)
		c.equal("its clock", at(tx, "clock_timestamp"), 20*time.Second)
		c.equal("rollback", tx.Rollback(ctx), nil)
		c.equal("after it", at(pool, "statement_timestamp"), 20*time.Second)
		_, err = pool.Exec(ctx, "insert into transfer values ('x', 'a', 'b', 1)")
		c.equal("insert", err, nil)
		var created time.Time
		err = pool.QueryRow(ctx, "select created from transfer").Scan(&created)
		c.equal("default", fmt.Sprint(created.Year(), err), "2000 <nil>")
		return c.err()
	})
}

// What a statement's sender learns from each fate, and what the database did.
func TestFatesOfStatements(t *testing.T) {
	for _, want := range []struct {
		kind    engine.FaultKind
		learnt  string
		balance int
		after   time.Duration
	}{
		{engine.Deliver, "<nil>", 1001, 0},
		{engine.ConnResetBefore, "reset", 1000, 0},
		{engine.LostAck, "reset", 1001, 0},
		{engine.ResetAfter, "reset", 1001, 0},
		{engine.SerializationFailure, "40001", 1000, 0},
		{engine.Deadlock, "40P01", 1000, 0},
		{engine.Hold, "<nil>", 1001, time.Second},
		{engine.Delay, "<nil>", 1001, time.Second},
		{engine.LoseRequest, "timeout", 1000, 3 * time.Second},
		{engine.LoseAnswer, "timeout", 1001, 3 * time.Second},
		{engine.LateArrival, "timeout", 1001, 3 * time.Second},
	} {
		t.Run(string(want.kind), func(t *testing.T) {
			fate := engine.Fate{Kind: want.kind, After: time.Second}
			config := engine.Config{Policy: onStatement("Touch", fate)}
			session(t, config, func(ctx context.Context, w *engine.World, _ *engine.Incarnation,
				pool *pgxpool.Pool) error {
				var c check
				c.equal("learnt", touch(ctx, pool), want.learnt)
				c.equal("after", w.Now().Round(10*time.Millisecond), want.after)
				var balance int
				err := pool.QueryRow(ctx, "select balance from account where name = 'a'").
					Scan(&balance)
				c.equal("balance", fmt.Sprint(balance, err), fmt.Sprint(want.balance, " <nil>"))
				return c.err()
			})
		})
	}
}

// onStatement gives the named statement one fate, once.
func onStatement(name string, fate engine.Fate) engine.Policy {
	given := false
	return engine.Policy{Operation: func(o *engine.Operation, _ *engine.Draw) engine.Fate {
		if given || o.Name != name {
			return engine.Fate{}
		}
		given = true
		return fate
	}}
}

func touch(ctx context.Context, pool *pgxpool.Pool) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := pool.Exec(ctx, `-- name: Touch
		update account
		set balance = balance + 1
		where name = $1`, "a")
	switch {
	case err == nil || stateOf(err) != fmt.Sprint(err):
		return stateOf(err)
	case errors.Is(err, context.DeadlineExceeded) && pgconn.Timeout(err):
		return "timeout"
	case strings.Contains(err.Error(), "reset"):
		return "reset"
	}
	return err.Error()
}

// A failed commit has ended its transaction: the connection is good for the next.
func TestFailedCommit(t *testing.T) {
	fate := engine.Fate{Kind: engine.SerializationFailure}
	session(t, engine.Config{Policy: onStatement("commit", fate)}, func(ctx context.Context,
		_ *engine.World, _ *engine.Incarnation, pool *pgxpool.Pool) error {
		var c check
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		for _, want := range []string{"40001", "<nil>"} {
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "update account set balance = balance + 1")
				return err
			})
			c.equal("commit", stateOf(err), want)
		}
		var balance int
		err = conn.QueryRow(ctx, "select balance from account where name = 'a'").Scan(&balance)
		c.equal("balance", fmt.Sprint(balance, err), "1001 <nil>")
		return c.err()
	})
}
