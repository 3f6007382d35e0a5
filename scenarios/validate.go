package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"ordeal/scenarios/evidence"
	"ordeal/scenarios/invariant"
)

// plainName is what a command line and a file name can carry.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// requirementID is the shape of the ids that a scenario may give evidence for.
var requirementID = regexp.MustCompile(
	`^(WF-00[1-7]|(ORD|STEP|REF|API|AUD|OUT|REC|OBS|SIM)-[1-9][0-9]?)$`)

// Validate reports every reason why the scenario cannot be run or judged as it is, joined into
// one error that names the scenario; nil if there is none.
func (s Scenario) Validate() error {
	problems := slices.Concat(
		s.checkPaper(),
		s.Workload.check(),
		s.checkFaults(),
		s.checkOutcomes(),
		s.checkProcesses(),
		s.checkMandatory(),
	)
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("scenario %q: %w", s.Name, errors.Join(problems...))
}

// checkPaper looks at what is written about the scenario.
func (s Scenario) checkPaper() (problems []error) {
	if !plainName.MatchString(s.Name) {
		problems = append(problems, fmt.Errorf("name %q is not lower-case-with-dashes", s.Name))
	}
	if s.Title == "" || s.Goal == "" || s.Method == "" {
		problems = append(problems, errors.New("title, goal and method must all be written"))
	}
	if len(s.Requirements) == 0 {
		problems = append(problems, errors.New("no requirement is named"))
	}
	for _, id := range s.Requirements {
		if !requirementID.MatchString(id) {
			problems = append(problems, fmt.Errorf("requirement %q is no known id", id))
		}
	}
	if len(s.Invariants) == 0 {
		problems = append(problems, errors.New("no invariant is named"))
	}
	for _, id := range s.Invariants {
		if i, ok := invariant.Lookup(id); !ok || i.Check == nil {
			problems = append(problems, fmt.Errorf("invariant %q cannot be judged", id))
		}
	}
	return problems
}

// check looks at what the clients do.
func (w Workload) check() (problems []error) {
	problems = slices.Concat(
		w.Orders.check("orders", 1),
		w.Items.check("items", 1),
		w.Spacing.check("spacing"),
		w.Cancel.After.check("cancel.after"),
		perMille("duplicates", w.DuplicatePerMille),
		perMille("cancel", w.Cancel.PerMille),
		perMille("cancel at once", w.Cancel.AtOncePerMille),
		perMille("cancel repeat", w.Cancel.RepeatPerMille),
		w.Operators.check(),
	)
	if w.Clients < 1 {
		problems = append(problems, fmt.Errorf("clients: %d is less than 1", w.Clients))
	}
	return problems
}

// check looks at what operators decide.
func (o Operators) check() (problems []error) {
	if o.Count < 0 {
		problems = append(problems, fmt.Errorf("operators: %d is less than none", o.Count))
	}
	if o.Count > 0 {
		problems = append(problems, o.Rounds.check("operators.rounds", 1)...)
		problems = append(problems, o.Every.check("operators.every")...)
	}
	return slices.Concat(problems,
		perMille("operators act", o.ActPerMille),
		perMille("operators refund", o.RefundPerMille),
		perMille("operators wrong", o.WrongPerMille),
		perMille("operators stale", o.StalePerMille),
		perMille("operators twice", o.TwicePerMille),
		perMille("trespass", o.TrespassPerMille),
	)
}

// checkFaults looks at the faults of calls, statements and processes.
func (s Scenario) checkFaults() (problems []error) {
	seen := map[FaultKind]bool{}
	for _, f := range s.Faults {
		what := "fault " + string(f.Kind)
		switch {
		case !f.Kind.Known():
			problems = append(problems, fmt.Errorf("%s is no known kind", what))
		case f.Kind.IsBehaviour():
			problems = append(problems, fmt.Errorf("%s belongs to the outcomes", what))
		case seen[f.Kind]:
			problems = append(problems, fmt.Errorf("%s is named twice", what))
		}
		seen[f.Kind] = true
		problems = append(problems, chance(what, f.PerMille)...)
	}
	if len(s.Faults)+len(s.Outcomes) > 0 && s.Heal <= 0 {
		problems = append(problems, errors.New("heal: faults without an end"))
	}
	if s.Limit <= 0 {
		problems = append(problems, errors.New("limit: no time to come to rest"))
	}
	return problems
}

