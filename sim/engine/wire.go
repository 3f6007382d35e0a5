package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The engine cuts the PostgreSQL protocol into messages by hand: it forwards almost all of them
// unread, and decoding every row into a pgproto3 value would cost more than the seam itself.
// Only errors are decoded with pgproto3.

// Codes of the untyped first message of a connection.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

// headerSize is the size of a typed message's header: type and length.
const headerSize = 5

var errProtocol = errors.New("malformed message")

// nextMessage splits the first complete typed message off b; ok is false where b holds none.
func nextMessage(b []byte) (msg, rest []byte, ok bool) {
	if len(b) < headerSize {
		return nil, b, false
	}
	n := 1 + int(binary.BigEndian.Uint32(b[1:]))
	if n < headerSize || len(b) < n {
		return nil, b, false
	}
	return b[:n], b[n:], true
}

// cString splits a NUL-terminated string off b.
func cString(b []byte) (s string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", b, false
	}
	return string(b[:i]), b[i+1:], true
}

// beginMessage appends the header of a message whose length is set by endMessage.
func beginMessage(b []byte, typ byte) (out []byte, at int) {
	return append(b, typ, 0, 0, 0, 0), len(b) + 1
}

func endMessage(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

// appendMessage appends a message made of its parts.
func appendMessage(b []byte, typ byte, parts ...string) []byte {
	b, at := beginMessage(b, typ)
	for _, p := range parts {
		b = append(b, p...)
	}
	return endMessage(b, at)
}

// appendParse appends Parse for a named statement; key is SQL, NUL, and parameter types.
func appendParse(b []byte, name, key string) []byte {
	return appendMessage(b, 'P', name, "\x00", key)
}

func appendReady(b []byte, status byte) []byte { return append(b, 'Z', 0, 0, 0, 5, status) }

func appendSync(b []byte) []byte { return append(b, 'S', 0, 0, 0, 4) }

// appendQuery appends a simple query.
func appendQuery(b []byte, sql string) []byte { return appendMessage(b, 'Q', sql, "\x00") }

// appendError appends an ErrorResponse of the given severity.
func appendError(b []byte, severity, code, message string) []byte {
	return appendMessage(b, 'E', "S", severity, "\x00V", severity, "\x00C", code, "\x00M", message,
		"\x00\x00")
}
