package chaos

import (
	"ordeal/scenarios/evidence"
	"ordeal/sim/imitation"
)

// story is how an order lives: what its providers do, and what its customer does meanwhile.
type story struct {
	scripts []scripted
	// cancelAtCharge lets the customer cancel while the first charge is in flight.
	cancelAtCharge bool
	// decision is what the operator does once the order has come to a state.
	decision decision
}

// decision is a command of an operator.
type decision struct {
	state string // the state in which it is given; empty: there is none
	route string
	// fields are those of the command beside the ones that all have.
	fields map[string]any
}

// scripted is how a provider treats the next calls of an operation.
type scripted struct {
	party      string
	operation  imitation.Operation
	behaviours []imitation.Behaviour
}

// times repeats a behaviour.
func times(n int, kind imitation.Kind) []imitation.Behaviour {
	all := make([]imitation.Behaviour, n)
	for i := range all {
		all[i].Kind = kind
	}
	return all
}

// stories lead to each kind of step. What is not here is met by an order that nothing befalls.
var stories = map[string]story{
	// The answer to the charge is lost, so its outcome is unknown.
	StepReconcile: {scripts: []scripted{
		{evidence.PartyPayment, imitation.Charge, times(1, imitation.LostAnswer)},
	}},
	// The charge is refused, so the stock is released.
	StepRelease: {scripts: []scripted{
		{evidence.PartyPayment, imitation.Charge, times(1, imitation.Refuse)},
	}},
	// The request is lost while a cancellation waits, and queries do not tell: the void decides.
	StepVoid: {
		scripts: []scripted{
			{evidence.PartyPayment, imitation.Charge, times(1, imitation.ResetWithoutEffect)},
			{evidence.PartyPayment, imitation.StatusCharge, times(3, imitation.Transient)},
		},
		cancelAtCharge: true,
	},
	// The shipment is refused, and the operator gives the order up.
	StepCancelShip: {
		scripts: []scripted{
			{evidence.PartyShipping, imitation.Ship, times(1, imitation.Refuse)},
		},
		decision: decision{state: "shipping_failed", route: evidence.RouteClose,
			fields: map[string]any{"release_stock": true}},
	},
	// The operator pays something back.
	StepRefund: {decision: refund},
	// The same, and the answer is lost, so the outcome of the refund is unknown.
	StepReconcileRefund: {
		scripts: []scripted{
			{evidence.PartyPayment, imitation.Refund, times(1, imitation.LostAnswer)},
		},
		decision: refund,
	},
}

// refund pays back less than any order costs.
var refund = decision{state: "shipped", route: evidence.RouteRefund,
	fields: map[string]any{"amount": 100}}

// operations are the calls by which steps are performed.
var operations = map[string]string{
	StepReserve:         evidence.OpReserve,
	StepPay:             evidence.OpCharge,
	StepReconcile:       evidence.OpStatusCharge,
	StepVoid:            evidence.OpVoid,
	StepShip:            evidence.OpShip,
	StepCancelShip:      evidence.OpCancelShip,
	StepRelease:         evidence.OpRelease,
	StepCommit:          evidence.OpCommit,
	StepRefund:          evidence.OpRefund,
	StepReconcileRefund: evidence.OpStatusRefund,
}

// parties are the providers of steps.
var parties = map[string]string{
	StepReserve:         evidence.PartyWarehouse,
	StepPay:             evidence.PartyPayment,
	StepReconcile:       evidence.PartyPayment,
	StepVoid:            evidence.PartyPayment,
	StepShip:            evidence.PartyShipping,
	StepCancelShip:      evidence.PartyShipping,
	StepRelease:         evidence.PartyWarehouse,
	StepCommit:          evidence.PartyWarehouse,
	StepRefund:          evidence.PartyPayment,
	StepReconcileRefund: evidence.PartyPayment,
}

// stepOf is the kind of step that an operation performs; empty for a look by the way.
func stepOf(operation string) string {
	for _, step := range steps {
		if operations[step] == operation {
			return step
		}
	}
	return ""
}
