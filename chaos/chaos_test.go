package chaos

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"go.uber.org/goleak"

	"ordeal/chaos/wire"
	"ordeal/reports"
	"ordeal/scenarios"
	"ordeal/scenarios/invariant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		d, known := deeds[c.Action]
		switch {
		case !known:
			t.Errorf("%s: unknown action %q", c.ID, c.Action)
		case (d.whole == nil) != (c.Boundary != ""):
			t.Errorf("%s: action %q and boundary %q do not fit", c.ID, c.Action, c.Boundary)
		}
		if c.Title == "" || c.Lease <= c.Renew {
			t.Errorf("%s: title %q, lease %s, renewed every %s", c.ID, c.Title, c.Lease, c.Renew)
		}
		if found, err := Lookup(c.ID); err != nil || found.ID != c.ID {
			t.Errorf("lookup %s: %v", c.ID, err)
		}
	}
	if _, err := Lookup("kill/before_call"); err == nil || !strings.Contains(err.Error(), "near") {
		t.Errorf("got %v, want near ids", err)
	}
	if got := len(Smoke()); got != len(smoke) {
		t.Errorf("%d of %d ids of the short selection exist", got, len(smoke))
	}
}

// Every boundary of every step has its kill, and every action is in the short selection, but for
// those that only load can show.
func TestCatalogueIsComplete(t *testing.T) {
	for _, place := range places() {
		if _, err := Lookup(at(Kill, place.Boundary, place.Step)); err != nil {
			t.Error(err)
		}
	}
	inSmoke := map[Action]bool{Roll: true, SlowDatabase: true, SilenceDatabase: true}
	for _, c := range Smoke() {
		inSmoke[c.Action] = true
	}
	for action := range deeds {
		if !inSmoke[action] {
			t.Errorf("no case of the short selection does %s", action)
		}
	}
}

func TestEveryCaseNamesASimulatedBoundary(t *testing.T) {
	for _, c := range All() {
		s, err := scenarios.Lookup(c.Simulated.Scenario)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		drawn := slices.ContainsFunc(s.Faults, func(f scenarios.Fault) bool {
			return f.Kind == c.Simulated.Fault
		})
		if !drawn {
			t.Errorf("%s: scenario %s never does %s", c.ID, s.Name, c.Simulated.Fault)
		}
		if fates[c.Simulated.Fault] == nil || c.Simulated.Ordinal < 1 ||
			c.Simulated.Operation+c.Simulated.Statement == "" {
			t.Errorf("%s: %+v cannot be found", c.ID, c.Simulated)
		}
	}
}

// eventLog is what the simulation writes, shortened.
const eventLog = `1 0 start executor-1#1 - - - - 0 0
2 5 statement executor-1#1 database TakeSteps deliver "SELECT 1" 1 2
3 6 call executor-1#1 payment "POST /v1/charges" deliver 201 1 2
4 7 statement executor-1#1 database RecordResults crash_after "SELECT 1" 1 2
5 7 crash executor-1#1 - - crash - 0 0
6 8 statement api#1 database "LockOrder, CancelOrder" lost_ack "SELECT 1" 1 2
7 9 call executor-2#1 payment "GET /v1/charges/k" crash_before - 1 2
`

func TestFound(t *testing.T) {
	for _, c := range []struct {
		s    Simulated
		line string
	}{
		{Simulated{Fault: scenarios.CrashAfterStatement, Statement: "RecordResults",
			Operation: "charge", Ordinal: 1}, "4 7"},
		{Simulated{Fault: scenarios.CrashAfterStatement, Statement: "RecordResults",
			Operation: "reserve", Ordinal: 1}, ""},
		{Simulated{Fault: scenarios.CrashAfterStatement, Statement: "RecordResults",
			Operation: "charge", Ordinal: 2}, ""},
		{Simulated{Fault: scenarios.CrashBeforeCall, Operation: "status_charge", Ordinal: 1}, "7 9"},
		{Simulated{Fault: scenarios.CrashBeforeCall, Operation: "charge", Ordinal: 1}, ""},
		{Simulated{Fault: scenarios.DBLostAck, Statement: "CancelOrder", Ordinal: 1}, "6 8"},
	} {
		line, found := c.s.Found(strings.NewReader(eventLog))
		if found != (c.line != "") || !strings.HasPrefix(line, c.line) {
			t.Errorf("%+v: got %q, want %q", c.s, line, c.line)
		}
	}
}

