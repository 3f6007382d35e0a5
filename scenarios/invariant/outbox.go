package invariant

import (
	"strings"

	"ordeal/scenarios/evidence"
)

var outboxComplete = Invariant{
	ID:    "INV-10",
	Title: "Events are complete and in order",
	Text: "The outbox has exactly one event per change of an order, in the order of the changes, " +
		"named after the new state; the events of an order are numbered without a gap, and no two " +
		"events share an id. (Deliveries and the read model are not part of this evidence yet.)",
	Needs: []string{"outbox", "history"},
	Check: judgeOutbox,
}

// orderEvent begins the type of an event that tells of a change of state.
const orderEvent = "order."

func judgeOutbox(r *evidence.Run) Result {
	var t tally
	owners := map[string]string{}
	for _, v := range r.Views() {
		judgeEventsOfOrder(&t, v)
		for _, e := range v.Outbox {
			if owner, taken := owners[e.EventID]; taken {
				t.violated(v.ID, e.CreatedAt, "event %d has the id %q of another one, of order %s",
					e.Sequence, e.EventID, owner)
			}
			owners[e.EventID] = v.ID
		}
	}
	return t.result
}

// judgeEventsOfOrder matches the events of one order with its changes, one to one.
func judgeEventsOfOrder(t *tally, v evidence.View) {
	var changes []evidence.Event
	for i, e := range v.Outbox {
		if e.Sequence != i+1 {
			t.violated(v.ID, e.CreatedAt, "event %d (%s) has sequence %d, expected %d",
				i+1, e.Type, e.Sequence, i+1)
		}
		if e.EventID == "" || e.TraceID == "" {
			t.violated(v.ID, e.CreatedAt, "event %d (%s) has id %q and trace %q: both must be set",
				e.Sequence, e.Type, e.EventID, e.TraceID)
		}
		if strings.HasPrefix(e.Type, orderEvent) {
			changes = append(changes, e)
		}
	}
	for i, c := range v.History {
		t.met()
		switch {
		case i >= len(changes):
			t.violated(v.ID, c.At, "version %d (%s) has no event", c.Version, c.Event)
		case changes[i].Type != orderEvent+c.To:
			t.violated(v.ID, c.At, "version %d (%s, to %s) has event %s", c.Version, c.Event,
				c.To, changes[i].Type)
		}
	}
	for _, e := range changes[min(len(changes), len(v.History)):] {
		t.violated(v.ID, e.CreatedAt, "event %d (%s) tells of no change", e.Sequence, e.Type)
	}
}
