package provider

import "ordeal/service/order"

// Call is one attempt to reach a provider, as the executor recorded it before.
type Call struct {
	// Kind is the kind of the step.
	Kind order.StepKind
	// OrderID, Step and Attempt identify the attempt; they travel in headers.
	OrderID order.ID
	Step    int
	Attempt int
	// Key is the operation's own idempotency key; queries have none.
	Key string
	// Target is the key that the operation names: the charge of a void or query, the
	// reservation of a release or commit, the shipment of a cancel. Charges, refunds, reserves
	// and shipments have none.
	Target string
	// Body is sent byte for byte; queries have none.
	Body []byte
	// Amount, in kopecks, and Currency are what a success of a charge or refund, or of a query
	// for one, must name.
	Amount   order.Money
	Currency string
	// TraceParent is the W3C trace context header; empty sends none.
	TraceParent string
}

// Reply is what a call came to.
type Reply struct {
	// Answer is what was seen, and Outcome what it means for the kind of step.
	Answer  order.Answer
	Outcome order.Outcome
	// Code is the stable cause of anything but a success: the provider's own code where it gave
	// one that can be trusted, else a code of this package. Up to 64 of a-z, 0-9 and _.
	Code string
	// Reference is the provider's name of the charge, refund, reservation or shipment; empty
	// unless the answer is a success that has one. Up to 128 printable ASCII characters.
	Reference string
	// State is the state of a reservation that a query found (held, released or committed).
	State string
}

// Sent reports whether something of the request may have reached the provider.
func (r Reply) Sent() bool { return r.Answer.Sent() }

// Codes of this package, for answers that bring none of their own.
const (
	CodeNotConnected     = "not_connected"     // the dial failed, or the call never began
	CodeTimeout          = "timeout"           // no answer in time
	CodeConnectionLost   = "connection_lost"   // the connection broke after the dial
	CodeMalformed        = "malformed_answer"  // a success that cannot be understood
	CodeOrderMismatch    = "order_mismatch"    // a success about another order
	CodeAmountMismatch   = "amount_mismatch"   // a success about another amount
	CodeCurrencyMismatch = "currency_mismatch" // a success in another currency
	CodeUnnamed          = "unnamed"           // a refusal without a code that can be trusted
)
