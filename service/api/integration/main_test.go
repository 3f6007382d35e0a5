// Package integration_test runs the API on the real store and a real PostgreSQL. It fails without
// one.
package integration_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"

	"ordeal/migrations"
	"ordeal/service/api"
	"ordeal/service/order"
	"ordeal/service/store"
	"ordeal/sim/pgserver"
)

var (
	server   *pgserver.Server
	template = pgserver.UniqueName("api_template")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = server.Close() }()
	return m.Run()
}

// start starts a server with a migrated template.
func start(ctx context.Context) (err error) {
	server, err = pgserver.Start(ctx, pgserver.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := server.CreateDatabase(ctx, template); err != nil {
		return err
	}
	config, err := pgx.ParseConfig(server.DatabaseURL(template))
	if err != nil {
		return err
	}
	_, err = migrations.Up(ctx, config)
	return err
}

// The tokens of the tests, equal to the names of their owners.
const (
	ann  = "ann"
	bob  = "bob"
	olga = "olga"
)

// service is two instances of the API on one database of their own, each with its own pool.
type service struct {
	*testing.T
	pool      *pgxpool.Pool
	store     *store.Store
	instances [2]http.Handler
	log       *strings.Builder
	// drawn counts the ids of requests.
	drawn atomic.Int64
}

func setup(t *testing.T) *service {
	t.Helper()
	name := pgserver.UniqueName("api")
	if err := server.CloneDatabase(t.Context(), name, template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.DropDatabase(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	s := &service{T: t, log: &strings.Builder{}}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	for n := range s.instances {
		pool, err := pgxpool.New(t.Context(), server.DatabaseURL(name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		s.pool, s.store = pool, store.New(pool, nil)
		s.instances[n] = api.New(api.Config{
			Orders:         s.store,
			Principals:     s.store,
			Clock:          clockwork.NewRealClock(),
			Log:            log,
			Ready:          s.store.Ping,
			NewRequestID:   func() string { return fmt.Sprintf("drawn-%d", s.drawn.Add(1)) },
			ProcessVersion: 1,
			CursorKey:      []byte("key of the tests"),
		})
	}
	for name, role := range map[string]string{ann: "customer", bob: "customer", olga: "operator"} {
		hash := sha256.Sum256([]byte(name))
		p := store.Principal{Name: name, Role: role, TokenHash: hash[:]}
		if err := s.store.SeedPrincipal(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

const (
	ordersPath = "/api/v1/orders"
	body       = `{"items":[{"sku":"tea","quantity":2,"unit_price":500},` +
		`{"sku":"cup","quantity":1,"unit_price":99}]}`
)

// send sends a request to an instance.
func (s *service) send(
	instance int, method, path, token, key, body string,
) *httptest.ResponseRecorder {
	s.Helper()
	return s.serve(instance, s.request(method, path, token, key, body))
}

// serve lets an instance answer a request, and holds the answer against the document.
func (s *service) serve(instance int, r *http.Request) *httptest.ResponseRecorder {
	s.Helper()
	w := httptest.NewRecorder()
	s.instances[instance].ServeHTTP(w, r)
	agreed.check(s.T, r, w)
	return w
}

// request makes a request as a client would.
func (s *service) request(method, path, token, key, body string) *http.Request {
	r := httptest.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	r.Header.Set("X-Request-Id", "mine")
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return r
}

// create creates an order of ann and returns its id.
func (s *service) create(key string) order.ID {
	s.Helper()
	s.want(s.send(0, "POST", ordersPath, ann, key, body), 201, "")
	return order.NewID(ann, key)
}

// cancel asks for an order of ann to be cancelled.
func (s *service) cancel(id order.ID, key string) *httptest.ResponseRecorder {
	return s.send(0, "POST", ordersPath+"/"+id.String()+"/cancel", ann, key, "")
}

// want checks the status and, of a problem, the code.
func (s *service) want(w *httptest.ResponseRecorder, status int, code string) {
	s.Helper()
	var p struct{ Code string }
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != status ||
		p.Code != code {
		s.Fatalf("%d %s (%v), want %d %s; log: %s", w.Code, w.Body, err, status, code, s.log)
	}
}

// count counts rows.
func (s *service) count(sql string, args ...any) (n int) {
	s.Helper()
	if err := s.pool.QueryRow(s.Context(), sql, args...).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// take takes the one due step, as an executor does.
func (s *service) take() order.TakenStep {
	s.Helper()
	taken, err := s.store.TakeSteps(s.Context(), order.TakeRequest{
		Owner: "executor", Versions: []int16{1}, Limit: 20, Lease: order.LeaseDuration,
	})
	if err != nil || len(taken) != 1 {
		s.Fatalf("took %d steps: %v", len(taken), err)
	}
	return taken[0]
}

// record records the outcome of a step.
func (s *service) record(step order.TakenStep, outcome order.Outcome) {
	s.Helper()
	follow, err := order.Follow(step.Kind, outcome, step.Counted == order.MaxAttempts)
	if err != nil {
		s.Fatal(err)
	}
	kept, err := s.store.RecordResults(s.Context(), []order.Result{{
		Ref: step.Ref, Attempt: step.Attempt, Outcome: outcome, Sent: true,
		Reference: "ref-" + string(step.Kind), Follow: follow,
	}})
	if err != nil || !kept[0] {
		s.Fatalf("record %s: %v %v", step.Kind, kept, err)
	}
}

// succeed lets the next steps of the one order succeed.
func (s *service) succeed(kinds ...order.StepKind) {
	s.Helper()
	for _, kind := range kinds {
		step := s.take()
		if step.Kind != kind {
			s.Fatalf("took %s, want %s", step.Kind, kind)
		}
		s.record(step, order.OutcomeSucceeded)
	}
}

// end lets the next step of the one order end with an outcome.
func (s *service) end(kind order.StepKind, outcome order.Outcome) {
	s.Helper()
	step := s.take()
	if step.Kind != kind {
		s.Fatalf("took %s, want %s", step.Kind, kind)
	}
	s.record(step, outcome)
}

// exhaust lets the next step fail until its attempts are used up.
func (s *service) exhaust(kind order.StepKind) {
	s.Helper()
	for range order.MaxAttempts {
		s.end(kind, order.OutcomeTransient)
		s.exec("update workflow_steps set due_at = now() where status = 'due'")
	}
}

// exec changes what only a test may.
func (s *service) exec(sql string) {
	s.Helper()
	if _, err := s.pool.Exec(s.Context(), sql); err != nil {
		s.Fatal(err)
	}
}

// shown is an order as the API shows it, as far as the tests look.
type shown struct {
	ID           string
	Customer     string
	Total        int64
	State        order.State
	Status       order.Status
	Version      int
	Compensation string
	Items        []struct{ Amount int64 }
	History      []struct {
		To    order.State `json:"to_state"`
		Event order.Event
	}
	Step *struct {
		Kind    order.StepKind
		Attempt int
		Status  string
	}
	References          struct{ Reservation, Payment, Shipment *string }
	ReservationDeadline *string `json:"reservation_deadline"`
	Cancellation        *struct{ Status order.CancelStatus }
	Closing             bool
	Attention           []struct{ Reason order.Attention }
	Refunds             []struct {
		No     int `json:"refund_no"`
		State  order.RefundState
		Amount int64
	}
	NextActions []string `json:"next_actions"`
	CreatedAt   string   `json:"created_at"`
	ClosedAt    *string  `json:"closed_at"`
}

// show reads an order as a token sees it.
func (s *service) show(id order.ID, token string) (o shown) {
	s.Helper()
	w := s.send(1, "GET", ordersPath+"/"+id.String(), token, "", "")
	s.want(w, 200, "")
	if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
		s.Fatal(err)
	}
	return o
}
