package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"ordeal/service/order"
	"ordeal/service/store"
)

// The roles of principals (API-3).
const (
	roleCustomer = "customer"
	roleOperator = "operator"
)

const (
	// principalTime is how long a principal is remembered, and so the longest time that a
	// revoked token is still accepted.
	principalTime = 10 * time.Second
	// maxPrincipals bounds how many are remembered.
	maxPrincipals = 1024
	// maxToken bounds a token, in bytes.
	maxToken = 512
)

// The challenges of a 401 (RFC 6750): without a token, and with one that is not known.
const (
	challengeNone = `Bearer realm="ordeal"`
	challengeBad  = `Bearer realm="ordeal", error="invalid_token"`
)

// authenticate returns the principal that a request's token belongs to, as long as neither the
// token nor the network that it comes from has used up its rate. A network that has may still
// use the tokens that are remembered, but makes the database look up no other.
func (a *api) authenticate(r *http.Request) (store.Principal, error) {
	from := network(r.RemoteAddr)
	token, err := bearer(r.Header)
	if err != nil {
		return store.Principal{}, a.failed(from, err)
	}
	hash := sha256.Sum256([]byte(token))
	p, ok := a.known.recall(hash)
	if !ok {
		if wait := a.failures.wait(from); wait > 0 {
			return store.Principal{}, tooMany(wait)
		}
		ctx, cancel := context.WithTimeout(r.Context(), order.CallTimeout)
		defer cancel()
		if p, ok, err = a.known.find(ctx, hash); err != nil {
			return store.Principal{}, err
		}
	}
	same := subtle.ConstantTimeCompare(p.TokenHash, hash[:]) == 1
	if !ok || !same || p.Name == "" {
		return store.Principal{}, a.failed(from, unauthenticated(challengeBad))
	}
	if wait := a.tokens.take(hash); wait > 0 {
		return store.Principal{}, tooMany(wait)
	}
	return p, nil
}

// failed counts a failed authentication: it is a 401 while the network's rate lasts.
func (a *api) failed(from string, err error) error {
	if wait := a.failures.take(from); wait > 0 {
		return tooMany(wait)
	}
	return err
}

// bearer returns the token of an Authorization header.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", unauthenticated(challengeNone)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || !validToken(token) {
		return "", unauthenticated(challengeBad)
	}
	return token, nil
}

// validToken tells whether a token has the syntax of RFC 6750: it may end in equals signs.
func validToken(token string) bool {
	text := strings.TrimRight(token, "=")
	return text != "" && len(token) <= maxToken &&
		!strings.ContainsFunc(text, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
				strings.ContainsRune("-._~+/", c))
		})
}

func unauthenticated(challenge string) *refusal {
	f := refuse(codeUnauthenticated, "Send a bearer token that is known here.")
	f.challenge = challenge
	return f
}

// tokenHash is the SHA-256 of a token.
type tokenHash = [sha256.Size]byte

// principals remembers the owners of tokens for a short time, so that most requests save a round
// trip. What was not found is not remembered. The lock is not held while the source is asked.
type principals struct {
	source Principals
	clock  clockwork.Clock

	mu    sync.Mutex
	owner map[tokenHash]remembered
	// age holds the hashes in owner, the oldest first.
	age []tokenHash
}

// remembered is a principal and when it is forgotten.
type remembered struct {
	principal store.Principal
	until     time.Time
}

func remember(source Principals, clock clockwork.Clock) *principals {
	return &principals{source: source, clock: clock, owner: map[tokenHash]remembered{}}
}

// find asks for the owner of a token and remembers it; ok is false where there is none.
func (c *principals) find(
	ctx context.Context, hash tokenHash,
) (p store.Principal, ok bool, err error) {
	p, ok, err = c.source.FindPrincipal(ctx, hash[:])
	if err == nil && ok {
		c.keep(hash, p)
	}
	return p, ok, err
}

// recall returns a principal that is still remembered.
func (c *principals) recall(hash tokenHash) (store.Principal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.owner[hash]
	if !ok || !c.clock.Now().Before(r.until) {
		return store.Principal{}, false
	}
	return r.principal, true
}

// keep remembers a principal, and forgets those whose time is up and the oldest beyond the bound.
func (c *principals) keep(hash tokenHash, p store.Principal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for len(c.age) > 0 && !now.Before(c.owner[c.age[0]].until) {
		c.forgetOldest()
	}
	if _, ok := c.owner[hash]; ok {
		return
	}
	if len(c.age) == maxPrincipals {
		c.forgetOldest()
	}
	c.owner[hash] = remembered{p, now.Add(principalTime)}
	c.age = append(c.age, hash)
}

// forgetOldest drops the principal that was remembered first.
func (c *principals) forgetOldest() {
	delete(c.owner, c.age[0])
	c.age = c.age[1:]
}
