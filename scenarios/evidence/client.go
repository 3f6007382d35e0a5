package evidence

import "time"

// The routes of the REST API that exchanges name.
const (
	RouteCreate    = "create"
	RouteRead      = "read"
	RouteList      = "list"
	RouteCancel    = "cancel"
	RouteRetry     = "retry"
	RouteReconcile = "reconcile"
	RouteVoid      = "void"
	RouteShip      = "ship"
	RouteClose     = "close"
	RouteRefund    = "refund"
	RouteAudit     = "audit"
)

// Exchange is one REST request and what its client saw of the answer.
type Exchange struct {
	// Seq numbers the exchanges of a run in the order in which they were sent.
	Seq int
	// Client is the authenticated caller: the customer of what it creates.
	Client string
	// Role is customer or operator.
	Role  string
	Route string
	// Order is the order named in the path; empty for a create.
	Order string
	// Key is the Idempotency-Key, empty if none was sent.
	Key string
	// Fingerprint is equal for two requests exactly where they ask for the same.
	Fingerprint string
	// ReleaseStock is the option of a close.
	ReleaseStock bool
	SentAt       time.Time
	AnsweredAt   time.Time
	// Unknown says that no answer was seen: the request may or may not have been carried out.
	Unknown bool
	// Status is the HTTP status; zero where Unknown.
	Status int
	// Code is the stable code of a problem answer.
	Code string
	// Replayed says that the answer was marked as a replay.
	Replayed bool
	// AnswerDigest is a digest of the raw answer body.
	AnswerDigest string
	// Shown is what the answer says about an order.
	Shown Shown
}

// Accepted reports whether the answer is a success.
func (e Exchange) Accepted() bool { return e.Status >= 200 && e.Status < 300 }

// Undecided reports whether the client does not know what became of the request: it saw no answer,
// or one that says no more than that nobody knows.
func (e Exchange) Undecided() bool {
	return e.Unknown || e.Status >= 500 || e.Code == CodeInProgress
}

// CodeInProgress is the problem code of a request whose twin is still under way.
const CodeInProgress = "idempotency_in_progress"

// Shown is what an answer of the API says about an order; all zero where it says nothing.
type Shown struct {
	Order        string
	State        string
	Version      int
	Cancellation string
}