// checkOutcomes looks at the behaviours of providers.
func (s Scenario) checkOutcomes() (problems []error) {
	type meeting struct {
		operation string
		behaviour FaultKind
	}
	seen := map[meeting]bool{}
	sum := map[string]int{}
	for _, o := range s.Outcomes {
		what := fmt.Sprintf("outcome %s of %s", o.Behaviour, o.Operation)
		if !slices.Contains(evidence.Operations, o.Operation) {
			problems = append(problems, fmt.Errorf("%s: no such operation", what))
		}
		if !o.Behaviour.IsBehaviour() {
			problems = append(problems, fmt.Errorf("%s: no provider behaves so", what))
		}
		if seen[meeting{o.Operation, o.Behaviour}] {
			problems = append(problems, fmt.Errorf("%s is named twice", what))
		}
		seen[meeting{o.Operation, o.Behaviour}] = true
		problems = append(problems, chance(what, o.PerMille)...)
		sum[o.Operation] += o.PerMille
		if sum[o.Operation] > 1000 {
			problems = append(problems, fmt.Errorf("%s: the sum exceeds 1000", what))
		}
	}
	return problems
}

// checkProcesses looks at executors, crashes and pauses.
func (s Scenario) checkProcesses() (problems []error) {
	if s.Executors < 1 {
		problems = append(problems, fmt.Errorf("executors: %d is less than 1", s.Executors))
	}
	for _, limit := range []struct {
		what  string
		kinds []FaultKind
		count Range
	}{
		{"crashes", crashFaults, s.Crashes.Count},
		{"pauses", []FaultKind{Pause}, s.Pauses.Count},
		{"cuts", []FaultKind{NetCut}, s.Cuts.Count},
		{"restarts", []FaultKind{DBRestart}, s.Restarts.Count},
	} {
		on := slices.ContainsFunc(s.Faults, func(f Fault) bool {
			return slices.Contains(limit.kinds, f.Kind)
		})
		if on != (limit.count.Max > 0) {
			problems = append(problems,
				fmt.Errorf("%s: faults and count must both be given", limit.what))
		}
	}
	return slices.Concat(problems,
		s.Cuts.Count.check("cuts", 0), s.Cuts.Length.check("cuts.length"),
		s.Restarts.Count.check("restarts", 0), s.Restarts.Length.check("restarts.length"),
		s.Crashes.Count.check("crashes", 0), s.Crashes.Down.check("crashes.down"),
		s.Pauses.Count.check("pauses", 0), s.Pauses.Length.check("pauses.length"),
		perMille("pauses at statements", s.Pauses.StatementPerMille))
}

// checkMandatory looks for kinds that must fire but never can.
func (s Scenario) checkMandatory() (problems []error) {
	offered := s.Offered()
	for _, kind := range s.Mandatory {
		if !slices.Contains(offered, kind) {
			problems = append(problems, fmt.Errorf("mandatory %s is never on", kind))
		}
	}
	return problems
}

// Offered lists the kinds that the scenario can fire, each once, in the order of FaultKinds.
func (s Scenario) Offered() []FaultKind {
	var offered []FaultKind
	for _, kind := range FaultKinds() {
		fault := slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == kind })
		outcome := slices.ContainsFunc(s.Outcomes, func(o Outcome) bool {
			return o.Behaviour == kind
		})
		if fault || outcome {
			offered = append(offered, kind)
		}
	}
	return offered
}

func (r Range) check(what string, least int) []error {
	if r.Min < least || r.Max < r.Min {
		return []error{fmt.Errorf("%s: %d to %d is no range from %d up",
			what, r.Min, r.Max, least)}
	}
	return nil
}

func (s Span) check(what string) []error {
	if s.Min < 0 || s.Max < s.Min || s.Max > 24*time.Hour {
		return []error{fmt.Errorf("%s: %s to %s is no span within a day", what, s.Min, s.Max)}
	}
	return nil
}

// perMille admits a share, zero included.
func perMille(what string, n int) []error {
	if n < 0 || n > 1000 {
		return []error{fmt.Errorf("%s: %d is not within 0 and 1000 per mille", what, n)}
	}
	return nil
}

// chance admits a share of something that is listed, so it can happen.
func chance(what string, n int) []error {
	if n < 1 || n > 1000 {
		return []error{fmt.Errorf("%s: %d is not within 1 and 1000 per mille", what, n)}
	}
	return nil
}
