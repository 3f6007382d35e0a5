package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/service/api"
	"ordeal/service/order"
	"ordeal/service/store"
)

// fake stands for the store: it keeps answers by key, and does what a test wants where the test
// sets a function.
type fake struct {
	tokens  map[string]store.Principal
	lookups int
	answers map[scope]store.Answer
	orders  map[order.ID]store.Order

	created  []store.Creation
	commands []store.Command
	refusals []string
	filters  []store.OrderFilter
	rows     []store.OrderRow
	trail    []store.AuditRow

	create func(context.Context) (store.Answer, bool, error)
	cancel func(context.Context) (store.Answer, bool, error)
	answer func(context.Context) (store.Answer, bool, error)
	find   func(context.Context) (store.Order, bool, error)
	whoIs  func(context.Context) (store.Principal, bool, error)
	run    func(context.Context) (store.Answer, bool, error)
	refuse func(context.Context) error
}

// scope is what an answer is stored under.
type scope struct{ caller, route, key string }

func place(r store.Request) scope { return scope{r.Caller, r.Route, r.Key} }

func (f *fake) CreateOrder(
	ctx context.Context, r store.Request, c store.Creation,
) (store.Answer, bool, error) {
	if f.create != nil {
		return f.create(ctx)
	}
	if _, used := f.answers[place(r)]; used {
		return store.Answer{}, false, nil
	}
	f.created = append(f.created, c)
	a := store.Answer{Status: 201, Body: summary(c.ID)}
	f.keep(r, a)
	return a, true, nil
}

func (f *fake) CancelOrder(
	ctx context.Context, id order.ID, r store.Request, forbidden string,
) (store.Answer, bool, error) {
	if f.cancel != nil {
		return f.cancel(ctx)
	}
	o, ok := f.orders[id]
	if !ok || o.Customer != r.Caller {
		return store.Answer{}, false, nil
	}
	if a, used := f.answers[place(r)]; used {
		return a, true, nil
	}
	a := store.Answer{Status: 202, Body: summary(id)}
	if o.State == order.Shipped {
		a = store.Answer{Status: 409, Body: forbidden}
	}
	f.keep(r, a)
	return a, true, nil
}

// RunCommand allows every command of a moving order, and none of one that is shipped.
func (f *fake) RunCommand(
	ctx context.Context, c store.Command,
) (store.Answer, bool, error) {
	if f.run != nil {
		return f.run(ctx)
	}
	f.commands = append(f.commands, c)
	o, ok := f.orders[c.OrderID]
	if !ok || c.Customer != "" && o.Customer != c.Customer {
		return store.Answer{}, false, nil
	}
	if a, used := f.answers[place(c.Request)]; used {
		return a, true, nil
	}
	a := store.Answer{Status: 202, Body: summary(c.OrderID)}
	if c.Name == store.CommandRefund {
		a.Body = `{"refund_no" : 1, "order_id" : "` + c.OrderID.String() + `", "amount" : 600,` +
			` "state" : "requested", "currency" : "RUB", "created_at" : "2026-01-02T03:04:05.000000Z"}`
	}
	switch {
	case c.ExpectedVersion != 0 && c.ExpectedVersion != o.Version:
		return store.Answer{Status: 412, Body: c.Stale}, true, nil
	case c.Amount > o.Total:
		return store.Answer{Status: 422, Body: c.Excessive}, true, nil
	case o.State == order.Shipped:
		a = store.Answer{Status: 409, Body: c.Forbidden}
	}
	f.keep(c.Request, a)
	return a, true, nil
}

// AuditRefusal writes a refusal down as one line.
func (f *fake) AuditRefusal(
	ctx context.Context, id order.ID, actorType, actorID, action, result, requestID string,
) error {
	if f.refuse != nil {
		return f.refuse(ctx)
	}
	f.refusals = append(f.refusals,
		strings.Join([]string{id.String(), actorType, actorID, action, result, requestID}, " "))
	return nil
}

