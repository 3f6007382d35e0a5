package api

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"unicode/utf8"

	"ordeal/service/order"
	"ordeal/service/store"
)

// maxNote bounds the note of an operator's command, in characters.
const maxNote = 500

// maxVersion bounds the version of an order.
const maxVersion = math.MaxInt32

// decision is the body of an operator's command (API-5).
type decision struct {
	ReasonCode      string `json:"reason_code"`
	Note            string `json:"note"`
	ExpectedVersion int64  `json:"expected_version"`
	// ReleaseStock is a field of close alone.
	ReleaseStock bool `json:"release_stock"`
	// Amount is a field of a refund alone, in kopecks.
	Amount order.Money `json:"amount"`
}

// decodeDecision decodes the body of a command. It says nothing about the values.
func decodeDecision(body []byte, name store.CommandName) (c decision, err error) {
	versioned := false
	fields := []field{
		{"reason_code", true, stringInto(&c.ReasonCode)},
		{"note", false, stringInto(&c.Note)},
		{"expected_version", false, func(d *decoder) error {
			versioned = true
			return integerInto(&c.ExpectedVersion)(d)
		}},
	}
	switch name {
	case store.CommandClose:
		fields = append(fields, field{"release_stock", false, booleanInto(&c.ReleaseStock)})
	case store.CommandRefund:
		fields = append(fields, field{"amount", true, integerInto(&c.Amount)})
	}
	if err := decode(body, fields...); err != nil {
		return decision{}, err
	}
	if !versioned {
		return decision{}, refuse(codePreconditionRequired,
			"Say in expected_version which version of the order you have seen.")
	}
	return c, nil
}

// check checks the values of a command.
func (c decision) check(name store.CommandName) error {
	switch {
	case !knownReason(c.ReasonCode):
		return invalidCommand("/reason_code", "is not in the list")
	case utf8.RuneCountInString(c.Note) > maxNote:
		return invalidCommand("/note", "must have at most "+strconv.Itoa(maxNote)+" characters")
	case c.ExpectedVersion < 1 || c.ExpectedVersion > maxVersion:
		return invalidCommand("/expected_version", "must be a version")
	case name == store.CommandRefund && c.Amount < 1:
		return invalidCommand("/amount", "must be at least 1")
	}
	return nil
}

func invalidCommand(pointer, problem string) *refusal {
	return &refusal{
		code:   codeInvalidCommand,
		detail: "The command has a value that is not allowed.",
		fields: []fieldError{{pointer, problem}},
	}
}

// operate makes the reader of an operator's command.
func (a *api) operate(name store.CommandName) func(*http.Request, store.Principal) (task, error) {
	return func(r *http.Request, who store.Principal) (task, error) {
		id, err := orderID(r)
		if err != nil {
			return task{}, err
		}
		key, err := requiredKey(r.Header)
		if err != nil {
			return task{}, err
		}
		body, err := readBody(r)
		if err != nil {
			return task{}, err
		}
		wanted, err := decodeDecision(body, name)
		if err != nil {
			return task{}, err
		}
		c, err := newCommand(r, who, name, id, key, wanted)
		if err != nil {
			return task{}, err
		}
		c.ExpectedVersion = int(wanted.ExpectedVersion)
		c.Reason, c.Note = wanted.ReasonCode, wanted.Note
		c.ReleaseStock, c.Amount = wanted.ReleaseStock, wanted.Amount
		return task{order: id, action: string(name), run: func(ctx context.Context) (reply, error) {
			if err := wanted.check(name); err != nil {
				return reply{}, err
			}
			return a.command(ctx, c)
		}}, nil
	}
}

// retry repeats what is exhausted: a customer's own order, as a command without parameters, or
// any, as an operator's decision.
func (a *api) retry(r *http.Request, who store.Principal) (task, error) {
	if who.Role == roleOperator {
		return a.operate(store.CommandRetry)(r, who)
	}
	id, key, err := readBare(r)
	if err != nil {
		return task{}, err
	}
	c, err := newCommand(r, who, store.CommandRetry, id, key, nil)
	if err != nil {
		return task{}, err
	}
	c.Customer = customerOf(who)
	return task{run: func(ctx context.Context) (reply, error) { return a.command(ctx, c) }}, nil
}

// newCommand returns a command with its identity and the problems that it may be answered with.
func newCommand(
	r *http.Request, who store.Principal, name store.CommandName, id order.ID, key string, body any,
) (store.Command, error) {
	scope := http.MethodPost + " " + commandRoutes[name]
	sum, err := fingerprint(scope, id.String(), body)
	if err != nil {
		return store.Command{}, err
	}
	problem := func(c code, detail string) string {
		_, body := refuse(c, detail).render(idOf(r))
		return string(body)
	}
	return store.Command{
		Name:      name,
		OrderID:   id,
		Request:   store.Request{Caller: who.Name, Route: scope, Key: key, Fingerprint: sum},
		ActorType: who.Role,
		Forbidden: problem(codeInvalidTransition, "The order does not allow this now."),
		Stale:     problem(codeStaleVersion, "Look at the order again and decide anew."),
		Excessive: problem(codeRefundTooLarge, "The amount is more than what is left to refund."),
	}, nil
}

// command runs a command.
func (a *api) command(ctx context.Context, c store.Command) (reply, error) {
	answer, err := a.decided(ctx, c.OrderID, c.Request,
		func(ctx context.Context) (store.Answer, bool, error) {
			return a.Orders.RunCommand(ctx, c)
		})
	if err == nil && c.Name == store.CommandRefund && answer.status < http.StatusBadRequest {
		answer.location = ordersRoute + "/" + c.OrderID.String()
	}
	return answer, err
}
