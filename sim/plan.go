package sim

import (
	"ordeal/scenarios"
	"ordeal/sim/imitation"
)

// plan chooses how a provider treats a call: the scenario's outcomes for the operation, drawn
// from the faults of the run.
func (f *faults) plan(c imitation.Call) imitation.Behaviour {
	happy := imitation.Behaviour{Kind: imitation.Succeed}
	if f.over {
		return happy
	}
	var mix []chance
	for _, o := range f.scenario.Outcomes {
		if o.Operation == string(c.Operation) {
			fault := scenarios.Fault{Kind: o.Behaviour, PerMille: o.PerMille}
			mix = append(mix, chance{fault, f.off[o]})
		}
	}
	kind, ok := f.draw("plan "+string(c.Operation), mix)
	if !ok {
		return happy
	}
	return f.behaviour(kind)
}

// behaviour is a provider's behaviour of a kind.
func (f *faults) behaviour(kind scenarios.FaultKind) imitation.Behaviour {
	draw := f.world.Faults()
	switch kind {
	case scenarios.ProviderRefused:
		return imitation.Behaviour{Kind: imitation.Refuse}
	case scenarios.ProviderTransient:
		return imitation.Behaviour{Kind: imitation.Transient}
	case scenarios.ProviderNotProcessed:
		return imitation.Behaviour{Kind: imitation.NotProcessed}
	case scenarios.ProviderPending:
		refused := draw.Choose("pending settles refused", 3) == 2
		return imitation.Behaviour{Kind: imitation.Pending, SettleRefused: refused}
	case scenarios.ProviderPermanent:
		return imitation.Behaviour{Kind: imitation.Permanent}
	case scenarios.ProviderMalformed:
		return imitation.Behaviour{Kind: imitation.Malformed}
	case scenarios.ProviderWrongType:
		return imitation.Behaviour{Kind: imitation.WrongType}
	case scenarios.ProviderContradictory:
		if draw.Choose("contradicts the order", 2) == 1 {
			return imitation.Behaviour{Kind: imitation.ContradictOrder}
		}
		return imitation.Behaviour{Kind: imitation.ContradictAmount}
	}
	return imitation.Behaviour{Kind: imitation.Succeed}
}
