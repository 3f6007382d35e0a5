package imitation

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a payment provider behind a real server, whose clock the test moves.
type served struct {
	*Payment
	clock  *clockwork.FakeClock
	client *http.Client
	url    string
}

// serve starts a provider whose next charge behaves as told.
func serve(t *testing.T, b Behaviour) *served {
	t.Helper()
	c, clock := config(scripted(t, Charge, b))
	p := NewPayment(c)
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		p.Close()
		server.Close()
	})
	return &served{Payment: p, clock: clock, client: server.Client(), url: server.URL}
}

// charge sends one charge and returns its error, if it got no complete answer.
func (s *served) charge(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/charges",
		io.NopCloser(strings.NewReader(charge100)))
	if err != nil {
		return err
	}
	r.Header = newRequest("k1", "POST", "/", "").Header
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// giveUp sends a charge with a client that leaves as soon as something has happened.
func (s *served) giveUp(t *testing.T, happened func()) error {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	end := make(chan error, 1)
	go func() { end <- s.charge(ctx) }()
	happened()
	leave()
	return <-end
}

// TestTiming: what the client sees of each timing behaviour, and what happened.
func TestTiming(t *testing.T) {
	rows := []struct {
		kind    Kind
		sees    error
		effects int
	}{
		{TimeoutWithoutEffect, context.Canceled, 0},
		{TimeoutWithEffect, context.Canceled, 1},
		{LostAnswer, io.EOF, 1},
		{ResetWithoutEffect, syscall.ECONNRESET, 0},
	}
	for _, row := range rows {
		s := serve(t, Behaviour{Kind: row.kind})
		ask := func() error { return s.charge(t.Context()) }
		if row.sees == context.Canceled {
			ask = func() error { return s.giveUp(t, func() { s.awaitEntries(t, 1) }) }
		}
		if err := ask(); !errors.Is(err, row.sees) {
			t.Errorf("%s: the client sees %v, want %v", row.kind, err, row.sees)
		}
		ledger := s.Ledger()
		if len(ledger) != 1 || effects(ledger) != row.effects || ledger[0].Behaviour != row.kind {
			t.Errorf("%s: ledger %+v", row.kind, ledger)
		}
	}
}

// TestLateArrival: nothing happens while the client waits; the charge comes after it has left.
func TestLateArrival(t *testing.T) {
	s := serve(t, Behaviour{Kind: LateArrival, After: Duration(7 * time.Second)})
	onItsWay := func() {
		if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	if err := s.giveUp(t, onItsWay); !errors.Is(err, context.Canceled) {
		t.Fatalf("the client sees %v", err)
	}
	if n := len(s.Ledger()); n != 0 {
		t.Fatalf("%d entries before the arrival", n)
	}
	s.clock.Advance(7 * time.Second)
	s.awaitEntries(t, 1)
	if e := s.Ledger()[0]; !e.Effect || !e.At.Equal(epoch.Add(7*time.Second)) {
		t.Errorf("entry of the late arrival: %+v", e)
	}
}

// awaitEntries waits until the handler, which runs in a goroutine of the server, has written.
func (s *served) awaitEntries(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); len(s.Ledger()) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("no %d entries in 5 s", n)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLateArrivalIsAnsweredToThePatient: a client that still waits gets its answer.
func TestLateArrivalIsAnsweredToThePatient(t *testing.T) {
	s := serve(t, Behaviour{Kind: LateArrival})
	answered := make(chan error, 1)
	go func() { answered <- s.charge(t.Context()) }()
	if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(defaultLateness)
	if err := <-answered; err != nil {
		t.Errorf("the patient client sees %v", err)
	}
}

// TestHangIsBounded: a client without a timeout of its own is cut off in the end.
func TestHangIsBounded(t *testing.T) {
	s := serve(t, Behaviour{Kind: TimeoutWithoutEffect})
	cut := make(chan error, 1)
	go func() { cut <- s.charge(t.Context()) }()
	if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(30 * time.Second)
	if err := <-cut; !errors.Is(err, io.EOF) {
		t.Errorf("the client sees %v", err)
	}
}

// TestCloseEndsWhatHangs: neither silence nor a late arrival holds up a shutdown, and what was
// on its way is dropped.
func TestCloseEndsWhatHangs(t *testing.T) {
	for _, kind := range []Kind{TimeoutWithEffect, LateArrival} {
		s := serve(t, Behaviour{Kind: kind})
		cut := make(chan error, 1)
		go func() { cut <- s.charge(t.Context()) }()
		if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s.Close()
		if err := <-cut; !errors.Is(err, io.EOF) {
			t.Errorf("%s: the client sees %v", kind, err)
		}
		if n := len(s.Ledger()); (n == 1) != (kind == TimeoutWithEffect) {
			t.Errorf("%s: %d entries", kind, n)
		}
	}
}

// TestCutsWithoutAServer: in-process, where there is no connection, a cut is the panic that
// net/http knows.
func TestCutsWithoutAServer(t *testing.T) {
	for _, kind := range []Kind{LostAnswer, ResetWithoutEffect} {
		c, _ := config(scripted(t, Charge, Behaviour{Kind: kind}))
		p := NewPayment(c)
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("%s: panic %v", kind, err)
				}
			}()
			p.ServeHTTP(httptest.NewRecorder(), newRequest("k1", "POST", "/v1/charges", charge100))
		}()
		if n := effects(p.Ledger()); (n == 1) != (kind == LostAnswer) {
			t.Errorf("%s: %d effects", kind, n)
		}
	}
}
