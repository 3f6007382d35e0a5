package imitation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
)

// Headers of the wire contract.
const (
	headerKey     = "Idempotency-Key"
	headerOrder   = "Ordeal-Order-Id"
	headerStep    = "Ordeal-Step"
	headerAttempt = "Ordeal-Attempt"
)

// Bounds of what a provider accepts.
const (
	maxBody = 2 << 20 // bytes
	maxKey  = 255     // bytes
)

// badRequest says why a request never reached the business. It is answered without an
// outcome, since it decides nothing.
type badRequest struct {
	status int
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// bad is a 400 with a code.
func bad(code, format string, args ...any) *badRequest {
	return &badRequest{
		status: http.StatusBadRequest,
		Code:   code,
		Detail: fmt.Sprintf(format, args...),
	}
}

// parse reads a request of an operation completely, or says what is wrong with it.
func parse(op Operation, r *http.Request) (request, *badRequest) {
	req := request{op: op, target: r.PathValue("key"), delivery: 1}
	req.order = r.Header.Get(headerOrder)
	if wrong := req.readNumbers(r.Header); wrong != nil {
		return req, wrong
	}
	if len(req.target) > maxKey {
		return req, bad("bad_key", "the key in the path has more than %d bytes", maxKey)
	}
	if op.isStatus() {
		return req, nil
	}
	if wrong := req.readIdentity(r.Header); wrong != nil {
		return req, wrong
	}
	raw, wrong := readBody(r)
	if wrong != nil {
		return req, wrong
	}
	wrong = req.readFields(raw)
	return req, wrong
}

// readNumbers takes step and attempt from the headers; only a status query may lack them.
func (r *request) readNumbers(h http.Header) *badRequest {
	var wrong *badRequest
	if r.step, wrong = readNumber(h, headerStep, r.op.isStatus()); wrong != nil {
		return wrong
	}
	r.attempt, wrong = readNumber(h, headerAttempt, r.op.isStatus())
	return wrong
}

func readNumber(h http.Header, name string, optional bool) (int, *badRequest) {
	text := h.Get(name)
	if text == "" && optional {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, bad("bad_header", "%s must be a whole number", name)
	}
	return n, nil
}

// readIdentity takes the key and checks that the order is named.
func (r *request) readIdentity(h http.Header) *badRequest {
	keys := h.Values(headerKey)
	if len(keys) != 1 || keys[0] == "" || len(keys[0]) > maxKey {
		return bad("bad_header", "%s must be given once, with 1 to %d bytes", headerKey, maxKey)
	}
	r.key = keys[0]
	if r.order == "" || len(r.order) > maxKey {
		return bad("bad_header", "%s must have 1 to %d bytes", headerOrder, maxKey)
	}
	return nil
}

// readBody reads a JSON body within bounds.
func readBody(r *http.Request) ([]byte, *badRequest) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, &badRequest{
			status: http.StatusUnsupportedMediaType,
			Code:   "bad_content_type",
			Detail: "the body must be application/json",
		}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		return nil, &badRequest{
			status: http.StatusRequestEntityTooLarge,
			Code:   "body_too_large",
			Detail: fmt.Sprintf("the body exceeds %d bytes", maxBody),
		}
	}
	if err != nil {
		return nil, bad("bad_body", "the body could not be read")
	}
	return raw, nil
}

// fields is the union of all request bodies; each operation allows its own.
type fields struct {
	OrderID   string  `json:"order_id"`
	ChargeKey *string `json:"charge_key"`
	Amount    *int64  `json:"amount"`
	Currency  *string `json:"currency"`
	Items     []item  `json:"items"`
}

// readFields decodes the body into the request. The raw bytes are what is compared under a
// key, so two spellings of one JSON value are two bodies.
func (r *request) readFields(raw []byte) *badRequest {
	var f fields
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return bad("bad_json", "the body is no JSON object of known fields")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return bad("bad_json", "something follows the JSON object")
	}
	if f.OrderID != r.order {
		return bad("order_mismatch", "order_id and %s differ", headerOrder)
	}
	if wrong := r.takeMoney(f); wrong != nil {
		return wrong
	}
	if wrong := r.takeItems(f.Items); wrong != nil {
		return wrong
	}
	sum := sha256.Sum256(raw)
	r.bodyHash = hex.EncodeToString(sum[:])
	r.print = string(r.op) + "|" + r.target + "|" + r.bodyHash
	return nil
}

// takeMoney checks amount, currency and charge key: required where the operation moves
// money, forbidden elsewhere.
func (r *request) takeMoney(f fields) *badRequest {
	if (f.ChargeKey != nil) != (r.op == Refund) {
		return bad("bad_field", "charge_key belongs to refunds, and is required there")
	}
	wanted := r.op.movesMoney()
	if (f.Amount != nil) != wanted || (f.Currency != nil) != wanted {
		return bad("bad_field", "amount and currency belong to charges and refunds")
	}
	if !wanted {
		return nil
	}
	if *f.Amount <= 0 || len(*f.Currency) != 3 {
		return bad("bad_field", "amount must be positive and currency have three letters")
	}
	r.amount, r.currency = *f.Amount, *f.Currency
	if f.ChargeKey != nil {
		r.target = *f.ChargeKey
	}
	return nil
}

// takeItems checks the lines of a reservation or shipment.
func (r *request) takeItems(items []item) *badRequest {
	if (len(items) > 0) != (r.op == Reserve || r.op == Ship) {
		return bad("bad_field", "items belong to reservations and shipments")
	}
	seen := map[string]bool{}
	for _, it := range items {
		if it.SKU == "" || it.Quantity <= 0 || seen[it.SKU] {
			return bad("bad_field", "items need distinct SKUs and positive quantities")
		}
		seen[it.SKU] = true
	}
	r.items = items
	return nil
}
