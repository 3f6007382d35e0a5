package imitation

// Operation names what a request asks of a provider. The names appear in ledgers, scripts
// and plans, and are stable.
type Operation string

// The operations of the three providers. A status query is an operation of its own, so that
// a plan can let a charge succeed and every look at it fail.
const (
	Charge       Operation = "charge"
	Void         Operation = "void"
	Refund       Operation = "refund"
	StatusCharge Operation = "status_charge"
	StatusRefund Operation = "status_refund"

	Reserve       Operation = "reserve"
	Release       Operation = "release"
	Commit        Operation = "commit"
	StatusReserve Operation = "status_reserve"

	Ship       Operation = "ship"
	CancelShip Operation = "cancel_ship"
	StatusShip Operation = "status_ship"
)

// operations is the closed list.
var operations = []Operation{
	Charge, Void, Refund, StatusCharge, StatusRefund, Reserve, Release, Commit, StatusReserve,
	Ship, CancelShip, StatusShip,
}

// isStatus reports whether the operation only asks and carries no key of its own.
func (o Operation) isStatus() bool {
	return o == StatusCharge || o == StatusRefund || o == StatusReserve || o == StatusShip
}

// movesMoney reports whether a request carries an amount and an answer echoes it.
func (o Operation) movesMoney() bool { return o == Charge || o == Refund }

// refusalCode is the code of a planned refusal that names none.
func (o Operation) refusalCode() string {
	switch o {
	case Charge:
		return "card_declined"
	case Refund:
		return "refund_declined"
	case Reserve:
		return codeOutOfStock
	case Release:
		return "release_declined"
	case Ship:
		return "no_carrier"
	}
	return "declined"
}

// request is one parsed call: all that a provider knows about it.
type request struct {
	op       Operation
	key      string // own idempotency key; empty for a status query
	target   string // key that the operation names: void, release, status, refund …
	order    string
	step     int
	attempt  int
	delivery int // 1, or 2 for the second copy of a duplicated request
	bodyHash string
	print    string // operation, target and body: what must be equal under one key
	amount   int64
	currency string
	items    []item
}

// item is one line of a reservation or shipment.
type item struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// call is the part of a request that a planner may look at.
func (r request) call(ordinal int) Call {
	return Call{
		Operation: r.op,
		Key:       r.key,
		TargetKey: r.target,
		OrderID:   r.order,
		Step:      r.step,
		Attempt:   r.attempt,
		Ordinal:   ordinal,
	}
}
