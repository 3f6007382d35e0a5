package order

// Action is a command that a person may give an order next.
type Action string

// ActionCancel asks for the order to be cancelled (ORD-5).
const ActionCancel Action = "cancel"

// CustomerActions lists what the customer of an order in a state may do next, never nil. Cancel
// is what became of an earlier request to cancel, empty where there was none: a second request
// changes nothing, so it is no action.
func CustomerActions(s State, cancel CancelStatus) []Action {
	if cancel != "" || !allows(s, CancelledEvent) {
		return []Action{}
	}
	return []Action{ActionCancel}
}

// allows tells whether the table has the pair.
func allows(s State, e Event) bool {
	for _, t := range Transitions {
		if t.From == s && t.Event == e {
			return true
		}
	}
	return false
}
