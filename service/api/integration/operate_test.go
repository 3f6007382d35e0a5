package integration_test

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ordeal/service/order"
)

// decide sends an operator's command about an order as it is now; extra are more members.
func (s *service) decide(id order.ID, name, key, extra string) *httptest.ResponseRecorder {
	s.Helper()
	body := fmt.Sprintf(`{"reason_code":"other","note":"n","expected_version":%d%s}`,
		s.show(id, olga).Version, extra)
	return s.send(0, "POST", ordersPath+"/"+id.String()+"/"+name, olga, key, body)
}

// wantActions compares what the owner and the operator may do next, in the order and in the list.
func (s *service) wantActions(id order.ID, customer, operator string) {
	s.Helper()
	if got := strings.Join(s.show(id, ann).NextActions, ","); got != customer {
		s.Errorf("customer may %q, want %q", got, customer)
	}
	if got := strings.Join(s.show(id, olga).NextActions, ","); got != operator {
		s.Errorf("operator may %q, want %q", got, operator)
	}
}

// commands are the operator's commands by the last segment of their paths.
var commands = []string{"retry", "reconcile", "void", "ship", "close", "refunds"}

// TestOneAuditRowEach: every authenticated, well-formed request to an operator's route leaves one
// row, whatever comes of it; others, and replays, leave none (API-5).
func TestOneAuditRowEach(t *testing.T) {
	s := setup(t)
	id, missing := s.create("key"), order.NewID(ann, "missing")
	const good = `{"reason_code":"other","expected_version":1}`
	for _, name := range commands {
		sound := good
		if name == "refunds" {
			sound = `{"reason_code":"other","expected_version":1,"amount":1}`
		}
		rows := []struct {
			token, key, body string
			id               order.ID
			status, audited  int
		}{
			{"", "1", sound, id, 401, 0},
			{"nobody", "1", sound, id, 401, 0},
			{ann, "1", sound, id, 403, 1},
			{bob, "1", sound, id, 403, 1},
			{bob, "1", sound, missing, 403, 1},
			{bob, "1", "{", id, 400, 0},
			{olga, "", sound, id, 400, 0},
			{olga, "1", "{}", id, 400, 0},
			{olga, "1", strings.Replace(sound, `"expected_version":1`, `"note":""`, 1), id, 428, 0},
			{olga, "1", strings.Replace(sound, "other", "because", 1), id, 422, 1},
			{olga, "1", strings.Replace(sound, `version":1`, `version":2`, 1), id, 412, 1},
			{olga, "1", sound, missing, 404, 1},
			{olga, "1", sound, missing, 404, 1},
			{olga, "1", sound, id, 409, 1},
			{olga, "1", sound, id, 409, 0},
			{olga, "1", strings.Replace(sound, "other", "goodwill", 1), id, 422, 1},
			{olga, "2", sound, id, 409, 1},
		}
		for n, row := range rows {
			if name == "retry" && row.status == 403 {
				continue // a customer may retry
			}
			before := s.count("select count(*) from audit_events")
			w := s.send(n%2, "POST", ordersPath+"/"+row.id.String()+"/"+name, row.token, row.key,
				row.body)
			audited := s.count("select count(*) from audit_events") - before
			if w.Code != row.status || audited != row.audited {
				t.Errorf("%s %d: %d with %d rows, want %d with %d: %s", name, n, w.Code, audited,
					row.status, row.audited, w.Body)
			}
		}
	}
	if o := s.show(id, ann); o.Version != 1 || o.State != order.Created {
		t.Errorf("%+v", o)
	}
}

// TestRetry: a customer repeats what is exhausted, once; an operator also what is our fault.
func TestRetry(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	retry := func(token, key, body string) *httptest.ResponseRecorder {
		return s.send(1, "POST", ordersPath+"/"+id.String()+"/retry", token, key, body)
	}
	s.want(retry(ann, "", ""), 409, "invalid_transition")
	s.want(retry(bob, "", ""), 404, "not_found")
	s.exhaust(order.StepReserve)
	s.wantActions(id, "cancel,retry", "retry")
	first := retry(ann, "r", "{}")
	s.want(first, 202, "")
	s.wantActions(id, "cancel", "")
	again := retry(ann, "r", "")
	if again.Body.String() != first.Body.String() ||
		again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v %s", again.Header(), again.Body)
	}
	s.want(retry(ann, "", ""), 409, "invalid_transition")
	s.end(order.StepReserve, order.OutcomePermanent)
	s.wantActions(id, "cancel", "retry")
	s.want(retry(ann, "", ""), 409, "invalid_transition")
	s.want(s.decide(id, "retry", "r", ""), 202, "")
	s.succeed(order.StepReserve)
}

func TestReconcileAndVoid(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve)
	s.end(order.StepPay, order.OutcomeUnknown)
	s.wantActions(id, "", "reconcile,void")
	s.want(s.decide(id, "reconcile", "1", ""), 202, "")
	s.want(s.decide(id, "void", "2", ""), 202, "")
	s.wantActions(id, "", "reconcile")
	s.want(s.decide(id, "void", "3", ""), 409, "invalid_transition")
}

