package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"ordeal/scenarios"
	"ordeal/sim"
	"ordeal/sim/engine"
	"ordeal/sim/pgserver"
)

// A server without room is no finding about the service: the run ends with an error that says so.
func TestServerTroubleIsNoFinding(t *testing.T) {
	name := pgserver.UniqueName("sim")
	if err := server.CloneDatabase(t.Context(), name, template); err != nil {
		t.Fatal(err)
	}
	url := server.DatabaseURL(name)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `
		create function full_disk() returns trigger language plpgsql as $$
		begin
			raise exception 'no space left on device' using errcode = 'disk_full';
		end $$;
		create trigger full_disk before insert on step_attempts
			for each row execute function full_disk()`)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	l, err := sim.OpenLab(t.Context(), url, server.CanSignal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	s, err := scenarios.Lookup("happy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Play(t.Context(), t, s, 1, false); !errors.Is(err, engine.ErrBackend) {
		t.Fatalf("got %v, want %v", err, engine.ErrBackend)
	}
}

// Of a run in which one kind of fault fired, the twin without faults is another story or the same.
func TestFaultsAreCompared(t *testing.T) {
	l := lab(t)
	s, err := scenarios.Lookup("provider-faults")
	if err != nil {
		t.Fatal(err)
	}
	s.Swarm = false
	s.Faults = []scenarios.Fault{{Kind: scenarios.ClockDatabase, PerMille: 1000}}
	s.Outcomes = nil
	skewed, err := l.Play(t.Context(), t, s, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	s.Faults = []scenarios.Fault{{Kind: scenarios.CallDialFailed, PerMille: 1000}}
	refused, err := l.Play(t.Context(), t, s, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := l.PlayCourse(t.Context(), t, s, 1, sim.Course{Faultless: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	if skewed.Outcome != twin.Outcome {
		t.Error("the database's clock made a difference")
	}
	if refused.Outcome == twin.Outcome {
		t.Error("unreachable providers made no difference")
	}
}
