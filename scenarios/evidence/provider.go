package evidence

import (
	"strings"
	"time"
)

// The parties outside the service.
const (
	PartyPayment   = "payment"
	PartyWarehouse = "warehouse"
	PartyShipping  = "shipping"
)

// The operations of the providers, as their ledgers name them.
const (
	OpCharge        = "charge"
	OpVoid          = "void"
	OpRefund        = "refund"
	OpStatusCharge  = "status_charge"
	OpStatusRefund  = "status_refund"
	OpReserve       = "reserve"
	OpRelease       = "release"
	OpCommit        = "commit"
	OpStatusReserve = "status_reserve"
	OpShip          = "ship"
	OpCancelShip    = "cancel_ship"
	OpStatusShip    = "status_ship"
)

// Operations is the closed list of operations.
var Operations = []string{
	OpCharge, OpVoid, OpRefund, OpStatusCharge, OpStatusRefund, OpReserve, OpRelease, OpCommit,
	OpStatusReserve, OpShip, OpCancelShip, OpStatusShip,
}

// Entry is one line of a provider's ledger: the provider's own witness of what it did.
type Entry struct {
	// Seq numbers the entries of one provider from 1.
	Seq int
	At  time.Time
	// Origin is call, settlement (a pending key became definite) or lapse (the warehouse's
	// own safety TTL ran out).
	Origin    string
	Operation string
	// Key is the operation's own key, empty for status queries. TargetKey is the key that
	// the operation names.
	Key       string
	TargetKey string
	Order     string
	Step      int
	Attempt   int
	// Delivery is 2 for a copy that was not sent by the service.
	Delivery int
	// Amount is in kopecks.
	Amount    int64
	Currency  string
	Reference string
	Outcome   string
	Code      string
	// Before and After are the states of the key that the operation is about.
	Before string
	After  string
	// Effect is true where this very entry moved money, stock or a parcel, or closed a key.
	Effect bool
}

// Subject is the key that the entry's operation is about: the one it names, else its own.
func (e Entry) Subject() string {
	if e.TargetKey != "" {
		return e.TargetKey
	}
	return e.Key
}

// StockLine is the stock of one SKU in pieces.
type StockLine struct {
	SKU       string
	Supplied  int64
	Available int64
	Reserved  int64
	Shipped   int64
}

// Reply tells what a process got back for a request.
type Reply string

// The replies.
const (
	// ReplyNone: nothing came back, or nothing before the process died or gave up.
	ReplyNone Reply = "none"
	// ReplyDialFailed: no connection, and no byte left the process.
	ReplyDialFailed Reply = "dial_failed"
	// ReplyReset: the connection ended after the request had begun to leave.
	ReplyReset Reply = "reset"
	// ReplyAnswered: an HTTP answer came back; Status and Answer tell which.
	ReplyAnswered Reply = "answered"
)

// Call is one request that was seen leaving a process towards a provider.
type Call struct {
	// Seq numbers the calls of a run in the order in which they left.
	Seq int
	// Process and Incarnation name the sender.
	Process     string
	Incarnation int
	Party       string
	Method      string
	Path        string
	// Operation is what method and path ask for; see OperationOf.
	Operation string
	// Key is the Idempotency-Key, empty for a status query.
	Key     string
	Order   string
	Step    int
	Attempt int
	// At is when the process handed the request to its network, which is before any fault of
	// that network.
	At time.Time
	// Delivered says that the provider got the request, at DeliveredAt, which may be long
	// after the process gave up. While it is false the request may still be on its way,
	// unless Lost.
	Delivered   bool
	DeliveredAt time.Time
	// Lost says that the request will never be delivered.
	Lost bool
	// Effect says that the delivery moved money, stock or a parcel.
	Effect bool
	// Reply is what came back to the process, at AnsweredAt.
	Reply      Reply
	AnsweredAt time.Time
	// Status and Answer describe an answer: Status is the HTTP status.
	Status int
	Answer Answer
}

// Left reports whether a byte of the request may have left the process.
func (c Call) Left() bool { return c.Reply != ReplyDialFailed }

// Answer is the body of a provider's answer, as the process got it. All of it is zero where the
// body was no JSON object labelled as JSON.
type Answer struct {
	Outcome   string
	Code      string
	Reference string
	Order     string
	// Amount is in kopecks.
	Amount   int64
	Currency string
}

// OperationOf names the operation of a request to a provider, or "" for any other request.
func OperationOf(party, method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || parts[0] != "v1" {
		return ""
	}
	verb := ""
	switch len(parts) {
	case 3:
		verb = "{key}"
	case 4:
		verb = parts[3]
	}
	return operations[route{party, method, parts[1], verb}]
}

// route is what tells one operation from another.
type route struct{ party, method, collection, verb string }

// operations is the providers' HTTP contract.
var operations = map[route]string{
	{PartyPayment, "POST", "charges", ""}:               OpCharge,
	{PartyPayment, "GET", "charges", "{key}"}:           OpStatusCharge,
	{PartyPayment, "POST", "charges", "void"}:           OpVoid,
	{PartyPayment, "POST", "refunds", ""}:               OpRefund,
	{PartyPayment, "GET", "refunds", "{key}"}:           OpStatusRefund,
	{PartyWarehouse, "POST", "reservations", ""}:        OpReserve,
	{PartyWarehouse, "GET", "reservations", "{key}"}:    OpStatusReserve,
	{PartyWarehouse, "POST", "reservations", "release"}: OpRelease,
	{PartyWarehouse, "POST", "reservations", "commit"}:  OpCommit,
	{PartyShipping, "POST", "shipments", ""}:            OpShip,
	{PartyShipping, "GET", "shipments", "{key}"}:        OpStatusShip,
	{PartyShipping, "POST", "shipments", "cancel"}:      OpCancelShip,
}
