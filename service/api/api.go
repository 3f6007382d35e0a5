package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/jonboulle/clockwork"

	"ordeal/service/order"
	"ordeal/service/store"
)

// Orders is what the API asks of the stored orders.
type Orders interface {
	// CreateOrder creates an order and stores the answer under the request's key; ok is false
	// when the key was used before, and nothing changed then.
	CreateOrder(
		ctx context.Context, r store.Request, c store.Creation,
	) (answer store.Answer, ok bool, err error)
	// CancelOrder decides a request to cancel, or finds the answer stored under its key.
	// Forbidden is the body of the 409 for an order that cannot be cancelled; found is false
	// when the caller has no such order.
	CancelOrder(
		ctx context.Context, id order.ID, r store.Request, forbidden string,
	) (answer store.Answer, found bool, err error)
	// FindAnswer returns the answer stored under a request's key.
	FindAnswer(
		ctx context.Context, id order.ID, r store.Request,
	) (answer store.Answer, ok bool, err error)
	// FindOrder returns an order of a customer, or of anybody where customer is empty.
	FindOrder(ctx context.Context, id order.ID, customer string) (o store.Order, ok bool, err error)
	// ListOrders returns the orders that a filter lets through, the newest first.
	ListOrders(ctx context.Context, f store.OrderFilter) ([]store.OrderRow, error)
	// RunCommand decides a command, or finds the answer stored under its key; found is false
	// when there is no such order for its customer. It audits what it decides.
	RunCommand(
		ctx context.Context, c store.Command,
	) (answer store.Answer, found bool, err error)
	// AuditRefusal audits a request that RunCommand did not see or found nothing for. Result is
	// the status of the response, and the last argument tells one such row from another.
	AuditRefusal(
		ctx context.Context, id order.ID, actorType, actorID, action, result, unique string,
	) error
	// ListAudit returns the audit trail of an order, the oldest row first; found is false when
	// there is no such order.
	ListAudit(ctx context.Context, id order.ID) (rows []store.AuditRow, found bool, err error)
}

// Principals is what the API asks about the owners of tokens.
type Principals interface {
	// FindPrincipal returns the owner of the token with a SHA-256.
	FindPrincipal(ctx context.Context, tokenHash []byte) (p store.Principal, ok bool, err error)
}

// Config holds what the API depends on. Every field without a default is required.
type Config struct {
	// Orders reads and changes orders.
	Orders Orders
	// Principals knows the owners of tokens.
	Principals Principals
	// Clock is the clock of the process. It decides how long a principal is remembered.
	Clock clockwork.Clock
	// Log gets failures, with request ids and without payloads.
	Log *slog.Logger
	// Ready tells why the process should get no requests now; nil means that it should.
	Ready func(context.Context) error
	// NewRequestID draws an id for a request that brings none: 1 to 64 of A–Z, a–z, 0–9, dot,
	// underscore and hyphen.
	NewRequestID func() string
	// ProcessVersion is the version of the process that new orders follow (ORD-2).
	ProcessVersion int16
	// CursorKey is the secret that cursors of lists are signed with (HMAC-SHA-256). Processes
	// that answer for each other share it; another key makes the cursors handed out invalid.
	CursorKey []byte
	// TokenRate bounds the requests of one token, FailureRate the failed authentications from
	// one network, each by this process alone. The default is no bound.
	TokenRate, FailureRate Rate
	// Created, if not nil, is called after an order was created or a command accepted: there
	// may be a step to do. It must not block.
	Created func()
}

// api is the state behind the handler.
type api struct {
	Config
	router *chi.Mux
	known  *principals
	// tokens and failures bound what a token, and what a network without one, may ask for.
	tokens   *buckets[tokenHash]
	failures *buckets[string]
}

// New returns the handler of the API. It starts no goroutines and may serve any number of
// requests at once.
func New(c Config) http.Handler {
	a := newAPI(c)
	return a.front(a.router)
}

// newAPI returns the state of a handler with all its routes.
func newAPI(c Config) *api {
	if c.Created == nil {
		c.Created = func() {}
	}
	a := &api{
		Config:   c,
		router:   chi.NewRouter(),
		known:    remember(c.Principals, c.Clock),
		tokens:   newBuckets[tokenHash](c.TokenRate, c.Clock),
		failures: newBuckets[string](c.FailureRate, c.Clock),
	}
	a.router.NotFound(a.open(a.noRoute))
	a.router.MethodNotAllowed(a.open(a.noMethod))
	a.get("/livez", a.open(a.live))
	a.get("/readyz", a.open(a.ready))
	a.get("/openapi.yaml", a.open(document))
	a.get("/problems/{code}", a.open(explain))
	a.get(ordersRoute, a.guarded(a.list, roleCustomer, roleOperator))
	a.get(orderRoute, a.guarded(a.find, roleCustomer, roleOperator))
	a.get(auditRoute, a.guarded(a.trail, roleOperator))
	a.router.Post(ordersRoute, a.guarded(a.create, roleCustomer))
	a.router.Post(cancelRoute, a.guarded(a.cancel, roleCustomer))
	a.router.Post(retryRoute, a.guarded(a.retry, roleCustomer, roleOperator))
	for _, name := range []store.CommandName{store.CommandReconcile, store.CommandVoid,
		store.CommandShip, store.CommandClose, store.CommandRefund} {
		a.router.Post(commandRoutes[name], a.guarded(a.operate(name), roleOperator))
	}
	return a
}

// The routes under the version of the API.
const (
	ordersRoute = "/api/v1/orders"
	orderRoute  = ordersRoute + "/{id}"
	auditRoute  = orderRoute + "/audit"
	cancelRoute = orderRoute + "/cancel"
	retryRoute  = orderRoute + "/retry"
)

// commandRoutes are the routes of the commands.
var commandRoutes = map[store.CommandName]string{
	store.CommandRetry:     retryRoute,
	store.CommandReconcile: orderRoute + "/reconcile",
	store.CommandVoid:      orderRoute + "/void",
	store.CommandShip:      orderRoute + "/ship",
	store.CommandClose:     orderRoute + "/close",
	store.CommandRefund:    orderRoute + "/refunds",
}

// get routes GET and HEAD.
func (a *api) get(pattern string, h http.HandlerFunc) {
	a.router.Get(pattern, h)
	a.router.Head(pattern, h)
}

// routed are the methods that some route has.
var routed = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// noRoute answers a path that no route has.
func (a *api) noRoute(*http.Request) (reply, error) { return reply{}, notFound() }

// noMethod answers a method that the path does not have. The router also comes here with methods
// that it has never heard of, whatever the path.
func (a *api) noMethod(r *http.Request) (reply, error) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	refused := refuse(codeMethodNotAllowed, "The resource does not have this method.")
	for _, method := range routed {
		if a.router.Match(chi.NewRouteContext(), method, path) {
			refused.allow = append(refused.allow, method)
		}
	}
	if refused.allow == nil {
		return reply{}, notFound()
	}
	return reply{}, refused
}

// live answers that the process runs.
func (a *api) live(*http.Request) (reply, error) { return shown(http.StatusOK, health{"ok"}) }

// ready answers whether the process should get requests.
func (a *api) ready(r *http.Request) (reply, error) {
	ctx, cancel := context.WithTimeout(r.Context(), order.CallTimeout)
	defer cancel()
	if err := a.Ready(ctx); err != nil {
		return reply{}, &refusal{code: codeUnavailable, detail: "Not ready.", cause: err}
	}
	return shown(http.StatusOK, health{"ok"})
}

// health is the body of the health routes.
type health struct {
	Status string `json:"status"`
}
