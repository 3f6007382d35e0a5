package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Transport returns an http.RoundTripper whose requests are calls to one party. It pools no
// connections, so nothing of it outlives a call.
func (in *Incarnation) Transport(party string) http.RoundTripper {
	return &transport{in: in, party: party}
}

// Client returns an http.Client that finds the party in the host of the URL: a request for
// http://payment/charges is a call to "payment".
func (in *Incarnation) Client() *http.Client { return &http.Client{Transport: in.Transport("")} }

type transport struct {
	in    *Incarnation
	party string
}

// RoundTrip parks the request as an operation until the driver has decided it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	party := t.party
	if party == "" {
		party = req.URL.Hostname()
	}
	o, err := newExchange(Call, t.in.name, party, req)
	if err != nil {
		return nil, err
	}
	o.in = t.in
	o.seam = &callSeam{w: t.in.proc.w, effect: httpEffect(t.in.proc.w, party)}
	if err := t.in.proc.w.park(req.Context(), o); err != nil {
		return nil, err
	}
	return o.Answer.response(req), nil
}

// newExchange reads a request into an operation.
func newExchange(kind OperationKind, from, to string, req *http.Request) (*op, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read body of %s %s: %w", req.Method, req.URL, err)
		}
	}
	o := &op{done: make(chan struct{}), Operation: Operation{
		Kind: kind, Process: from, Party: to, Name: req.Method + " " + req.URL.Path,
		Method: req.Method, URL: req.URL.RequestURI(), Header: req.Header.Clone(), Body: body,
	}}
	o.canon = canonRequest(o)
	return o, nil
}

// canonRequest lays out all that a receiver can see of a request.
func canonRequest(o *op) []byte {
	var b bytes.Buffer
	b.WriteString(o.Method + " " + o.URL + "\n")
	writeHeader(&b, o.Header)
	b.Write(o.Body)
	return b.Bytes()
}

// writeHeader writes header fields sorted by name.
func writeHeader(b *bytes.Buffer, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(name + ": " + strings.Join(h[name], ", ") + "\n")
	}
}

// response turns an answer into what an http.Client expects.
func (a *Answer) response(req *http.Request) *http.Response {
	header := a.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status:     strconv.Itoa(a.Status) + " " + http.StatusText(a.Status),
		StatusCode: a.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(a.Body)),
		ContentLength: int64(len(a.Body)),
		Request:       req,
	}
}

// Invoke makes a call to a party through any other seam than HTTP, such as publishing an event
// to a broker. effect is run by the driver when the call's turn has come, as often as the
// policy says; it must neither block nor sleep. name and payload are the call's content.
func (in *Incarnation) Invoke(ctx context.Context, party, name string, payload []byte,
	effect func() ([]byte, error)) ([]byte, error) {
	o := &op{in: in, canon: payload, done: make(chan struct{}), Operation: Operation{
		Kind: Call, Process: in.name, Party: party, Name: name, Body: payload}}
	o.seam = &callSeam{w: in.proc.w, effect: func(*op) (*Answer, error) {
		body, err := effect()
		return &Answer{Body: body}, err
	}}
	if err := in.proc.w.park(ctx, o); err != nil {
		return nil, err
	}
	return o.Answer.Body, nil
}

// park enqueues a call and waits until the driver ends it. Every end comes from the driver, also
// that of a cancelled context, so a paused process is not woken by one.
func (w *World) park(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.in != nil && !o.in.alive() {
		return errRefused
	}
	o.deadline, _ = ctx.Deadline()
	w.enqueue(o)
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		o.cancelled = context.Cause(ctx)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			o.cancelled = ctx.Err()
		}
		w.mu.Unlock()
		w.kick()
	})
	defer stop()
	<-o.done
	return o.Err
}

// callSeam performs a call by running its effect on the driver.
type callSeam struct {
	w      *World
	effect func(*op) (*Answer, error)
}

func (s *callSeam) perform(o *op, f Fate) (outcome, bool) {
	s.w.counters.Calls++
	if f.Kind == Override {
		o.Answer = f.Answer
	} else {
		o.withHeader(f.Header, func() { o.Answer, o.Err = s.effect(o) })
	}
	if o.Err != nil {
		return outcome{result: "error"}, false
	}
	return outcome{strconv.Itoa(o.Answer.Status), o.Answer.digest()}, false
}

// withHeader runs f while the fate's header fields are part of the request.
func (o *op) withHeader(extra http.Header, f func()) {
	if len(extra) == 0 {
		f()
		return
	}
	kept := o.Header
	o.Header = kept.Clone()
	for name, values := range extra {
		o.Header[name] = values
	}
	f()
	o.Header = kept
}

func (a *Answer) digest() digest {
	var b bytes.Buffer
	writeHeader(&b, a.Header)
	b.Write(a.Body)
	return digestStart.bytes(b.Bytes())
}

func (s *callSeam) deliver(o *op) { close(o.done) }

func (s *callSeam) fail(o *op, err error) {
	o.Answer, o.Err = nil, err
	close(o.done)
}

func (s *callSeam) abandon(*op, bool) {}

// httpEffect invokes the handler of a party.
func httpEffect(w *World, party string) func(*op) (*Answer, error) {
	return func(o *op) (*Answer, error) {
		handler := w.parties[party]
		if handler == nil {
			return nil, errRefused
		}
		req, err := o.request(context.Background())
		if err != nil {
			return nil, err
		}
		rec := newRecorder()
		if err := serve(handler, rec, req, party); err != nil {
			w.failPanic(err)
			return nil, errReset
		}
		return rec.answer(), nil
	}
}

// request rebuilds the request as a server would see it.
func (o *op) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, o.Method, o.URL, bytes.NewReader(o.Body))
	if err != nil {
		return nil, fmt.Errorf("request %s %s: %w", o.Method, o.URL, err)
	}
	req.Header = o.Header.Clone()
	req.Host = o.to()
	req.RequestURI = o.URL
	req.RemoteAddr = o.from() + ":1"
	return req, nil
}

// serve runs a handler; a panic becomes a [PanicError], http.ErrAbortHandler itself.
func serve(h http.Handler, rw http.ResponseWriter, req *http.Request, where string) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = http.ErrAbortHandler
		default:
			err = &PanicError{Where: where, Value: p, Stack: debug.Stack()}
		}
	}()
	h.ServeHTTP(rw, req)
	return nil
}

// failPanic ends the run for a panic, not for a handler that broke its connection on purpose.
func (w *World) failPanic(err error) {
	if !errors.Is(err, http.ErrAbortHandler) {
		w.Fail(err)
	}
}

// recorder is the http.ResponseWriter of simulated servers.
type recorder struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status, r.sent = status, r.header.Clone()
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.sent == nil {
		if r.header.Get("Content-Type") == "" {
			r.header.Set("Content-Type", http.DetectContentType(b))
		}
		r.WriteHeader(http.StatusOK)
	}
	return r.body.Write(b)
}

// Flush is part of what handlers expect of a server; everything leaves at the end anyway.
func (r *recorder) Flush() { r.WriteHeader(http.StatusOK) }

func (r *recorder) answer() *Answer {
	r.WriteHeader(http.StatusOK)
	return &Answer{Status: r.status, Header: r.sent, Body: r.body.Bytes()}
}
