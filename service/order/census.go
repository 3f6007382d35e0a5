package order

import "time"

// Backlog counts orders that are not closed and have their state, their last reason code and
// their next step in common (OBS-1).
type Backlog struct {
	// State is where they are.
	State State
	// Reason is the last stable reason code, empty for none.
	Reason string
	// Next is the kind of the step that comes next; empty where a person decides.
	Next StepKind
	// Orders is how many there are.
	Orders int
	// Oldest is how long the first of them has been in the state.
	Oldest time.Duration
	// Attempts is the largest number of counted attempts that a next step has behind it.
	Attempts int
	// Escalated is how many have been in the state for longer than it escalates after.
	Escalated int
}

// Closed counts the closed orders of a state.
type Closed struct {
	State  State
	Orders int
}

// Flagged counts the orders that one reason for attention is raised for.
type Flagged struct {
	Reason Attention
	Orders int
	// Oldest is how long ago it was raised first.
	Oldest time.Duration
}

// Discrepant counts the open discrepancies of a kind.
type Discrepant struct {
	Kind string
	Open int
}

// Unpublished is what the outbox holds back.
type Unpublished struct {
	// Events is how many are not published, up to a bound; Parked counts those among them that
	// an operator must replay.
	Events, Parked int
	// Oldest is how long the first of them has been waiting.
	Oldest time.Duration
}
