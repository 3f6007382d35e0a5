package provider

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ordeal/service/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Bounds of calls: patient where the server answers at once, if only the machine has time, and
// quick where it stays silent.
const (
	patient = 20 * time.Second
	quick   = 150 * time.Millisecond
)

// orderID is the order of every call in these tests.
var orderID = order.NewID("customer", "key")

// operation is one thing that can be asked of a provider, with its column in the outcome table.
type operation struct {
	name  string
	kind  order.StepKind
	query bool
	group int
}

// Columns of the outcome table.
const (
	goods = iota
	money
	query
)

var operations = []operation{
	{"reserve", order.StepReserve, false, goods},
	{"release", order.StepRelease, false, goods},
	{"commit", order.StepCommit, false, goods},
	{"ship", order.StepShip, false, goods},
	{"cancel_ship", order.StepCancelShip, false, goods},
	{"pay", order.StepPay, false, money},
	{"refund", order.StepRefund, false, money},
	{"void", order.StepVoid, false, money},
	{"reconcile", order.StepReconcile, false, query},
	{"reconcile_refund", order.StepReconcileRefund, false, query},
	{"status of reserve", order.StepReserve, true, query},
	{"status of ship", order.StepShip, true, query},
	{"status of refund", order.StepRefund, true, query},
}

// perform asks one operation of a server.
func (o operation) perform(t *testing.T, handler http.Handler) Reply {
	t.Helper()
	return o.performWithin(t, patient, handler)
}

func (o operation) performWithin(t *testing.T, limit time.Duration, handler http.Handler) Reply {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	return o.performAt(t, server.URL, limit)
}

func (o operation) performAt(t *testing.T, baseURL string, limit time.Duration) Reply {
	t.Helper()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	p := adapters(t, baseURL, NewClient(transport), limit)
	if o.query {
		return p.Query(t.Context(), o.call())
	}
	return p.Perform(t.Context(), o.call())
}

func (o operation) call() Call {
	return Call{
		Kind: o.kind, OrderID: orderID, Step: 2, Attempt: 3, Key: "own", Target: "named",
		Body: []byte(`{"z":1,"a":2}`), Amount: 100, Currency: "RUB", TraceParent: "00-ab-cd-01",
	}
}

func adapters(t *testing.T, baseURL string, client Doer, limit time.Duration) Providers {
	t.Helper()
	c := Config{BaseURL: baseURL, Client: client, Timeout: limit}
	var p Providers
	var errs [3]error
	p.Warehouse, errs[0] = NewWarehouse(c)
	p.Payment, errs[1] = NewPayment(c)
	p.Shipping, errs[2] = NewShipping(c)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// says answers with a status and a JSON body in which %s stands for the order id.
func says(status int, body string) http.HandlerFunc {
	return saysAs("application/json", status, body)
}

func saysAs(contentType string, status int, body string) http.HandlerFunc {
	body = strings.ReplaceAll(body, "%s", orderID.String())
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// with answers like the handler below it, under one more header.
func with(name, value string, below http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		below(w, r)
	}
}

// silent answers nothing until the client leaves, which a server only notices when it has read
// the body.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// stalls sends half an answer and then nothing.
func stalls(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(good[:20]))
	w.(http.Flusher).Flush()
	silent(w, r)
}

