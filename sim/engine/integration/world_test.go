// Package integration_test plays small services on a real database in the engine: what a run
// needs to be the same twice, to find a bug, and to behave as pgx and PostgreSQL do.
package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"ordeal/sim/engine"
	"ordeal/sim/pgserver"
)

var (
	server  *pgserver.Server
	backend *engine.Backend
	// evidence is a real connection, used outside the bubble.
	evidence *pgx.Conn
)

func TestMain(m *testing.M) {
	code := testMain(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func testMain(m *testing.M) int {
	ctx := context.Background()
	var err error
	if server, err = pgserver.Start(ctx, pgserver.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Close()
	name := pgserver.UniqueName("engine")
	if err = server.CreateDatabase(ctx, name); err == nil {
		err = openDatabase(ctx, server.DatabaseURL(name))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer backend.Close()
	defer evidence.Close(ctx)
	return m.Run()
}

func openDatabase(ctx context.Context, url string) (err error) {
	options := engine.BackendOptions{CanSignal: server.CanSignal()}
	if backend, err = engine.OpenBackend(ctx, url, options); err != nil {
		return err
	}
	if err = backend.Exec(ctx, "set search_path = "+engine.DefaultSearchPath); err != nil {
		return err
	}
	if err = backend.Exec(ctx, bankSchema); err != nil {
		return err
	}
	evidence, err = pgx.Connect(ctx, url)
	return err
}

// trial is one run of the bank.
type trial struct {
	seed       uint64
	source     engine.Source
	policy     engine.Policy
	lostUpdate bool
	transfers  int
	trace      bool
	extra      func(w *engine.World)
	onEvent    func(w *engine.World, e engine.Event)
}

// run resets the tables and plays a trial until all transfers are decided.
func (tr trial) run(t *testing.T) *engine.Result {
	t.Helper()
	reset(t)
	if tr.transfers == 0 {
		tr.transfers = 4
	}
	var w *engine.World
	unknown := true // whether anything has happened since the goal was last looked at
	config := engine.Config{
		Seed: tr.seed, Source: tr.source, Backend: backend, Policy: tr.policy, Trace: tr.trace,
		MaxTime: time.Hour, Restart: engine.Range{Min: time.Second, Max: 5 * time.Second},
		Advance: engine.Advance{OneIn: 20, Max: 10 * time.Second},
		Hooks: engine.Hooks{OnEvent: func(e engine.Event) {
			unknown = true
			if tr.onEvent != nil {
				tr.onEvent(w, e)
			}
		}},
		Goal: func(w *engine.World) bool {
			if !unknown || w.Pending() > 0 {
				return false
			}
			unknown = false
			return decided(w) == tr.transfers
		},
	}
	return engine.Run(t, config, func(world *engine.World) {
		w = world
		tr.build(w)
	})
}

func (tr trial) build(w *engine.World) {
	w.Party("notary", notary())
	w.Process("api").Start(func(ctx context.Context, in *engine.Incarnation) error {
		b := newBank(in, tr)
		defer b.pool.Close()
		in.Serve(b.handler())
		<-ctx.Done()
		return nil
	})
	for i := range 2 {
		p := w.Process(fmt.Sprintf("worker-%d", i+1))
		p.SetClock(time.Duration(i)*time.Minute, int64(i)*50)
		p.Start(func(ctx context.Context, in *engine.Incarnation) error {
			b := newBank(in, tr)
			defer b.pool.Close()
			return b.work(ctx)
		})
	}
	w.Go("client", func(ctx context.Context) { client(ctx, w, tr.transfers) })
	if tr.extra != nil {
		tr.extra(w)
	}
}

// newBank wires the service as production does, with the seams of the simulation.
func newBank(in *engine.Incarnation, tr trial) *bank {
	pool, err := pgxpool.NewWithConfig(context.Background(), poolConfig(in))
	if err != nil {
		panic(err)
	}
	return &bank{name: in.Name(), pool: pool, notary: in.Client(), clock: in.Clock(),
		jitter: in.Rand("jitter"), lostUpdate: tr.lostUpdate}
}

func poolConfig(in *engine.Incarnation) *pgxpool.Config {
	config, err := pgxpool.ParseConfig("host=127.0.0.1 sslmode=disable pool_max_conns=8")
	if err != nil {
		panic(err)
	}
	in.ConfigurePool(config, "main")
	return config
}

// notary allows everything but transfers of amount 13.
func notary() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var t transfer
		if err := json.NewDecoder(req.Body).Decode(&t); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		if t.Amount == 13 {
			rw.WriteHeader(http.StatusConflict)
		}
	})
}

// client creates the transfers, repeating each until it is accepted.
func client(ctx context.Context, w *engine.World, transfers int) {
	http := w.Client("client", "api")
	for i := range transfers {
		body, _ := json.Marshal(transfer{ID: fmt.Sprintf("t%02d", i), Source: "a", Target: "b",
			Amount: int64(10 + i)})
		for ctx.Err() == nil && !post(ctx, http, body) {
			w.Clock().Sleep(time.Second)
		}
	}
}

func post(ctx context.Context, c *http.Client, body []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://api/transfers",
		bytes.NewReader(body))
	resp, err := c.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusCreated
}

func reset(t *testing.T) {
	t.Helper()
	err := backend.Exec(context.Background(), `delete from transfer; delete from account;
		insert into account values ('a', 1000), ('b', 1000), ('c', 1000)`)
	if err != nil {
		t.Fatal(err)
	}
}

func decided(w *engine.World) (n int) {
	w.Outside(func() {
		err := evidence.QueryRow(context.Background(),
			"select count(*) from transfer where state <> 'due'").Scan(&n)
		if err != nil {
			w.Fail(err)
		}
	})
	return n
}

// balances returns what is on the accounts, and what should be there.
func balances(t *testing.T) (a, b, moved int64) {
	t.Helper()
	err := evidence.QueryRow(context.Background(), `
		select
			(select balance from account where name = 'a'),
			(select balance from account where name = 'b'),
			(select coalesce(sum(amount), 0)::bigint from transfer where state = 'done')`).
		Scan(&a, &b, &moved)
	if err != nil {
		t.Fatal(err)
	}
	return a, b, moved
}

func asError[E error](err error, target *E) bool { return errors.As(err, target) }