// ListOrders returns the first rows, whatever the filter.
func (f *fake) ListOrders(_ context.Context, filter store.OrderFilter) ([]store.OrderRow, error) {
	f.filters = append(f.filters, filter)
	return f.rows[:min(filter.Limit, len(f.rows))], nil
}

func (f *fake) ListAudit(_ context.Context, id order.ID) ([]store.AuditRow, bool, error) {
	_, ok := f.orders[id]
	return f.trail, ok, nil
}

// summary is what the store answers to a command, in its own spelling of JSON.
func summary(id order.ID) string {
	return `{"id" : "` + id.String() + `", "state" : "releasing", "status" : "processing",` +
		` "version" : 3, "total" : 600, "currency" : "RUB", "cancellation" : null,` +
		` "created_at" : "2026-01-02T03:04:05.000000Z"}`
}

func (f *fake) keep(r store.Request, a store.Answer) {
	if r.Key != "" {
		a.Fingerprint, a.Replayed = r.Fingerprint, true
		f.answers[place(r)] = a
	}
}

func (f *fake) FindAnswer(
	ctx context.Context, _ order.ID, r store.Request,
) (store.Answer, bool, error) {
	if f.answer != nil {
		return f.answer(ctx)
	}
	a, ok := f.answers[place(r)]
	return a, ok, nil
}

func (f *fake) FindOrder(
	ctx context.Context, id order.ID, customer string,
) (store.Order, bool, error) {
	if f.find != nil {
		return f.find(ctx)
	}
	o, ok := f.orders[id]
	if !ok || customer != "" && o.Customer != customer {
		return store.Order{}, false, nil
	}
	return o, true, nil
}

func (f *fake) FindPrincipal(
	ctx context.Context, hash []byte,
) (store.Principal, bool, error) {
	f.lookups++
	if f.whoIs != nil {
		return f.whoIs(ctx)
	}
	p, ok := f.tokens[string(hash)]
	return p, ok, nil
}

// The tokens and orders of the tests.
const (
	ann      = "token-ann"
	bob      = "token-bob"
	operator = "token-operator"
)

var (
	annsOrder    = order.NewID("ann", "moving")
	shippedOrder = order.NewID("ann", "shipped")
	missing      = order.NewID("ann", "missing")
)

// bench is the API over a fake.
type bench struct {
	*testing.T
	fake    *fake
	clock   *clockwork.FakeClock
	config  api.Config
	handler http.Handler
	log     strings.Builder
	ready   error
	// news counts the calls of Created.
	news int
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, clock: clockwork.NewFakeClock()}
	b.fake = &fake{
		tokens:  map[string]store.Principal{},
		answers: map[scope]store.Answer{},
		orders: map[order.ID]store.Order{
			annsOrder:    orderOf("ann", annsOrder, order.Reserving),
			shippedOrder: orderOf("ann", shippedOrder, order.Shipped),
		},
	}
	b.principal(ann, "ann", "customer")
	b.principal(bob, "bob", "customer")
	b.principal(operator, "olga", "operator")
	b.config = api.Config{
		Orders:         b.fake,
		Principals:     b.fake,
		Clock:          b.clock,
		Log:            slog.New(slog.NewTextHandler(&b.log, nil)),
		Ready:          func(context.Context) error { return b.ready },
		NewRequestID:   func() string { return "drawn" },
		ProcessVersion: 1,
		CursorKey:      []byte("key of the tests"),
		Created:        func() { b.news++ },
	}
	b.rebuild()
	return b
}

// rebuild makes the API anew, from a configuration that a test has changed.
func (b *bench) rebuild() { b.handler = api.New(b.config) }

// limited is a bench whose API has rates.
func limited(t *testing.T, token, failure api.Rate) *bench {
	b := newBench(t)
	b.config.TokenRate, b.config.FailureRate = token, failure
	b.rebuild()
	return b
}

