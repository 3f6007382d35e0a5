package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// code is the stable name of a problem. Clients tell problems apart by it.
type code string

// The codes of problems.
const (
	codeInvalidJSON       code = "invalid_json"
	codeInvalidField      code = "invalid_field"
	codeBodyIncomplete    code = "body_incomplete"
	codeKeyMissing        code = "idempotency_key_missing"
	codeKeyInvalid        code = "idempotency_key_invalid"
	codeUnauthenticated   code = "unauthenticated"
	codeForbidden         code = "forbidden"
	codeNotFound          code = "not_found"
	codeMethodNotAllowed  code = "method_not_allowed"
	codeInvalidTransition code = "invalid_transition"
	codeInProgress        code = "idempotency_in_progress"
	codeTooLarge          code = "body_too_large"
	codeUnsupportedType   code = "unsupported_media_type"
	codeInvalidOrder      code = "invalid_order"
	codeKeyReused         code = "idempotency_key_reused"
	codeInternal          code = "internal"
	codeUnavailable       code = "unavailable"
)

// kind is what all problems of one code share.
type kind struct {
	status int
	title  string
	// retry says that the same request may succeed a second later.
	retry bool
}

// kinds is the table of problems.
var kinds = map[code]kind{
	codeInvalidJSON:      {http.StatusBadRequest, "The body is not JSON", false},
	codeInvalidField:     {http.StatusBadRequest, "A field is not what it must be", false},
	codeBodyIncomplete:   {http.StatusBadRequest, "The body could not be read", false},
	codeKeyMissing:       {http.StatusBadRequest, "The idempotency key is missing", false},
	codeKeyInvalid:       {http.StatusBadRequest, "The idempotency key is not valid", false},
	codeUnauthenticated:  {http.StatusUnauthorized, "A valid token is needed", false},
	codeForbidden:        {http.StatusForbidden, "The role does not permit this", false},
	codeNotFound:         {http.StatusNotFound, "There is no such resource", false},
	codeMethodNotAllowed: {http.StatusMethodNotAllowed, "The method is not allowed", false},
	codeInvalidTransition: {http.StatusConflict,
		"The state of the order does not allow this", false},
	codeInProgress:      {http.StatusConflict, "The same request is in progress", true},
	codeTooLarge:        {http.StatusRequestEntityTooLarge, "The body is too large", false},
	codeUnsupportedType: {http.StatusUnsupportedMediaType, "The body is not JSON by type", false},
	codeInvalidOrder:    {http.StatusUnprocessableEntity, "The order is not valid", false},
	codeKeyReused: {http.StatusUnprocessableEntity,
		"The idempotency key belongs to another request", false},
	codeInternal:    {http.StatusInternalServerError, "The service failed", false},
	codeUnavailable: {http.StatusServiceUnavailable, "The service is unavailable", true},
}

// retryAfter is the number of seconds after which a client may try again.
const retryAfter = "1"

// fieldError names a field of a request and what is wrong with it.
type fieldError struct {
	// Pointer is the JSON pointer (RFC 6901) of the field; empty for the whole body.
	Pointer string `json:"pointer"`
	// Detail is a phrase without values of the request.
	Detail string `json:"detail"`
}

// refusal is an error that a client is told about.
type refusal struct {
	code   code
	detail string
	fields []fieldError
	// allow are the methods that a path has.
	allow []string
	// challenge is what WWW-Authenticate says.
	challenge string
	// cause is what the client is not told.
	cause error
}

func (f *refusal) Error() string { return string(f.code) + ": " + f.detail }

// Unwrap returns the cause.
func (f *refusal) Unwrap() error { return f.cause }

// refuse returns a refusal with a sentence for people.
func refuse(c code, detail string) *refusal { return &refusal{code: c, detail: detail} }

// notFound is one and the same for a missing order, another customer's and an unknown path.
func notFound() *refusal { return refuse(codeNotFound, "There is nothing here for you.") }

// internal is all that a client learns about a failure of ours.
func internal() *refusal { return refuse(codeInternal, "The failure has been recorded.") }

// refusalOf turns any error into a refusal. What is neither meant for the client nor a sign that
// the database cannot be reached is our fault.
func refusalOf(err error) *refusal {
	if f, ok := errors.AsType[*refusal](err); ok {
		return f
	}
	f := internal()
	if unavailable(err) {
		f = refuse(codeUnavailable, "The database did not answer; nothing is lost by a retry.")
	}
	f.cause = err
	return f
}

// problem is the body of a refusal (RFC 9457).
type problem struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Code      code         `json:"code"`
	RequestID string       `json:"request_id"`
	Errors    []fieldError `json:"errors,omitempty"`
}

// render returns the status and the body of a refusal.
func (f *refusal) render(requestID string) (status int, body []byte) {
	k := kinds[f.code]
	body, err := json.Marshal(problem{
		Type:      "/problems/" + string(f.code),
		Title:     k.title,
		Status:    k.status,
		Detail:    f.detail,
		Code:      f.code,
		RequestID: requestID,
		Errors:    f.fields,
	})
	if err != nil {
		panic(err) // strings and one integer always encode
	}
	return k.status, body
}

// reply returns the response of a refusal and sets the headers that go with it.
func (f *refusal) reply(h http.Header, requestID string) reply {
	status, body := f.render(requestID)
	if kinds[f.code].retry {
		h.Set("Retry-After", retryAfter)
	}
	if f.challenge != "" {
		h.Set("WWW-Authenticate", f.challenge)
	}
	if f.allow != nil {
		h.Set("Allow", strings.Join(f.allow, ", "))
	}
	return reply{status: status, contentType: typeProblem, body: body}
}
