package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"ordeal/service/order"
	"ordeal/service/store"
)

// orderView is an order as clients see it.
type orderView struct {
	ID                  string             `json:"id"`
	Customer            string             `json:"customer"`
	Items               []store.Line       `json:"items"`
	Total               order.Money        `json:"total"`
	Currency            string             `json:"currency"`
	State               order.State        `json:"state"`
	Status              order.Status       `json:"status"`
	Version             int                `json:"version"`
	ProcessVersion      int                `json:"process_version"`
	Reason              *string            `json:"reason"`
	Attention           []attentionView    `json:"attention"`
	Compensation        order.Compensation `json:"compensation"`
	References          referencesView     `json:"references"`
	ReservationDeadline *string            `json:"reservation_deadline"`
	Cancellation        *cancellationView  `json:"cancellation"`
	History             []changeView       `json:"history"`
	Step                *stepView          `json:"step"`
	NextActions         []order.Action     `json:"next_actions"`
	CreatedAt           string             `json:"created_at"`
	UpdatedAt           string             `json:"updated_at"`
	ClosedAt            *string            `json:"closed_at"`
}

// attentionView is a reason why a person should look.
type attentionView struct {
	Reason order.Attention `json:"reason"`
	StepNo int             `json:"step_no"`
	Since  string          `json:"since"`
}

// referencesView holds what the providers call their parts of the order.
type referencesView struct {
	Reservation *string `json:"reservation"`
	Payment     *string `json:"payment"`
	Shipment    *string `json:"shipment"`
}

// cancellationView is what became of a request to cancel.
type cancellationView struct {
	Status      order.CancelStatus `json:"status"`
	RequestedAt *string            `json:"requested_at"`
}

// changeView is one change of state; the first comes from no state.
type changeView struct {
	Version int          `json:"version"`
	From    *order.State `json:"from_state"`
	To      order.State  `json:"to_state"`
	Event   order.Event  `json:"event"`
	Reason  *string      `json:"reason"`
	At      string       `json:"at"`
}

// stepView is the step that moves the order on; attempt counts those begun.
type stepView struct {
	Kind    order.StepKind   `json:"kind"`
	Attempt int              `json:"attempt"`
	Status  order.StepStatus `json:"status"`
	DueAt   string           `json:"due_at"`
}

// find shows an order: its own to a customer, any to the operator.
func (a *api) find(r *http.Request, who store.Principal) (reply, error) {
	id, err := orderID(r)
	if err != nil {
		return reply{}, err
	}
	customer := who.Name
	if who.Role == roleOperator {
		customer = ""
	}
	ctx, cancel := context.WithTimeout(r.Context(), order.CallTimeout)
	defer cancel()
	o, ok, err := a.Orders.FindOrder(ctx, id, customer)
	if err != nil {
		return reply{}, err
	}
	if !ok {
		return reply{}, notFound()
	}
	return shown(http.StatusOK, view(o, who.Role))
}

// view shows an order to a role.
func view(o store.Order, role string) orderView {
	info, _ := order.Info(o.State)
	return orderView{
		ID:             o.ID.String(),
		Customer:       o.Customer,
		Items:          o.Items,
		Total:          o.Total,
		Currency:       o.Currency,
		State:          o.State,
		Status:         info.Status,
		Version:        o.Version,
		ProcessVersion: o.ProcessVersion,
		Reason:         orNull(o.Reason),
		Attention:      attention(o.Attention),
		Compensation:   o.Compensation,
		References: referencesView{
			Reservation: orNull(o.ReservationRef),
			Payment:     orNull(o.PaymentRef),
			Shipment:    orNull(o.ShipmentRef),
		},
		ReservationDeadline: stampOrNull(o.ReservationDeadline),
		Cancellation:        cancellation(o),
		History:             history(o.History),
		Step:                step(o.Steps),
		NextActions:         nextActions(o, role),
		CreatedAt:           stamp(o.CreatedAt),
		UpdatedAt:           stamp(o.UpdatedAt),
		ClosedAt:            stampOrNull(o.ClosedAt),
	}
}

// nextActions lists what a role may do next.
func nextActions(o store.Order, role string) []order.Action {
	if role != roleCustomer {
		return []order.Action{}
	}
	return order.CustomerActions(o.State, o.CancelStatus)
}

func attention(reasons []store.Reason) []attentionView {
	views := make([]attentionView, len(reasons))
	for n, r := range reasons {
		views[n] = attentionView{Reason: r.Reason, StepNo: r.StepNo, Since: stamp(r.Since)}
	}
	return views
}

func cancellation(o store.Order) *cancellationView {
	if o.CancelStatus == "" {
		return nil
	}
	return &cancellationView{
		Status:      o.CancelStatus,
		RequestedAt: stampOrNull(o.CancelRequestedAt),
	}
}

func history(changes []store.Change) []changeView {
	views := make([]changeView, len(changes))
	for n, c := range changes {
		views[n] = changeView{
			Version: c.Version, To: c.To, Event: c.Event, Reason: c.Reason, At: stamp(c.At),
		}
		if c.From != "" {
			views[n].From = &c.From
		}
	}
	return views
}

// step shows the open step with the lowest number: a void beside a reconciliation is the later.
func step(open []store.OpenStep) *stepView {
	if len(open) == 0 {
		return nil
	}
	s := open[0]
	return &stepView{Kind: s.Kind, Attempt: s.Attempt, Status: s.Status, DueAt: stamp(s.DueAt)}
}

// timeFormat is RFC 3339 in UTC with microseconds, as in the answers that the store makes.
const timeFormat = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string { return t.UTC().Format(timeFormat) }

func stampOrNull(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := stamp(*t)
	return &text
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// invalidTotals turns the domain's refusal of an order into the client's.
func invalidTotals(err error) error {
	if wrong, ok := errors.AsType[*order.InvalidError](err); ok {
		return invalidOrder(wrong.Field, wrong.Problem)
	}
	return err
}
