// Package integration_test runs two whole instances of the service, API and executor, beside each
// other on one real PostgreSQL, against imitations of the providers over real HTTP, and compares
// what clients see with the providers' ledgers. It fails without a PostgreSQL.
package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"

	"ordeal/migrations"
	"ordeal/service"
	"ordeal/service/order"
	"ordeal/sim/imitation"
	"ordeal/sim/pgserver"
)

var (
	server   *pgserver.Server
	template = pgserver.UniqueName("service_template")
)

func TestMain(m *testing.M) {
	code := run(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func run(m *testing.M) int {
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = server.Close() }()
	return m.Run()
}

// prepare starts a server with a migrated template.
func prepare(ctx context.Context) (err error) {
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience bounds everything that a test waits for, on a busy machine too.
const patience = 60 * time.Second

// await polls until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// instance is one process of the service, but for the process.
type instance struct {
	url  string
	stop func() // stops and drains; again: nothing
}

// shop is two instances with all that is around them.
type shop struct {
	*testing.T
	database  string
	warehouse *imitation.Warehouse
	payment   *imitation.Payment
	shipping  *imitation.Shipping
	urls      [3]string // of the providers
	instances [2]*instance
	token     string
	client    *http.Client
}

// open opens a shop with a database of its own.
func open(t *testing.T) *shop {
	t.Helper()
	name := pgserver.UniqueName("service")
	must(t, server.CloneDatabase(t.Context(), name, template))
	t.Cleanup(func() { must(t, server.DropDatabase(context.Background(), name)) })
	c := imitation.Config{Clock: clockwork.NewRealClock()}
	s := &shop{
		T:         t,
		database:  server.DatabaseURL(name),
		warehouse: imitation.NewWarehouse(imitation.WarehouseConfig{Config: c, DefaultSupply: 1000}),
		payment:   imitation.NewPayment(c),
		shipping:  imitation.NewShipping(c),
		client:    &http.Client{Transport: &http.Transport{}},
	}
	t.Cleanup(s.client.CloseIdleConnections)
	s.urls = [3]string{s.serve(s.warehouse), s.serve(s.payment), s.serve(s.shipping)}
	tokens, err := service.Seed(t.Context(), s.database, service.Tokens{})
	must(t, err)
	s.token = tokens.Customer
	for n := range s.instances {
		s.instances[n] = s.start(fmt.Sprintf("instance-%d", n+1))
	}
	return s
}

// serve serves an imitation over HTTP.
func (s *shop) serve(h interface {
	http.Handler
	Close()
}) string {
	web := httptest.NewServer(h)
	s.Cleanup(func() { h.Close(); web.Close() })
	return web.URL
}

// start starts an instance as a process does.
func (s *shop) start(name string) *instance {
	s.Helper()
	pools, err := service.OpenPools(s.Context(), s.database, 8)
	must(s.T, err)
	dependencies := service.Production(pools, slog.New(slog.DiscardHandler))
	one, err := service.New(service.Config{
		Name:      name,
		Warehouse: s.urls[0],
		Payment:   s.urls[1],
		Shipping:  s.urls[2],
		PollEvery: 100 * time.Millisecond,
	}, dependencies)
	must(s.T, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(s.T, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- one.ServeAndRun(ctx, listener) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("%s: %v", name, err)
		}
		pools.Close()
		dependencies.Transport.(*http.Transport).CloseIdleConnections()
	})
	s.Cleanup(stop)
	return &instance{url: "http://" + listener.Addr().String(), stop: stop}
}

// call sends a request to an instance as the customer.
func (s *shop) call(
	instance int, method, path, key string, body []byte,
) (status int, header http.Header, answer []byte) {
	s.Helper()
	url := s.instances[instance].url + path
	r, err := http.NewRequestWithContext(s.Context(), method, url, bytes.NewReader(body))
	must(s.T, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := s.client.Do(r)
	must(s.T, err)
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	must(s.T, err)
	return response.StatusCode, response.Header, answer
}

const ordersPath = "/api/v1/orders"

// purchase is two boxes of tea, total its price in kopecks.
const (
	purchase = `{"items":[{"sku":"tea","quantity":2,"unit_price":50000}]}`
	total    = 100_000
)

// orderID is the id of the order that the customer creates under a key.
func orderID(key string) order.ID { return order.NewID(service.LocalCustomer, key) }

// create creates an order and returns the answer.
func (s *shop) create(instance int, key string) []byte {
	s.Helper()
	status, header, body := s.call(instance, "POST", ordersPath, key, []byte(purchase))
	if status != http.StatusCreated || header.Get("Location") != ordersPath+"/"+orderID(key).String() {
		s.Fatalf("create %s: %d %v %s", key, status, header, body)
	}
	return body
}

// shown is an order as the API shows it, as far as the tests look.
type shown struct {
	State        order.State
	Version      int
	Reason       *string
	Attention    []struct{ Reason order.Attention }
	Compensation order.Compensation
	History      []struct {
		Version int
		Event   order.Event
	}
	Cancellation *struct{ Status order.CancelStatus }
}

// show reads an order.
func (s *shop) show(instance int, key string) (o shown) {
	s.Helper()
	path := ordersPath + "/" + orderID(key).String()
	status, _, body := s.call(instance, "GET", path, "", nil)
	if err := json.Unmarshal(body, &o); err != nil || status != http.StatusOK {
		s.Fatalf("get %s: %d %s", key, status, body)
	}
	return o
}

// awaitState waits until an order is in a state.
func (s *shop) awaitState(key string, state order.State) {
	s.Helper()
	await(s.T, fmt.Sprintf("order %s to be %s", key, state), func() bool {
		return s.show(0, key).State == state
	})
}

// effects counts the entries of a ledger in which an operation of an order had its effect.
func effects(ledger []imitation.Entry, op imitation.Operation, key string) (n int) {
	for _, entry := range ledger {
		if entry.Operation == op && entry.OrderID == orderID(key).String() && entry.Effect {
			n++
		}
	}
	return n
}

// count counts rows.
func (s *shop) count(sql string, args ...any) (n int) {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.database)
	must(s.T, err)
	defer func() { _ = conn.Close(context.Background()) }()
	must(s.T, conn.QueryRow(s.Context(), sql, args...).Scan(&n))
	return n
}
