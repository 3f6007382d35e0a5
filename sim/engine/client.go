package engine

import (
	"context"
	"net/http"
	"slices"
	"strconv"
)

// Client returns the HTTP client of a simulated user: its requests travel to the handler that
// the named process serves (the host of the URL means nothing), and each request and each
// response is an operation of its own. Use it on goroutines of [World.Go].
func (w *World) Client(name, process string) *http.Client {
	return &http.Client{Transport: &clientTransport{w: w, name: name, process: process}}
}

type clientTransport struct {
	w             *World
	name, process string
}

func (t *clientTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	o, err := newExchange(Request, t.name, t.process, req)
	if err != nil {
		return nil, err
	}
	o.seam = &requestSeam{w: t.w}
	if err := t.w.park(req.Context(), o); err != nil {
		return nil, err
	}
	return o.Answer.response(req), nil
}

// requestSeam performs a client's request by starting the handler in the serving process. The
// answer is another operation, made when the handler returns.
type requestSeam struct {
	w      *World
	in     *Incarnation // that answers it
	hangUp context.CancelFunc
	done   bool // failed at once: there is nobody to answer
}

func (s *requestSeam) perform(o *op, f Fate) (outcome, bool) {
	s.w.counters.Requests++
	in := s.w.Process(o.Party).in
	if in == nil || !in.alive() || in.handler.Load() == nil {
		o.Err, s.done = errRefused, true
		return outcome{result: "refused"}, false
	}
	ctx, cancel := context.WithCancel(in.crashed)
	wanted := f.Kind == Deliver || f.Kind == Duplicate || f.Kind == Delay || f.Kind == Disconnect
	if wanted && s.in == nil {
		s.in, s.hangUp = in, cancel
		in.requests = append(in.requests, o)
	} else {
		wanted = false
	}
	s.w.spawn(in.name, func() {
		defer cancel()
		s.answer(ctx, in, o, f, wanted)
	})
	return outcome{result: "-"}, false
}

// answer runs the handler on a goroutine of the process.
func (s *requestSeam) answer(ctx context.Context, in *Incarnation, o *op, f Fate, wanted bool) {
	req, err := o.request(ctx)
	if err != nil {
		panic(err)
	}
	req.Header = req.Header.Clone()
	for name, values := range f.Header {
		req.Header[name] = values
	}
	rec := newRecorder()
	err = serve(*in.handler.Load(), rec, req, in.name)
	if perr, ok := err.(*PanicError); ok {
		s.w.reportPanic(perr)
	}
	if !wanted || !in.alive() {
		return
	}
	answer := &op{in: in, canon: o.canon, Operation: Operation{Kind: Response, Process: in.name,
		Party: o.Process, Name: o.Name, Method: o.Method, URL: o.URL, Answer: rec.answer(),
		Err: err}}
	answer.canon = append(slices.Clip(o.canon), rec.content()...)
	answer.seam = &responseSeam{request: o, w: s.w}
	if f.Kind == Delay {
		answer.holdUntil = s.w.Now() + f.After
	}
	s.w.enqueue(answer)
}

// content is all that a client can see of an answer.
func (r *recorder) content() []byte {
	a := r.answer()
	return strconv.AppendUint([]byte("\n"+strconv.Itoa(a.Status)+" "), uint64(a.digest()), 16)
}

func (s *requestSeam) deliver(o *op) {
	if s.done {
		close(o.done)
		return
	}
	o.state = opWaiting
}

func (s *requestSeam) fail(o *op, err error) {
	o.Answer, o.Err = nil, err
	close(o.done)
}

// abandon is the client hanging up: the server's context of the request ends.
func (s *requestSeam) abandon(o *op, _ bool) {
	if s.in == nil {
		return
	}
	s.in.requests = slices.DeleteFunc(s.in.requests, func(r *op) bool { return r == o })
	s.hangUp()
}

// responseSeam carries the answer of a process to its client.
type responseSeam struct {
	w       *World
	request *op
}

func (s *responseSeam) perform(o *op, _ Fate) (outcome, bool) {
	if o.Err != nil {
		return outcome{result: "aborted"}, false
	}
	return outcome{strconv.Itoa(o.Answer.Status), o.Answer.digest()}, false
}

func (s *responseSeam) deliver(o *op) {
	s.end(func(req *op) {
		if o.Err != nil {
			s.w.finish(req, errReset)
			return
		}
		req.Answer = o.Answer
		req.state = opDone
		close(req.done)
	})
}

func (s *responseSeam) fail(*op, error) {
	s.end(func(req *op) { s.w.finish(req, errReset) })
}

// end takes the request off its server and, where the client still waits, ends it.
func (s *responseSeam) end(f func(req *op)) {
	req := s.request
	req.seam.abandon(req, false)
	if req.state != opDone {
		f(req)
	}
}

func (s *responseSeam) abandon(*op, bool) {}
