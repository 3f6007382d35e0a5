package reports

// The exit codes of every command that runs something.
const (
	// ExitHeld: something ran, and everything held.
	ExitHeld = 0
	// ExitViolated: an invariant was violated, or a run failed otherwise.
	ExitViolated = 1
	// ExitUsage: the command line was wrong.
	ExitUsage = 2
	// ExitNondeterministic: nothing was violated, but a seed did not replay.
	ExitNondeterministic = 3
	// ExitNothingRan: no seed ran, so nothing is known.
	ExitNothingRan = 4
	// ExitEnvironment: the surroundings are missing, such as a database.
	ExitEnvironment = 5
	// ExitInterrupted: stopped by a signal.
	ExitInterrupted = 130
)

// ExitCode is the exit code that a result deserves. A violation outweighs nondeterminism: it is a
// finding even if its seed does not replay.
func ExitCode(r Result) int {
	violated := false
	for _, i := range r.Invariants {
		violated = violated || i.Violated > 0
	}
	for _, f := range r.Failures {
		violated = violated || f.Invariant != Nondeterminism
	}
	switch {
	case violated || r.Seeds.Failed > 0:
		return ExitViolated
	case r.Seeds.Run == 0:
		return ExitNothingRan
	case r.Seeds.Nondeterministic > 0 || len(r.Failures) > 0:
		return ExitNondeterministic
	}
	return ExitHeld
}

// Verdict is the meaning of the exit code that a result deserves, in a few words.
func Verdict(r Result) string {
	switch ExitCode(r) {
	case ExitViolated:
		return "FAILED"
	case ExitNondeterministic:
		return "NOT DETERMINISTIC"
	case ExitNothingRan:
		return "NOTHING RAN"
	}
	return "HELD"
}
