package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
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
	Refunds             []refundView       `json:"refunds"`
	Closing             bool               `json:"closing"`
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

// refundView is a refund (REF-1); its number is unique within the order.
type refundView struct {
	No        int               `json:"refund_no"`
	State     order.RefundState `json:"state"`
	Amount    order.Money       `json:"amount"`
	Currency  string            `json:"currency"`
	Reason    *string           `json:"reason"`
	Reference *string           `json:"reference"`
	CreatedAt string            `json:"created_at"`
	UpdatedAt string            `json:"updated_at"`
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
func (a *api) find(r *http.Request, who store.Principal) (task, error) {
	id, err := orderID(r)
	if err != nil {
		return task{}, err
	}
	return task{run: func(ctx context.Context) (reply, error) {
		ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
		defer cancel()
		o, ok, err := a.Orders.FindOrder(ctx, id, customerOf(who))
		if err != nil {
			return reply{}, err
		}
		if !ok {
			return reply{}, notFound()
		}
		answer, err := shown(http.StatusOK, view(o, who.Role))
		return answer.unlessKnown(r.Header), err
	}}, nil
}

// customerOf returns the customer whose orders a principal may see, empty for all.
func customerOf(who store.Principal) string {
	if who.Role == roleOperator {
		return ""
	}
	return who.Name
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
		Refunds:             refunds(o.Refunds),
		Closing:             o.Closing,
		History:             history(o.History),
		Step:                step(o.Steps),
		NextActions:         nextActions(situation(o), role),
		CreatedAt:           stamp(o.CreatedAt),
		UpdatedAt:           stamp(o.UpdatedAt),
		ClosedAt:            stampOrNull(o.ClosedAt),
	}
}

// nextActions lists what a role may do next.
func nextActions(s order.Situation, role string) []order.Action {
	if role == roleOperator {
		return order.OperatorActions(s)
	}
	return order.CustomerActions(s)
}

// situation is what an order's next actions depend on.
func situation(o store.Order) order.Situation {
	s := order.Situation{
		State:      o.State,
		Cancel:     o.CancelStatus,
		Attention:  reasons(o.Attention),
		Closed:     o.ClosedAt != nil,
		Closing:    o.Closing,
		Refundable: o.Total,
		Voiding: slices.ContainsFunc(o.Steps, func(s store.OpenStep) bool {
			return s.Kind == order.StepVoid
		}),
	}
	if n := len(o.History); n > 0 {
		s.Last = o.History[n-1].Event
	}
	for _, r := range o.Refunds {
		s.RefundUnknown = s.RefundUnknown || r.State == order.RefundUnknown
		if r.State != order.RefundFailed {
			s.Refundable -= r.Amount
		}
	}
	return s
}

// reasons lists the reasons for attention without their subjects.
func reasons(rows []store.Reason) []order.Attention {
	list := make([]order.Attention, len(rows))
	for n, r := range rows {
		list[n] = r.Reason
	}
	return list
}

func refunds(rows []store.Refund) []refundView {
	views := make([]refundView, len(rows))
	for n, r := range rows {
		views[n] = refundView{
			No: r.No, State: r.State, Amount: r.Amount, Currency: r.Currency,
			Reason: orNull(r.Reason), Reference: r.Reference,
			CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt),
		}
	}
	return views
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
