// Package telemetry is what others see of a running process: metrics, traces and logs.
//
// # Metrics
//
// Names begin with ordeal_. Every label takes its values from a closed list (states, step kinds,
// outcomes, reasons for attention, route templates, statuses), so their number does not depend on
// clients or providers; a reason code outside the list shows as "other". Nothing identifies a
// person or an order, and no payload is near.
//
//	what the process did   counters and durations, told by the executor and the HTTP front
//	how the orders stand   gauges read from the database when somebody scrapes
//
// The second kind is the same whichever process answers. Each group of gauges is one statement,
// bounded in time, run by at most one scrape at once, and remembered for some seconds; when it
// fails, its gauges are missing and ordeal_census_failures_total grows, and nothing else suffers.
//
// # Traces
//
// An order has one trace, whose id is stored with it: that of the request which created it. It
// travels in the traceparent of every call to a provider and in every event. The span of a call
// is a root of that trace whose id is derived from the order, the step and the attempt, so the
// header is the same whether spans are exported or not:
//
//	trace of the order    POST /api/v1/orders   call reserve   call pay   call ship …
//	trace of its own      take ──link──► each call     record ──link──► each call
//
// Takes and records handle steps of many orders in one statement, hence the links. Spans leave
// only where an OTLP endpoint is configured.
//
// # Logs
//
// JSON, one object a line. Lines about a step have order, step, attempt and trace_id, all of them
// distinct; those about a request have request_id and its route's template. Bodies, tokens,
// idempotency keys and notes are nowhere.
package telemetry
