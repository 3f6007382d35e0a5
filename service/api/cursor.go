package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"ordeal/service/store"
)

// A cursor is the place in a list where a page ended: when its last order was created, in
// microseconds since 1970, and the id of that order, followed by an HMAC over both and over what
// the list is of. It is a place and not a page, so a list that grows meanwhile neither repeats
// nor loses an order.
const (
	cursorTime  = 8
	cursorPlace = cursorTime + 16
	cursorBytes = cursorPlace + sha256.Size
)

// cursorText is base64 for URLs. Strict: one cursor has one spelling.
var cursorText = base64.RawURLEncoding.Strict()

// cursor returns the cursor of a place in a list. List tells whose list it is and what it is of.
func (a *api) cursor(p store.OrderPosition, list []byte) string {
	var place [cursorPlace]byte
	binary.BigEndian.PutUint64(place[:], uint64(p.CreatedAt.UnixMicro()))
	copy(place[cursorTime:], p.ID[:])
	return cursorText.EncodeToString(a.sign(place[:], list))
}

// sign returns a place with its signature.
func (a *api) sign(place, list []byte) []byte {
	mac := hmac.New(sha256.New, a.CursorKey)
	mac.Write(place)
	mac.Write(list)
	return mac.Sum(place)
}

// position returns the place that a cursor of this list stands for.
func (a *api) position(cursor string, list []byte) (*store.OrderPosition, error) {
	text, err := cursorText.DecodeString(cursor)
	if err != nil || len(text) != cursorBytes {
		return nil, invalidCursor()
	}
	place := text[:cursorPlace:cursorPlace]
	if !hmac.Equal(text, a.sign(place, list)) {
		return nil, invalidCursor()
	}
	p := &store.OrderPosition{
		CreatedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(place))).UTC(),
	}
	copy(p.ID[:], place[cursorTime:])
	return p, nil
}

func invalidCursor() *refusal {
	f := refuse(codeInvalidCursor, "Use a cursor as it came, with the filters that it came for.")
	f.parameter = "cursor"
	return f
}
