package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"ordeal/scenarios/evidence"
)

// request is a REST request that a customer wants to make.
type request struct {
	route string
	order string
	key   string
	body  []byte
	// release is the option of a close.
	release bool
}

// target is the method and the path of the request.
func (r request) target() (method, path string) {
	switch r.route {
	case evidence.RouteCreate:
		return http.MethodPost, "/api/v1/orders"
	case evidence.RouteList:
		return http.MethodGet, "/api/v1/orders?limit=100"
	case evidence.RouteRead:
		return http.MethodGet, "/api/v1/orders/" + r.order
	case evidence.RouteAudit:
		return http.MethodGet, "/api/v1/orders/" + r.order + "/audit"
	case evidence.RouteRefund:
		return http.MethodPost, "/api/v1/orders/" + r.order + "/refunds"
	}
	return http.MethodPost, "/api/v1/orders/" + r.order + "/" + r.route
}

// exchange makes one request and keeps what the customer saw.
func (c *customers) exchange(
	ctx context.Context, customer, client string, r request,
) evidence.Exchange {
	e := evidence.Exchange{
		Client:       customer,
		Role:         roleOf(customer),
		Route:        r.route,
		Order:        r.order,
		Key:          r.key,
		Fingerprint:  evidence.Digest([]byte(r.route), []byte(r.order), r.body),
		ReleaseStock: r.release,
		SentAt:       c.world.DatabaseTime(c.world.Now()),
		Unknown:      true,
	}
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	response, err := c.send(ctx, customer, client, r)
	if err == nil {
		c.saw(&e, response)
	}
	c.mu.Lock()
	c.exchanges = append(c.exchanges, e)
	c.mu.Unlock()
	return e
}

func (c *customers) send(
	ctx context.Context, customer, client string, r request,
) (*http.Response, error) {
	method, path := r.target()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+apiProcess+path,
		bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.route, err)
	}
	req.Header.Set("Authorization", "Bearer "+token(customer))
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	return c.world.Client(client, apiProcess).Do(req)
}

// saw notes an answer, if it is complete.
func (c *customers) saw(e *evidence.Exchange, response *http.Response) {
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return
	}
	e.Saw(response.StatusCode, response.Header, body, c.world.DatabaseTime(c.world.Now()))
}

// history lists the exchanges in the order in which they were sent.
func (c *customers) history() []evidence.Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.exchanges, func(a, b evidence.Exchange) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), cmp.Compare(a.Client, b.Client),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Route, b.Route),
			a.AnsweredAt.Compare(b.AnsweredAt))
	})
	for i := range c.exchanges {
		c.exchanges[i].Seq = i + 1
	}
	return slices.Clone(c.exchanges)
}
