package service

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"ordeal/service/executor"
	"ordeal/service/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPoolConfig: the server itself ends what a client forgot, after the time of STEP-7.
func TestPoolConfig(t *testing.T) {
	c, err := PoolConfig("postgres://u:p@h/d", "name", 7)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxConns != 7 || c.ConnConfig.ConnectTimeout != 3*time.Second {
		t.Errorf("%d connections, %s to connect", c.MaxConns, c.ConnConfig.ConnectTimeout)
	}
	for name, want := range map[string]string{
		"application_name":                    "name",
		"statement_timeout":                   "3000",
		"lock_timeout":                        "3000",
		"idle_in_transaction_session_timeout": "3000",
	} {
		if got := c.ConnConfig.RuntimeParams[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	_, err = PoolConfig("postgres://u:secret@h:port/d", "name", 7)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("wrong URL: %v", err)
	}
}

// TestNewNamesMistakes: all that is wrong is told at once.
func TestNewNamesMistakes(t *testing.T) {
	_, err := New(Config{Warehouse: "ftp://w", Payment: "", Shipping: "http://s"}, Dependencies{})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, words := range []string{"warehouse provider", "payment provider", "Name", "Clock",
		"Jitter", "Log"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("no word of %s in: %v", words, err)
		}
	}
	if strings.Contains(err.Error(), "shipping") {
		t.Errorf("shipping is fine, but: %v", err)
	}
}

// TestPerform: a step's own key, body and identities reach the provider that its kind is about,
// and the answer comes back as a reply.
func TestPerform(t *testing.T) {
	id := uuid.MustParse("c054b352-c66c-819a-a8b4-6d0903e4e8a4")
	var got *http.Request
	var body string
	payment := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			got, body = r, string(raw)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"outcome":"succeeded","reference":"p1","order_id":"` +
				id.String() + `","amount":100,"currency":"RUB"}`))
		}))
	defer payment.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	p, err := newProviders(Config{Warehouse: "http://127.0.0.1:1", Payment: payment.URL,
		Shipping: "http://127.0.0.1:1"}, transport)
	if err != nil {
		t.Fatal(err)
	}
	taken := order.TakenStep{
		Ref:         order.StepRef{OrderID: id, StepNo: 2},
		Kind:        order.StepPay,
		Attempt:     3,
		ProviderKey: "k",
		Request:     `{"order_id":"x", "odd":  "spaces"}`,
		Total:       100,
		Currency:    "RUB",
		TraceID:     "0af7651916cd43dd8448eb211c80319c",
	}
	want := executor.Reply{Outcome: order.OutcomeSucceeded, Sent: true, Reference: "p1"}
	if reply := p.Perform(t.Context(), taken); reply != want {
		t.Errorf("reply %+v", reply)
	}
	if got.URL.Path != "/v1/charges" || body != taken.Request {
		t.Errorf("sent %s to %s", body, got.URL.Path)
	}
	for name, value := range map[string]string{
		"Idempotency-Key": "k",
		"Ordeal-Order-Id": id.String(),
		"Ordeal-Step":     "2",
		"Ordeal-Attempt":  "3",
		"Traceparent":     "00-0af7651916cd43dd8448eb211c80319c-e7300e2270f21833-01",
	} {
		if got.Header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), value)
		}
	}
	taken.Kind = order.StepShip
	if reply := p.Perform(t.Context(), taken); reply.Outcome != order.OutcomeTransient ||
		reply.Sent {
		t.Errorf("nobody listens, but: %+v", reply)
	}
}

// TestDrawn: tokens are long and differ, and so do generators.
func TestDrawn(t *testing.T) {
	first, second := newToken("customer"), newToken("customer")
	secret, ok := strings.CutPrefix(first, "ordeal_customer_")
	if raw, err := hex.DecodeString(secret); !ok || err != nil || len(raw) != 32 {
		t.Errorf("token %q", first)
	}
	if first == second {
		t.Error("two tokens are equal")
	}
	if systemRand("a").Uint64() == systemRand("a").Uint64() {
		t.Error("two generators draw the same")
	}
	d := Production(Pools{}, slog.New(slog.DiscardHandler))
	name, another := d.NewRequestID(), d.NewRequestID()
	if d.Clock == nil || d.Transport == nil || name == another {
		t.Errorf("dependencies %+v, names %s and %s", d, name, another)
	}
}
