package provider

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"ordeal/service/order"
)

// TestMoneyMustMatch is about what only charges, refunds and their queries must name. A void or
// a reservation has no amount of its own, so that one is not looked at.
func TestMoneyMustMatch(t *testing.T) {
	rows := []struct {
		name, old, new string
		answer         order.Answer
		code           string
	}{
		{"amount", `100`, `101`, order.AnswerContradictory, CodeAmountMismatch},
		{"currency", `"RUB"`, `"USD"`, order.AnswerContradictory, CodeCurrencyMismatch},
		{"no amount", `"amount":100,`, ``, order.AnswerMalformed, CodeMalformed},
		{"no currency", `"currency":"RUB",`, ``, order.AnswerMalformed, CodeMalformed},
	}
	names := map[order.StepKind]bool{
		order.StepPay: true, order.StepRefund: true, order.StepReconcile: true,
		order.StepReconcileRefund: true,
	}
	for _, r := range rows {
		for _, o := range operations {
			t.Run(r.name+"/"+o.name, func(t *testing.T) {
				answer, code := order.AnswerSucceeded, ""
				if names[o.kind] {
					answer, code = r.answer, r.code
				}
				got := o.perform(t, says(200, strings.Replace(good, r.old, r.new, 1)))
				if got.Answer != answer || got.Code != code {
					t.Errorf("got %q %q, want %q %q", got.Answer, got.Code, answer, code)
				}
			})
		}
	}
}

// TestWhatASuccessMustName tells operations whose success is stored from those that only confirm.
func TestWhatASuccessMustName(t *testing.T) {
	bare := says(200, `{"outcome":"succeeded"}`)
	for _, o := range operations {
		want := order.AnswerMalformed
		switch o.kind {
		case order.StepVoid, order.StepRelease, order.StepCommit, order.StepCancelShip:
			want = order.AnswerSucceeded
		}
		if got := o.perform(t, bare); got.Answer != want {
			t.Errorf("%s: got %q, want %q", o.name, got.Answer, want)
		}
	}
}

// TestWordsOfQueries covers the outcomes that only a query may hear: to a command they are no
// definite body, and its status decides.
func TestWordsOfQueries(t *testing.T) {
	for _, o := range operations {
		asks := o.group == query
		charge := o.kind == order.StepReconcile
		voided := o.perform(t, says(200, `{"outcome":"voided"}`))
		expect := order.OutcomeVoided
		if !charge {
			expect = vague[o.group]
		}
		if voided.Outcome != expect {
			t.Errorf("%s, voided: %q, want %q", o.name, voided.Outcome, expect)
		}
		missing := o.perform(t, says(404, `{"outcome":"not_found"}`))
		if (missing.Answer == order.AnswerNotFound) != asks || missing.Outcome != wrong[o.group] {
			t.Errorf("%s, not found: %q %q", o.name, missing.Answer, missing.Outcome)
		}
	}
	other := says(200, `{"outcome":"voided","order_id":"somebody-else"}`)
	got := operation{kind: order.StepReconcile}.perform(t, other)
	if got.Outcome != order.OutcomeMismatch || got.Code != CodeOrderMismatch {
		t.Errorf("voided for another order: %q %q", got.Outcome, got.Code)
	}
}

// TestReplyFields looks at what a reply carries beside its outcome.
func TestReplyFields(t *testing.T) {
	rows := []struct {
		name    string
		handler http.HandlerFunc
		code    string
	}{
		{"refused", says(409, `{"outcome":"refused","code":"out_of_stock"}`), "out_of_stock"},
		{"free text", says(409, `{"outcome":"refused","code":"No! <b>"}`), CodeUnnamed},
		{"long code", says(409, `{"outcome":"refused","code":"`+strings.Repeat("a", 65)+`"}`),
			CodeUnnamed},
		{"fault with a code", says(422, `{"code":"key_reused"}`), "key_reused"},
		{"fault without", says(422, `{"message":"who are you"}`), "http_422"},
		{"busy", says(503, `down`), "http_503"},
		{"redirect", with("Location", "/", says(307, "")), "http_307"},
		{"reset", resets(""), CodeConnectionLost},
		{"malformed", says(200, `{`), CodeMalformed},
	}
	for _, r := range rows {
		got := operation{kind: order.StepReserve}.perform(t, r.handler)
		if got.Code != r.code || got.Reference != "" || got.State != "" {
			t.Errorf("%s: %+v, want code %q and nothing else", r.name, got, r.code)
		}
	}
	silence := operation{kind: order.StepReserve}.performWithin(t, quick, http.HandlerFunc(silent))
	if silence.Code != CodeTimeout {
		t.Errorf("silence: %+v", silence)
	}
	got := operation{kind: order.StepReserve, query: true}.perform(t, says(200, good))
	if got.Reference != "ref-1" || got.State != "held" {
		t.Errorf("status of a reservation: %+v", got)
	}
	stateless := strings.Replace(good, `"held"`, `"lost"`, 1)
	got = operation{kind: order.StepReserve, query: true}.perform(t, says(200, stateless))
	if got.Answer != order.AnswerMalformed {
		t.Errorf("reservation in an unknown state: %+v", got)
	}
}

