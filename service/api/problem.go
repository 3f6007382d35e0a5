package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// code is the stable name of a problem. Clients tell problems apart by it.
type code string

// The codes of problems.
const (
	codeInvalidJSON          code = "invalid_json"
	codeInvalidField         code = "invalid_field"
	codeInvalidParameter     code = "invalid_parameter"
	codeInvalidCursor        code = "invalid_cursor"
	codeBodyIncomplete       code = "body_incomplete"
	codeKeyMissing           code = "idempotency_key_missing"
	codeKeyInvalid           code = "idempotency_key_invalid"
	codeUnauthenticated      code = "unauthenticated"
	codeForbidden            code = "forbidden"
	codeNotFound             code = "not_found"
	codeMethodNotAllowed     code = "method_not_allowed"
	codeInvalidTransition    code = "invalid_transition"
	codeInProgress           code = "idempotency_in_progress"
	codeStaleVersion         code = "stale_version"
	codeTooLarge             code = "body_too_large"
	codeUnsupportedType      code = "unsupported_media_type"
	codeInvalidOrder         code = "invalid_order"
	codeInvalidCommand       code = "invalid_command"
	codeRefundTooLarge       code = "refund_too_large"
	codeKeyReused            code = "idempotency_key_reused"
	codePreconditionRequired code = "precondition_required"
	codeTooMany              code = "rate_limited"
	codeInternal             code = "internal"
	codeUnavailable          code = "unavailable"
)

// kind is what all problems of one code share.
type kind struct {
	status int
	title  string
	// retry says that the same request may succeed later.
	retry bool
	// meaning tells the people who write clients more.
	meaning string
}

// kinds is the table of problems.
var kinds = map[code]kind{
	codeInvalidJSON: {http.StatusBadRequest, "The body is not JSON", false,
		"The body is not exactly one JSON object in UTF-8."},
	codeInvalidField: {http.StatusBadRequest, "A field is not what it must be", false,
		"A field is unknown, repeated, missing, or of another type; errors names it."},
	codeInvalidParameter: {http.StatusBadRequest, "A parameter is not what it must be", false,
		"A parameter of the query is unknown, repeated, or has another form; parameter names it."},
	codeInvalidCursor: {http.StatusBadRequest, "The cursor is not valid", false,
		"The cursor was changed, or was handed out to another caller, for other filters, or " +
			"under a signing key that is no longer in use. Start again without a cursor."},
	codeBodyIncomplete: {http.StatusBadRequest, "The body could not be read", false,
		"The connection ended, or the time to send a body, before the body did."},
	codeKeyMissing: {http.StatusBadRequest, "The idempotency key is missing", false,
		"The route needs an Idempotency-Key, so that a repeated request has one effect."},
	codeKeyInvalid: {http.StatusBadRequest, "The idempotency key is not valid", false,
		"Idempotency-Key is one field of 1 to 255 printable ASCII characters, bare or quoted."},
	codeUnauthenticated: {http.StatusUnauthorized, "A valid token is needed", false,
		"There is no bearer token in Authorization, or it belongs to nobody."},
	codeForbidden: {http.StatusForbidden, "The role does not permit this", false,
		"The token is valid, but another role is needed."},
	codeNotFound: {http.StatusNotFound, "There is no such resource", false,
		"There is no such path, no such order, or the order is somebody else's."},
	codeMethodNotAllowed: {http.StatusMethodNotAllowed, "The method is not allowed", false,
		"Allow lists the methods that the resource has."},
	codeInvalidTransition: {http.StatusConflict, "The state of the order does not allow this",
		false, "The order is in a state that does not permit the command; see its next_actions. " +
			"Under the same Idempotency-Key the answer stays the same."},
	codeInProgress: {http.StatusConflict, "The same request is in progress", true,
		"A request with the same Idempotency-Key has not ended yet. Repeat it for its answer."},
	codeStaleVersion: {http.StatusPreconditionFailed, "The order has changed", false,
		"The order has another version than expected_version. Look at it and decide anew."},
	codeTooLarge: {http.StatusRequestEntityTooLarge, "The body is too large", false,
		"A body may have 1 MiB."},
	codeUnsupportedType: {http.StatusUnsupportedMediaType, "The body is not JSON by type", false,
		"A body is sent as application/json in UTF-8, without Content-Encoding."},
	codeInvalidOrder: {http.StatusUnprocessableEntity, "The order is not valid", false,
		"A value of the order is not allowed; errors names the field."},
	codeInvalidCommand: {http.StatusUnprocessableEntity, "The command is not valid", false,
		"A value of the command is not allowed; errors names the field."},
	codeRefundTooLarge: {http.StatusUnprocessableEntity, "The refund is too large", false,
		"All refunds of the order but the failed ones would exceed what was charged."},
	codeKeyReused: {http.StatusUnprocessableEntity,
		"The idempotency key belongs to another request", false,
		"The Idempotency-Key was used before, with another body. Use a new key for a new request."},
	codePreconditionRequired: {http.StatusPreconditionRequired, "A version must be expected", false,
		"A decision names, in expected_version, the version of the order that it is about."},
	codeTooMany: {http.StatusTooManyRequests, "There are too many requests", true,
		"The token, or a network with failed authentications, has used up its rate."},
	codeInternal: {http.StatusInternalServerError, "The service failed", false,
		"The failure is ours and recorded under the request's id."},
	codeUnavailable: {http.StatusServiceUnavailable, "The service is unavailable", true,
		"The database cannot be reached, or the process is about to stop. Repeat the request, " +
			"with the same Idempotency-Key."},
}

// retryAfter is the number of seconds after which a client may try again, where nothing more is
// known.
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
	// retryAfter is the number of seconds in Retry-After, empty for the usual one.
	retryAfter string
	// parameter is the parameter of the query that is wrong.
	parameter string
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
	Parameter string       `json:"parameter,omitempty"`
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
		Parameter: f.parameter,
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
		h.Set("Retry-After", cmp.Or(f.retryAfter, retryAfter))
	}
	if f.challenge != "" {
		h.Set("WWW-Authenticate", f.challenge)
	}
	if f.allow != nil {
		h.Set("Allow", strings.Join(f.allow, ", "))
	}
	return reply{status: status, contentType: typeProblem, body: body}
}
