package chaos

import (
	"fmt"
	"slices"
	"time"

	"ordeal/scenarios"
)

// The leases of most cases, and the real ones.
const (
	shortLease = 4 * time.Second
	shortRenew = time.Second
	realLease  = 30 * time.Second
	realRenew  = 10 * time.Second
)

// All returns every case in the order in which a run plays them. The result is the caller's.
func All() []Case {
	all := slices.Concat(kills(), stops(), lostAnswers(), databaseRestarts(), links(), whole())
	for i := range all {
		c := &all[i]
		if c.Lease == 0 {
			c.Lease, c.Renew = shortLease, shortRenew
		}
		c.Smoke = slices.Contains(smoke, c.ID)
	}
	return all
}

// Smoke returns the short selection.
func Smoke() []Case {
	return slices.DeleteFunc(All(), func(c Case) bool { return !c.Smoke })
}

// smoke lists the ids of the short selection: each boundary and each action at least once.
var smoke = []string{
	"kill/before_call/pay",
	"kill/after_effect/pay",
	"kill/before_commit/reserve",
	"kill/before_commit/void",
	"kill/after_commit/ship",
	"kill/after_effect/release",
	"kill/before_commit/reconcile",
	"kill/before_call/commit",
	"kill/after_effect/refund",
	"kill/before_commit/cancel_ship",
	"stop/before_commit/pay",
	"stop/before_commit/commit",
	"stop_rival/before_commit/reserve",
	"lose_answer/after_commit/pay",
	"restart_database/before_commit/pay",
	"cut_database/before_commit/pay",
	"cut_provider/before_call/pay",
	"provider_down/before_call/ship",
	"kill_api/before_commit",
	"kill_api/after_commit",
	"drain",
	"storm",
}

// at names the boundary of a case.
func at(a Action, b Boundary, step string) string {
	if step == "" {
		return fmt.Sprintf("%s/%s", a, b)
	}
	return fmt.Sprintf("%s/%s/%s", a, b, step)
}

// crashAt is where the simulation crashes a process at a boundary of a step.
func crashAt(b Boundary, step string) Simulated {
	s := Simulated{Scenario: "crashes", Operation: operations[step], Ordinal: 1}
	switch b {
	case BeforeCall:
		s.Fault = scenarios.CrashBeforeCall
	case AfterEffect:
		s.Fault = scenarios.CrashAfterCall
	case BeforeCommit:
		s.Fault, s.Statement = scenarios.CrashBeforeStatement, "RecordResults"
	case AfterCommit:
		s.Fault, s.Statement = scenarios.CrashAfterStatement, "RecordResults"
	case AfterTake:
		s.Fault, s.Statement = scenarios.CrashAfterStatement, "TakeSteps"
	}
	return s
}

// kills kill the worker at every boundary of every kind of step.
func kills() (all []Case) {
	for _, b := range killBoundaries {
		for _, step := range steps {
			all = append(all, Case{
				ID:        at(Kill, b, step),
				Title:     fmt.Sprintf("SIGKILL of the worker %s of %s", b.words(), step),
				Step:      step,
				Boundary:  b,
				Action:    Kill,
				Simulated: crashAt(b, step),
			})
		}
	}
	return append(all,
		Case{
			ID:        at(Kill, AfterTake, ""),
			Title:     "SIGKILL of the worker that does not know yet what it has taken",
			Boundary:  AfterTake,
			Action:    Kill,
			Simulated: crashAt(AfterTake, ""),
		},
		Case{
			ID:        "real_lease/before_call/pay",
			Title:     "SIGKILL of the worker before a charge, with leases of 30 s",
			Step:      StepPay,
			Boundary:  BeforeCall,
			Action:    Kill,
			Lease:     realLease,
			Renew:     realRenew,
			Simulated: crashAt(BeforeCall, StepPay),
		},
		Case{
			ID:       "kill_api/before_commit",
			Title:    "SIGKILL of the API before an order is created; the client tries again",
			Step:     stepCreate,
			Boundary: BeforeCommit,
			Action:   Kill,
			Simulated: Simulated{Scenario: "crashes", Fault: scenarios.DBResetBefore,
				Statement: "CreateOrder", Ordinal: 1},
		},
		Case{
			ID:       "kill_api/after_commit",
			Title:    "SIGKILL of the API after an order was created; the client tries again",
			Step:     stepCreate,
			Boundary: AfterCommit,
			Action:   Kill,
			Simulated: Simulated{Scenario: "crashes", Fault: scenarios.DBLostAck,
				Statement: "CreateOrder", Ordinal: 1},
		})
}

// stops hold the worker for longer than its lease and let it go on as a stale holder.
func stops() (all []Case) {
	for _, b := range []Boundary{BeforeCall, AfterEffect, BeforeCommit} {
		for _, step := range []string{
			StepReserve, StepPay, StepShip, StepRelease, StepCommit,
		} {
			s := Simulated{Scenario: "two-executors", Fault: scenarios.Pause,
				Operation: operations[step], Ordinal: 1}
			if b == BeforeCommit {
				s.Statement = "RecordResults"
			}
			all = append(all, Case{
				ID:        at(Stop, b, step),
				Title:     fmt.Sprintf("SIGSTOP past the lease %s of %s, then SIGCONT", b, step),
				Step:      step,
				Boundary:  b,
				Action:    Stop,
				Simulated: s,
			})
		}
	}
	for _, step := range []string{StepReserve, StepShip, StepRelease, StepCommit} {
		all = append(all, Case{
			ID:       at(StopRival, BeforeCommit, step),
			Title:    "A stale holder's result of " + step + " arrives while the new one is at work",
			Step:     step,
			Boundary: BeforeCommit,
			Action:   StopRival,
			Simulated: Simulated{Scenario: "two-executors", Fault: scenarios.Pause,
				Operation: operations[step], Statement: "RecordResults", Ordinal: 1},
		})
	}
	return all
}

