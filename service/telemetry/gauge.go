package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"ordeal/service/order"
)

// gauge makes a family of gauges.
func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// person is the next action of orders that no step is due for.
const person = "person"

// backlog shows the orders that are not closed.
type backlog struct {
	orders, oldest, attempts, escalated, reasons, actions *prometheus.GaugeVec
}

func newBacklog() backlog {
	return backlog{
		orders: gauge("ordeal_open_orders",
			"Orders that are not closed.", "state"),
		oldest: gauge("ordeal_open_orders_oldest_age_seconds",
			"How long the oldest order of a state has been in it.", "state"),
		attempts: gauge("ordeal_open_orders_most_attempts",
			"Attempts that the next step of some order has behind it, at most.", "state"),
		escalated: gauge("ordeal_open_orders_escalated",
			"Orders in a state for longer than its escalation threshold.", "state"),
		reasons: gauge("ordeal_open_orders_by_reason",
			"Orders by their last stable reason code.", "state", "reason"),
		actions: gauge("ordeal_open_orders_by_next_action",
			"Orders by the step that comes next, or the person who decides.", "state", "action"),
	}
}

func (b backlog) gauges() gauges {
	return gauges{b.orders, b.oldest, b.attempts, b.escalated, b.reasons, b.actions}
}

// fill shows every state that can be open, also one without orders.
func (b backlog) fill(groups []order.Backlog) {
	b.reasons.Reset()
	b.actions.Reset()
	for _, info := range order.States {
		if info.Class != order.Final {
			for _, g := range []*prometheus.GaugeVec{b.orders, b.oldest, b.attempts, b.escalated} {
				g.WithLabelValues(string(info.State)).Set(0)
			}
		}
	}
	longest, most := map[order.State]float64{}, map[order.State]float64{}
	for _, g := range groups {
		state, orders := string(g.State), float64(g.Orders)
		action := person
		if g.Next != "" {
			action = string(g.Next)
		}
		longest[g.State] = max(longest[g.State], g.Oldest.Seconds())
		most[g.State] = max(most[g.State], float64(g.Attempts))
		b.orders.WithLabelValues(state).Add(orders)
		b.oldest.WithLabelValues(state).Set(longest[g.State])
		b.attempts.WithLabelValues(state).Set(most[g.State])
		b.escalated.WithLabelValues(state).Add(float64(g.Escalated))
		b.reasons.WithLabelValues(state, Reason(g.Reason)).Add(orders)
		b.actions.WithLabelValues(state, action).Add(orders)
	}
}

// closed shows the closed orders.
type closed struct{ orders *prometheus.GaugeVec }

func newClosed() closed {
	return closed{gauge("ordeal_closed_orders", "Closed orders, ever.", "state")}
}

func (c closed) gauges() gauges { return gauges{c.orders} }

// fill shows every final state, also one without orders.
func (c closed) fill(groups []order.Closed) {
	for _, info := range order.States {
		if info.Class == order.Final {
			c.orders.WithLabelValues(string(info.State)).Set(0)
		}
	}
	for _, g := range groups {
		c.orders.WithLabelValues(string(g.State)).Set(float64(g.Orders))
	}
}

// flagged shows the reasons for attention.
type flagged struct{ orders, oldest *prometheus.GaugeVec }

func newFlagged() flagged {
	return flagged{
		orders: gauge("ordeal_attention_orders",
			"Orders that a person should look at, by reason.", "reason"),
		oldest: gauge("ordeal_attention_oldest_age_seconds",
			"How long ago the oldest open reason for attention was raised.", "reason"),
	}
}

func (f flagged) gauges() gauges { return gauges{f.orders, f.oldest} }

// fill shows every reason, also one without orders.
func (f flagged) fill(groups []order.Flagged) {
	for _, reason := range order.Attentions {
		f.orders.WithLabelValues(string(reason)).Set(0)
		f.oldest.WithLabelValues(string(reason)).Set(0)
	}
	for _, g := range groups {
		f.orders.WithLabelValues(string(g.Reason)).Set(float64(g.Orders))
		f.oldest.WithLabelValues(string(g.Reason)).Set(g.Oldest.Seconds())
	}
}

// discrepant shows the open discrepancies.
type discrepant struct{ open *prometheus.GaugeVec }

func newDiscrepant() discrepant {
	return discrepant{gauge("ordeal_discrepancies_open",
		"Discrepancies that nobody has resolved.", "kind")}
}

func (d discrepant) gauges() gauges { return gauges{d.open} }

// fill shows the kinds that there are: they are named by the statements that find them.
func (d discrepant) fill(groups []order.Discrepant) {
	d.open.Reset()
	for _, g := range groups {
		d.open.WithLabelValues(g.Kind).Set(float64(g.Open))
	}
}

// outbox shows what is not published.
type outbox struct {
	pending, parked, lag prometheus.Gauge
}

func newOutbox() outbox {
	return outbox{
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ordeal_outbox_unpublished_events",
			Help: "Events that are not published, up to 100000.",
		}),
		parked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ordeal_outbox_parked_events",
			Help: "Events that keep failing and wait for an operator's replay.",
		}),
		lag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ordeal_outbox_lag_seconds",
			Help: "How long the oldest event that is not published has been waiting.",
		}),
	}
}

func (o outbox) gauges() gauges { return gauges{o.pending, o.parked, o.lag} }

func (o outbox) fill(u order.Unpublished) {
	o.pending.Set(float64(u.Events))
	o.parked.Set(float64(u.Parked))
	o.lag.Set(u.Oldest.Seconds())
}
