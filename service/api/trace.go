package api

import (
	"net/http"
	"strings"
)

// The parts of a traceparent (W3C Trace Context), in characters.
const (
	versionLength = 2
	traceLength   = 32
	parentLength  = 16
	flagsLength   = 2
	// traceparentLength is that of version 00, and where additions of later ones begin.
	traceparentLength = versionLength + 1 + traceLength + 1 + parentLength + 1 + flagsLength
)

// traceID returns the trace id that a request brings: 32 hexadecimal digits. Ok is false where
// it brings none that is valid; the standard has such a field ignored.
func traceID(h http.Header) (id string, ok bool) {
	values := h.Values("Traceparent")
	if len(values) != 1 || len(values[0]) < traceparentLength {
		return "", false
	}
	known, more := values[0][:traceparentLength], values[0][traceparentLength:]
	parts := strings.Split(known, "-")
	if len(parts) != 4 || !digits(parts[0], versionLength) || !digits(parts[1], traceLength) ||
		!digits(parts[2], parentLength) || !digits(parts[3], flagsLength) {
		return "", false
	}
	if parts[0] == "ff" || zero(parts[1]) || zero(parts[2]) {
		return "", false
	}
	if more != "" && (parts[0] == "00" || more[0] != '-') {
		return "", false
	}
	return parts[1], true
}

// digits tells whether a text is that many lower-case hexadecimal digits.
func digits(s string, count int) bool {
	return len(s) == count && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	})
}

// zero tells whether all digits are zero, which the standard forbids.
func zero(s string) bool { return strings.Trim(s, "0") == "" }
