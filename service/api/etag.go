package api

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// tagBytes is the length of the hash in an entity tag.
const tagBytes = 16

// tagOf is a strong entity tag (RFC 9110) of a representation: a hash of all its bytes.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:tagBytes]) + `"`
}

// unlessKnown gives a representation its entity tag, and answers 304 to a client that has it.
func (a reply) unlessKnown(h http.Header) reply {
	a.etag = tagOf(a.body)
	if knows(h.Values("If-None-Match"), a.etag) {
		return reply{status: http.StatusNotModified, etag: a.etag}
	}
	return a
}

// knows tells whether If-None-Match lists a tag, by weak comparison; an asterisk lists every tag.
// A field that is no list of tags is ignored from where it stops being one.
func knows(fields []string, tag string) bool {
	rest := strings.Trim(strings.Join(fields, ","), " \t")
	if rest == "*" {
		return true
	}
	for {
		rest = strings.TrimPrefix(strings.TrimLeft(rest, " \t,"), "W/")
		if !strings.HasPrefix(rest, `"`) {
			return false
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return false
		}
		if rest[:end+2] == tag {
			return true
		}
		rest = rest[end+2:]
	}
}
