package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ordeal/scenarios"
)

// Boundary is an instant in the work on a step; see the package comment.
type Boundary string

// The boundaries.
const (
	AfterTake    Boundary = "after_take"
	BeforeCall   Boundary = "before_call"
	AfterEffect  Boundary = "after_effect"
	BeforeCommit Boundary = "before_commit"
	AfterCommit  Boundary = "after_commit"
)

// words is the boundary as titles spell it.
func (b Boundary) words() string { return strings.ReplaceAll(string(b), "_", " ") }

// The kinds of steps that the service performs.
const (
	StepReserve         = "reserve"
	StepPay             = "pay"
	StepReconcile       = "reconcile"
	StepVoid            = "void"
	StepShip            = "ship"
	StepCancelShip      = "cancel_ship"
	StepRelease         = "release"
	StepCommit          = "commit"
	StepRefund          = "refund"
	StepReconcileRefund = "reconcile_refund"
	// stepCreate stands for the creation of an order, which is no step of its process.
	stepCreate = "create"
)

// steps are the kinds in the order in which reports list them.
var steps = []string{
	StepReserve, StepPay, StepReconcile, StepVoid, StepShip, StepCancelShip, StepRelease,
	StepCommit, StepRefund, StepReconcileRefund,
}

// killBoundaries are those at which a worker is killed on every kind of step.
var killBoundaries = []Boundary{BeforeCall, AfterEffect, BeforeCommit, AfterCommit}

// Action is what is done when the boundary is reached.
type Action string

// The actions.
const (
	// Kill kills the process with SIGKILL.
	Kill Action = "kill"
	// Stop stops the worker, waits until another one has taken over, and continues it.
	Stop Action = "stop"
	// StopRival is Stop, but what was held is let go while the new holder is at work.
	StopRival Action = "stop_rival"
	// LoseAnswer cuts the connection, so that nobody learns of the commit.
	LoseAnswer Action = "lose_answer"
	// RestartDatabase shuts the server down as a crash would and starts it again.
	RestartDatabase Action = "restart_database"
	// CutDatabase resets the worker's connections to the database until another has taken over.
	CutDatabase Action = "cut_database"
	// SilenceDatabase lets nothing pass between worker and database for as long.
	SilenceDatabase Action = "silence_database"
	// CutProvider takes the worker's link to the step's provider down for a while.
	CutProvider Action = "cut_provider"
	// ProviderDown takes everybody's link to the step's provider down for Case.Down.
	ProviderDown Action = "provider_down"
	// Drain ends the worker with SIGTERM while it has work.
	Drain Action = "drain"
	// Roll ends and starts every process in turn, under load.
	Roll Action = "roll"
	// Storm lets 500 clients create orders and go away after 5 ms, while workers hold leases.
	Storm Action = "storm"
	// SlowDatabase delays and throttles the links to the database, under load.
	SlowDatabase Action = "slow_database"
)

// Case is one way to hurt the service.
type Case struct {
	// ID is unique and stable.
	ID    string
	Title string
	// Step and Boundary say when the case acts; both are empty where the action says it.
	Step     string
	Boundary Boundary
	Action   Action
	// Lease and Renew are the service's configuration.
	Lease, Renew time.Duration
	// Down is how long ProviderDown lasts.
	Down time.Duration
	// Smoke says that the case belongs to the short selection.
	Smoke bool
	// Simulated names the same boundary in the simulation.
	Simulated Simulated
}

// Simulated is where the simulation meets the boundary of a case: the Ordinal-th time in a run of
// the scenario that the fault meets the call or statement.
type Simulated struct {
	Scenario string
	Fault    scenarios.FaultKind
	// Operation is that of the call; beside a Statement, of the call whose result is recorded.
	Operation string
	// Statement is the name of the statement; empty where the fault meets a call.
	Statement string
	// Ordinal counts from 1.
	Ordinal int
}

// Lookup returns the case of an id, or an error that tells where the ids are listed.
func Lookup(id string) (Case, error) {
	all := All()
	at := slices.IndexFunc(all, func(c Case) bool { return c.ID == id })
	if at >= 0 {
		return all[at], nil
	}
	var near []string
	for _, c := range all {
		if strings.Contains(c.ID, id) {
			near = append(near, c.ID)
		}
	}
	if len(near) > 0 {
		return Case{}, fmt.Errorf("case %q is unknown; near: %s", id, strings.Join(near, ", "))
	}
	return Case{}, fmt.Errorf("case %q is unknown; chaos list tells all", id)
}
