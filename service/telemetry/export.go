package telemetry

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing is the way of spans out of the process.
type Tracing struct {
	provider *sdk.TracerProvider
}

// StartTracing exports spans over OTLP/HTTP as the standard variables of the environment say
// (OTEL_EXPORTER_OTLP_ENDPOINT and its siblings, OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME, …). It
// returns nil, and traces nothing, where they name no endpoint or turn it off. Getenv reads the
// environment, instance names the process, and rand draws the ids that belong to no order.
// Stop exports what is left.
func StartTracing(
	ctx context.Context, getenv func(string) string, instance string, rand *rand.Rand,
) (*Tracing, error) {
	if !wanted(getenv) {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	what, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "orderd"),
			attribute.String("service.instance.id", instance)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	return &Tracing{sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithResource(what), sdk.WithIDGenerator(&ids{rand: rand}),
	)}, nil
}

// wanted tells whether the environment asks for traces.
func wanted(getenv func(string) string) bool {
	off := strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") ||
		getenv("OTEL_TRACES_EXPORTER") == "none"
	endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT") +
		getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	return !off && endpoint != ""
}

// Tracer makes spans; of a nil tracing there is none.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer("ordeal")
}

// Stop exports the spans that are left, until ctx ends. A nil tracing has none.
func (t *Tracing) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last traces: %w", err)
	}
	return nil
}

// identityKey is the key of a span's identity in a context.
type identityKey struct{}

// withIdentity fixes the ids of the next span that is started with the context.
func withIdentity(ctx context.Context, id trace.SpanContext) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// ids gives spans the identity that their context asks for, or draws one.
type ids struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// NewIDs returns the ids of a root.
func (g *ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if known, ok := ctx.Value(identityKey{}).(trace.SpanContext); ok {
		return known.TraceID(), known.SpanID()
	}
	var id trace.TraceID
	g.draw(id[:])
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID draws the id of a span.
func (g *ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	g.draw(id[:])
	return id
}

// draw fills whole words with bits that are not all zero.
func (g *ids) draw(into []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for ; len(into) > 0; into = into[8:] {
		binary.BigEndian.PutUint64(into, max(g.rand.Uint64(), 1))
	}
}