// lostAnswers commit something of which nobody is told.
func lostAnswers() (all []Case) {
	for _, step := range steps {
		all = append(all, Case{
			ID:       at(LoseAnswer, AfterCommit, step),
			Title:    fmt.Sprintf("The commit of the result of %s is acknowledged to nobody", step),
			Step:     step,
			Boundary: AfterCommit,
			Action:   LoseAnswer,
			Simulated: Simulated{Scenario: "crashes", Fault: scenarios.DBLostAck,
				Operation: operations[step], Statement: "RecordResults", Ordinal: 1},
		})
	}
	return append(all, Case{
		ID:       at(LoseAnswer, AfterTake, ""),
		Title:    "Steps are taken and nobody is told",
		Boundary: AfterTake,
		Action:   LoseAnswer,
		Simulated: Simulated{Scenario: "crashes", Fault: scenarios.DBLostAck,
			Statement: "TakeSteps", Ordinal: 1},
	})
}

// databaseRestarts crash the database in the middle of each boundary.
func databaseRestarts() (all []Case) {
	for _, b := range killBoundaries {
		s := Simulated{Scenario: "crashes", Fault: scenarios.DBResetBefore,
			Operation: operations[StepPay], Statement: "RecordResults", Ordinal: 1}
		if b == AfterCommit {
			s.Fault = scenarios.DBLostAck
		}
		all = append(all, Case{
			ID:        at(RestartDatabase, b, StepPay),
			Title:     fmt.Sprintf("PostgreSQL crashes %s of pay, and restarts", b.words()),
			Step:      StepPay,
			Boundary:  b,
			Action:    RestartDatabase,
			Simulated: s,
		})
	}
	return all
}

// links cut and slow the ways between processes.
func links() []Case {
	paused := func(step string) Simulated {
		return Simulated{Scenario: "two-executors", Fault: scenarios.Pause,
			Operation: operations[step], Statement: "RecordResults", Ordinal: 1}
	}
	return []Case{
		{
			ID:        at(CutDatabase, BeforeCommit, StepPay),
			Title:     "The worker that has charged loses the database, and keeps the provider",
			Step:      StepPay,
			Boundary:  BeforeCommit,
			Action:    CutDatabase,
			Simulated: paused(StepPay),
		},
		{
			ID:        at(SilenceDatabase, BeforeCommit, StepPay),
			Title:     "The result of a charge is on its way until long after the takeover",
			Step:      StepPay,
			Boundary:  BeforeCommit,
			Action:    SilenceDatabase,
			Simulated: paused(StepPay),
		},
		{
			ID:        at(SilenceDatabase, BeforeCommit, StepShip),
			Title:     "The result of a shipment is on its way until long after the takeover",
			Step:      StepShip,
			Boundary:  BeforeCommit,
			Action:    SilenceDatabase,
			Simulated: paused(StepShip),
		},
		{
			ID:       at(CutProvider, BeforeCall, StepPay),
			Title:    "The worker that charges loses the provider, and keeps the database",
			Step:     StepPay,
			Boundary: BeforeCall,
			Action:   CutProvider,
			Simulated: Simulated{Scenario: "provider-faults", Fault: scenarios.CallReset,
				Operation: operations[StepPay], Ordinal: 1},
		},
		{
			ID:       at(ProviderDown, BeforeCall, StepShip),
			Title:    "The shipper cannot be reached for 5 s",
			Step:     StepShip,
			Boundary: BeforeCall,
			Action:   ProviderDown,
			Down:     5 * time.Second,
			Simulated: Simulated{Scenario: "provider-faults", Fault: scenarios.CallDialFailed,
				Operation: operations[StepShip], Ordinal: 1},
		},
		{
			ID:       at(ProviderDown, BeforeCall, StepPay),
			Title:    "The payment provider cannot be reached for 2 min",
			Step:     StepPay,
			Boundary: BeforeCall,
			Action:   ProviderDown,
			Down:     2 * time.Minute,
			Simulated: Simulated{Scenario: "provider-faults", Fault: scenarios.CallDialFailed,
				Operation: operations[StepPay], Ordinal: 1},
		},
	}
}

// whole are the cases that concern whole processes under load.
func whole() []Case {
	return []Case{
		{
			ID:       "drain",
			Title:    "SIGTERM of a worker that has work",
			Boundary: BeforeCall,
			Action:   Drain,
			Simulated: Simulated{Scenario: "crashes", Fault: scenarios.CrashBeforeCall,
				Operation: operations[StepReserve], Ordinal: 1},
		},
		{
			ID:     "roll",
			Title:  "SIGTERM and start of every process in turn, under load",
			Action: Roll,
			Simulated: Simulated{Scenario: "crashes", Fault: scenarios.CrashAfterStatement,
				Statement: "TakeSteps", Ordinal: 1},
		},
		{
			ID:     "storm",
			Title:  "500 clients that go away after 5 ms, while workers hold leases",
			Action: Storm,
			Simulated: Simulated{Scenario: "crashes", Fault: scenarios.DBLostAck,
				Statement: "CreateOrder", Ordinal: 1},
		},
		{
			ID:     "slow_database",
			Title:  "Every link to the database is slow",
			Action: SlowDatabase,
			Simulated: Simulated{Scenario: "two-executors", Fault: scenarios.CallSlow,
				Operation: operations[StepPay], Ordinal: 1},
		},
	}
}
