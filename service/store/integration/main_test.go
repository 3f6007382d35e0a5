// Package integration_test runs the store's statements on a real PostgreSQL. It fails without one.
package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/migrations"
	"ordeal/service/order"
	"ordeal/service/store"
	"ordeal/sim/pgserver"
)

var server *pgserver.Server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	var err error
	server, err = pgserver.Start(ctx, pgserver.Options{Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = server.Close() }()
	if err := server.CreateDatabase(ctx, template); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	config, err := pgx.ParseConfig(server.DatabaseURL(template))
	if err == nil {
		_, err = migrations.Up(ctx, config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

var template = pgserver.UniqueName("store_template")

// fixture is a store on a database of its own, with the customer's first order ready to be made.
type fixture struct {
	*testing.T
	pool  *pgxpool.Pool
	store *store.Store
}

func setup(t *testing.T) fixture {
	t.Helper()
	name := pgserver.UniqueName("store")
	if err := server.CloneDatabase(t.Context(), name, template); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), server.DatabaseURL(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Close()
		if err := server.DropDatabase(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return fixture{T: t, pool: pool, store: store.New(pool, pool)}
}

const customer = "alice"

// create makes an order of one line and returns its id.
func (f fixture) create(key string) order.ID {
	f.Helper()
	id := order.NewID(customer, key)
	answer, ok, err := f.store.CreateOrder(f.Context(),
		store.Request{Caller: customer, Route: "create", Key: key, Fingerprint: []byte(key)},
		store.Creation{
			ID:       id,
			Customer: customer,
			Version:  1,
			Items: []store.Line{{
				Item:   order.Item{SKU: "tea", Quantity: 2, UnitPrice: 500},
				Amount: 1000,
			}},
			Total:   1000,
			TraceID: order.TraceID(id),
		})
	if err != nil || !ok || answer.Status != 201 {
		f.Fatalf("create: %+v, %v, %v", answer, ok, err)
	}
	return id
}

// take takes at most one step for an executor.
func (f fixture) take(owner string) order.TakenStep {
	f.Helper()
	steps := f.takeAll(owner)
	if len(steps) != 1 {
		f.Fatalf("%s took %d steps, want 1", owner, len(steps))
	}
	return steps[0]
}

func (f fixture) takeAll(owner string) []order.TakenStep {
	f.Helper()
	steps, err := f.store.TakeSteps(f.Context(), order.TakeRequest{
		Owner: owner, Versions: []int16{1}, Limit: 20, Lease: order.LeaseDuration,
	})
	if err != nil {
		f.Fatal(err)
	}
	return steps
}

// result is the result of a taken step with an outcome.
func (f fixture) result(s order.TakenStep, outcome order.Outcome) order.Result {
	f.Helper()
	follow, err := order.Follow(s.Kind, outcome, s.Counted >= order.MaxAttempts)
	if err != nil {
		f.Fatal(err)
	}
	delay, _ := order.RetryDelay(s.Kind, s.Series, s.Counted)
	r := order.Result{
		Ref: s.Ref, Attempt: s.Attempt, Outcome: outcome, Sent: outcome != order.OutcomeNotSent,
		Follow: follow, Retry: delay, SeriesDelay: order.ReconcileEvery,
	}
	if outcome == order.OutcomeSucceeded {
		r.Reference = "ref-" + string(s.Kind)
	}
	return r
}

// record records one result and tells whether it was accepted.
func (f fixture) record(s order.TakenStep, outcome order.Outcome) bool {
	f.Helper()
	kept, err := f.store.RecordResults(f.Context(), []order.Result{f.result(s, outcome)})
	if err != nil {
		f.Fatal(err)
	}
	return kept[0]
}

// step takes the one due step, which must be of the kind, and records the outcome.
func (f fixture) step(kind order.StepKind, outcome order.Outcome) {
	f.Helper()
	s := f.take("e1")
	if s.Kind != kind {
		f.Fatalf("took %s, want %s", s.Kind, kind)
	}
	if !f.record(s, outcome) {
		f.Fatalf("%s %s was not accepted", kind, outcome)
	}
}

func (f fixture) order(id order.ID) store.Order {
	f.Helper()
	o, ok, err := f.store.FindOrder(f.Context(), id, "")
	if err != nil || !ok {
		f.Fatalf("find order: %v, %v", ok, err)
	}
	return o
}

func (f fixture) wantState(id order.ID, want order.State) {
	f.Helper()
	if got := f.order(id).State; got != want {
		f.Fatalf("state %s, want %s", got, want)
	}
}

// exec runs SQL as the owner, past the store.
func (f fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.pool.Exec(f.Context(), sql, args...); err != nil {
		f.Fatal(err)
	}
}

// past moves due times or leases back, as if time had gone by.
func (f fixture) past(column string, by time.Duration) {
	f.Helper()
	f.exec(fmt.Sprintf("update workflow_steps set %s = %s - $1::interval", column, column), by)
}

func (f fixture) count(sql string, args ...any) (n int) {
	f.Helper()
	if err := f.pool.QueryRow(f.Context(), sql, args...).Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}

func (f fixture) cancel(id order.ID, key string) (store.Answer, bool) {
	f.Helper()
	a, found, err := f.store.CancelOrder(f.Context(), id, store.Request{
		Caller: customer, Route: "cancel", Key: key, Fingerprint: []byte{1},
	}, `{"code":"invalid_transition"}`)
	if err != nil {
		f.Fatal(err)
	}
	return a, found
}
