package provider

import (
	"context"
	"fmt"

	"ordeal/service/order"
)

// Providers are the three adapters behind one door: which of them does the work of a step is
// decided by the step's kind.
type Providers struct {
	Warehouse *Warehouse
	Payment   *Payment
	Shipping  *Shipping
}

// Perform carries out one attempt of a step. A kind outside the domain's list is a mistake of
// the caller and panics.
func (p Providers) Perform(ctx context.Context, call Call) Reply {
	switch call.Kind {
	case order.StepReserve:
		return p.Warehouse.Reserve(ctx, call)
	case order.StepRelease:
		return p.Warehouse.Release(ctx, call)
	case order.StepCommit:
		return p.Warehouse.Commit(ctx, call)
	case order.StepPay:
		return p.Payment.Charge(ctx, call)
	case order.StepVoid:
		return p.Payment.Void(ctx, call)
	case order.StepRefund:
		return p.Payment.Refund(ctx, call)
	case order.StepShip:
		return p.Shipping.Ship(ctx, call)
	case order.StepCancelShip:
		return p.Shipping.Cancel(ctx, call)
	}
	return p.Query(ctx, call)
}

// Query asks for the real outcome behind a step: of its target, or where it names none, of its
// own key. The reply's outcome is that of a query, whatever the kind.
func (p Providers) Query(ctx context.Context, call Call) Reply {
	if call.Target == "" {
		call.Target = call.Key
	}
	switch call.Kind {
	case order.StepReserve, order.StepRelease, order.StepCommit:
		return p.Warehouse.ReservationStatus(ctx, call)
	case order.StepPay, order.StepVoid, order.StepReconcile:
		return p.Payment.ChargeStatus(ctx, call)
	case order.StepRefund, order.StepReconcileRefund:
		return p.Payment.RefundStatus(ctx, call)
	case order.StepShip, order.StepCancelShip:
		return p.Shipping.ShipmentStatus(ctx, call)
	}
	panic(fmt.Sprintf("provider: step kind %q has no provider", call.Kind))
}
