package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"ordeal/service/order"
)

// call is what the span of a call is known by.
type call struct {
	traceID string
	ref     order.StepRef
	attempt int
}

// Traceparent is the W3C trace context of an attempt's call: the trace of its order, and as the
// parent the span of the call. It is a function of the attempt alone.
func Traceparent(step order.TakenStep) string {
	span := call{step.TraceID, step.Ref, step.Attempt}.span()
	return "00-" + step.TraceID + "-" + hex.EncodeToString(span[:]) + "-01"
}

// span derives the id of the call's span. One trace may hold several orders.
func (c call) span() (id trace.SpanID) {
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:8], uint64(c.ref.StepNo))
	binary.BigEndian.PutUint64(numbers[8:], uint64(c.attempt))
	sum := sha256.Sum256(append(c.ref.OrderID[:], numbers[:]...))
	copy(id[:], sum[:])
	id[0] |= 1 // zero is not allowed
	return id
}

// context returns the span's context, or one that is not valid where the trace is not known.
func (c call) context() trace.SpanContext {
	id, err := trace.TraceIDFromHex(c.traceID)
	if err != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    id,
		SpanID:     c.span(),
		TraceFlags: trace.FlagsSampled,
	})
}

// attributes are the ids of an attempt.
func (c call) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("ordeal.order", c.ref.OrderID.String()),
		attribute.Int("ordeal.step", c.ref.StepNo),
		attribute.Int("ordeal.attempt", c.attempt),
	}
}

// calling starts the span of a call, a root of the order's trace.
func (t *Telemetry) calling(
	ctx context.Context, step order.TakenStep,
) (context.Context, func(order.Outcome, string)) {
	c := call{step.TraceID, step.Ref, step.Attempt}
	if known := c.context(); t.tracer != nil && known.IsValid() {
		ctx, span := t.tracer.Start(withIdentity(ctx, known), "call "+string(step.Kind),
			trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(c.attributes()...))
		return ctx, func(outcome order.Outcome, code string) { endCall(span, outcome, code) }
	}
	return ctx, func(order.Outcome, string) {}
}

// endCall ends the span of a call. A refusal is an answer, not an error.
func endCall(span trace.Span, outcome order.Outcome, code string) {
	span.SetAttributes(attribute.String("ordeal.outcome", string(outcome)),
		attribute.String("ordeal.code", Reason(code)))
	switch outcome {
	case order.OutcomeTransient, order.OutcomePermanent, order.OutcomeUnknown,
		order.OutcomeMismatch:
		span.SetStatus(codes.Error, string(outcome))
	}
	span.End()
}

// linked makes the span of a statement about the attempts of several orders, which has ended.
func (t *Telemetry) linked(name string, began time.Time, calls []call) {
	if t.tracer == nil || len(calls) == 0 {
		return
	}
	links := make([]trace.Link, 0, len(calls))
	for _, c := range calls {
		if known := c.context(); known.IsValid() {
			links = append(links, trace.Link{SpanContext: known, Attributes: c.attributes()})
		}
	}
	_, span := t.tracer.Start(context.Background(), name,
		trace.WithNewRoot(), trace.WithTimestamp(began), trace.WithLinks(links...),
		trace.WithAttributes(attribute.Int("ordeal.steps", len(calls))))
	span.End()
}
