package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"ordeal/service/order"
	"ordeal/service/store"
)

// auditView is the audit trail of an order, the oldest entry first.
type auditView struct {
	Entries []entryView `json:"entries"`
}

// entryView is an entry of the audit trail (AUD-1).
type entryView struct {
	At      string     `json:"at"`
	Actor   actorView  `json:"actor"`
	Action  string     `json:"action"`
	Object  objectView `json:"object"`
	Result  string     `json:"result"`
	Reason  *string    `json:"reason"`
	StepNo  *int       `json:"step_no"`
	Attempt *int       `json:"attempt"`
}

// actorView is who did it.
type actorView struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// objectView is what it was done to.
type objectView struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// objectType is the type of every object in the audit trail (AUD-1).
const objectType = "distributed_workflow"

// auditRead is the action under which a refusal to show the audit trail is audited.
const auditRead = "read_audit"

// trail shows the audit trail of an order.
func (a *api) trail(r *http.Request, _ store.Principal) (task, error) {
	id, err := orderID(r)
	if err != nil {
		return task{}, err
	}
	return task{order: id, action: auditRead, run: func(ctx context.Context) (reply, error) {
		ctx, cancel := context.WithTimeout(ctx, order.CallTimeout)
		defer cancel()
		rows, found, err := a.Orders.ListAudit(ctx, id)
		if err != nil {
			return reply{}, err
		}
		if !found {
			return reply{}, notFound()
		}
		view := auditView{Entries: make([]entryView, len(rows))}
		for n, row := range rows {
			view.Entries[n] = entry(id, row)
		}
		return shown(http.StatusOK, view)
	}}, nil
}

func entry(id order.ID, row store.AuditRow) entryView {
	return entryView{
		At:      stamp(row.At),
		Actor:   actorView{row.ActorType, row.ActorID},
		Action:  row.Action,
		Object:  objectView{objectType, id.String()},
		Result:  row.Result,
		Reason:  orNull(row.Reason),
		StepNo:  numberOrNull(row.StepNo),
		Attempt: numberOrNull(row.Attempt),
	}
}

// numberOrNull turns 0, which numbers nothing, into null.
func numberOrNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// auditedCodes are the refusals of an operator's route that are made here, about a request that is
// well-formed (API-5). What the store decides, it audits itself.
var auditedCodes = map[code]bool{
	codeForbidden:      true,
	codeNotFound:       true,
	codeInvalidCommand: true,
	codeKeyReused:      true,
}

// audited audits a refusal where it must be, and returns what the client is told: the refusal, or
// that it could not be audited. A client that goes away does not get around it.
func (a *api) audited(r *http.Request, who store.Principal, t task, err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok || t.action == "" || !auditedCodes[refused.code] {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), order.CallTimeout)
	defer cancel()
	status := strconv.Itoa(kinds[refused.code].status)
	// The client may give several requests one id, so the row gets another.
	failed := a.Orders.AuditRefusal(ctx, t.order, who.Role, who.Name, t.action, status,
		a.NewRequestID())
	if failed != nil {
		return failed
	}
	return err
}
