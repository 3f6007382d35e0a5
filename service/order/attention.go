package order

// Attention is a reason why a person should look at an order. An order has a set of them, each
// with its subject and start, each cleared only by its own cause (ORD-1, STEP-11).
type Attention string

// The reasons for attention.
const (
	AttentionRetryExhausted   Attention = "retry_exhausted"
	AttentionPermanentError   Attention = "permanent_error"
	AttentionUnresolved       Attention = "payment_unresolved"
	AttentionMismatch         Attention = "payment_mismatch"
	AttentionReleaseFailed    Attention = "release_failed"
	AttentionShippingFailed   Attention = "shipping_failed"
	AttentionCommitFailed     Attention = "stock_commit_failed"
	AttentionUnknownVersion   Attention = "unknown_process_version"
	AttentionRefundUnresolved Attention = "refund_unresolved"
)

// Attentions lists every reason.
var Attentions = []Attention{
	AttentionRetryExhausted, AttentionPermanentError, AttentionUnresolved, AttentionMismatch,
	AttentionReleaseFailed, AttentionShippingFailed, AttentionCommitFailed,
	AttentionUnknownVersion, AttentionRefundUnresolved,
}