// resets sends some bytes and breaks the connection.
func resets(bytes string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffer.WriteString(bytes)
		_ = buffer.Flush()
		if bytes == "" {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
}

// good is a success that suits every operation.
const good = `{"outcome":"succeeded","reference":"ref-1","order_id":"%s","amount":100,` +
	`"currency":"RUB","state":"held"}`

// row is one observation and its outcome for goods, money and queries.
type row struct {
	name    string
	handler http.HandlerFunc
	answer  order.Answer
	want    [3]order.Outcome
}

// The rows of the outcome table, as the tests know it.
var (
	succeeded = [3]order.Outcome{"succeeded", "succeeded", "succeeded"}
	refused   = [3]order.Outcome{"refused", "refused", "refused"}
	notDone   = [3]order.Outcome{"transient", "transient", "unresolved"}
	vague     = [3]order.Outcome{"transient", "unknown", "unresolved"}
	wrong     = [3]order.Outcome{"permanent", "unknown", "unresolved"}
	alien     = [3]order.Outcome{"transient", "unknown", "mismatch"}
)

// TestEveryCell drives each operation against each observation: every cell of the outcome table
// is reached over a real connection.
func TestEveryCell(t *testing.T) {
	rows := append(definiteRows(), vagueRows()...)
	rows = append(rows, malformedRows()...)
	rows = append(rows, rejectedRows()...)
	for _, r := range rows {
		for _, o := range operations {
			t.Run(r.name+"/"+o.name, func(t *testing.T) {
				t.Parallel()
				limit := patient
				if r.answer == order.AnswerTimeout {
					limit = quick
				}
				check(t, r, o, o.performWithin(t, limit, r.handler))
			})
		}
	}
}

func check(t *testing.T, r row, o operation, got Reply) {
	t.Helper()
	if got.Answer != r.answer || got.Outcome != r.want[o.group] {
		t.Errorf("answer %q, outcome %q; want %q, %q", got.Answer, got.Outcome, r.answer,
			r.want[o.group])
	}
	if !got.Sent() {
		t.Errorf("not sent, though a server answered")
	}
	if (got.Code == "") != (got.Outcome == order.OutcomeSucceeded) {
		t.Errorf("code %q with outcome %q", got.Code, got.Outcome)
	}
}

func definiteRows() []row {
	no := `{"outcome":"refused","code":"some_reason"}`
	untouched := `{"outcome":"not_processed"}`
	return []row{
		{"200 succeeded", says(200, good), order.AnswerSucceeded, succeeded},
		{"201 succeeded", says(201, good), order.AnswerSucceeded, succeeded},
		{"charset", saysAs("application/json; charset=utf-8", 200, good),
			order.AnswerSucceeded, succeeded},
		{"unknown field", says(200, good[:len(good)-1]+`,"more":{"a":[1,"\u0000"]}}`),
			order.AnswerSucceeded, succeeded},
		{"200 refused", says(200, no), order.AnswerRefused, refused},
		{"402 refused", says(402, no), order.AnswerRefused, refused},
		{"409 refused", says(409, no), order.AnswerRefused, refused},
		{"422 refused", says(422, no), order.AnswerRefused, refused},
		{"refused, odd code", says(409, `{"outcome":"refused","code":"Sorry, Dave"}`),
			order.AnswerRefused, refused},
		{"200 not_processed", says(200, untouched), order.AnswerNotProcessed, notDone},
		{"400 not_processed", says(400, untouched), order.AnswerNotProcessed, notDone},
		{"409 not_processed", says(409, untouched), order.AnswerNotProcessed, notDone},
		{"503 not_processed", says(503, untouched), order.AnswerNotProcessed, notDone},
		{"other order", says(200, strings.ReplaceAll(good, "%s", "somebody-else")),
			order.AnswerContradictory, alien},
	}
}

func vagueRows() []row {
	rows := []row{
		{"timeout", silent, order.AnswerTimeout, vague},
		{"timeout in the body", stalls, order.AnswerTimeout, vague},
		{"reset", resets(""), order.AnswerReset, vague},
		{"end of file", resets("HTTP/1.1"), order.AnswerReset, vague},
		{"end in the body", resets("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
			"Content-Length: 900\r\n\r\n" + good), order.AnswerReset, vague},
		{"not HTTP", resets("220 mail.example ESMTP\r\n\r\n"), order.AnswerReset, vague},
		{"200 pending", says(200, `{"outcome":"pending"}`), order.AnswerPending, vague},
		{"202 pending", says(202, `{"outcome":"pending"}`), order.AnswerPending, vague},
		{"503 pending", says(503, `{"outcome":"pending"}`), order.AnswerPending, vague},
		{"503 succeeded", says(503, good), order.AnswerBusy, vague},
		{"409 succeeded", says(409, good), order.AnswerBusy, vague},
		{"500 refused", says(500, `{"outcome":"refused"}`), order.AnswerBusy, vague},
		{"503 html", saysAs("text/html", 503, good), order.AnswerBusy, vague},
		{"409 huge", says(409, `{"outcome":"refused"}`+strings.Repeat(" ", maxAnswer)),
			order.AnswerBusy, vague},
	}
	for _, status := range []int{409, 425, 429, 500, 501, 502, 503, 504, 599} {
		name := fmt.Sprintf("%d without a body", status)
		rows = append(rows, row{name, says(status, ""), order.AnswerBusy, vague})
	}
	return rows
}

func malformedRows() []row {
	bodies := []struct{ name, body string }{
		{"empty", ""},
		{"half", good[:len(good)/2]},
		{"no closing brace", good[:len(good)-1]},
		{"array", "[" + good + "]"},
		{"string", `"succeeded"`},
		{"null", "null"},
		{"trailing data", good + "{}"},
		{"trailing comma", good[:len(good)-1] + ",}"},
		{"duplicate name", `{"outcome":"refused",` + good[1:]},
		{"duplicate unknown name", good[:len(good)-1] + `,"x":1,"x":2}`},
		{"other case", strings.Replace(good, "outcome", "Outcome", 1)},
		{"no outcome", strings.Replace(good, "outcome", "result", 1)},
		{"unknown outcome", strings.Replace(good, "succeeded", "done", 1)},
		{"padded outcome", strings.Replace(good, "succeeded", " succeeded", 1)},
		{"outcome not a string", strings.Replace(good, `"succeeded"`, "true", 1)},
		{"amount as text", strings.Replace(good, "100", `"100"`, 1)},
		{"amount with a fraction", strings.Replace(good, "100", "100.0", 1)},
		{"amount with an exponent", strings.Replace(good, "100", "1e2", 1)},
		{"amount beyond int64", strings.Replace(good, "100", "9223372036854775808", 1)},
		{"NUL in the reference", strings.Replace(good, "ref-1", `ref\u0000`, 1)},
		{"raw NUL", strings.Replace(good, "ref-1", "ref\x00", 1)},
		{"invalid UTF-8", strings.Replace(good, "ref-1", "ref\xff", 1)},
		{"lone surrogate", strings.Replace(good, "ref-1", `ref\ud800`, 1)},
		{"space in the reference", strings.Replace(good, "ref-1", "ref 1", 1)},
		{"long reference", strings.Replace(good, "ref-1", strings.Repeat("r", 129), 1)},
		{"NUL in the code", `{"outcome":"refused","code":"a\u0000"}`},
		{"invalid UTF-8 in an unknown field", good[:len(good)-1] + ",\"x\":\"\xff\"}"},
		{"huge", good + strings.Repeat(" ", maxAnswer)},
		{"deep", `{"x":` + strings.Repeat("[", 20_000)},
	}
	rows := []row{
		{"200 html", saysAs("text/html", 200, good), order.AnswerMalformed, vague},
		{"200 no type", saysAs("", 200, good), order.AnswerMalformed, vague},
		{"200 text", saysAs("text/plain", 200, good), order.AnswerMalformed, vague},
		{"200 gzip", with("Content-Encoding", "gzip", says(200, good)),
			order.AnswerMalformed, vague},
		{"204", says(204, ""), order.AnswerMalformed, vague},
	}
	for _, b := range bodies {
		rows = append(rows, row{b.name, says(200, b.body), order.AnswerMalformed, vague})
	}
	return rows
}

func rejectedRows() []row {
	rows := []row{
		{"422 key_reused", says(422, `{"code":"key_reused"}`), order.AnswerRejected, wrong},
		{"404 succeeded", says(404, good), order.AnswerRejected, wrong},
		{"400 malformed", says(400, `{"outcome":"refu`), order.AnswerRejected, wrong},
		{"400 refused, html", saysAs("text/html", 400, `{"outcome":"refused"}`),
			order.AnswerRejected, wrong},
		{"302 refused", says(302, `{"outcome":"refused"}`), order.AnswerRejected, wrong},
	}
	for _, status := range []int{400, 401, 402, 403, 404, 405, 410, 415, 418, 422} {
		name := fmt.Sprintf("%d without a body", status)
		rows = append(rows, row{name, says(status, ""), order.AnswerRejected, wrong})
	}
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		name := fmt.Sprintf("%d to another place", status)
		elsewhere := with("Location", "/elsewhere", says(status, ""))
		rows = append(rows, row{name, elsewhere, order.AnswerRejected, wrong})
	}
	return rows
}
