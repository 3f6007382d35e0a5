package integration_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ordeal/service/order"
)

// TestCensus: orders that are not closed are counted by state, reason and next step, with the age
// of the oldest in its state and those above the threshold; closed ones by state; so are reasons
// for attention, and events that nobody published.
func TestCensus(t *testing.T) {
	f := setup(t)
	f.create("shipped")
	for _, kind := range []order.StepKind{order.StepReserve, order.StepPay, order.StepShip,
		order.StepCommit} {
		f.step(kind, order.OutcomeSucceeded)
	}
	f.create("refused")
	f.step(order.StepReserve, order.OutcomeRefused)
	f.create("stuck")
	for n := range order.MaxAttempts {
		if n > 0 {
			f.past("due_at", time.Minute)
		}
		f.step(order.StepReserve, order.OutcomeTransient)
	}
	f.create("unknown")
	f.step(order.StepReserve, order.OutcomeSucceeded)
	f.step(order.StepPay, order.OutcomeUnknown)
	f.create("fresh")
	f.create("old")
	f.exec("set session_replication_role = replica")
	f.exec(`update order_history h set at = at - interval '90 s' from orders o
		where o.order_id = h.order_id and o.order_id = $1`, order.NewID(customer, "old"))
	f.exec("set session_replication_role = origin")

	open, err := f.store.CountOpen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range open {
		got = append(got, fmt.Sprintf("%s %q %q: %d, old %t, attempts %d, escalated %d", b.State,
			b.Reason, b.Next, b.Orders, b.Oldest > 80*time.Second, b.Attempts, b.Escalated))
	}
	want := []string{
		`created "" "reserve": 2, old true, attempts 0, escalated 1`,
		`payment_unknown "" "reconcile": 1, old false, attempts 0, escalated 0`,
		`reserving "" "": 1, old false, attempts 0, escalated 0`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("open %q", got)
	}
	closed, err := f.store.CountClosed(t.Context())
	if err != nil || !slices.Equal(closed, []order.Closed{{State: order.ReservationFailed, Orders: 1},
		{State: order.Shipped, Orders: 1}}) {
		t.Errorf("closed %v, %v", closed, err)
	}
	flagged, err := f.store.CountFlagged(t.Context())
	if err != nil || len(flagged) != 1 || flagged[0].Reason != order.AttentionRetryExhausted ||
		flagged[0].Orders != 1 || flagged[0].Oldest < 0 || flagged[0].Oldest > time.Minute {
		t.Errorf("flagged %v, %v", flagged, err)
	}
	f.exec(`insert into discrepancies (order_id, key, kind, next_action, found_at, resolved_at)
		values ($1, 'a', 'k', 'n', now(), null), ($1, 'b', 'k', 'n', now(), now())`,
		order.NewID(customer, "old"))
	differ, err := f.store.CountDiscrepancies(t.Context())
	if err != nil || !slices.Equal(differ, []order.Discrepant{{Kind: "k", Open: 1}}) {
		t.Errorf("discrepancies %v, %v", differ, err)
	}
	f.exec(`update outbox set published_at = now() where sequence = 1`)
	f.exec(`update outbox set parked_at = now() where sequence = 2`)
	events := f.count("select count(*) from outbox where published_at is null")
	parked := f.count("select count(*) from outbox where parked_at is not null")
	u, err := f.store.MeasureOutbox(t.Context())
	if err != nil || u.Events != events || u.Parked != parked || u.Parked == 0 || u.Oldest <= 0 {
		t.Errorf("outbox %+v, want %d and %d, %v", u, events, parked, err)
	}
}

// TestCensusOfNothing: an empty database is counted too.
func TestCensusOfNothing(t *testing.T) {
	f := setup(t)
	u, err := f.store.MeasureOutbox(t.Context())
	if err != nil || u != (order.Unpublished{}) {
		t.Errorf("outbox %+v, %v", u, err)
	}
	open, err := f.store.CountOpen(t.Context())
	if err != nil || len(open) > 0 {
		t.Errorf("open %v, %v", open, err)
	}
}

// TestDescribeServer: what the server says about itself decides whether a process may start.
func TestDescribeServer(t *testing.T) {
	f := setup(t)
	s, err := f.store.DescribeServer(t.Context())
	if err != nil || s.Version < 150000 || s.Fsync == "" || s.SynchronousCommit == "" ||
		s.Connections < 1 {
		t.Errorf("server %+v, %v", s, err)
	}
	name := f.pool.Config().ConnConfig.Database
	f.exec(fmt.Sprintf("alter database %q with connection limit 7", name))
	if s, err = f.store.DescribeServer(t.Context()); err != nil || s.Connections != 7 {
		t.Errorf("with a limit of its own: %+v, %v", s, err)
	}
}
