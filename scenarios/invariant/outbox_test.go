package invariant

import (
	"testing"

	"ordeal/scenarios/evidence"
)

func TestOutboxCompleteNotices(t *testing.T) {
	events := func(spoil func([]evidence.Event) []evidence.Event) func() *evidence.Run {
		return breaking(shippedStory, func(r *evidence.Run) { r.Outbox = spoil(r.Outbox) })
	}
	expectRed(t, []broken{
		{"last event lost", events(func(e []evidence.Event) []evidence.Event {
			return e[:len(e)-1]
		}), "INV-10", "has no event"},
		{"event lost in the middle", events(func(e []evidence.Event) []evidence.Event {
			return append(e[:2:2], e[3:]...)
		}), "INV-10", "has sequence 4, expected 3"},
		{"event twice", events(func(e []evidence.Event) []evidence.Event {
			again := e[0]
			again.Sequence, again.EventID = len(e)+1, "again"
			return append(e, again)
		}), "INV-10", "tells of no change"},
		{"event of another state", events(func(e []evidence.Event) []evidence.Event {
			e[1].Type = "order.shipped"
			return e
		}), "INV-10", "has event order.shipped"},
		{"one id twice", events(func(e []evidence.Event) []evidence.Event {
			e[1].EventID = e[0].EventID
			return e
		}), "INV-10", "of another one"},
		{"event without trace", events(func(e []evidence.Event) []evidence.Event {
			e[0].TraceID = ""
			return e
		}), "INV-10", "both must be set"},
	})
}
