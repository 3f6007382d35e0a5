package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"ordeal/service/order"
)

func TestCreateAndShow(t *testing.T) {
	s := setup(t)
	w := s.send(0, "POST", ordersPath, ann, "key", body)
	s.want(w, 201, "")
	id := order.NewID(ann, "key")
	if w.Header().Get("Location") != ordersPath+"/"+id.String() {
		t.Errorf("Location %s", w.Header().Get("Location"))
	}
	var created shown
	if err := json.Unmarshal(w.Body.Bytes(), &created); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{ann, olga} {
		o := s.show(id, token)
		if o.ID != id.String() || o.Customer != ann || o.Total != 1099 || o.Version != 1 ||
			o.State != order.Created || o.Status != order.StatusProcessing ||
			len(o.Items) != 2 || o.Items[0].Amount != 1000 || len(o.History) != 1 ||
			o.Step == nil || o.Step.Kind != order.StepReserve || o.Step.Attempt != 0 ||
			o.ClosedAt != nil || o.Cancellation != nil {
			t.Errorf("%s: %+v", token, o)
		}
		if o.CreatedAt != created.CreatedAt || created.ID != o.ID || created.Version != 1 {
			t.Errorf("created %+v, shown %+v", created, o)
		}
	}
}

// TestReplayIsIdentical: a repeated creation, also after the order has moved on and through
// another instance, gets the first response byte for byte.
func TestReplayIsIdentical(t *testing.T) {
	s := setup(t)
	first := s.send(0, "POST", ordersPath, ann, "key", body)
	s.succeed(order.StepReserve)
	again := s.send(1, "POST", ordersPath, ann, `"key"`, strings.ReplaceAll(body, ",", " , "))
	if again.Code != 201 || again.Body.String() != first.Body.String() ||
		again.Header().Get("Location") != first.Header().Get("Location") ||
		again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %v %s", again.Code, again.Header(), again.Body)
	}
	other := strings.Replace(body, "500", "501", 1)
	s.want(s.send(0, "POST", ordersPath, ann, "key", other), 422, "idempotency_key_reused")
	s.want(s.send(0, "POST", ordersPath, bob, "key", other), 201, "")
	if n := s.count("select count(*) from orders"); n != 2 {
		t.Errorf("%d orders", n)
	}
}

// TestParallelCreations: fifty requests with one key through two instances make one order, one
// step, one history row, one event and one answer.
func TestParallelCreations(t *testing.T) {
	s := setup(t)
	answers := make([]*httptest.ResponseRecorder, 50)
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() { answers[n] = s.send(n%2, "POST", ordersPath, ann, "key", body) })
	}
	all.Wait()
	replayed := 0
	for _, w := range answers {
		s.want(w, 201, "")
		if w.Body.String() != answers[0].Body.String() ||
			w.Header().Get("Location") != answers[0].Header().Get("Location") {
			t.Errorf("%s differs from %s", w.Body, answers[0].Body)
		}
		if w.Header().Get("Idempotent-Replayed") == "true" {
			replayed++
		}
	}
	if replayed != 49 {
		t.Errorf("%d replayed", replayed)
	}
	for _, table := range []string{"orders", "workflow_steps", "order_history", "outbox",
		"idempotency_keys"} {
		if n := s.count("select count(*) from " + table); n != 1 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
}

// TestParallelBodies: of two bodies that fight for one key one wins, and all others with that
// body get its answer.
func TestParallelBodies(t *testing.T) {
	s := setup(t)
	answers := make([]*httptest.ResponseRecorder, 20)
	var all sync.WaitGroup
	for n := range answers {
		b := body
		if n%2 == 1 {
			b = strings.Replace(body, "500", "501", 1)
		}
		all.Go(func() { answers[n] = s.send(n/2%2, "POST", ordersPath, ann, "key", b) })
	}
	all.Wait()
	winner := 0
	if answers[0].Code != 201 {
		winner = 1
	}
	for n, w := range answers {
		if n%2 == winner {
			s.want(w, 201, "")
		} else {
			s.want(w, 422, "idempotency_key_reused")
		}
	}
	if n := s.count("select count(*) from orders"); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// TestTwinHoldsUp: a twin that does not end in time is in progress; when it has committed, its
// key is taken; when it has not, the key is free.
func TestTwinHoldsUp(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprintf("commit %v", commit), func(t *testing.T) {
			s := setup(t)
			twin, err := s.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = twin.Rollback(t.Context()) }()
			_, err = twin.Exec(t.Context(), `insert into idempotency_keys (
					order_id, caller, route, key, fingerprint, status, response, created_at
				) values ($1, 'ann', 'POST /api/v1/orders', 'key', '', 201, '{}', now())`,
				order.NewID(ann, "key"))
			if err != nil {
				t.Fatal(err)
			}
			w := s.send(0, "POST", ordersPath, ann, "key", body)
			s.want(w, 409, "idempotency_in_progress")
			if w.Header().Get("Retry-After") != "1" {
				t.Errorf("%v", w.Header())
			}
			if !commit {
				if err := twin.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.want(s.send(0, "POST", ordersPath, ann, "key", body), 201, "")
				return
			}
			if err := twin.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.want(s.send(0, "POST", ordersPath, ann, "key", body), 422, "idempotency_key_reused")
		})
	}
}

// TestTrace: the trace of the client, or else one derived from the order, is that of the order
// and of its event; a replay changes nothing.
func TestTrace(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	s := setup(t)
	for key, want := range map[string]string{
		"with": trace, "without": order.TraceID(order.NewID(ann, "without")),
	} {
		r := s.request("POST", ordersPath, ann, key, body)
		if want == trace {
			r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		}
		s.want(s.serve(0, r), 201, "")
		s.want(s.send(0, "POST", ordersPath, ann, key, body), 201, "")
		n := s.count(`select count(*) from orders o join outbox e using (order_id, trace_id)
			where o.order_id = $1 and o.trace_id = $2`, order.NewID(ann, key), want)
		if n != 1 {
			t.Errorf("%s: no order and event of trace %s", key, want)
		}
	}
}
