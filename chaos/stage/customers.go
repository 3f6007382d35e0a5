package stage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"ordeal/scenarios/evidence"
)

const (
	// requestPatience is how long a customer waits for an answer.
	requestPatience = 10 * time.Second
	// insistEvery separates the tries of a request that was not answered for good.
	insistEvery = 150 * time.Millisecond
	// insistFor bounds them.
	insistFor = 90 * time.Second
	// codeInProgress is the problem code of a request whose twin is still running.
	codeInProgress = "idempotency_in_progress"
)

// Customers, and the operator, send requests and remember what they saw. Their methods may be
// called concurrently.
type Customers struct {
	api    *Node
	client *http.Client

	mu        sync.Mutex
	exchanges []evidence.Exchange
}

func newCustomers(api *Node) *Customers {
	return &Customers{api: api, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 32},
	}}
}

// Item is one line of an order to create.
type Item struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	// UnitPrice is in kopecks.
	UnitPrice int64 `json:"unit_price"`
}

// request is a request of a customer.
type request struct {
	node     *Node
	operator bool
	route    string
	order    string
	key      string
	body     []byte
}

// target is the method and the path of the request.
func (r request) target() (method, path string) {
	switch r.route {
	case evidence.RouteCreate:
		return http.MethodPost, "/api/v1/orders"
	case evidence.RouteCancel:
		return http.MethodPost, "/api/v1/orders/" + r.order + "/cancel"
	case evidence.RouteRefund:
		return http.MethodPost, "/api/v1/orders/" + r.order + "/refunds"
	case evidence.RouteClose:
		return http.MethodPost, "/api/v1/orders/" + r.order + "/close"
	}
	return http.MethodGet, "/api/v1/orders/" + r.order
}

// who is the caller, his role and his token.
func (r request) who() (name, role, token string) {
	if r.operator {
		return operator, "operator", operatorToken
	}
	return customer, "customer", customerToken
}

// Create creates an order, again and again under one key until it is answered for good, and
// returns its id.
func (c *Customers) Create(ctx context.Context, key string, items []Item) (string, error) {
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		return "", fmt.Errorf("create %s: %w", key, err)
	}
	e, err := c.insist(ctx, request{
		node: c.api, route: evidence.RouteCreate, key: key, body: body,
	})
	if err == nil && !e.Accepted() {
		err = fmt.Errorf("answered %d %s", e.Status, e.Code)
	}
	if err != nil {
		return "", fmt.Errorf("create %s: %w", key, err)
	}
	return e.Shown.Order, nil
}

// Cancel cancels an order, again and again under one key until it is answered for good; the
// answer may be a refusal.
func (c *Customers) Cancel(ctx context.Context, order string) error {
	_, err := c.insist(ctx, request{
		node: c.api, route: evidence.RouteCancel, order: order, key: "cancel", body: []byte("{}"),
	})
	if err != nil {
		return fmt.Errorf("cancel %s: %w", order, err)
	}
	return nil
}

// Operate lets the operator decide about an order that he has seen in a version, again and again
// under one key until it is answered for good. Fields are those of the command beside the ones
// that all have.
func (c *Customers) Operate(
	ctx context.Context, route, order string, version int, fields map[string]any,
) error {
	body := map[string]any{"reason_code": "other", "expected_version": version}
	maps.Copy(body, fields)
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", route, order, err)
	}
	e, err := c.insist(ctx, request{
		node: c.api, operator: true, route: route, order: order, key: route, body: text,
	})
	if err == nil && !e.Accepted() {
		err = fmt.Errorf("answered %d %s", e.Status, e.Code)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", route, order, err)
	}
	return nil
}

// Abort creates an order and goes away after the patience, whatever has happened by then.
func (c *Customers) Abort(ctx context.Context, node *Node, key string, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.exchange(ctx, request{node: node, route: evidence.RouteCreate, key: key,
		body: []byte(`{"items":[{"sku":"storm","quantity":1,"unit_price":100}]}`)})
}

// insist repeats a request until its answer is final.
func (c *Customers) insist(ctx context.Context, r request) (evidence.Exchange, error) {
	bound, cancel := context.WithTimeout(ctx, insistFor)
	defer cancel()
	for {
		e := c.exchange(bound, r)
		if !e.Unknown && e.Status < 500 && e.Code != codeInProgress {
			return e, nil
		}
		select {
		case <-bound.Done():
			return e, fmt.Errorf("no final answer: %w", bound.Err())
		case <-time.After(insistEvery):
		}
	}
}

// exchange makes one request and keeps what the customer saw.
func (c *Customers) exchange(ctx context.Context, r request) evidence.Exchange {
	name, role, _ := r.who()
	e := evidence.Exchange{
		Client:      name,
		Role:        role,
		Route:       r.route,
		Order:       r.order,
		Key:         r.key,
		Fingerprint: evidence.Digest([]byte(r.route), []byte(r.order), r.body),
		SentAt:      moment(),
		Unknown:     true,
	}
	e.ReleaseStock = r.route == evidence.RouteClose &&
		bytes.Contains(r.body, []byte(`"release_stock":true`))
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	if response, err := c.send(ctx, r); err == nil {
		saw(&e, response)
	}
	c.mu.Lock()
	c.exchanges = append(c.exchanges, e)
	c.mu.Unlock()
	return e
}

func (c *Customers) send(ctx context.Context, r request) (*http.Response, error) {
	method, path := r.target()
	req, err := http.NewRequestWithContext(ctx, method, r.node.URL()+path,
		io.NopCloser(bytes.NewReader(r.body)))
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(r.body))
	_, _, token := r.who()
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	return c.client.Do(req)
}

// saw notes an answer, if it is complete.
func saw(e *evidence.Exchange, response *http.Response) {
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return
	}
	e.Saw(response.StatusCode, response.Header, body, moment())
}

// History lists the exchanges in the order in which they were sent.
func (c *Customers) History() []evidence.Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.exchanges)
	slices.SortStableFunc(all, func(a, b evidence.Exchange) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), cmp.Compare(a.Key, b.Key))
	})
	for i := range all {
		all[i].Seq = i + 1
	}
	return all
}

func (c *Customers) close() { c.client.CloseIdleConnections() }
