package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"ordeal/service/order"
	"ordeal/service/store"
)

// reply is a response before it is written.
type reply struct {
	status      int
	contentType string
	location    string
	etag        string
	replayed    bool
	body        []byte
}

// The content types of the API.
const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
)

// shown is a reply with a value as JSON.
func shown(status int, value any) (reply, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return reply{}, fmt.Errorf("encode a response: %w", err)
	}
	return reply{status: status, contentType: typeJSON, body: body}, nil
}

// send writes a reply; the answer to HEAD has no body, and neither has one without a type (304).
func (a reply) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if a.contentType != "" {
		h.Set("Content-Type", a.contentType)
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if a.etag != "" {
		h.Set("ETag", a.etag)
	}
	if a.location != "" {
		h.Set("Location", a.location)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		// A client that went away cannot be told.
		_, _ = w.Write(a.body)
	}
}

// front is what every request passes first: it names the request, and protects the response from
// caches and from browsers that guess.
func (a *api) front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, given := requestID(r.Header)
		if !given {
			id = a.NewRequestID()
		}
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// open makes a handler of a route that needs no token.
func (a *api) open(h func(*http.Request) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		answer, err := caught(r, h)
		a.finish(w, r, answer, err)
	}
}

// task is a request that has been read: it is well-formed, and what is left depends on the role
// of its caller and on the store.
type task struct {
	// run does what the request asks for.
	run func(context.Context) (reply, error)
	// order and action are what a refusal is audited as; none is where action is empty.
	order  order.ID
	action string
}

// guarded makes a handler of a route for the given roles out of what reads its requests.
func (a *api) guarded(
	read func(*http.Request, store.Principal) (task, error), roles ...string,
) http.HandlerFunc {
	return a.open(func(r *http.Request) (reply, error) {
		who, err := a.authenticate(r)
		if err != nil {
			return reply{}, err
		}
		t, err := read(r, who)
		if err != nil {
			return reply{}, err
		}
		if !slices.Contains(roles, who.Role) {
			return reply{}, a.audited(r, who, t, refuse(codeForbidden, "Another role may do this."))
		}
		answer, err := t.run(r.Context())
		return answer, a.audited(r, who, t, err)
	})
}

// caught calls a handler and turns its panic into an error. Responses are written whole and
// afterwards, so nothing is out yet.
func caught(
	r *http.Request, h func(*http.Request) (reply, error),
) (answer reply, err error) {
	defer func() {
		if v := recover(); v != nil {
			answer, err = reply{}, newPanicError(v)
		}
	}()
	return h(r)
}

// panicError is the panic of a handler. Its value may hold what the client sent: only its type is
// kept, or the text of an error of the runtime.
type panicError struct {
	what  string
	stack []byte
}

func newPanicError(v any) *panicError {
	what := fmt.Sprintf("%T", v)
	if e, ok := v.(runtime.Error); ok {
		what = e.Error()
	}
	return &panicError{what: what, stack: debug.Stack()}
}

func (e *panicError) Error() string { return "panic: " + e.what }

// finish writes the reply, or the problem that an error stands for.
func (a *api) finish(w http.ResponseWriter, r *http.Request, answer reply, err error) {
	if err == nil {
		answer.send(w, r)
		return
	}
	refused := refusalOf(err)
	a.logFailure(r, refused)
	refused.reply(w.Header(), idOf(r)).send(w, r)
}

// logFailure logs what was not the client's doing. A client that went away is nobody's failure.
func (a *api) logFailure(r *http.Request, refused *refusal) {
	if refused.cause == nil || errors.Is(r.Context().Err(), context.Canceled) {
		return
	}
	write := a.Log.Warn
	if refused.code == codeInternal {
		write = a.Log.Error
	}
	fields := []any{"request_id", idOf(r), "method", r.Method, "route", r.Pattern,
		"code", string(refused.code), "error", refused.cause}
	if p, ok := errors.AsType[*panicError](refused.cause); ok {
		fields = append(fields, "stack", string(p.stack))
	}
	write("request failed", fields...)
}

// requestIDKey is the key of the request's id in its context.
type requestIDKey struct{}

// idOf returns the id of a request.
func idOf(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

// maxRequestID bounds an id that a client gives its request, in bytes.
const maxRequestID = 64

// requestID returns the id that a client gave its request; ok is false for none, several, or one
// that does not fit a log line.
func requestID(h http.Header) (id string, ok bool) {
	values := h.Values("X-Request-Id")
	if len(values) != 1 || values[0] == "" || len(values[0]) > maxRequestID {
		return "", false
	}
	strange := strings.ContainsFunc(values[0], func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '_' || c == '-')
	})
	return values[0], !strange
}
