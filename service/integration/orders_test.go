package integration_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"ordeal/service/order"
	"ordeal/sim/imitation"
)

// keys names n orders.
func keys(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("order-%02d", i))
	}
	return all
}

// createAll creates orders through both instances at once, each order through both.
func (s *shop) createAll(all []string) {
	s.Helper()
	var clients sync.WaitGroup
	for n, key := range all {
		clients.Go(func() {
			first := s.create(n%2, key)
			if again := s.create((n+1)%2, key); !bytes.Equal(first, again) {
				s.Errorf("create %s twice: %s and %s", key, first, again)
			}
		})
	}
	clients.Wait()
}

// wantShipped checks that orders are shipped, and that the providers agree: one charge of the
// right amount, one parcel, and nothing that is still held.
func (s *shop) wantShipped(all []string) {
	s.Helper()
	for _, key := range all {
		s.awaitState(key, order.Shipped)
	}
	await(s.T, "the commits", func() bool {
		return s.count("select count(*) from workflow_steps where ended_at is null") == 0
	})
	charges, parcels := s.payment.Ledger(), s.shipping.Ledger()
	for _, key := range all {
		if n := effects(charges, imitation.Charge, key); n != 1 {
			s.Errorf("%s: %d charges", key, n)
		}
		if n := effects(parcels, imitation.Ship, key); n != 1 {
			s.Errorf("%s: %d parcels", key, n)
		}
	}
	for _, charge := range s.payment.Keys() {
		if charge.Amount != total {
			s.Errorf("charge %+v", charge)
		}
	}
	for _, line := range s.warehouse.Stock() {
		if want := int64(2 * len(all)); line.Shipped != want || line.Reserved != 0 {
			s.Errorf("stock %+v, want %d shipped", line, want)
		}
	}
}

// TestThirtyOrders: both instances take orders in and drive them; every order ends, and nothing
// happens twice, although each was created twice.
func TestThirtyOrders(t *testing.T) {
	s := open(t)
	all := keys(30)
	s.createAll(all)
	s.wantShipped(all)
	for _, key := range all {
		first, second := s.show(0, key), s.show(1, key)
		if first.Version != second.Version || len(first.History) != first.Version {
			t.Errorf("%s: instances show %+v and %+v", key, first, second)
		}
		for n, change := range first.History {
			if change.Version != n+1 {
				t.Errorf("%s: version %d after %d changes", key, change.Version, n)
			}
		}
	}
}

// TestInstanceStops: one instance stops while thirty orders are on their way. It leaves no lease,
// and the other finishes the work.
func TestInstanceStops(t *testing.T) {
	s := open(t)
	all := keys(30)
	s.createAll(all)
	s.instances[1].stop()
	held := s.count("select count(*) from workflow_steps where lease_owner = 'instance-2'")
	if held != 0 {
		t.Errorf("%d leases are left", held)
	}
	s.wantShipped(all)
	s.instances[0].stop()
	// The server notices a closed connection a moment after the client has closed it.
	await(t, "the server to see every connection closed", func() bool {
		return s.count("select count(*) from pg_stat_activity "+
			"where application_name like 'orderd%' and datname = current_database()") == 0
	})
}

// TestCancel: an order whose reservation does not come to an end is cancelled through one
// instance and seen as cancelled through the other.
func TestCancel(t *testing.T) {
	s := open(t)
	must(t, s.warehouse.Script().Add(imitation.Script{
		Operation:  imitation.Reserve,
		Behaviours: repeat(imitation.Transient, order.MaxAttempts),
	}))
	s.create(0, "a")
	s.awaitState("a", order.Reserving)
	path := ordersPath + "/" + orderID("a").String() + "/cancel"
	if status, _, body := s.call(1, "POST", path, "", nil); status != 200 && status != 202 {
		t.Fatalf("cancel: %d %s", status, body)
	}
	s.awaitState("a", order.Cancelled)
	if o := s.show(1, "a"); o.Cancellation == nil || o.Cancellation.Status != order.CancelDone {
		t.Errorf("order %+v", o)
	}
	if n := len(s.payment.Ledger()); n != 0 {
		t.Errorf("%d calls to the payment provider", n)
	}
}

// repeat is a kind of behaviour, n times.
func repeat(kind imitation.Kind, n int) (all []imitation.Behaviour) {
	for range n {
		all = append(all, imitation.Behaviour{Kind: kind})
	}
	return all
}
