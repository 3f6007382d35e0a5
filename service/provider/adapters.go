package provider

import (
	"context"
	"net/url"
)

// Payment is the adapter to the payment provider.
type Payment struct{ client client }

// NewPayment returns an adapter, or an error for a base URL that cannot be one.
func NewPayment(c Config) (*Payment, error) {
	client, err := newClient("payment", c)
	if err != nil {
		return nil, err
	}
	return &Payment{client: client}, nil
}

// Charge asks for the money of an order.
func (p *Payment) Charge(ctx context.Context, call Call) Reply {
	what := expectation{named: true, money: true}
	return p.client.send(ctx, call, what, "/v1/charges")
}

// ChargeStatus asks what became of the charge with the target key.
func (p *Payment) ChargeStatus(ctx context.Context, call Call) Reply {
	what := expectation{query: true, named: true, money: true, voidable: true}
	return p.client.send(ctx, call, what, "/v1/charges/"+url.PathEscape(call.Target))
}

// Void closes the charge key that is the target, so that it can never charge again.
func (p *Payment) Void(ctx context.Context, call Call) Reply {
	path := "/v1/charges/" + url.PathEscape(call.Target) + "/void"
	return p.client.send(ctx, call, expectation{}, path)
}

// Refund gives money back.
func (p *Payment) Refund(ctx context.Context, call Call) Reply {
	what := expectation{named: true, money: true}
	return p.client.send(ctx, call, what, "/v1/refunds")
}

// RefundStatus asks what became of the refund with the target key.
func (p *Payment) RefundStatus(ctx context.Context, call Call) Reply {
	what := expectation{query: true, named: true, money: true}
	return p.client.send(ctx, call, what, "/v1/refunds/"+url.PathEscape(call.Target))
}

// Warehouse is the adapter to the warehouse.
type Warehouse struct{ client client }

// NewWarehouse returns an adapter, or an error for a base URL that cannot be one.
func NewWarehouse(c Config) (*Warehouse, error) {
	client, err := newClient("warehouse", c)
	if err != nil {
		return nil, err
	}
	return &Warehouse{client: client}, nil
}

// Reserve asks for the stock of an order.
func (w *Warehouse) Reserve(ctx context.Context, call Call) Reply {
	return w.client.send(ctx, call, expectation{named: true}, "/v1/reservations")
}

// ReservationStatus asks what became of the reservation with the target key.
func (w *Warehouse) ReservationStatus(ctx context.Context, call Call) Reply {
	what := expectation{query: true, named: true, held: true}
	return w.client.send(ctx, call, what, "/v1/reservations/"+url.PathEscape(call.Target))
}

// Release gives the stock of the target key back and closes the key to a late reserve.
func (w *Warehouse) Release(ctx context.Context, call Call) Reply {
	path := "/v1/reservations/" + url.PathEscape(call.Target) + "/release"
	return w.client.send(ctx, call, expectation{}, path)
}

// Commit lets the stock of the target key leave for good.
func (w *Warehouse) Commit(ctx context.Context, call Call) Reply {
	path := "/v1/reservations/" + url.PathEscape(call.Target) + "/commit"
	return w.client.send(ctx, call, expectation{}, path)
}

// Shipping is the adapter to the shipper.
type Shipping struct{ client client }

// NewShipping returns an adapter, or an error for a base URL that cannot be one.
func NewShipping(c Config) (*Shipping, error) {
	client, err := newClient("shipping", c)
	if err != nil {
		return nil, err
	}
	return &Shipping{client: client}, nil
}

// Ship sends an order on its way.
func (s *Shipping) Ship(ctx context.Context, call Call) Reply {
	return s.client.send(ctx, call, expectation{named: true}, "/v1/shipments")
}

// ShipmentStatus asks what became of the shipment with the target key.
func (s *Shipping) ShipmentStatus(ctx context.Context, call Call) Reply {
	what := expectation{query: true, named: true}
	return s.client.send(ctx, call, what, "/v1/shipments/"+url.PathEscape(call.Target))
}

// Cancel closes the shipment key that is the target, unless the parcel has left.
func (s *Shipping) Cancel(ctx context.Context, call Call) Reply {
	path := "/v1/shipments/" + url.PathEscape(call.Target) + "/cancel"
	return s.client.send(ctx, call, expectation{}, path)
}
