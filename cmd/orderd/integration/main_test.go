// Package integration_test runs the real binary against a real PostgreSQL and imitations of the
// providers, and looks at it from outside: exit codes, output, HTTP, and rows. It fails without
// a PostgreSQL.
package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"

	"ordeal/service/order"
	"ordeal/sim/imitation"
	"ordeal/sim/pgserver"
)

var (
	binary string
	server *pgserver.Server
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
	folder, err := os.MkdirTemp("", "orderd")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		binary = filepath.Join(folder, "orderd")
		err = build(binary)
	}
	if err == nil {
		server, err = pgserver.Start(context.Background(), pgserver.Options{Log: os.Stderr})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = server.Close() }()
	return m.Run()
}

func build(path string) error {
	out, err := exec.Command("go", "build", "-o", path, "ordeal/cmd/orderd").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
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
	for deadline := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// emptyDatabase creates a database for one test and returns its URL.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	name := pgserver.UniqueName("orderd")
	must(t, server.CreateDatabase(t.Context(), name))
	t.Cleanup(func() { must(t, server.DropDatabase(context.Background(), name)) })
	return server.DatabaseURL(name)
}

// orderd runs the binary to its end and returns what it wrote and how it ended.
func orderd(t *testing.T, env []string, args ...string) (out, errs string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = env
	var o, e bytes.Buffer
	command.Stdout, command.Stderr = &o, &e
	err := command.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("orderd %v: %v", args, err)
	}
	return o.String(), e.String(), command.ProcessState.ExitCode()
}

// journal is what a process wrote so far.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is all of it.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// field is the value of a field in the first log line with the given message.
func (j *journal) field(message, name string) string {
	for line := range strings.Lines(j.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			return fmt.Sprint(fields[name])
		}
	}
	return ""
}

// shop is a serving process with its database and its providers.
type shop struct {
	*testing.T
	database string
	env      []string
	payment  *imitation.Payment
	charging chan struct{} // receives when a charge has reached the provider
	command  *exec.Cmd
	log      *journal
	url      string
	admin    string
	token    string
	client   *http.Client
	ended    chan error
}

// open migrates, seeds and serves.
func open(t *testing.T, args ...string) *shop {
	t.Helper()
	s := &shop{T: t, database: emptyDatabase(t), charging: make(chan struct{}, 100),
		ended: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	env := append(os.Environ(), "ORDERD_DATABASE_URL="+s.database, "ORDERD_DEV=true")
	for _, command := range []string{"migrate", "seed"} {
		out, errs, code := orderd(t, env, command)
		if code != 0 {
			t.Fatalf("%s: %s", command, errs)
		}
		for line := range strings.Lines(out) {
			if token, ok := strings.CutPrefix(line, "order_customer "); ok {
				s.token = strings.TrimSpace(token)
			}
		}
	}
	c := imitation.Config{Clock: clockwork.NewRealClock()}
	s.payment = imitation.NewPayment(c)
	s.env = append(env, "ORDERD_LISTEN=127.0.0.1:0", "ORDERD_ADMIN_LISTEN=127.0.0.1:0",
		"ORDERD_WAREHOUSE_URL="+s.serve(imitation.NewWarehouse(imitation.WarehouseConfig{
			Config: c, DefaultSupply: 1000})),
		"ORDERD_PAYMENT_URL="+s.serve(s.payment),
		"ORDERD_SHIPPING_URL="+s.serve(imitation.NewShipping(c)))
	s.start(args...)
	return s
}

// start starts a process, in the place of one that has ended.
func (s *shop) start(args ...string) {
	s.Helper()
	s.log = &journal{}
	s.command = exec.Command(binary, append([]string{"serve"}, args...)...)
	s.command.Env = s.env
	s.command.Stderr = s.log
	must(s.T, s.command.Start())
	process, ended := s.command, s.ended
	go func() { ended <- process.Wait() }()
	s.Cleanup(func() {
		_ = process.Process.Kill()
		s.client.CloseIdleConnections()
	})
	await(s.T, "the address", func() bool {
		return s.log.field("serving", "address")+s.log.field("executing", "executor") != ""
	})
	s.url = "http://" + s.log.field("serving", "address")
	s.admin = "http://" + s.log.field("watched", "address")
}

// get reads from a URL.
func (s *shop) get(url string) (int, string) {
	s.Helper()
	response, err := s.client.Get(url)
	must(s.T, err)
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	must(s.T, err)
	return response.StatusCode, string(raw)
}

// serve serves an imitation and tells of every charge that arrives.
func (s *shop) serve(h interface {
	http.Handler
	Close()
}) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/charges" {
			s.charging <- struct{}{}
		}
		h.ServeHTTP(w, r)
	}))
	s.Cleanup(func() { h.Close(); web.Close() })
	return web.URL
}

// call sends a request as the customer and returns status and body.
func (s *shop) call(method, path, key, body string) (int, []byte) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	must(s.T, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := s.client.Do(r)
	must(s.T, err)
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	must(s.T, err)
	return response.StatusCode, raw
}

// create creates an order and returns its id.
func (s *shop) create(key string) order.ID {
	s.Helper()
	status, body := s.call("POST", "/api/v1/orders", key,
		`{"items":[{"sku":"tea","quantity":2,"unit_price":500}]}`)
	if status != http.StatusCreated {
		s.Fatalf("create: %d %s", status, body)
	}
	return order.NewID("order_customer", key)
}

// state asks the API for the state of an order.
func (s *shop) state(id order.ID) (state order.State) {
	s.Helper()
	status, body := s.call("GET", "/api/v1/orders/"+id.String(), "", "")
	var o struct{ State order.State }
	if err := json.Unmarshal(body, &o); err != nil || status != http.StatusOK {
		s.Fatalf("get: %d %s", status, body)
	}
	return o.State
}

// query reads one text from the database.
func (s *shop) query(sql string, args ...any) (text string) {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.database)
	must(s.T, err)
	defer func() { _ = conn.Close(context.Background()) }()
	must(s.T, conn.QueryRow(s.Context(), sql, args...).Scan(&text))
	return text
}