// TestDialFailed proves "not sent": nobody listens, or the caller's time is over before.
func TestDialFailed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range operations {
		got := o.performAt(t, "http://"+address, patient)
		if got.Answer != order.AnswerDialFailed || got.Sent() || got.Outcome != notDone[o.group] {
			t.Errorf("%s: %+v", o.name, got)
		}
	}
	var requests atomic.Int32
	server := httptest.NewServer(counting(&requests, says(200, good)))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := adapters(t, server.URL, http.DefaultClient, patient).Perform(ctx, operations[0].call())
	if got.Sent() || requests.Load() != 0 {
		t.Errorf("after the end of its context: %+v, %d requests", got, requests.Load())
	}
}

func counting(n *atomic.Int32, below http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		below(w, r)
	}
}

// TestOneRequestPerAttempt: the server answers the first request on a connection and resets the
// connection on every later one. A transport that repeats requests would come back on a new
// connection and be answered.
func TestOneRequestPerAttempt(t *testing.T) {
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			var requests atomic.Int32
			broken, fine := resets(""), says(200, good)
			server := httptest.NewServer(func() http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					if requests.Add(1) == 2 {
						broken(w, r)
						return
					}
					fine(w, r)
				}
			}())
			defer server.Close()
			transport := NewTransport()
			defer transport.CloseIdleConnections()
			p := adapters(t, server.URL, NewClient(transport), patient)
			ask := p.Perform
			if o.query {
				ask = p.Query
			}
			first, second := ask(t.Context(), o.call()), ask(t.Context(), o.call())
			if first.Answer != order.AnswerSucceeded || second.Answer != order.AnswerReset {
				t.Errorf("answers %q and %q", first.Answer, second.Answer)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("two attempts sent %d requests", n)
			}
		})
	}
}

// TestRedirectsAreNotFollowed counts what reaches the place that a redirect names.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var followed atomic.Int32
		mux := http.NewServeMux()
		mux.HandleFunc("/elsewhere", counting(&followed, says(200, good)))
		mux.HandleFunc("/", with("Location", "/elsewhere", says(status, "")))
		for _, o := range operations {
			o.perform(t, mux)
		}
		if followed.Load() != 0 {
			t.Errorf("%d was followed %d times", status, followed.Load())
		}
	}
}

// TestWire looks at each request as the provider sees it.
func TestWire(t *testing.T) {
	want := map[string]string{
		"reserve":           "POST /v1/reservations",
		"release":           "POST /v1/reservations/named/release",
		"commit":            "POST /v1/reservations/named/commit",
		"ship":              "POST /v1/shipments",
		"cancel_ship":       "POST /v1/shipments/named/cancel",
		"pay":               "POST /v1/charges",
		"refund":            "POST /v1/refunds",
		"void":              "POST /v1/charges/named/void",
		"reconcile":         "GET /v1/charges/named",
		"reconcile_refund":  "GET /v1/refunds/named",
		"status of reserve": "GET /v1/reservations/named",
		"status of ship":    "GET /v1/shipments/named",
		"status of refund":  "GET /v1/refunds/named",
	}
	for _, o := range operations {
		var line, key, body string
		var header http.Header
		o.perform(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			line, body, header = r.Method+" "+r.URL.Path, string(raw), r.Header
			key = strings.Join(r.Header["Idempotency-Key"], ",")
		}))
		if line != want[o.name] {
			t.Errorf("%s: %s, want %s", o.name, line, want[o.name])
		}
		wantBody, wantKey := `{"z":1,"a":2}`, "own"
		if strings.HasPrefix(line, "GET") {
			wantBody, wantKey = "", ""
		}
		if body != wantBody || key != wantKey {
			t.Errorf("%s: body %q, key %q", o.name, body, key)
		}
		for name, value := range map[string]string{
			"Ordeal-Order-Id": orderID.String(), "Ordeal-Step": "2", "Ordeal-Attempt": "3",
			"Traceparent": "00-ab-cd-01",
		} {
			if header.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", o.name, name, header.Get(name), value)
			}
		}
	}
}

// TestQueryFallsBackToOwnKey: a step that names no other key is asked about under its own.
func TestQueryFallsBackToOwnKey(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
	}))
	defer server.Close()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	call := Call{Kind: order.StepShip, OrderID: orderID, Key: "a/b?c"}
	adapters(t, server.URL+"/prefix/", NewClient(transport), patient).Query(t.Context(), call)
	if path != "/prefix/v1/shipments/a%2Fb%3Fc" {
		t.Errorf("asked for %s", path)
	}
}

func TestBaseURLs(t *testing.T) {
	for _, bad := range []string{"", "host", "ftp://host", "http://", "http://h?q=1", "http://h#f",
		"http://h:bad", "://"} {
		if _, err := NewPayment(Config{BaseURL: bad, Client: http.DefaultClient}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := NewShipping(Config{BaseURL: "http://h"}); err == nil {
		t.Errorf("no client is accepted")
	}
}