// TestShipCloseRefund is the life of an order that cannot be shipped.
func TestShipCloseRefund(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve, order.StepPay)
	s.end(order.StepShip, order.OutcomeRefused)
	s.wantActions(id, "", "ship,close")
	if rows := s.list(olga, "?attention=any").Orders; len(rows) != 1 ||
		strings.Join(rows[0].NextActions, ",") != "ship,close" {
		t.Errorf("%+v", rows)
	}
	s.want(s.decide(id, "ship", "1", ""), 202, "")
	s.end(order.StepShip, order.OutcomeRefused)
	s.want(s.decide(id, "refunds", "2", `,"amount":1`), 409, "invalid_transition")
	s.want(s.decide(id, "close", "3", `,"release_stock":true`), 202, "")
	if o := s.show(id, olga); !o.Closing || len(o.NextActions) > 0 {
		t.Errorf("%+v", o)
	}
	s.succeed(order.StepCancelShip, order.StepRelease)
	s.wantActions(id, "", "refund")
	if rows := s.list(olga, "?state=shipping_failed").Orders; len(rows) != 1 ||
		len(rows[0].NextActions) > 0 {
		t.Errorf("%+v", rows)
	}
	refund := s.decide(id, "refunds", "4", `,"amount":1099`)
	s.want(refund, 202, "")
	if got := refund.Header().Get("Location"); got != ordersPath+"/"+id.String() {
		t.Errorf("Location %s", got)
	}
	s.want(s.decide(id, "refunds", "5", `,"amount":1`), 422, "refund_too_large")
	s.want(s.decide(id, "refunds", "6", `,"amount":9223372036854775807`), 422, "refund_too_large")
	s.succeed(order.StepRefund)
	o := s.show(id, ann)
	if len(o.Refunds) != 1 || o.Refunds[0].State != order.Refunded || o.Refunds[0].Amount != 1099 ||
		o.ClosedAt == nil || o.Compensation != "done" {
		t.Errorf("%+v", o)
	}
	s.wantActions(id, "", "")
}

func TestReleaseFailed(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve)
	s.end(order.StepPay, order.OutcomeRefused)
	s.end(order.StepRelease, order.OutcomePermanent)
	s.wantActions(id, "", "retry")
	s.want(s.decide(id, "close", "1", ""), 409, "invalid_transition")
	s.want(s.decide(id, "retry", "2", ""), 202, "")
	s.end(order.StepRelease, order.OutcomeRefused)
	s.wantActions(id, "", "retry,close")
	s.want(s.decide(id, "close", "3", ""), 200, "")
	s.wantActions(id, "", "")
}

// TestParallelRefunds: twenty refunds of three times the charge, through two instances.
func TestParallelRefunds(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve, order.StepPay, order.StepShip)
	version := s.show(id, olga).Version
	answers := make([]*httptest.ResponseRecorder, 20)
	var all sync.WaitGroup
	for n := range answers {
		body := fmt.Sprintf(`{"reason_code":"goodwill","expected_version":%d,"amount":165}`, version)
		all.Go(func() {
			answers[n] = s.send(n%2, "POST", ordersPath+"/"+id.String()+"/refunds", olga,
				strconv.Itoa(n), body)
		})
	}
	all.Wait()
	accepted := 0
	for _, w := range answers {
		if w.Code == 202 {
			accepted++
			continue
		}
		s.want(w, 422, "refund_too_large")
	}
	if o := s.show(id, ann); accepted != 6 || len(o.Refunds) != 6 || o.Version != version {
		t.Errorf("%d accepted, %d refunds, version %d", accepted, len(o.Refunds), o.Version)
	}
}

// TestTrail: the audit trail shows who did what, to operators alone.
func TestTrail(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	s.succeed(order.StepReserve)
	s.want(s.decide(id, "ship", "1", ""), 409, "invalid_transition")
	path := ordersPath + "/" + id.String() + "/audit"
	s.want(s.send(0, "GET", path, ann, "", ""), 403, "forbidden")
	s.want(s.send(0, "GET", ordersPath+"/"+order.NewID(ann, "no").String()+"/audit", olga, "", ""),
		404, "not_found")
	w := s.send(0, "GET", path, olga, "", "")
	s.want(w, 200, "")
	for _, part := range []string{`"action":"ship_requested"`, `"id":"olga"`, `"result":"forbidden"`,
		`"action":"read_audit"`, `"id":"ann"`, `"result":"403"`, `"reason":"other"`} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %s", part, w.Body)
		}
	}
	if strings.Contains(w.Body.String(), `"n"`) {
		t.Error("shows the note")
	}
}

func TestNotModified(t *testing.T) {
	s := setup(t)
	id := s.create("key")
	r := s.request("GET", ordersPath+"/"+id.String(), ann, "", "")
	tag := s.serve(0, r).Header().Get("ETag")
	r = s.request("GET", ordersPath+"/"+id.String(), ann, "", "")
	r.Header.Set("If-None-Match", tag)
	if w := s.serve(1, r); w.Code != 304 {
		t.Errorf("%d", w.Code)
	}
	s.succeed(order.StepReserve)
	if w := s.serve(1, r); w.Code != 200 || w.Header().Get("ETag") == tag {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
