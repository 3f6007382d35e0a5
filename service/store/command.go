package store

import "ordeal/service/order"

// CommandName names a decision about an order.
type CommandName string

// The commands.
const (
	// CommandRetry makes a new step for an exhausted one; for operators also after a permanent
	// error, of a failed release, and of an exhausted refund.
	CommandRetry CommandName = "retry"
	// CommandReconcile starts a new series of status queries for an unknown payment or refund.
	CommandReconcile CommandName = "reconcile"
	// CommandVoid closes the payment key of a payment_unknown order at the provider.
	CommandVoid CommandName = "void"
	// CommandShip ships a shipping_failed order again.
	CommandShip CommandName = "ship"
	// CommandClose accepts a failure: of a shipping_failed order by first closing the shipper's
	// key, of a release_failed order at once.
	CommandClose CommandName = "close"
	// CommandRefund gives money back.
	CommandRefund CommandName = "refund"
)

// Command is a decision about an order, by an operator or, for a retry, by its customer.
type Command struct {
	Name    CommandName
	OrderID order.ID
	// Request is the scope and the fingerprint under which the answer is stored.
	Request Request
	// ActorType is customer or operator, and Customer, where not empty, restricts the command
	// to orders of that customer.
	ActorType, Customer string
	// ExpectedVersion is the version of the order that the decision is about; 0 asks for none.
	ExpectedVersion int
	// Reason is the operator's reason code; Note is free text, stored with the command and
	// nowhere else.
	Reason, Note string
	// ReleaseStock makes a confirmed close release the reservation.
	ReleaseStock bool
	// Amount is that of a refund in kopecks.
	Amount order.Money
	// Forbidden, Stale and Excessive are the bodies of the answers 409 (the order does not allow
	// it), 412 (another version) and 422 (a refund above what is left).
	Forbidden, Stale, Excessive string
}
