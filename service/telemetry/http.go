package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// httpMetrics are rate, errors and duration of requests by route template.
type httpMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newHTTPMetrics() httpMetrics {
	return httpMetrics{
		requests: counters("ordeal_http_requests_total",
			"Requests that were answered.", "method", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ordeal_http_request_duration_seconds",
			Help:    "Time from the head of a request to the end of its answer.",
			Buckets: prometheus.DefBuckets,
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ordeal_http_requests_in_flight",
			Help: "Requests that are being answered.",
		}),
	}
}

func (m httpMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.seconds, m.inFlight}
}

// HTTP measures, traces and logs the requests to a chi router. A request that is traced brings
// its context to the router as a traceparent, as it would from outside.
func (t *Telemetry) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := t.clock.Now()
		t.http.inFlight.Inc()
		defer t.http.inFlight.Dec()
		// A router that is given a context fills it in, as if it were mounted somewhere.
		route := chi.NewRouteContext()
		r = r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, route))
		r, span := t.requested(r)
		answer := &answer{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		answer.status = cmp.Or(answer.status, http.StatusOK)
		t.answered(r, answer, template(route), began, span)
	})
}

// requested starts the span of a request; it is a span that does nothing where tracing is off.
func (t *Telemetry) requested(r *http.Request) (*http.Request, trace.Span) {
	if t.tracer == nil {
		return r, trace.SpanFromContext(context.Background())
	}
	var w3c propagation.TraceContext
	ctx := w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, method(r), trace.WithSpanKind(trace.SpanKindServer))
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
	return r, span
}

// answered counts, logs and ends the span of a request.
func (t *Telemetry) answered(
	r *http.Request, answer *answer, route string, began time.Time, span trace.Span,
) {
	took, status := t.clock.Since(began), answer.status
	t.http.requests.WithLabelValues(method(r), route, strconv.Itoa(status)).Inc()
	t.http.seconds.WithLabelValues(method(r), route).Observe(took.Seconds())
	fields := []any{"request_id", answer.Header().Get("X-Request-Id"), "method", method(r),
		"route", route, "status", status, "took", took.String()}
	if span.SpanContext().IsValid() {
		fields = append(fields, "trace_id", span.SpanContext().TraceID().String())
	}
	t.log.Debug("request", fields...)
	span.SetName(method(r) + " " + route)
	span.SetAttributes(
		attribute.String("http.request.method", method(r)),
		attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// methods are those that routes have; others are counted as one.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// method is the method of a request as a label.
func method(r *http.Request) string {
	if slices.Contains(methods, r.Method) {
		return r.Method
	}
	return "other"
}

// template is the template of the route that a request took, or "none".
func template(route *chi.Context) string {
	if pattern := route.RoutePattern(); pattern != "" {
		return pattern
	}
	return "none"
}

// answer notes the status of a response.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the first final status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	if status == http.StatusRequestEntityTooLarge {
		// The rest of the body is not read, which the server does not see through this wrapper.
		a.Header().Set("Connection", "close")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implies success where no status was given.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets a response controller find the server's own writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
