package provider

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ordeal/scenarios/evidence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a provider that counts its effects, and a client behind a proxy.
type bench struct {
	*testing.T
	effects atomic.Int64
	proxy   *Proxy
	client  *http.Client
}

func newBench(t *testing.T, hook Hook) *bench {
	b := &bench{T: t}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.effects.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"outcome":"succeeded","amount":7,"order_id":"o"}`))
	}))
	t.Cleanup(provider.Close)
	proxy, err := Listen(Config{Process: "worker-1", Incarnation: 2,
		Party: evidence.PartyPayment, URL: provider.URL, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	b.proxy = proxy
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	b.client = &http.Client{Transport: transport, Timeout: 5 * time.Second}
	return b
}

// charge makes one call and returns the answer's body.
func (b *bench) charge() (string, error) {
	r, err := http.NewRequest(http.MethodPost, b.proxy.URL()+"/v1/charges",
		io.NopCloser(bytes.NewReader([]byte(`{}`))))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("Ordeal-Order-Id", "o")
	r.Header.Set("Ordeal-Step", "2")
	r.Header.Set("Ordeal-Attempt", "3")
	response, err := b.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func (b *bench) expect(effects int64, reply evidence.Reply) {
	b.Helper()
	if got := b.effects.Load(); got != effects {
		b.Errorf("got %d effects, want %d", got, effects)
	}
	calls := b.proxy.Calls()
	if len(calls) != 1 || calls[0].Reply != reply {
		b.Errorf("got calls %+v, want one with reply %s", calls, reply)
	}
}

func TestCallsAreWitnessed(t *testing.T) {
	reached := make(chan Point, 3)
	b := newBench(t, func(m Moment) Fate {
		reached <- m.Point
		return Pass
	})
	body, err := b.charge()
	if err != nil || body == "" {
		t.Fatalf("got %q, %v", body, err)
	}
	// A proxy that is closed before its last point takes the client for gone.
	var points []Point
	for range cap(reached) {
		points = append(points, <-reached)
	}
	b.proxy.Close()
	c := b.proxy.Calls()[0]
	if c.Process != "worker-1" || c.Incarnation != 2 || c.Operation != evidence.OpCharge ||
		c.Order != "o" || c.Step != 2 || c.Attempt != 3 || c.Key != "k" || c.At.IsZero() ||
		c.Reply != evidence.ReplyAnswered || c.Status != 201 || c.Answer.Amount != 7 {
		t.Errorf("got %+v", c)
	}
	if points[0] != BeforeEffect || points[2] != AfterAnswer {
		t.Errorf("got points %v", points)
	}
}

func TestCutBeforeTheEffect(t *testing.T) {
	b := newBench(t, func(m Moment) Fate {
		if m.Point == BeforeEffect {
			return Cut
		}
		return Pass
	})
	if body, err := b.charge(); err == nil {
		t.Errorf("got answer %q", body)
	}
	b.expect(0, evidence.ReplyReset)
}

func TestCutAfterTheEffect(t *testing.T) {
	b := newBench(t, func(m Moment) Fate {
		if m.Point == BeforeAnswer {
			return Cut
		}
		return Pass
	})
	if body, err := b.charge(); err == nil {
		t.Errorf("got answer %q", body)
	}
	b.expect(1, evidence.ReplyReset)
}

// A client that dies while its call is held does not take the call back.
func TestWhatHasLeftArrives(t *testing.T) {
	held, goOn := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(m Moment) Fate {
		if m.Point == BeforeEffect {
			close(held)
			<-goOn
		}
		return Pass
	})
	done := make(chan error, 1)
	b.client.Timeout = 200 * time.Millisecond
	go func() {
		_, err := b.charge()
		done <- err
	}()
	<-held
	if err := <-done; err == nil {
		t.Error("the client got an answer")
	}
	close(goOn)
	for deadline := time.Now().Add(5 * time.Second); b.effects.Load() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the call did not arrive")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestDownRefusesAndUpServesAgain(t *testing.T) {
	b := newBench(t, nil)
	if _, err := b.charge(); err != nil {
		t.Fatal(err)
	}
	b.proxy.Down()
	_, err := b.charge()
	for range 3 { // the first dials may still meet connections that are just being closed
		if network, ok := errors.AsType[*net.OpError](err); ok && network.Op == "dial" {
			break
		}
		_, err = b.charge()
	}
	if network, ok := errors.AsType[*net.OpError](err); !ok || network.Op != "dial" {
		t.Fatalf("got %v, want a failed dial", err)
	}
	if err := b.proxy.Up(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.charge(); err != nil {
		t.Error(err)
	}
	if got := b.effects.Load(); got != 2 {
		t.Errorf("got %d effects, want 2", got)
	}
}

func TestDelay(t *testing.T) {
	b := newBench(t, nil)
	b.proxy.SetDelay(150 * time.Millisecond)
	began := time.Now()
	if _, err := b.charge(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("took %s", took)
	}
}
