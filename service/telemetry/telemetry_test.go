package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"ordeal/service/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a telemetry with a clock to turn, and what it logs and traces.
type watched struct {
	*Telemetry
	clock *clockwork.FakeClock
	log   *bytes.Buffer
	spans *tracetest.InMemoryExporter
}

func newWatched(t *testing.T) watched {
	t.Helper()
	w := watched{clock: clockwork.NewFakeClock(), log: &bytes.Buffer{},
		spans: tracetest.NewInMemoryExporter()}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(w.spans),
		sdk.WithIDGenerator(&ids{rand: rand.New(rand.NewPCG(1, 2))}))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	w.Telemetry = New(Config{Clock: w.clock, Log: NewLogger(w.log, slog.LevelDebug),
		Tracer: provider.Tracer("test")})
	return w
}

// scrape reads the metrics as a scraper does.
func (w watched) scrape() string {
	r := httptest.NewRequest("GET", "/metrics", nil)
	answer := httptest.NewRecorder()
	w.Admin(http.NotFoundHandler()).ServeHTTP(answer, r)
	return answer.Body.String()
}

// want checks that the metrics have lines, and have none with an exclamation mark before.
func (w watched) want(t *testing.T, lines ...string) {
	t.Helper()
	text := w.scrape()
	for _, line := range lines {
		line, absent := strings.CutPrefix(line, "!")
		if strings.Contains(text, "\n"+line) == absent {
			t.Errorf("%q: absent should be %t", line, absent)
		}
	}
}

var orderID = uuid.MustParse("c054b352-c66c-819a-a8b4-6d0903e4e8a4")

const traceID = "0af7651916cd43dd8448eb211c80319c"

func step(kind order.StepKind) order.TakenStep {
	return order.TakenStep{Ref: order.StepRef{OrderID: orderID, StepNo: 2}, Kind: kind,
		Attempt: 3, TraceID: traceID, Request: "secret"}
}

// TestObserver: what the executor tells is counted by kind and outcome.
func TestObserver(t *testing.T) {
	w := newWatched(t)
	w.Took(w.clock.Now(), []order.TakenStep{step(order.StepPay), step(order.StepPay)})
	_, ended := w.Calling(t.Context(), step(order.StepPay))
	w.clock.Advance(200 * time.Millisecond)
	ended(order.OutcomeUnknown, "timeout")
	result := func(o order.Outcome, status order.StepStatus, lost bool) order.Result {
		return order.Result{Ref: step("").Ref, Kind: order.StepReserve, Outcome: o, Lost: lost,
			Follow: order.Consequence{Status: status}}
	}
	w.Recorded(w.clock.Now(), []order.Result{
		result(order.OutcomeSucceeded, order.StepSucceeded, false),
		result(order.OutcomeTransient, order.StepDue, false),
		result(order.OutcomeNotSent, order.StepDue, false),
		result(order.OutcomeRefused, order.StepRefused, false),
		result(order.OutcomeTransient, order.StepDue, true),
		result(order.OutcomeTransient, order.StepDue, true),
	}, []bool{true, true, true, false, true, false})
	w.LeasesLost(2)
	w.ReservationsExpired(3)
	w.Failed("take")
	w.want(t,
		`ordeal_steps_taken_total{kind="pay"} 2`,
		`ordeal_provider_call_duration_seconds_bucket{kind="pay",outcome="unknown",le="0.1"} 0`,
		`ordeal_provider_call_duration_seconds_bucket{kind="pay",outcome="unknown",le="0.25"} 1`,
		`ordeal_attempts_total{kind="reserve",outcome="succeeded"} 1`,
		`ordeal_attempts_total{kind="reserve",outcome="transient"} 1`,
		`ordeal_attempts_total{kind="reserve",outcome="not_sent"} 1`,
		`!ordeal_attempts_total{kind="reserve",outcome="refused"}`,
		`ordeal_late_results_total{kind="reserve",outcome="refused"} 1`,
		`ordeal_retries_total{kind="reserve"} 2`,
		`ordeal_leases_expired_total{kind="reserve"} 1`,
		`ordeal_leases_lost_total 2`,
		`ordeal_reservations_expired_total 3`,
		`ordeal_executor_failures_total{operation="take"} 1`)
}