func TestRecorded(t *testing.T) {
	m := wire.Moment{Parameters: make([]wire.Parameter, parameterLost+1)}
	const order = "c0540b8d-db02-8fed-9725-d990dae6aa55"
	var id pgtype.UUID
	if err := id.Scan(order); err != nil {
		t.Fatal(err)
	}
	for at, p := range map[int]struct {
		oid   uint32
		value any
	}{
		parameterOrders:   {pgtype.UUIDArrayOID, []pgtype.UUID{id, id, id}},
		parameterSteps:    {pgtype.Int2ArrayOID, []int16{1, 2, 3}},
		parameterOutcomes: {pgtype.TextArrayOID, []string{"succeeded", "not_sent", "unknown"}},
		parameterLost:     {pgtype.BoolArrayOID, []bool{false, false, true}},
	} {
		value, err := pgtype.NewMap().Encode(p.oid, pgtype.BinaryFormatCode, p.value, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Parameters[at] = wire.Parameter{Format: pgtype.BinaryFormatCode, Value: value}
	}
	if got := recorded(m); len(got) != 1 || got[0] != (stepRef{order, 1}) {
		t.Errorf("got %v, want the one result of a call", got)
	}
	if got := recorded(wire.Moment{}); got != nil {
		t.Errorf("got %v of a statement without parameters", got)
	}
}

func TestTrapSpringsOnce(t *testing.T) {
	d := newDirector(t.Context())
	d.keys["o"] = "target"
	sprung := 0
	trap := newTrap(StepPay, BeforeCall, "target", func(hit) bool { sprung++; return true })
	d.arm(trap)
	for _, c := range []struct {
		b           Boundary
		step, order string
		cut         bool
	}{
		{AfterEffect, StepPay, "o", false},
		{BeforeCall, StepShip, "o", false},
		{BeforeCall, StepPay, "other", false},
		{BeforeCall, StepPay, "o", true},
		{BeforeCall, StepPay, "o", false},
	} {
		if got := d.reach(nil, c.b, c.step, c.order); got != c.cut {
			t.Errorf("%s of %s of %s: got %t, want %t", c.b, c.step, c.order, got, c.cut)
		}
	}
	if h := <-trap.sprung; sprung != 1 || h.order != "o" || h.step != StepPay {
		t.Errorf("sprung %d times, last by %+v", sprung, h)
	}
}

func TestResultNamesTheCase(t *testing.T) {
	held := Outcome{Case: All()[0], Seed: 1, Hit: true, Findings: []invariant.Finding{
		{ID: "INV-01", Result: invariant.Result{Checked: 3}},
	}}
	missed := Outcome{Case: All()[1], Seed: 2, Problems: []Problem{{reports.Coverage, "not hit"}}}
	r := Result(reports.New(reports.Build{}, nil), []Outcome{held, missed})
	if code := reports.ExitCode(r); code != reports.ExitViolated {
		t.Errorf("got exit code %d", code)
	}
	if len(r.Failures) != 1 || r.Failures[0].Scenario != missed.Case.ID ||
		!strings.Contains(r.Failures[0].Command, missed.Case.ID) {
		t.Errorf("got failures %+v", r.Failures)
	}
	if got := r.Unfired(); len(got) != 1 || got[0] != missed.Case.ID {
		t.Errorf("got unfired %v", got)
	}
	if code := reports.ExitCode(Result(reports.New(reports.Build{}, nil),
		[]Outcome{held})); code != reports.ExitHeld {
		t.Errorf("got exit code %d", code)
	}
}
