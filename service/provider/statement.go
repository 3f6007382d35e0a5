package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode/utf8"
)

// Bounds of what is taken from an answer, in bytes.
const (
	maxCode      = 64
	maxReference = 128
)

// statement is a provider's definite word. Its zero value says nothing.
type statement struct {
	outcome   string
	code      string
	reference string
	orderID   string
	amount    int64
	currency  string
	state     string
}

// errNotDefinite is why a body does not count.
var errNotDefinite = errors.New("not a definite body")

// read takes the statement out of an answer's body. A body that is not what the wire contract
// says, in any respect, counts as none.
func read(e exchange) (statement, error) {
	media, _, err := mime.ParseMediaType(e.header.Get("Content-Type"))
	if err != nil || media != "application/json" || e.header.Get("Content-Encoding") != "" {
		return statement{}, fmt.Errorf("%w: not application/json", errNotDefinite)
	}
	if len(e.body) > maxAnswer {
		return statement{}, fmt.Errorf("%w: more than %d bytes", errNotDefinite, maxAnswer)
	}
	if !utf8.Valid(e.body) {
		return statement{}, fmt.Errorf("%w: not UTF-8", errNotDefinite)
	}
	var s statement
	if err := s.decode(e.body); err != nil {
		return statement{}, fmt.Errorf("%w: %w", errNotDefinite, err)
	}
	if err := s.check(); err != nil {
		return statement{}, err
	}
	return s, nil
}

// decode walks one JSON object. Names are compared exactly, each may occur once, and unknown
// ones are passed over, since providers add fields. It is a walk of its own because
// encoding/json ignores case and keeps the last of two equal names.
func (s *statement) decode(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := expect(decoder, json.Delim('{')); err != nil {
		return err
	}
	fields := map[string]any{
		"outcome": &s.outcome, "code": &s.code, "reference": &s.reference,
		"order_id": &s.orderID, "amount": &s.amount, "currency": &s.currency,
		"state": &s.state,
	}
	seen := map[string]bool{}
	for decoder.More() {
		if err := decodeField(decoder, fields, seen); err != nil {
			return err
		}
	}
	if err := expect(decoder, json.Delim('}')); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	return nil
}

// decodeField reads one name and its value.
func decodeField(decoder *json.Decoder, fields map[string]any, seen map[string]bool) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("field name: %w", err)
	}
	name, _ := token.(string)
	if seen[name] {
		return errors.New("a name occurs twice")
	}
	seen[name] = true
	into, known := fields[name]
	if !known {
		into = new(json.RawMessage)
	}
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("field value: %w", err)
	}
	return nil
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("delimiter %s: %w", want, err)
	}
	if token != want {
		return fmt.Errorf("delimiter %s is missing", want)
	}
	return nil
}

// check bounds the texts. A reference must be fit to be stored as it is; a code is kept when it
// is plain, replaced when it is only odd, and voids the statement when it hides control
// characters.
func (s *statement) check() error {
	if !printable(s.reference, maxReference) {
		return fmt.Errorf("%w: reference", errNotDefinite)
	}
	if strings.ContainsFunc(s.code, isControl) {
		return fmt.Errorf("%w: code", errNotDefinite)
	}
	if !plainCode(s.code) {
		s.code = ""
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// printable reports whether a text is visible ASCII within a length.
func printable(text string, longest int) bool {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return len(text) <= longest
}

// plainCode reports whether a code is short and made of a-z, 0-9 and _.
func plainCode(code string) bool {
	for _, r := range code {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return len(code) <= maxCode
}
