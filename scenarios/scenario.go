// Package scenarios is the catalogue: which workloads a service is put through, what goes wrong
// meanwhile, and what must hold. Scenarios are data. Whoever runs them (a simulation, real
// processes) draws the concrete run from a seed within the bounds that a scenario gives; whoever
// judges them reads evidence. The package imports neither the runner nor the service.
//
// # How a runner reads a scenario
//
// Probabilities are per mille of opportunities, drawn independently. The opportunities of a call
// fault are the calls towards providers, of a statement fault the statements, of a crash before
// or after a call the calls of executors, of a crash before or after a statement the statements
// of processes, of a pause the calls of executors and, with a rate of its own, their statements,
// and of an outcome the calls of its operation that reach the provider. Those of a client fault
// are the requests of clients, or their answers; of a cut all of these, of a restart of the
// database the statements, of a jump of a clock the calls and statements of executors; and a clock
// is set off when its run begins. An opportunity at which several kinds come up takes the first
// in the order of the scenario. Crashes, pauses, cuts, restarts and jumps stop for good once their
// count is used up.
//
// Swarm draws, per run, which kinds of Faults and which Outcomes are on, each with even odds and
// never none of all: runs with few kinds reach states that a mix of everything never does.
//
// A run has two phases. Until Heal everything may go wrong; then every fault stops, paused and
// crashed processes come back, and within Limit every order has to be final or in a state that
// names a person's next action. The run is judged at rest, at the latest after Heal + Limit.
package scenarios

import "time"

// Scenario is one way to put the service to the test.
type Scenario struct {
	// Name is unique and stable: commands and reports use it.
	Name  string
	Title string
	// Goal says what the scenario is to show, Method by what means.
	Goal   string
	Method string
	// Requirements are the ids that a clean sweep gives evidence for.
	Requirements []string
	// Invariants are the ids that are judged; none is ever left out under faults.
	Invariants []string
	Workload   Workload
	// Executors is how many compete; at least one.
	Executors int
	Faults    []Fault
	// Swarm draws per run which Faults and Outcomes are on.
	Swarm    bool
	Crashes  Crashes
	Pauses   Pauses
	Cuts     Outages
	Restarts Outages
	Outcomes []Outcome
	// Heal is the virtual time from the start after which nothing goes wrong any more.
	Heal time.Duration
	// Limit is the virtual time after Heal within which everything comes to rest.
	Limit time.Duration
	// Mandatory are the kinds that must have fired in a sweep, else the sweep shows nothing.
	Mandatory []FaultKind
}

// Range is an inclusive range of counts.
type Range struct{ Min, Max int }

// Span is an inclusive range of durations.
type Span struct{ Min, Max time.Duration }

// Workload is what the clients do.
type Workload struct {
	// Orders is how many orders a run creates.
	Orders Range
	// Items is how many lines an order has.
	Items Range
	// Clients is how many customers share the orders; never more than orders.
	Clients int
	// DuplicatePerMille is how often a create is sent once more under the same key, at the
	// same time as the first or later.
	DuplicatePerMille int
	Cancel            Cancel
	Operators         Operators
	// Spacing lies between one create and the next.
	Spacing Span
}

// Cancel is how often and when customers cancel.
type Cancel struct {
	// PerMille is the share of orders that are cancelled; zero means none.
	PerMille int
	// AtOncePerMille is the share of the cancellations that are sent as soon as the create
	// was answered, so that they meet reserve or the very start of pay.
	AtOncePerMille int
	// After is the time between the answered create and all other cancellations.
	After Span
	// RepeatPerMille is how often a cancellation is sent once more, half of them under the
	// same key.
	RepeatPerMille int
}

// Operators is what operators decide. Each of them looks at the orders again and again and acts on
// what asks for a person.
type Operators struct {
	// Count is how many there are; zero means nobody looks.
	Count int
	// Rounds is how often each of them looks, Every the time between.
	Rounds Range
	Every  Span
	// ActPerMille is how often an order that asks for a person gets a decision in a round.
	ActPerMille int
	// RefundPerMille is how often a shipped or closed order gets a refund in a round.
	RefundPerMille int
	// WrongPerMille is how often an order gets a decision that it does not ask for,
	// StalePerMille how often a decision is about a version that has passed, TwicePerMille how
	// often one is sent twice under its key.
	WrongPerMille, StalePerMille, TwicePerMille int
	// TrespassPerMille is how often a customer tries an operator's route.
	TrespassPerMille int
}

// Fault is how often one kind of fault happens at its opportunities.
type Fault struct {
	Kind     FaultKind
	PerMille int
}

// Crashes bounds the crashes of a run.
type Crashes struct {
	// Count is how many a run may have; it draws its own limit from the range.
	Count Range
	// Down is how long a crashed process stays away.
	Down Span
}

// Pauses bounds the pauses of a run.
type Pauses struct {
	// Count is how many a run may have; it draws its own limit from the range.
	Count Range
	// Length is how long a process is held.
	Length Span
	// StatementPerMille is how often a statement of an executor starts a pause. It is far
	// lower than the rate at calls: most statements are polls of an idle process, and holding
	// that shows nothing.
	StatementPerMille int
}

// Outages bounds the cuts of the network, or the restarts of the database, of a run.
type Outages struct {
	// Count is how many a run may have; it draws its own limit from the range.
	Count Range
	// Length is how long one lasts.
	Length Span
}

// Outcome is how often a provider treats a call of one operation in one way.
type Outcome struct {
	// Operation is the provider's name of it, such as charge or status_charge.
	Operation string
	Behaviour FaultKind
	PerMille  int
}
