package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder reads a JSON text along what a request may contain. Every error is a *refusal that
// names the field where the decoder stood: invalid_json for a text that is not JSON, and
// invalid_field for JSON that this request must not contain.
type decoder struct {
	text []byte
	at   int
	// path holds the reference tokens of the place where the decoder stands.
	path []string
}

// field is a member that an object may have.
type field struct {
	name     string
	required bool
	// read reads the member's value.
	read func(*decoder) error
}

// decode reads a text that must be exactly one object with the given fields.
func decode(text []byte, fields ...field) error {
	d := &decoder{text: text}
	if err := d.object(fields...); err != nil {
		return err
	}
	if d.peek(); d.at < len(d.text) {
		return d.malformed()
	}
	return nil
}

// object reads an object with the given fields and no others, each at most once.
func (d *decoder) object(fields ...field) error {
	if err := d.begin('{', "must be an object"); err != nil {
		return err
	}
	seen := make([]bool, len(fields))
	for first := true; ; first = false {
		if more, err := d.more('}', first); err != nil {
			return err
		} else if !more {
			break
		}
		if err := d.member(fields, seen); err != nil {
			return err
		}
	}
	for n, f := range fields {
		if f.required && !seen[n] {
			return d.inside(f.name, func() error { return d.invalid("is required") })
		}
	}
	return nil
}

// maxName bounds the name of an unknown field that an answer repeats, in bytes.
const maxName = 64

// member reads the name and the value of one member of an object.
func (d *decoder) member(fields []field, seen []bool) error {
	if d.peek() != '"' {
		return d.malformed()
	}
	name, err := d.string()
	if err != nil {
		return err
	}
	n := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if n < 0 && len(name) > maxName {
		return d.invalid("has an unknown field")
	}
	return d.inside(name, func() error {
		switch {
		case n < 0:
			return d.invalid("is unknown")
		case seen[n]:
			return d.invalid("is repeated")
		case d.peek() != ':':
			return d.malformed()
		}
		seen[n] = true
		d.at++
		return fields[n].read(d)
	})
}

// array reads an array; element reads each of its elements.
func (d *decoder) array(element func(*decoder) error) error {
	if err := d.begin('[', "must be an array"); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if more, err := d.more(']', n == 0); err != nil || !more {
			return err
		}
		err := d.inside(strconv.Itoa(n), func() error { return element(d) })
		if err != nil {
			return err
		}
	}
}

// more tells whether another element of an array, or member of an object, follows, and steps over
// the comma before it or over the end. What follows a comma is up to who reads it.
func (d *decoder) more(end byte, first bool) (bool, error) {
	switch c := d.peek(); {
	case c == end:
		d.at++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		d.at++
		return true, nil
	}
	return false, d.malformed()
}

// integer reads a number that is written as an integer and fits 64 bits.
func (d *decoder) integer() (int64, error) {
	const problem = "must be an integer"
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, d.unexpected(c, problem)
	}
	start := d.at
	for d.at < len(d.text) && strings.IndexByte("+-.0123456789Ee", d.text[d.at]) >= 0 {
		d.at++
	}
	literal := d.text[start:d.at]
	switch {
	case !json.Valid(literal):
		return 0, d.malformed()
	case bytes.ContainsAny(literal, ".Ee"):
		return 0, d.invalid("must be an integer without fraction or exponent")
	case string(literal) == "-0":
		return 0, d.invalid("must be an integer, and zero has no sign")
	}
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil {
		return 0, d.invalid("must be an integer of at most 64 bits")
	}
	return n, nil
}

// boolean reads true or false.
func (d *decoder) boolean() (bool, error) {
	const problem = "must be true or false"
	if c := d.peek(); c != 't' && c != 'f' {
		return false, d.unexpected(c, problem)
	}
	for _, word := range []string{"true", "false"} {
		if bytes.HasPrefix(d.text[d.at:], []byte(word)) {
			d.at += len(word)
			return word == "true", nil
		}
	}
	return false, d.malformed()
}

// string reads a string: UTF-8 without NUL and without lone surrogates.
func (d *decoder) string() (string, error) {
	if err := d.begin('"', "must be a string"); err != nil {
		return "", err
	}
	var text []byte
	for d.at < len(d.text) {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			if !utf8.Valid(text) {
				return "", d.malformed()
			}
			return string(text), nil
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			text = utf8.AppendRune(text, r)
		case c < ' ':
			return "", d.malformed()
		default:
			text = append(text, c)
			d.at++
		}
	}
	return "", d.malformed()
}

// escape reads an escape sequence; a pair of surrogates is one.
func (d *decoder) escape() (rune, error) {
	rest := d.text[d.at+1:]
	if len(rest) > 0 && rest[0] != 'u' {
		n := strings.IndexByte(`"\/bfnrt`, rest[0])
		if n < 0 {
			return 0, d.malformed()
		}
		d.at += 2
		return rune("\"\\/\b\f\n\r\t"[n]), nil
	}
	r, ok := d.unit()
	if !ok {
		return 0, d.malformed()
	}
	if r == 0 {
		return 0, d.invalid("must not contain NUL")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	low, _ := d.unit()
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, d.invalid("must not contain a lone surrogate")
	}
	return r, nil
}

// unit reads \u and four hexadecimal digits: a code unit of UTF-16.
func (d *decoder) unit() (r rune, ok bool) {
	const length = len(`\u0000`)
	if len(d.text)-d.at < length || d.text[d.at] != '\\' || d.text[d.at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(d.text[d.at+2:d.at+length]), 16, 16)
	if err != nil {
		return 0, false
	}
	d.at += length
	return rune(n), true
}

// begin steps over the first byte of a value.
func (d *decoder) begin(first byte, problem string) error {
	if c := d.peek(); c != first {
		return d.unexpected(c, problem)
	}
	d.at++
	return nil
}

// unexpected refuses what begins with c: a value of another type, or no value at all.
func (d *decoder) unexpected(c byte, problem string) error {
	if strings.IndexByte(`{["-0123456789tfn`, c) < 0 {
		return d.malformed()
	}
	return d.invalid(problem)
}

// peek skips white space and returns the next byte; 0, which begins nothing, at the end.
func (d *decoder) peek() byte {
	for d.at < len(d.text) {
		c := d.text[d.at]
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
		d.at++
	}
	return 0
}

// inside runs read one reference token further down.
func (d *decoder) inside(token string, read func() error) error {
	d.path = append(d.path, token)
	defer func() { d.path = d.path[:len(d.path)-1] }()
	return read()
}

// pointer is the JSON pointer (RFC 6901) of where the decoder stands.
func (d *decoder) pointer() string {
	var b strings.Builder
	for _, token := range d.path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}

// invalid refuses the field where the decoder stands.
func (d *decoder) invalid(problem string) error {
	return &refusal{
		code:   codeInvalidField,
		detail: "The body has a field that it must not have, or lacks or misspells one.",
		fields: []fieldError{{d.pointer(), problem}},
	}
}

// malformed refuses a text that is not JSON.
func (d *decoder) malformed() error {
	return &refusal{
		code:   codeInvalidJSON,
		detail: fmt.Sprintf("The body is not one JSON object, from byte %d on.", d.at),
		fields: []fieldError{{d.pointer(), "is not JSON"}},
	}
}
