package service

import (
	"context"
	"errors"
	"net/http"

	"ordeal/service/executor"
	"ordeal/service/order"
	"ordeal/service/provider"
	"ordeal/service/telemetry"
)

// providers lets an executor perform steps with the adapters to the external systems.
type providers struct {
	adapters provider.Providers
}

func newProviders(c Config, transport http.RoundTripper) (providers, error) {
	client := provider.NewClient(transport)
	warehouse, errW := provider.NewWarehouse(provider.Config{BaseURL: c.Warehouse, Client: client})
	payment, errP := provider.NewPayment(provider.Config{BaseURL: c.Payment, Client: client})
	shipping, errS := provider.NewShipping(provider.Config{BaseURL: c.Shipping, Client: client})
	if err := errors.Join(errW, errP, errS); err != nil {
		return providers{}, err
	}
	return providers{provider.Providers{
		Warehouse: warehouse,
		Payment:   payment,
		Shipping:  shipping,
	}}, nil
}

// Perform implements executor.Provider.
func (p providers) Perform(ctx context.Context, step order.TakenStep) executor.Reply {
	return replyOf(p.adapters.Perform(ctx, callOf(step)))
}

// Query implements executor.Provider.
func (p providers) Query(ctx context.Context, step order.TakenStep) executor.Reply {
	return replyOf(p.adapters.Query(ctx, callOf(step)))
}

func callOf(step order.TakenStep) provider.Call {
	return provider.Call{
		Kind:        step.Kind,
		OrderID:     step.Ref.OrderID,
		Step:        step.Ref.StepNo,
		Attempt:     step.Attempt,
		Key:         step.ProviderKey,
		Target:      step.TargetKey,
		Body:        []byte(step.Request),
		Amount:      step.Total,
		Currency:    step.Currency,
		TraceParent: telemetry.Traceparent(step),
	}
}

func replyOf(reply provider.Reply) executor.Reply {
	return executor.Reply{
		Outcome:   reply.Outcome,
		Sent:      reply.Sent(),
		Code:      reply.Code,
		Reference: reply.Reference,
	}
}
