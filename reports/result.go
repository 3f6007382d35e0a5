// Package reports holds the result of a sweep of runs, and turns it into whatever reads it: a
// JSON file (the source of all others), a console summary, JUnit XML and Markdown for CI.
//
// Results add up. A worker reports one seed, a shard its seeds, and Merge makes one result of
// any number of them, in any order and grouping. What is counted lives in Scenarios, Invariants,
// Faults and Failures; Seeds and Rate are derived from them by Settle and never added.
package reports

import "time"

// SchemaVersion is the version of the JSON form. It changes when a field is added or changes
// its meaning.
const SchemaVersion = 2

// Result is what a sweep, a shard of it, or a single run came to.
type Result struct {
	SchemaVersion int   `json:"schema_version"`
	Build         Build `json:"build"`
	// Config holds the flags of the sweep by name.
	Config map[string]string `json:"config"`
	// Seeds is derived from Scenarios.
	Seeds Seeds `json:"seeds"`
	// Scenarios is sorted by name, one row each.
	Scenarios []Scenario `json:"scenarios"`
	// Invariants is sorted by id, one row each.
	Invariants []Invariant `json:"invariants"`
	// Faults is sorted by kind, one row each.
	Faults []Fault `json:"faults"`
	// Rate is derived from Scenarios.
	Rate Rate `json:"rate"`
	// Failures is sorted by scenario, seed and invariant.
	Failures []Failure `json:"failures"`
}

// Build identifies what was run: without it a seed means nothing.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// Seeds counts runs by verdict: Run is the sum of the others. A run whose replay differed is
// nondeterministic, whatever else it showed.
type Seeds struct {
	Run              int `json:"run"`
	Passed           int `json:"passed"`
	Failed           int `json:"failed"`
	Nondeterministic int `json:"nondeterministic"`
}

// Scenario counts the runs of one scenario.
type Scenario struct {
	Name string `json:"name"`
	Seeds
	// Statements is the number of SQL statements of all runs.
	Statements int64 `json:"statements"`
	// Virtual is the virtual time that passed in all runs.
	Virtual time.Duration `json:"virtual_ns"`
	// Elapsed is the real time that the runs took. Merging adds it up, as if they had run one
	// after the other; whoever runs them side by side puts in the time that really passed.
	Elapsed time.Duration `json:"elapsed_ns"`
}

// Invariant counts how often an invariant had something to check and how often it was violated.
type Invariant struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Checked  int64  `json:"checked"`
	Violated int64  `json:"violated"`
}

// Fault counts how often a kind of fault could have happened and how often it did. Of some runs
// in which no other kind fired a twin without faults was played: Compared counts them, and
// Mattered those whose orders fared otherwise than in the twin.
type Fault struct {
	Kind     string `json:"kind"`
	Offered  int64  `json:"offered"`
	Fired    int64  `json:"fired"`
	Compared int64  `json:"compared"`
	Mattered int64  `json:"mattered"`
}

// Rate tells how fast the runs were. A part whose divisor is zero is zero.
type Rate struct {
	RunsPerSecond           float64 `json:"runs_per_second"`
	VirtualSecondsPerSecond float64 `json:"virtual_seconds_per_second"`
	StatementsPerRun        float64 `json:"statements_per_run"`
}

// Failure is one reason why a seed failed.
type Failure struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Invariant is the id of what was violated, or Nondeterminism, Coverage or Broken.
	Invariant string `json:"invariant"`
	Message   string `json:"message"`
	// Repeats tells how well the run repeats: "exact" where a second play was equal event for
	// event, else "n of m" plays failed in the same way; empty where it was not played again.
	Repeats string `json:"repeats,omitempty"`
	// Detail holds lines to look at, such as the events around a difference.
	Detail string `json:"detail,omitempty"`
	// Command reproduces the failure when pasted into a shell.
	Command string `json:"command"`
}

// What a failure names where no invariant was violated.
const (
	// Nondeterminism: two runs of one seed differed.
	Nondeterminism = "nondeterminism"
	// Coverage: a mandatory fault never fired, or an invariant never had anything to check.
	Coverage = "coverage"
	// Broken: the run itself broke off, such as by a panic or by a limit.
	Broken = "broken"
)

// Run is the result of a single seed with what only makes sense for one.
type Run struct {
	Result
	// EventHash is the hash of the full event log, in hexadecimal.
	EventHash string `json:"event_hash"`
	// Events is the number of events in the log.
	Events int `json:"events"`
	// Orders tells what each order cost, sorted by order.
	Orders []OrderCost `json:"orders"`
}

// OrderCost is what one order cost the database. A statement that moved several orders counts
// for each of them.
type OrderCost struct {
	Order      string `json:"order"`
	Statements int    `json:"statements"`
	RoundTrips int    `json:"round_trips"`
}

// New returns an empty result of a build and its flags.
func New(build Build, config map[string]string) Result {
	return Merge(Result{Build: build, Config: config})
}

// Settle brings the result into its one normal form: rows sorted, Seeds and Rate derived. It must
// be called after rows were changed by hand; Merge does so itself.
func (r *Result) Settle() { *r = Merge(*r) }

// derive computes what follows from the scenarios.
func (r *Result) derive() {
	r.Seeds = Seeds{}
	var statements int64
	var virtual, elapsed time.Duration
	for _, s := range r.Scenarios {
		r.Seeds = r.Seeds.plus(s.Seeds)
		statements += s.Statements
		virtual += s.Virtual
		elapsed += s.Elapsed
	}
	r.Rate = Rate{
		RunsPerSecond:           ratio(float64(r.Seeds.Run), elapsed.Seconds()),
		VirtualSecondsPerSecond: ratio(virtual.Seconds(), elapsed.Seconds()),
		StatementsPerRun:        ratio(float64(statements), float64(r.Seeds.Run)),
	}
}

func (s Seeds) plus(o Seeds) Seeds {
	return Seeds{
		Run:              s.Run + o.Run,
		Passed:           s.Passed + o.Passed,
		Failed:           s.Failed + o.Failed,
		Nondeterministic: s.Nondeterministic + o.Nondeterministic,
	}
}

// ratio divides, and makes nothing of nothing.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Unchecked lists the invariants that never had anything to check.
func (r Result) Unchecked() []string {
	var ids []string
	for _, i := range r.Invariants {
		if i.Checked == 0 {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// Unfired lists the kinds of faults that never happened.
func (r Result) Unfired() []string {
	var kinds []string
	for _, f := range r.Faults {
		if f.Fired == 0 {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}
