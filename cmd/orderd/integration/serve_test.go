package integration_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"ordeal/service/order"
	"ordeal/sim/imitation"
)

// signal sends a signal to the process.
func (s *shop) signal(signal syscall.Signal) {
	s.Helper()
	must(s.T, s.command.Process.Signal(signal))
}

// end waits for the process.
func (s *shop) end() *exec.Cmd {
	s.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.Fatalf("does not end\n%s", s.log)
	}
	return s.command
}

// wantDrained checks that the process ends well.
func (s *shop) wantDrained() {
	s.Helper()
	if state := s.end().ProcessState; state.ExitCode() != 0 {
		s.Errorf("ended with %v\n%s", state, s.log)
	}
}

// script plans the next charges.
func (s *shop) script(behaviours ...imitation.Behaviour) {
	s.Helper()
	must(s.T, s.payment.Script().Add(imitation.Script{
		Operation: imitation.Charge, Behaviours: behaviours,
	}))
}

// TestServe: an order that was created over HTTP is shipped, and SIGTERM ends the process.
func TestServe(t *testing.T) {
	s := open(t)
	id := s.create("a")
	await(t, "the parcel", func() bool { return s.state(id) == order.Shipped })
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	if s.log.field("draining", "timeout") != "10s" {
		t.Errorf("no word of the drain in\n%s", s.log)
	}
}

// attempts tells of every attempt of an order how it ended.
const attempts = `
select coalesce(string_agg(
    format('%s %s %s', s.kind, a.attempt_no, coalesce(a.outcome, 'open')),
    ', ' order by a.step_no, a.attempt_no), '')
from step_attempts a
join workflow_steps s on s.order_id = a.order_id and s.step_no = a.step_no
where a.order_id = $1`

// TestDrain: SIGTERM while a charge is under way at a slow provider. The process waits for the
// answer and records it, takes nothing more, and no attempt is lost or handed back.
func TestDrain(t *testing.T) {
	s := open(t)
	s.script(imitation.Behaviour{Kind: imitation.LateArrival,
		After: imitation.Duration(2 * time.Second)})
	id := s.create("a")
	<-s.charging
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	if got := s.query(attempts, id); got != "reserve 1 succeeded, pay 1 succeeded" {
		t.Errorf("attempts: %s", got)
	}
	if got := s.query("select state from orders where order_id = $1", id); got != "paid" {
		t.Errorf("state %s", got)
	}
	const open = `
select format('%s %s %s', kind, status, attempts)
from workflow_steps
where order_id = $1 and ended_at is null`
	if got := s.query(open, id); got != "ship due 0" {
		t.Errorf("open step: %s", got)
	}
}

// TestDrainBurnsNothing: orders are everywhere in their lives when a process is stopped, and again
// when the next one is. Nobody's attempt is lost, those handed back do not count, and a third
// process ships every order at the first counted attempt of each step.
func TestDrainBurnsNothing(t *testing.T) {
	s := open(t)
	const orders = 60
	for n := range orders {
		s.create(fmt.Sprint(n))
		if n == orders/2 {
			s.restart()
		}
	}
	s.restart()
	const open = "select count(*)::text from step_attempts where outcome is null"
	const shipped = "select count(*)::text from orders where state = 'shipped'"
	await(t, "the parcels", func() bool { return s.query(shipped) == fmt.Sprint(orders) })
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	if n := s.query(open); n != "0" {
		t.Errorf("%s attempts have no end", n)
	}
	const burnt = `
select count(*)::text
from workflow_steps s
where attempts - unsent <> 1 and status = 'succeeded'
    or unsent <> (
        select count(*)
        from step_attempts a
        where a.order_id = s.order_id
            and a.step_no = s.step_no
            and a.outcome = 'not_sent')`
	if n := s.query(burnt); n != "0" {
		t.Errorf("%s steps lost attempts", n)
	}
}

// restart stops the process and starts another one, after everything that came of the stop was
// recorded.
func (s *shop) restart() {
	s.Helper()
	s.signal(syscall.SIGTERM)
	s.wantDrained()
	if n := s.query("select count(*)::text from workflow_steps where status = 'running'"); n != "0" {
		s.Errorf("%s leases outlive their process", n)
	}
	s.start()
}

// TestShutdownDelay: a stop first fails /readyz, and goes on answering for as long as it is told.
func TestShutdownDelay(t *testing.T) {
	s := open(t, "--shutdown-delay=2s")
	for _, url := range []string{s.url, s.admin} {
		if status, body := s.get(url + "/readyz"); status != http.StatusOK {
			t.Errorf("before: %d %s", status, body)
		}
	}
	begun := time.Now()
	s.signal(syscall.SIGTERM)
	await(t, "the stop", func() bool { return s.log.field("draining", "delay") != "" })
	for _, url := range []string{s.url, s.admin} {
		if status, body := s.get(url + "/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("while stopping: %d %s", status, body)
		}
		if status, _ := s.get(url + "/livez"); status != http.StatusOK {
			t.Errorf("while stopping, live: %d", status)
		}
	}
	s.create("late")
	s.wantDrained()
	if took := time.Since(begun); took < 2*time.Second {
		t.Errorf("stopped after %s", took)
	}
	// Nobody took the late order.
	if got := s.query("select state from orders"); got != "created" {
		t.Errorf("state %s", got)
	}
}

// TestSecondSignal: a second SIGTERM does not wait for the call that the first one waits for.
// The attempt stays open; whoever comes next finds out what became of it.
func TestSecondSignal(t *testing.T) {
	s := open(t)
	s.script(imitation.Behaviour{Kind: imitation.TimeoutWithEffect})
	id := s.create("a")
	<-s.charging
	s.signal(syscall.SIGTERM)
	await(t, "the drain", func() bool { return s.log.field("draining", "timeout") != "" })
	// The log line comes a moment before the signal's default action is back.
	time.Sleep(100 * time.Millisecond)
	s.signal(syscall.SIGTERM)
	status, ok := s.end().ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", s.command.ProcessState)
	}
	if got := s.query(attempts, id); got != "reserve 1 succeeded, pay 1 open" {
		t.Errorf("attempts: %s", got)
	}
}

// TestAPIOnly: without an executor orders are taken in and stay where they are.
func TestAPIOnly(t *testing.T) {
	s := open(t, "--no-execute")
	id := s.create("a")
	time.Sleep(time.Second)
	if got := s.state(id); got != order.Created {
		t.Errorf("state %s", got)
	}
	s.signal(syscall.SIGINT)
	s.wantDrained()
}
