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
func (a *api) create(r *http.Request, who store.Principal) (reply, error) {
	key, err := requiredKey(r.Header)
	if err != nil {
		return reply{}, err
	}
	body, err := readCreation(r)
	if err != nil {
		return reply{}, err
	}
	c, err := a.creation(body, who.Name, key, r.Header)
	if err != nil {
		return reply{}, err
	}
	sum, err := fingerprint(createScope, "", body)
	if err != nil {
		return reply{}, err
	}
	request := store.Request{Caller: who.Name, Route: createScope, Key: key, Fingerprint: sum}
	answer, err := a.createOnce(r.Context(), request, c)
	if err != nil {
		return reply{}, err
	}
	settled, err := settle(answer, request)
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
func (a *api) cancel(r *http.Request, who store.Principal) (reply, error) {
	id, err := orderID(r)
	if err != nil {
		return reply{}, err
	}
	key, _, err := idempotencyKey(r.Header)
	if err != nil {
		return reply{}, err
	}
	if err := readNothing(r); err != nil {
		return reply{}, err
	}
	sum, err := fingerprint(cancelScope, id.String(), nil)
	if err != nil {
		return reply{}, err
	}
	request := store.Request{Caller: who.Name, Route: cancelScope, Key: key, Fingerprint: sum}
	_, forbidden := refuse(codeInvalidTransition, "The order can no longer be cancelled.").
		render(idOf(r))
	answer, err := a.cancelOnce(r.Context(), id, request, string(forbidden))
	if err != nil {
		return reply{}, err
	}
	return settle(answer, request)
}

// cancelOnce decides a cancellation or finds the answer that its key has already.
func (a *api) cancelOnce(
	client context.Context, id order.ID, request store.Request, forbidden string,
) (store.Answer, error) {
	ctx, cancel := context.WithTimeout(client, order.CallTimeout)
	defer cancel()
	answer, found, err := a.Orders.CancelOrder(ctx, id, request, forbidden)
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

// settle turns an answer into a reply. One that was stored for another request is none for this.
func settle(answer store.Answer, request store.Request) (reply, error) {
	if answer.Replayed && subtle.ConstantTimeCompare(answer.Fingerprint, request.Fingerprint) != 1 {
		return reply{}, refuse(codeKeyReused, "Use a new key for a new request.")
	}
	settled := reply{
		status:      answer.Status,
		contentType: typeJSON,
		replayed:    answer.Replayed,
		body:        []byte(answer.Body),
	}
	if answer.Status >= http.StatusBadRequest {
		settled.contentType = typeProblem
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