// TestSpans: the span of a call is a root of the order's trace, under the id that the provider is
// told; takes and records link to it; a trace that is not known is no reason to fail.
func TestSpans(t *testing.T) {
	w := newWatched(t)
	w.Took(w.clock.Now(), []order.TakenStep{step(order.StepPay)})
	_, ended := w.Calling(t.Context(), step(order.StepPay))
	ended(order.OutcomeRefused, "code_of_theirs")
	w.Recorded(w.clock.Now(), []order.Result{
		{Ref: step("").Ref, Attempt: 3, TraceID: traceID},
		{Ref: step("").Ref, Attempt: 3},
	}, []bool{true, true})
	broken := step(order.StepPay)
	broken.TraceID = "odd"
	_, ended = w.Calling(t.Context(), broken)
	ended(order.OutcomeSucceeded, "")
	w.Took(w.clock.Now(), nil)

	spans := w.spans.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	take, call, record := spans[0], spans[1], spans[2]
	parent := "00-" + call.SpanContext.TraceID().String() + "-" +
		call.SpanContext.SpanID().String() + "-01"
	if parent != Traceparent(step("")) || call.Parent.IsValid() || call.Name != "call pay" {
		t.Errorf("call %+v, header %s", call, Traceparent(step("")))
	}
	for _, span := range []tracetest.SpanStub{take, record} {
		if len(span.Links) != 1 || span.Links[0].SpanContext.SpanID() != call.SpanContext.SpanID() ||
			span.SpanContext.TraceID().String() == traceID {
			t.Errorf("%s links to %+v", span.Name, span.Links)
		}
	}
	for _, a := range call.Attributes {
		if v := a.Value.String(); v == "code_of_theirs" || v == "secret" {
			t.Errorf("the span tells %s", v)
		}
	}
	other := step("")
	other.Ref.OrderID[0]++
	if Traceparent(other) == Traceparent(step("")) {
		t.Error("two orders of one trace share a span")
	}
}

// TestHTTP: requests are counted by the template of their route; strangers' methods and paths are
// one label.
func TestHTTP(t *testing.T) {
	w := newWatched(t)
	var seen string
	router := chi.NewRouter()
	router.Get("/orders/{id}", func(answer http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Traceparent")
		answer.Header().Set("X-Request-Id", "r1")
		w.clock.Advance(time.Second)
	})
	router.Post("/orders", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too much")
	})
	h := w.HTTP(router)
	ask := func(method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("secret"))
		r.Header.Set("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		return answer
	}
	ask("GET", "/orders/secret")
	if !strings.HasPrefix(seen, "00-"+traceID+"-") || strings.Contains(seen, "00f067aa0ba902b7") {
		t.Errorf("the router got %s", seen)
	}
	if got := ask("POST", "/orders").Header().Get("Connection"); got != "close" {
		t.Errorf("after a body that is too large the connection is %q", got)
	}
	ask("BREW", "/orders/secret")
	ask("GET", "/secret")
	w.want(t,
		`ordeal_http_requests_total{method="GET",route="/orders/{id}",status="200"} 1`,
		`ordeal_http_requests_total{method="POST",route="/orders",status="413"} 1`,
		`ordeal_http_requests_total{method="other",route="none",status="405"} 1`,
		`ordeal_http_requests_total{method="GET",route="none",status="404"} 1`,
		`ordeal_http_request_duration_seconds_sum{method="GET",route="/orders/{id}"} 1`,
		`ordeal_http_requests_in_flight 0`)
	if text := w.log.String(); strings.Contains(text, "secret") ||
		strings.Count(text, traceID) != 4 || strings.Count(text, `"request_id":"r1"`) != 1 {
		t.Errorf("logs: %s", text)
	}
}

// numbers is a census of a few numbers that can fail.
type numbers struct {
	asked int
	err   error
}

func (n *numbers) CountOpen(context.Context) ([]order.Backlog, error) {
	n.asked++
	return []order.Backlog{
		{State: order.Paying, Reason: "timeout", Next: order.StepPay, Orders: 2,
			Oldest: time.Minute, Attempts: 2, Escalated: 1},
		{State: order.Paying, Reason: "their_own", Orders: 3, Oldest: time.Second},
	}, n.err
}

func (n *numbers) CountClosed(context.Context) ([]order.Closed, error) {
	return []order.Closed{{State: order.Shipped, Orders: 1}}, nil
}

func (n *numbers) CountFlagged(context.Context) ([]order.Flagged, error) {
	return []order.Flagged{{Reason: order.AttentionMismatch, Orders: 1, Oldest: time.Hour}}, nil
}

