package api

import (
	"context"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"ordeal/service/order"
	"ordeal/service/store"
)

// The routes as they scope idempotency keys.
const (
	createScope = "POST " + ordersRoute
	cancelScope = "POST " + cancelRoute
)

// create creates an order: 201 with its Location, now and whenever the request is repeated.
func (a *api) create(r *http.Request, who store.Principal) (task, error) {
	key, err := requiredKey(r.Header)
	if err != nil {
		return task{}, err
	}
	body, err := readCreation(r)
	if err != nil {
		return task{}, err
	}
	return task{run: func(ctx context.Context) (reply, error) {
		c, err := a.creation(body, who.Name, key, r.Header)
		if err != nil {
			return reply{}, err
		}
		return a.created(ctx, c, body, key)
	}}, nil
}

// created answers for an order that is created, or was by the same request.
func (a *api) created(
	ctx context.Context, c store.Creation, body createRequest, key string,
) (reply, error) {
	sum, err := fingerprint(createScope, "", body)
	if err != nil {
		return reply{}, err
	}
	request := store.Request{Caller: c.Customer, Route: createScope, Key: key, Fingerprint: sum}
	answer, err := a.createOnce(ctx, request, c)
	if err != nil {
		return reply{}, err
	}
	settled, err := a.settle(answer, request)
	if err != nil {
		return reply{}, err
	}
	settled.location = ordersRoute + "/" + c.ID.String()
	return settled, nil
}

// creation checks the values of an order and derives what is not given.
func (a *api) creation(
	body createRequest, customer, key string, h http.Header,
) (store.Creation, error) {
	if body.Currency != order.Currency {
		return store.Creation{}, invalidOrder("/currency", "must be "+order.Currency)
	}
	amounts, total, err := order.Totals(body.Items)
	if err != nil {
		return store.Creation{}, invalidTotals(err)
	}
	c := store.Creation{
		ID:       order.NewID(customer, key),
		Customer: customer,
		Version:  a.ProcessVersion,
		Total:    total,
	}
	for n, item := range body.Items {
		c.Items = append(c.Items, store.Line{Item: item, Amount: amounts[n]})
	}
	trace, given := traceID(h)
	if !given {
		trace = order.TraceID(c.ID)
	}
	c.TraceID = trace
	return c, nil
}

// createOnce creates an order or finds the answer that its key has already.
func (a *api) createOnce(
	client context.Context, request store.Request, c store.Creation,
) (store.Answer, error) {
	ctx, cancel := context.WithTimeout(client, order.CallTimeout)
	defer cancel()
	answer, created, err := a.Orders.CreateOrder(ctx, request, c)
	switch {
	case err != nil:
		return a.lookAgain(client, c.ID, request, err)
	case created:
		return answer, nil
	}
	return a.found(ctx, c.ID, request)
}

// cancel asks for an order to be cancelled (ORD-5).
func (a *api) cancel(r *http.Request, who store.Principal) (task, error) {
	id, key, err := readBare(r)
	if err != nil {
		return task{}, err
	}
	sum, err := fingerprint(cancelScope, id.String(), nil)
	if err != nil {
		return task{}, err
	}
	request := store.Request{Caller: who.Name, Route: cancelScope, Key: key, Fingerprint: sum}
	_, forbidden := refuse(codeInvalidTransition, "The order can no longer be cancelled.").
		render(idOf(r))
	return task{run: func(ctx context.Context) (reply, error) {
		return a.decided(ctx, id, request,
			func(ctx context.Context) (store.Answer, bool, error) {
				return a.Orders.CancelOrder(ctx, id, request, string(forbidden))
			})
	}}, nil
}

// readBare reads a command without parameters: its order, and its key if it has one.
func readBare(r *http.Request) (id order.ID, key string, err error) {
	if id, err = orderID(r); err != nil {
		return id, "", err
	}
	if key, _, err = idempotencyKey(r.Header); err != nil {
		return id, "", err
	}
	return id, key, readNothing(r)
}

// decided answers a request about an order by what the store decides or finds.
func (a *api) decided(
	client context.Context, id order.ID, request store.Request,
	decide func(context.Context) (store.Answer, bool, error),
) (reply, error) {
	answer, err := a.decideOnce(client, id, request, decide)
	if err != nil {
		return reply{}, err
	}
	return a.settle(answer, request)
}

// decideOnce lets the store decide, or finds the answer that the request's key has already.
func (a *api) decideOnce(
	client context.Context, id order.ID, request store.Request,
	decide func(context.Context) (store.Answer, bool, error),
) (store.Answer, error) {
	ctx, cancel := context.WithTimeout(client, order.CallTimeout)
	defer cancel()
	answer, found, err := decide(ctx)
	switch {
	case err != nil && request.Key != "":
		return a.lookAgain(client, id, request, err)
	case err != nil:
		return store.Answer{}, err
	case !found:
		return store.Answer{}, notFound()
	}
	return answer, nil
}

// lookTime bounds the second look: it reads one row by its key.
const lookTime = time.Second

// lookAgain looks for the answer of a twin after a statement has failed. Where the statement
// found no end although the database answers, a twin holds it up, or the statement itself is
// still running there: the request is in progress. Other failures stay what they are.
func (a *api) lookAgain(
	client context.Context, id order.ID, request store.Request, failed error,
) (store.Answer, error) {
	if !outOfTime(failed) || client.Err() != nil {
		return store.Answer{}, failed
	}
	ctx, cancel := context.WithTimeout(client, lookTime)
	defer cancel()
	return a.found(ctx, id, request)
}

// found returns the answer stored under a request's key. None is that of a twin in progress.
func (a *api) found(
	ctx context.Context, id order.ID, request store.Request,
) (store.Answer, error) {
	answer, ok, err := a.Orders.FindAnswer(ctx, id, request)
	if err == nil && !ok {
		err = refuse(codeInProgress, "Repeat the request a little later.")
	}
	return answer, err
}

// settle turns an answer into a reply, and tells whoever waits for work when it is news. One that
// was stored for another request is none for this.
func (a *api) settle(answer store.Answer, request store.Request) (reply, error) {
	if answer.Replayed && subtle.ConstantTimeCompare(answer.Fingerprint, request.Fingerprint) != 1 {
		return reply{}, refuse(codeKeyReused, "Use a new key for a new request.")
	}
	settled := reply{
		status:      answer.Status,
		contentType: typeJSON,
		replayed:    answer.Replayed,
		body:        []byte(answer.Body),
	}
	switch {
	case answer.Status >= http.StatusBadRequest:
		settled.contentType = typeProblem
	case !answer.Replayed:
		a.Created()
	}
	return settled, nil
}

// orderID returns the order in the path. Another form than the canonical one names nothing.
func orderID(r *http.Request) (order.ID, error) {
	text := chi.URLParam(r, "id")
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return order.ID{}, notFound()
	}
	return id, nil
}

// invalidOrder refuses a value of an order.
func invalidOrder(pointer, problem string) *refusal {
	return &refusal{
		code:   codeInvalidOrder,
		detail: "The order has a value that is not allowed.",
		fields: []fieldError{{pointer, problem}},
	}
}
