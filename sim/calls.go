package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"ordeal/scenarios/evidence"
	"ordeal/sim/engine"
)

// callLog witnesses every request that leaves a process towards a provider.
type callLog struct {
	mu    sync.Mutex
	calls []*evidence.Call
}

// witness is a transport that notes what passes.
type witness struct {
	log   *callLog
	world *engine.World
	in    *engine.Incarnation
	next  http.RoundTripper
}

// around returns the transport of an incarnation, watched.
func (l *callLog) around(w *engine.World, in *engine.Incarnation) http.RoundTripper {
	return witness{log: l, world: w, in: in, next: in.Client().Transport}
}

// RoundTrip implements http.RoundTripper.
func (t witness) RoundTrip(r *http.Request) (*http.Response, error) {
	c := t.left(r)
	response, err := t.next.RoundTrip(r)
	if err != nil {
		t.failed(c, err)
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		t.failed(c, err)
		return nil, err
	}
	t.answered(c, response, body)
	return response, nil
}

// left notes that a request was handed to the network.
func (t witness) left(r *http.Request) *evidence.Call {
	name, incarnation := splitIncarnation(t.in.Name())
	step, _ := strconv.Atoi(r.Header.Get("Ordeal-Step"))
	attempt, _ := strconv.Atoi(r.Header.Get("Ordeal-Attempt"))
	c := &evidence.Call{
		Process:     name,
		Incarnation: incarnation,
		Party:       r.URL.Host,
		Method:      r.Method,
		Path:        r.URL.Path,
		Operation:   evidence.OperationOf(r.URL.Host, r.Method, r.URL.Path),
		Key:         r.Header.Get("Idempotency-Key"),
		Order:       r.Header.Get("Ordeal-Order-Id"),
		Step:        step,
		Attempt:     attempt,
		At:          t.world.DatabaseTime(t.world.Now()),
		Reply:       evidence.ReplyNone,
	}
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	t.log.calls = append(t.log.calls, c)
	return c
}

// failed notes that no answer came. A wait that was given up has no reply.
func (t witness) failed(c *evidence.Call, err error) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	var network *net.OpError
	switch {
	case errors.As(err, &network) && network.Op == "dial":
		c.Reply = evidence.ReplyDialFailed
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		c.Reply = evidence.ReplyReset
	}
}

func (t witness) answered(c *evidence.Call, response *http.Response, body []byte) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	c.Reply = evidence.ReplyAnswered
	c.AnsweredAt = t.world.DatabaseTime(t.world.Now())
	c.Status = response.StatusCode
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	var a struct {
		Outcome   string `json:"outcome"`
		Code      string `json:"code"`
		Reference string `json:"reference"`
		Order     string `json:"order_id"`
		Amount    int64  `json:"amount"`
		Currency  string `json:"currency"`
	}
	if mediaType == "application/json" && json.Unmarshal(body, &a) == nil {
		c.Answer = evidence.Answer(a)
	}
}

// history lists the calls in the order in which they left, each joined with the ledger entry of
// its delivery. The run is over: what was not delivered never will be.
func (l *callLog) history(ledgers map[string][]evidence.Entry) []evidence.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.calls, func(a, b *evidence.Call) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Process, b.Process),
			cmp.Compare(a.Order, b.Order), cmp.Compare(a.Step, b.Step),
			cmp.Compare(a.Attempt, b.Attempt))
	})
	var all []evidence.Call
	for i, c := range l.calls {
		c.Seq = i + 1
		c.Lost = true
		if e, ok := delivery(ledgers[c.Party], *c); ok {
			c.Delivered, c.DeliveredAt, c.Effect, c.Lost = true, e.At, e.Effect, false
		}
		all = append(all, *c)
	}
	return all
}

// delivery finds the entry that a call made in its provider's ledger.
func delivery(ledger []evidence.Entry, c evidence.Call) (evidence.Entry, bool) {
	for _, e := range ledger {
		if e.Origin == "call" && e.Order == c.Order && e.Step == c.Step &&
			e.Attempt == c.Attempt && e.Operation == c.Operation && e.Delivery <= 1 {
			return e, true
		}
	}
	return evidence.Entry{}, false
}
