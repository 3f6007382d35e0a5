package api

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// maxKey bounds an idempotency key, in characters.
const maxKey = 255

// idempotencyKey returns the canonical key of a request: what is inside the quotes where the
// field is a String of RFC 8941, else the field as it is. Given is false where there is no field.
func idempotencyKey(h http.Header) (key string, given bool, err error) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", false, nil
	}
	if len(values) > 1 {
		return "", true, refuse(codeKeyInvalid, "Idempotency-Key must be one field.")
	}
	key, ok := canonicalKey(strings.Trim(values[0], " \t"))
	if !ok {
		return "", true, refuse(codeKeyInvalid,
			"Idempotency-Key must be 1 to 255 printable ASCII characters, bare or quoted.")
	}
	return key, true, nil
}

// requiredKey is the idempotencyKey of a route that does not go without.
func requiredKey(h http.Header) (string, error) {
	key, given, err := idempotencyKey(h)
	if err == nil && !given {
		return "", refuse(codeKeyMissing, "This route needs an Idempotency-Key.")
	}
	return key, err
}

// canonicalKey takes the quotes and escapes from a field.
func canonicalKey(field string) (key string, ok bool) {
	key = field
	if strings.HasPrefix(field, `"`) {
		if key, ok = unquote(field[1:]); !ok {
			return "", false
		}
	}
	return key, key != "" && len(key) <= maxKey && printable(key)
}

// unquote reads the rest of a String of RFC 8941 after its first quote. The last quote must end
// the field: a String may have parameters, a key has none.
func unquote(rest string) (text string, ok bool) {
	var b strings.Builder
	for n := 0; n < len(rest); n++ {
		switch c := rest[n]; c {
		case '"':
			return b.String(), n == len(rest)-1
		case '\\':
			n++
			if n == len(rest) || rest[n] != '"' && rest[n] != '\\' {
				return "", false
			}
			b.WriteByte(rest[n])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// printable tells whether a text is printable ASCII.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// fingerprint is the SHA-256 of what a request asks for: its route, the order in its path and the
// decoded body, encoded again, so that key order and white space do not matter (API-1).
func fingerprint(route, orderID string, body any) ([]byte, error) {
	text, err := json.Marshal([]any{route, orderID, body})
	if err != nil {
		return nil, fmt.Errorf("encode a request for its fingerprint: %w", err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}
