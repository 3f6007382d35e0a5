package integration_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"ordeal/service/order"
)

// Typed by hand, as the owner: what is not in the table, or lacks its history row, is refused.
func TestDirectEditsAreRefused(t *testing.T) {
	f := setup(t)
	f.create("created")
	f.exec(`create table ids as select order_id from orders`)
	for _, tc := range []struct{ name, prepare, sql string }{
		{"pair not in the table", "", `update orders set state = 'shipped'`},
		{"pair not in the table, with version", "",
			`update orders set state = 'shipped', version = version + 1`},
		{"pair in the table, no version", "", `update orders set state = 'reserving'`},
		{"pair in the table, no history", "",
			`update orders set state = 'reserving', version = version + 1`},
		{"version alone", "", `update orders set version = version + 1`},
		{"version back", "", `update orders set version = 0`},
		{"amount", "", `update orders set total = 1`},
		{"customer", "", `update orders set customer = 'bob'`},
		{"delete", "", `delete from orders`},
		{"history update", "", `update order_history set to_state = 'paid'`},
		{"history delete", "", `delete from order_history`},
		{"history truncate", "", `truncate order_history`},
		{"audit truncate", "", `truncate audit_events`},
		{"insert in another state", "", `insert into orders select * from jsonb_populate_recordset(
			null::orders, (select jsonb_agg(to_jsonb(o) || '{"state": "paid",
			"order_id": "00000000-0000-8000-8000-000000000001", "payment_ref": "x"}') from orders o))`},
		{"insert without history", "", `insert into orders select * from jsonb_populate_recordset(
			null::orders, (select jsonb_agg(to_jsonb(o) ||
			'{"order_id": "00000000-0000-8000-8000-000000000001"}') from orders o))`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := f.pool.Exec(t.Context(), tc.sql)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "23514" {
				t.Fatalf("got %v, want a check violation", err)
			}
		})
	}
}

func TestUnknownPaymentCannotBePaidByHand(t *testing.T) {
	f := setup(t)
	id := f.create("k1")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeUnknown)
	for _, sql := range []string{
		`update orders set state = 'paid'`,
		`update orders set state = 'paid', payment_ref = 'x'`,
		`update orders set state = 'paid', payment_ref = 'x', version = version + 1`,
	} {
		if _, err := f.pool.Exec(t.Context(), sql); err == nil {
			t.Fatalf("accepted: %s", sql)
		}
	}
	f.wantState(id, order.PaymentUnknown)
}

// The database's tables and the domain's are the same.
func TestTablesAreMirrored(t *testing.T) {
	f := setup(t)
	if n := f.count(`select count(*) from workflow_transitions`); n != len(order.Transitions) {
		t.Errorf("%d transitions in the database, %d in the domain", n, len(order.Transitions))
	}
	for _, tr := range order.Transitions {
		// Rows that end a release name the end they need; rows that begin one, the end they set.
		n := f.count(`select count(*) from workflow_transitions
			where from_state = $1 and event = $2 and to_state = $3 and release_end = $4
				and coalesce(step, '') = $5 and coalesce(step_if_cancelling, '') = $6
				and coalesce(cancel, '') = $7 and coalesce(compensation, '') = $8
				and coalesce(audit, '') = $9`,
			tr.From, tr.Event, tr.To, tr.End, tr.Step, tr.StepIfCancelling, tr.Cancel,
			tr.Compensation, tr.Audit)
		if n != 1 {
			t.Errorf("transition %+v is not mirrored", tr)
		}
	}
	if n := f.count(`select count(*) from workflow_takes`); n != len(order.Takes) {
		t.Errorf("%d takes in the database, %d in the domain", n, len(order.Takes))
	}
	for _, k := range order.Takes {
		n := f.count(`select count(*) from workflow_takes
			where kind = $1 and state = $2 and coalesce(event, '') = $3`, k.Kind, k.State, k.Event)
		if n != 1 {
			t.Errorf("take %+v is not mirrored", k)
		}
	}
	if n := f.count(`select count(*) from refund_transitions`); n != len(order.RefundTransitions) {
		t.Errorf("%d refund transitions in the database, %d in the domain", n,
			len(order.RefundTransitions))
	}
	for _, tr := range order.RefundTransitions {
		n := f.count(`select count(*) from refund_transitions
			where from_state = $1 and event = $2 and to_state = $3 and coalesce(step, '') = $4`,
			tr.From, tr.Event, tr.To, tr.Step)
		if n != 1 {
			t.Errorf("refund transition %+v is not mirrored", tr)
		}
	}
	// The keys that SQL builds are those of the domain.
	id := f.create("key")
	n := f.count(`select count(*) from workflow_steps where provider_key = $1`,
		order.ProviderKey(id, order.StepReserve, 1))
	if n != 1 {
		t.Error("the key of a reserve is not the domain's")
	}
	if n := f.count(`select count(*) from workflow_states`); n != len(order.States) {
		t.Errorf("%d states in the database, %d in the domain", n, len(order.States))
	}
	for _, s := range order.States {
		n := f.count(`select count(*) from workflow_states
			where state = $1 and class = $2 and status = $3`, s.State, s.Class, s.Status)
		if n != 1 {
			t.Errorf("state %+v is not mirrored", s)
		}
	}
}
