package imitation

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"
)

// defaultLateness is the delay of a late arrival that names none.
const defaultLateness = 5 * time.Second

// paddingSize is how much a Huge answer carries beyond its fields, in bytes.
const paddingSize = 1 << 20

// strangerOrder is the order id of an answer that contradicts the request.
const strangerOrder = "00000000-0000-8000-8000-000000000000"

// ServeHTTP answers one request. It starts no goroutine: whatever a call causes has happened
// when ServeHTTP returns, except for what a timing behaviour holds back (see the package
// comment). LostAnswer, the timeouts and ResetWithoutEffect end in the panic
// http.ErrAbortHandler, by which net/http cuts the connection.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// route serves an operation under a pattern of http.ServeMux.
func (p *provider) route(pattern string, op Operation) {
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		req, wrong := parse(op, r)
		if wrong != nil {
			writeJSON(w, wrong.status, wrong)
			return
		}
		p.serve(w, r, req, p.plan(req))
	})
}

// serve carries a plan out.
func (p *provider) serve(w http.ResponseWriter, r *http.Request, req request, plan Behaviour) {
	switch plan.Kind {
	case Transient, NotProcessed, Permanent, Redirect:
		p.note(req, plan)
		p.turnAway(w, r, plan.Kind)
	case TimeoutWithoutEffect:
		p.note(req, plan)
		p.keepSilent(r)
	case TimeoutWithEffect:
		p.apply(req, plan)
		p.keepSilent(r)
	case ResetWithoutEffect:
		p.note(req, plan)
		reset(w)
	case LostAnswer:
		p.apply(req, plan)
		panic(http.ErrAbortHandler)
	case LateArrival:
		p.arriveLate(w, req, plan)
	case Duplicate:
		first := p.apply(req, plan)
		req.delivery = 2
		p.apply(req, plan)
		write(w, req.op, first, plan.Kind)
	default:
		write(w, req.op, p.apply(req, plan), plan.Kind)
	}
}

// turnAway answers a call that the business never sees.
func (p *provider) turnAway(w http.ResponseWriter, r *http.Request, kind Kind) {
	switch kind {
	case NotProcessed:
		writeJSON(w, http.StatusServiceUnavailable, answer{Outcome: Untouched})
	case Permanent:
		writeJSON(w, http.StatusBadRequest, fault("bad_request"))
	case Redirect:
		w.Header().Set("Location", r.URL.EscapedPath())
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		http.Error(w, "upstream unavailable", http.StatusServiceUnavailable)
	}
}

// keepSilent holds the connection until the client leaves, the bound is reached or the
// provider closes, and then cuts it.
func (p *provider) keepSilent(r *http.Request) {
	timer := p.clock.NewTimer(p.hang)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-timer.Chan():
	case <-p.closed:
	}
	panic(http.ErrAbortHandler)
}

// arriveLate processes the request after a delay, whether or not the client still waits.
func (p *provider) arriveLate(w http.ResponseWriter, req request, plan Behaviour) {
	delay := time.Duration(plan.After)
	if delay == 0 {
		delay = defaultLateness
	}
	timer := p.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		write(w, req.op, p.apply(req, plan), plan.Kind)
	case <-p.closed:
		panic(http.ErrAbortHandler)
	}
}

// reset closes the connection with a TCP reset where there is one, else just cuts it.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the close is an orderly one, which is as good
	}
	_ = conn.Close()
}

// write sends an answer, distorted where the plan says so.
func write(w http.ResponseWriter, op Operation, a answer, kind Kind) {
	status := a.status(op)
	if a.Outcome == Succeeded {
		a = a.contradict(kind)
	}
	switch kind {
	case Malformed:
		body := encode(a)
		writeRaw(w, status, "application/json", body[:len(body)/2])
	case WrongType:
		writeRaw(w, status, "text/html; charset=utf-8", encode(a))
	case Huge:
		writeJSON(w, status, struct {
			answer
			Padding string `json:"padding"`
		}{a, strings.Repeat("x", paddingSize)})
	default:
		writeJSON(w, status, a)
	}
}

// contradict falsifies a field that the answer has.
func (a answer) contradict(kind Kind) answer {
	if kind == ContradictAmount && a.Amount != 0 {
		a.Amount++
	}
	if kind == ContradictOrder && a.OrderID != "" {
		a.OrderID = strangerOrder
	}
	return a
}

// status is the HTTP status of an answer.
func (a answer) status(op Operation) int {
	switch {
	case a.Outcome == "":
		return http.StatusUnprocessableEntity
	case a.Outcome == NotFound:
		return http.StatusNotFound
	case op.isStatus():
		return http.StatusOK
	case a.Outcome == Undecided:
		return http.StatusAccepted
	case a.Outcome == Refused && op.movesMoney():
		return http.StatusPaymentRequired
	case a.Outcome == Refused:
		return http.StatusConflict
	case op == Charge || op == Refund || op == Reserve || op == Ship:
		return http.StatusCreated
	}
	return http.StatusOK
}

// encode writes a value as JSON with a line end.
func encode(v any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("imitation: answer: " + err.Error())
	}
	return buffer.Bytes()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	writeRaw(w, status, "application/json", encode(v))
}

// writeRaw sends a body. A failure to write means that the client left: that is its affair,
// and the ledger keeps what happened.
func writeRaw(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