func (n *numbers) CountDiscrepancies(context.Context) ([]order.Discrepant, error) {
	return []order.Discrepant{{Kind: "late_charge", Open: 2}}, nil
}

func (n *numbers) MeasureOutbox(context.Context) (order.Unpublished, error) {
	return order.Unpublished{Events: 7, Parked: 1, Oldest: time.Second}, nil
}

// TestCensus: gauges come from statements that run when somebody scrapes, not more often than
// they are remembered; one that fails takes its own gauges away and no others.
func TestCensus(t *testing.T) {
	w := newWatched(t)
	n := &numbers{}
	w.Watch(n)
	if n.asked != 0 {
		t.Error("asked before anybody scraped")
	}
	w.want(t,
		`ordeal_open_orders{state="paying"} 5`,
		`ordeal_open_orders{state="created"} 0`,
		`!ordeal_open_orders{state="shipped"}`,
		`ordeal_open_orders_oldest_age_seconds{state="paying"} 60`,
		`ordeal_open_orders_most_attempts{state="paying"} 2`,
		`ordeal_open_orders_escalated{state="paying"} 1`,
		`ordeal_open_orders_by_reason{reason="timeout",state="paying"} 2`,
		`ordeal_open_orders_by_reason{reason="other",state="paying"} 3`,
		`ordeal_open_orders_by_next_action{action="pay",state="paying"} 2`,
		`ordeal_open_orders_by_next_action{action="person",state="paying"} 3`,
		`ordeal_attention_oldest_age_seconds{reason="payment_mismatch"} 3600`,
		`ordeal_discrepancies_open{kind="late_charge"} 2`,
		`ordeal_outbox_unpublished_events 7`,
		`ordeal_outbox_lag_seconds 1`)
	w.scrape()
	if n.asked != 1 {
		t.Errorf("asked %d times within a moment", n.asked)
	}
	w.clock.Advance(remembered)
	n.err = errors.New("no")
	w.want(t, `!ordeal_open_orders{`, `ordeal_closed_orders{state="shipped"} 1`)
	// The failure was counted beside the scrape that met it.
	w.want(t, `!ordeal_open_orders{`, `ordeal_census_failures_total{statement="CountOpen"} 1`)
	w.clock.Advance(remembered)
	n.err = nil
	w.want(t, `ordeal_open_orders{state="paying"} 5`)
	if problems, err := testutil.GatherAndLint(w.registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if _, err := promlint.New(strings.NewReader(w.scrape())).Lint(); err != nil {
		t.Error(err)
	}
}

// TestReason: the words of providers are not ours to publish.
func TestReason(t *testing.T) {
	for code, want := range map[string]string{"": "none", "timeout": "timeout",
		"http_503": "http_5xx", "http_x": "other", "anna_karenina": "other"} {
		if got := Reason(code); got != want {
			t.Errorf("%q: %q", code, got)
		}
	}
}

// TestLogger: a line that is logged in a span has its ids, also through With and groups.
func TestLogger(t *testing.T) {
	var out bytes.Buffer
	id, _ := trace.TraceIDFromHex(traceID)
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(
		trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{1}}))
	log := NewLogger(&out, slog.LevelInfo)
	log.With("a", 1).InfoContext(ctx, "in")
	log.InfoContext(t.Context(), "outside")
	log.Debug("too quiet")
	decoder := json.NewDecoder(&out)
	var in, outside map[string]any
	if err := errors.Join(decoder.Decode(&in), decoder.Decode(&outside)); err != nil {
		t.Fatal(err)
	}
	if in["trace_id"] != traceID || in["span_id"] != "0100000000000000" || in["a"] != 1.0 ||
		outside["trace_id"] != nil || decoder.More() {
		t.Errorf("%v, %v", in, outside)
	}
}

// TestWanted: traces leave only where somebody said where to.
func TestWanted(t *testing.T) {
	for _, row := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"OTEL_SERVICE_NAME": "x"}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x",
			"OTEL_TRACES_EXPORTER": "none"}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x",
			"OTEL_SDK_DISABLED": "true"}, false},
	} {
		getenv := func(name string) string { return row.env[name] }
		if got := wanted(getenv); got != row.want {
			t.Errorf("%v: %t", row.env, got)
		}
	}
	tracing, err := StartTracing(t.Context(), func(string) string { return "" }, "x", nil)
	if tracing != nil || err != nil || tracing.Tracer() != nil || tracing.Stop(t.Context()) != nil {
		t.Errorf("tracing %v, %v", tracing, err)
	}
}