// orderOf is an order of a customer in a state, in its second version.
func orderOf(customer string, id order.ID, state order.State) store.Order {
	return store.Order{
		ID: id, Customer: customer, ProcessVersion: 1, State: state, Version: 2,
		Currency: "RUB", Total: 600, Compensation: order.CompensationNone,
		Items: []store.Line{{Amount: 600,
			Item: order.Item{SKU: "a", Quantity: 2, UnitPrice: 300}}},
		CreatedAt: at("2026-01-02T03:04:05Z"), UpdatedAt: at("2026-01-02T03:04:06Z"),
	}
}

func (b *bench) principal(token, name, role string) {
	hash := sha256.Sum256([]byte(token))
	b.fake.tokens[string(hash[:])] = store.Principal{Name: name, Role: role, TokenHash: hash[:]}
}

// call is a request of a test.
type call struct {
	method, path, token, key, body string
	header                         http.Header
}

// do sends a request as a client would and checks what holds for every response.
func (b *bench) do(c call) *httptest.ResponseRecorder {
	b.Helper()
	return b.send(b.request(c))
}

func (b *bench) request(c call) *http.Request {
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.key != "" {
		r.Header.Set("Idempotency-Key", c.key)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	return r
}

func (b *bench) send(r *http.Request) *httptest.ResponseRecorder {
	b.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	agreed.check(b.T, r, w)
	h := w.Header()
	if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("X-Request-Id") == "" {
		b.Errorf("headers of %s %s: %v", r.Method, r.URL.Path, h)
	}
	if w.Code >= 400 && r.Method != http.MethodHead && h.Get("Idempotent-Replayed") == "" {
		b.checkProblem(w)
	}
	return w
}

// checkProblem checks what holds for every problem.
func (b *bench) checkProblem(w *httptest.ResponseRecorder) {
	b.Helper()
	p := problemOf(b.T, w)
	if w.Header().Get("Content-Type") != "application/problem+json" ||
		p.Status != w.Code || p.Type != "/problems/"+p.Code || p.Title == "" ||
		p.Detail == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		b.Errorf("%d %v: %+v", w.Code, w.Header(), p)
	}
	later := p.Status == 503 || p.Status == 429 || p.Code == "idempotency_in_progress"
	if wait := w.Header().Get("Retry-After"); later != (wait != "") ||
		p.Status != 429 && wait > "1" {
		b.Errorf("%s: Retry-After %q", p.Code, wait)
	}
}

// problem is a problem as clients read it.
type problem struct {
	Type, Title, Detail, Code string
	// Parameter is the parameter of the query that is wrong.
	Parameter string
	Status    int
	RequestID string `json:"request_id"`
	Errors    []struct{ Pointer, Detail string }
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) (p problem) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%d: %v", w.Code, err)
	}
	return p
}

// decisionBody is an operator's command about an order in its second version.
const decisionBody = `{"reason_code":"other","expected_version":2}`

// refundBody is the same for a refund.
const refundBody = `{"reason_code":"goodwill","expected_version":2,"amount":600}`

// commandCall is an operator's command by the last segment of its path.
func commandCall(id order.ID, name, key string) call {
	c := call{method: "POST", path: "/api/v1/orders/" + id.String() + "/" + name,
		token: operator, key: key, body: decisionBody}
	if name == "refunds" {
		c.body = refundBody
	}
	return c
}

const body = `{"items":[{"sku":"a","quantity":2,"unit_price":300}]}`

func createCall(key string) call {
	return call{method: "POST", path: "/api/v1/orders", token: ann, key: key, body: body}
}

func cancelCall(id order.ID, key string) call {
	return call{method: "POST", path: "/api/v1/orders/" + id.String() + "/cancel",
		token: ann, key: key}
}

func findCall(id order.ID) call {
	return call{method: "GET", path: "/api/v1/orders/" + id.String(), token: ann}
}

// reported is an error that a database reported.
type reported string

func (e reported) Error() string    { return "secret of the database" }
func (e reported) SQLState() string { return string(e) }

var errCut = errors.New("secret address: connection reset")

// slowly waits for the end of a context, like a statement that finds none.
func slowly[T any](ctx context.Context) (none T, ok bool, err error) {
	<-ctx.Done()
	return none, false, ctx.Err()
}

// brokenBody is a body that ends with an error.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}
