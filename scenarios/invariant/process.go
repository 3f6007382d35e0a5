package invariant

// The states of an order.
const (
	created           = "created"
	reserving         = "reserving"
	reserved          = "reserved"
	paying            = "paying"
	paymentUnknown    = "payment_unknown"
	paid              = "paid"
	shipping          = "shipping"
	shipped           = "shipped"
	releasing         = "releasing"
	releaseFailed     = "release_failed"
	reservationFailed = "reservation_failed"
	paymentFailed     = "payment_failed"
	cancelled         = "cancelled"
	shippingFailed    = "shipping_failed"
)

// The kinds of steps that rules speak of.
const (
	stepReserve   = "reserve"
	stepPay       = "pay"
	stepReconcile = "reconcile"
	stepVoid      = "void"
	stepShip      = "ship"
	stepRelease   = "release"
	stepCommit    = "commit"
)

// The outcomes of attempts and of provider answers that rules speak of.
const (
	succeeded    = "succeeded"
	refused      = "refused"
	unknown      = "unknown"
	notSent      = "not_sent"
	voided       = "voided"
	notProcessed = "not_processed"
)

// transition is one row of the table of allowed changes.
type transition struct{ from, event, to string }

// transitions is the table of the process, version 1 (ORD-3). The value is the state in which a
// release that begins with the transition ends; either means that a waiting cancellation decides
// between cancelled and payment_failed.
var transitions = map[transition]string{
	{"", "order_created", created}: "",

	{created, "reserve_started", reserving}: "",
	{created, "cancelled", cancelled}:       "",

	{reserving, "reserve_succeeded", reserved}:             "",
	{reserving, "reserve_succeeded_cancelling", releasing}: cancelled,
	{reserving, "reserve_refused", reservationFailed}:      "",
	{reserving, "cancelled", releasing}:                    cancelled,

	{reserved, "pay_started", paying}:            "",
	{reserved, "cancelled", releasing}:           cancelled,
	{reserved, "reservation_expired", releasing}: reservationFailed,

	{paying, "pay_succeeded", paid}:                   "",
	{paying, "pay_refused", releasing}:                paymentFailed,
	{paying, "pay_outcome_unknown", paymentUnknown}:   "",
	{paying, "reservation_expired", paymentUnknown}:   "",
	{paying, "reservation_expired_unpaid", releasing}: paymentFailed,
	{paying, "cancel_voiding", paymentUnknown}:        "",
	{paying, "cancelled", releasing}:                  cancelled,

	{paymentUnknown, "reconciled_paid", paid}:         "",
	{paymentUnknown, "reconciled_refused", releasing}: paymentFailed,
	{paymentUnknown, "voided", releasing}:             either,

	{paid, "ship_started", shipping}: "",

	{shipping, "ship_succeeded", shipped}:        "",
	{shipping, "ship_refused", shippingFailed}:   "",
	{shipping, "ship_exhausted", shippingFailed}: "",
	{shipping, "ship_permanent", shippingFailed}: "",
	{shippingFailed, "ship_retried", shipping}:   "",
	{shippingFailed, "ship_found", shipped}:      "",

	{releasing, "release_succeeded", paymentFailed}:     "",
	{releasing, "release_succeeded", cancelled}:         "",
	{releasing, "release_succeeded", reservationFailed}: "",
	{releasing, "release_refused", releaseFailed}:       "",
	{releasing, "release_exhausted", releaseFailed}:     "",
	{releasing, "release_permanent", releaseFailed}:     "",
	{releaseFailed, "release_retried", releasing}:       "",
}

// either stands for an end that a waiting cancellation decides.
const either = "cancelled or payment_failed"

// paidOrLater reports whether money was taken in a state.
func paidOrLater(state string) bool {
	switch state {
	case paid, shipping, shipped, shippingFailed:
		return true
	}
	return false
}

// final reports whether a state is final by itself.
func final(state string) bool { return state == shipped || finalUnsuccessful(state) }

// finalUnsuccessful reports whether a state is final and nothing was delivered or taken.
func finalUnsuccessful(state string) bool {
	switch state {
	case reservationFailed, paymentFailed, cancelled:
		return true
	}
	return false
}
