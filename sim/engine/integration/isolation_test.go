package integration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/sim/engine"
)

// teller is a service that moves money by reading in one statement and writing in another, all in
// one transaction: which anomalies that allows is up to the isolation level.
type teller struct {
	pool      *pgxpool.Pool
	isolation pgx.TxIsoLevel
	// account is the one it writes; other is the one that it looks at, or locks, besides.
	account, other string
}

// deposit adds one to the balance that it has read.
func (b *teller) deposit(ctx context.Context, tx pgx.Tx) error {
	balance, err := readBalance(ctx, tx, b.account)
	if err != nil {
		return err
	}
	return writeBalance(ctx, tx, b.account, balance+1)
}

// withdraw takes a thousand where both accounts together keep at least a thousand.
func (b *teller) withdraw(ctx context.Context, tx pgx.Tx) error {
	mine, err := readBalance(ctx, tx, b.account)
	if err != nil {
		return err
	}
	others, err := readBalance(ctx, tx, b.other)
	if err != nil || mine+others < 2000 {
		return err
	}
	return writeBalance(ctx, tx, b.account, mine-1000)
}

// touch writes both accounts, its own first.
func (b *teller) touch(ctx context.Context, tx pgx.Tx) error {
	for _, name := range []string{b.account, b.other} {
		if _, err := tx.Exec(ctx, `-- name: Touch
			update account
			set balance = balance + 1
			where name = $1`, name); err != nil {
			return err
		}
	}
	return nil
}

func readBalance(ctx context.Context, tx pgx.Tx, name string) (balance int64, err error) {
	err = tx.QueryRow(ctx, `-- name: ReadBalance
		select balance
		from account
		where name = $1`, name).Scan(&balance)
	return balance, err
}

func writeBalance(ctx context.Context, tx pgx.Tx, name string, balance int64) error {
	_, err := tx.Exec(ctx, `-- name: WriteBalance
		update account
		set balance = $2
		where name = $1`, name, balance)
	return err
}

// insist runs one transaction until it commits, repeating what the database asks to repeat.
func (b *teller) insist(ctx context.Context, work func(context.Context, pgx.Tx) error) error {
	for {
		err := pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{IsoLevel: b.isolation},
			func(tx pgx.Tx) error { return work(ctx, tx) })
		var failed *pgconn.PgError
		if !errors.As(err, &failed) || failed.Code != "40001" && failed.Code != "40P01" {
			return err
		}
	}
}

// anomaly is a way in which two tellers can go wrong.
type anomaly struct {
	name      string
	isolation pgx.TxIsoLevel
	work      func(*teller) func(context.Context, pgx.Tx) error
	// accounts of the two tellers: what each writes, and what it looks at besides.
	accounts [2][2]string
	// shown tells whether a run shows the anomaly.
	shown func(r *engine.Result, a, b int64) bool
	// possible is what the isolation level promises.
	possible bool
}

func deposit(b *teller) func(context.Context, pgx.Tx) error   { return b.deposit }
func withdraw(b *teller) func(context.Context, pgx.Tx) error  { return b.withdraw }
func touchBoth(b *teller) func(context.Context, pgx.Tx) error { return b.touch }

var (
	oneAccount  = [2][2]string{{"a", "b"}, {"a", "b"}}
	twoAccounts = [2][2]string{{"a", "b"}, {"b", "a"}}
)

func lostUpdate(_ *engine.Result, a, _ int64) bool { return a != 1002 }
func skew(_ *engine.Result, a, b int64) bool       { return a+b < 1000 }
func deadlock(r *engine.Result, _, _ int64) bool   { return r.Counters.Deadlocks > 0 }

var anomalies = []anomaly{
	{"lost update", pgx.ReadCommitted, deposit, oneAccount, lostUpdate, true},
	{"lost update", pgx.RepeatableRead, deposit, oneAccount, lostUpdate, false},
	{"write skew", pgx.ReadCommitted, withdraw, twoAccounts, skew, true},
	{"write skew", pgx.RepeatableRead, withdraw, twoAccounts, skew, true},
	{"write skew", pgx.Serializable, withdraw, twoAccounts, skew, false},
	{"deadlock", pgx.ReadCommitted, touchBoth, twoAccounts, deadlock, true},
	{"deadlock", pgx.RepeatableRead, touchBoth, twoAccounts, deadlock, true},
}

// play plays two tellers, each with one transaction.
func (a anomaly) play(t *testing.T, seed uint64, source engine.Source) *engine.Result {
	t.Helper()
	reset(t)
	finished := 0
	config := engine.Config{Seed: seed, Source: source, Backend: backend, MaxTime: time.Hour,
		Hooks: engine.Hooks{OnEvent: func(e engine.Event) {
			if e.Kind == engine.EventExit {
				finished++
			}
		}},
		Goal: func(*engine.World) bool { return finished == len(a.accounts) }}
	r := engine.Run(t, config, func(w *engine.World) {
		for i, name := range []string{"teller-1", "teller-2"} {
			w.Process(name).Start(func(ctx context.Context, in *engine.Incarnation) error {
				pool, err := pgxpool.NewWithConfig(context.Background(), poolConfig(in))
				if err != nil {
					return err
				}
				defer pool.Close()
				b := &teller{pool: pool, isolation: a.isolation, account: a.accounts[i][0],
					other: a.accounts[i][1]}
				return b.insist(ctx, a.work(b))
			})
		}
	})
	if r.Outcome != engine.GoalReached {
		t.Fatalf("seed %d: %s %v", seed, r.Outcome, r.Err)
	}
	return r
}

// What an isolation level allows is found by the schedule alone, with no fault on, by a random
// walk and by priorities, and is shown again by its choices and by its deviations alone. What
// the level forbids never comes up, in as many runs.
func TestAnomaliesAreFoundAndReplayed(t *testing.T) {
	const within = 60
	strategies := map[string]func(uint64) engine.Source{
		"random": engine.Seeded,
		"pct":    func(seed uint64) engine.Source { return engine.PCT(seed, 3) },
	}
	for _, a := range anomalies {
		for strategy, source := range strategies {
			t.Run(a.name+"/"+string(a.isolation)+"/"+strategy, func(t *testing.T) {
				for seed := range uint64(within) {
					r := a.play(t, seed, source(seed))
					x, y, _ := balances(t)
					if !a.shown(r, x, y) {
						continue
					}
					if !a.possible {
						t.Fatalf("seed %d: balances %d and %d", seed, x, y)
					}
					t.Logf("seed %d: balances %d and %d", seed, x, y)
					a.replay(t, seed, r)
					return
				}
				if a.possible {
					t.Errorf("not found within %d seeds", within)
				}
			})
		}
	}
}

// replay repeats a run in both ways.
func (a anomaly) replay(t *testing.T, seed uint64, found *engine.Result) {
	t.Helper()
	deviations := engine.Deviations(found.Choices)
	for name, source := range map[string]engine.Source{
		"choices":          engine.Replay(found.Choices),
		"deviations":       engine.Recall(deviations),
		"loose deviations": engine.Adapt(deviations),
	} {
		r := a.play(t, seed, source)
		if x, y, _ := balances(t); r.EventHash != found.EventHash || !a.shown(r, x, y) {
			t.Errorf("the replay by %s is another run: %v", name, r.Err)
		}
	}
}
