package integration_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"ordeal/service/order"
	"ordeal/sim/imitation"
)

// backend receives exported spans.
type backend struct {
	*httptest.Server
	mu    sync.Mutex
	raw   []byte
	spans []*trace.Span
}

// newBackend serves a place to export to.
func newBackend(t *testing.T) *backend {
	b := &backend{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.raw = append(b.raw, body...)
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				b.spans = append(b.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(b.Close)
	return b
}

// The words of a client that must be in no log, metric or span.
const (
	oddSKU     = "Pills-for-Anna.K_79123456789"
	oddKey     = "key-of-anna.karenina@example.org"
	oddRequest = `{"items":[{"sku":"` + oddSKU + `","quantity":1,"unit_price":987654321}]}`
	oddToken   = "an-odd-token-of-somebody"
	oddNote    = "call her on +7 912 345 67 89"
)

// mischief is a full run of odd requests: orders that are shipped, refused, unknown and cancelled,
// and requests that are wrong in each way that shows words of theirs.
func (s *shop) mischief() []order.ID {
	s.script(imitation.Behaviour{Kind: imitation.TimeoutWithEffect},
		imitation.Behaviour{Kind: imitation.Refuse, Code: "card_of_anna_declined"})
	var ids []order.ID
	for n := range 4 {
		key := oddKey + fmt.Sprint(n)
		if status, body := s.call("POST", "/api/v1/orders", key, oddRequest); status != 201 {
			s.Fatalf("create: %d %s", status, body)
		}
		ids = append(ids, order.NewID("order_customer", key))
	}
	s.call("POST", "/api/v1/orders/"+ids[3].String()+"/cancel", oddKey, "")
	s.call("POST", "/api/v1/orders", oddKey+"0", strings.Replace(oddRequest, "1,", "2,", 1))
	s.call("POST", "/api/v1/orders", oddKey+"x", `{"`+oddNote+`":1}`)
	s.call("POST", "/api/v1/orders", oddKey+"x", oddRequest+oddNote)
	s.call("POST", "/api/v1/orders/"+ids[0].String()+"/close", oddKey,
		`{"reason":"other","note":"`+oddNote+`","expected_version":1}`)
	s.call("GET", "/api/v1/orders/"+oddSKU, "", "")
	s.call("GET", "/api/v1/orders?customer="+oddSKU, "", "")
	s.call("GET", "/"+oddSKU, "", "")
	token := s.token
	s.token = oddToken
	s.call("GET", "/api/v1/orders/"+ids[0].String(), "", "")
	s.token = token
	await(s.T, "rest", func() bool {
		return s.query("select count(*)::text from workflow_steps where ended_at is null") == "0"
	})
	return ids
}

// TestTelemetryTellsNobody: logs at their loudest, metrics and spans of a full run hold nothing
// of what clients sent: no token, key, SKU, note or amount, no name, and of providers no code
// that is not in the list.
func TestTelemetryTellsNobody(t *testing.T) {
	b := newBackend(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", b.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	s := open(t, "--log-level=debug")
	ids := s.mischief()
	status, metrics := s.get(s.admin + "/metrics")
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	b.mu.Lock()
	defer b.mu.Unlock()
	sources := map[string]string{"metrics": metrics, "logs": s.log.String(), "spans": string(b.raw)}
	for name, text := range sources {
		for _, word := range []string{"Pills", "79123456789", "karenina", "987654321", oddToken, s.token,
			"+7 912", "her on", "order_customer", "tea", "card_of_anna"} {
			if strings.Contains(text, word) {
				t.Errorf("%s tell %q", name, word)
			}
		}
	}
	if status != http.StatusOK || len(ids) != 4 {
		t.Errorf("metrics: %d", status)
	}
	for _, id := range ids {
		if strings.Contains(metrics, id.String()) {
			t.Error("metrics tell an order")
		}
	}
	s.wantTraces(b.spans, ids)
	s.wantLogs()
}

// wantTraces checks that each order has its trace: the request that created it, and its calls,
// each under the id that the provider was told; and that takes and records link to them.
func (s *shop) wantTraces(spans []*trace.Span, ids []order.ID) {
	s.Helper()
	names, linked := map[string][]string{}, map[string]int{}
	for _, span := range spans {
		id := hex.EncodeToString(span.TraceId)
		names[id] = append(names[id], span.Name)
		for _, link := range span.Links {
			linked[span.Name+" "+hex.EncodeToString(link.TraceId)]++
		}
	}
	for _, id := range ids[:3] {
		stored := s.query("select trace_id from orders where order_id = $1", id)
		if got := strings.Join(names[stored], ", "); !strings.Contains(got,
			"POST /api/v1/orders") || !strings.Contains(got, "call reserve") ||
			!strings.Contains(got, "call pay") {
			s.Errorf("trace of an order: %s", got)
		}
		if linked["take "+stored] == 0 || linked["record "+stored] == 0 {
			s.Errorf("nothing links to the trace of an order: %v", linked)
		}
		if events := s.query(`select count(*)::text from outbox
			where order_id = $1 and trace_id <> $2`, id, stored); events != "0" {
			s.Errorf("%s events have another trace", events)
		}
	}
}

// wantLogs checks that lines about attempts have all their ids, which differ.
func (s *shop) wantLogs() {
	s.Helper()
	line := regexp.MustCompile(`"msg":"recorded".*"order":"([0-9a-f-]{36})","step":\d+,` +
		`"attempt":\d+,"trace_id":"([0-9a-f]{32})"`)
	found := line.FindAllStringSubmatch(s.log.String(), -1)
	if len(found) < 8 {
		s.Errorf("%d lines about attempts in\n%s", len(found), s.log)
	}
	for _, ids := range found {
		if strings.ReplaceAll(ids[1], "-", "") == ids[2] {
			s.Errorf("order and trace are one: %s", ids[0])
		}
	}
}

// TestMetrics: the metrics are well made, tell what OBS-1 asks for, and their labels come from
// closed lists.
func TestMetrics(t *testing.T) {
	s := open(t)
	s.script(imitation.Behaviour{Kind: imitation.Refuse, Code: "card_declined"})
	refused, shipped := s.create("a"), s.create("b")
	await(t, "an end", func() bool {
		return s.state(refused) == order.PaymentFailed && s.state(shipped) == order.Shipped ||
			s.state(shipped) == order.PaymentFailed && s.state(refused) == order.Shipped
	})
	await(t, "rest", func() bool {
		return s.query("select count(*)::text from workflow_steps where ended_at is null") == "0"
	})
	_, metrics := s.get(s.admin + "/metrics")
	lint, err := promlint.New(strings.NewReader(metrics)).Lint()
	must(t, err)
	for _, problem := range lint {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	for _, line := range []string{
		`ordeal_closed_orders{state="shipped"} 1`,
		`ordeal_closed_orders{state="payment_failed"} 1`,
		`ordeal_closed_orders{state="cancelled"} 0`,
		`ordeal_open_orders{state="paying"} 0`,
		`ordeal_open_orders_oldest_age_seconds{state="paying"} 0`,
		`ordeal_open_orders_escalated{state="shipping_failed"} 0`,
		`ordeal_attention_orders{reason="payment_unresolved"} 0`,
		`ordeal_attempts_total{kind="pay",outcome="refused"} 1`,
		`ordeal_attempts_total{kind="reserve",outcome="succeeded"} 2`,
		`ordeal_steps_taken_total{kind="pay"} 2`,
		`ordeal_provider_call_duration_seconds_count{kind="ship",outcome="succeeded"} 1`,
		`ordeal_http_requests_total{method="POST",route="/api/v1/orders",status="201"} 2`,
		`ordeal_leases_held 0`,
		`ordeal_leases_lost_total 0`,
		`ordeal_pool_connections_limit{pool="leases"} 2`,
		`ordeal_outbox_parked_events 0`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, metrics)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/livez", "/readyz"} {
		if status, _ := s.get(s.admin + path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if status, _ := s.get(s.url + path); status != http.StatusNotFound {
			t.Errorf("%s on the public listener: %d", path, status)
		}
	}
}
