package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/sim/engine"
)

// brawl is a service that holds locks across statements: goroutines of two processes add to two
// of three accounts in transactions, each in an order of its own, and repeat what fails. The first
// statement of a transaction names its fighter: goroutines with different plans must not look the
// same. The others need not, since what the transaction sent before is part of their content.
type brawl struct{ pool *pgxpool.Pool }

const (
	fighters = 3
	rounds   = 4
)

func (b *brawl) fight(ctx context.Context, fighter string, r *rand.Rand) {
	for n := 0; n < rounds && ctx.Err() == nil; {
		accounts := []string{"a", "b", "c"}
		r.Shuffle(len(accounts), func(i, j int) {
			accounts[i], accounts[j] = accounts[j], accounts[i]
		})
		if b.add(ctx, fighter, accounts[:2]) == nil {
			n++
		}
	}
}

func (b *brawl) add(ctx context.Context, fighter string, accounts []string) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		for _, name := range accounts {
			ctx, cancel := context.WithTimeout(ctx, sqlTimeout)
			defer cancel()
			if _, err := tx.Exec(ctx, `-- name: Add
				update account
				set balance = balance + 1
				where name = $1
					and $2::text is not null`, name, fighter); err != nil {
				return err
			}
			fighter = ""
		}
		return nil
	})
}

// playBrawl plays two processes of fighters until both have finished.
func playBrawl(t *testing.T, seed uint64, policy engine.Policy) *engine.Result {
	t.Helper()
	reset(t)
	finished := 0
	config := engine.Config{Seed: seed, Backend: backend, Policy: policy, Trace: true,
		MaxTime: time.Hour, Restart: engine.Range{Min: time.Second, Max: 2 * time.Second},
		Advance: engine.Advance{OneIn: 50},
		Hooks: engine.Hooks{OnEvent: func(e engine.Event) {
			if e.Kind == engine.EventExit {
				finished++
			}
		}},
		Goal: func(*engine.World) bool { return finished == 2 }}
	return engine.Run(t, config, func(w *engine.World) {
		for i := range 2 {
			w.Process(fmt.Sprintf("p%d", i)).Start(runBrawl)
		}
		w.At(20*time.Second, "heal", w.Heal)
	})
}

func runBrawl(ctx context.Context, in *engine.Incarnation) error {
	pool, err := pgxpool.NewWithConfig(context.Background(), poolConfig(in))
	if err != nil {
		return err
	}
	defer pool.Close()
	b := &brawl{pool: pool}
	ends := make(chan struct{})
	for i := range fighters {
		go func() {
			name := fmt.Sprint("fighter ", i)
			b.fight(ctx, name, in.Rand(name))
			ends <- struct{}{}
		}()
	}
	for range fighters {
		<-ends
	}
	return nil
}

// Lock waits and deadlocks are part of the run: same seed, same waits, same victims, also when
// those who wait or are waited for crash, time out or lose their connections.
func TestLockWaitsAreExact(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	defer keepBusy(1)()
	for name, policy := range map[string]engine.Policy{"calm": {}, "faults": swarm()} {
		waits, deadlocks := 0, 0
		for seed := range uint64(8) {
			first, second := playBrawl(t, seed, policy), playBrawl(t, seed, policy)
			if first.Outcome != engine.GoalReached {
				t.Fatalf("%s, seed %d: %s %v", name, seed, first.Outcome, first.Err)
			}
			if first.EventHash != second.EventHash {
				t.Errorf("%s, seed %d: two runs differ\n%s", name, seed, difference(first, second))
			}
			const want = 3*1000 + 2*2*fighters*rounds
			if sum := total(t); sum < want || name == "calm" && sum != want {
				t.Errorf("%s, seed %d: %d on all accounts, not %d", name, seed, sum, want)
			}
			waits += first.Counters.LockWaits
			deadlocks += first.Counters.Deadlocks
		}
		t.Logf("%s: %d lock waits, %d deadlocks", name, waits, deadlocks)
		if waits == 0 || deadlocks == 0 {
			t.Errorf("%s: nothing waited, or no deadlock arose: the test shows nothing", name)
		}
	}
}

// total returns what is on all accounts.
func total(t *testing.T) (sum int64) {
	t.Helper()
	err := evidence.QueryRow(context.Background(), "select sum(balance)::bigint from account").
		Scan(&sum)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
