package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ordeal/service/api"
	"ordeal/service/order"
	"ordeal/service/store"
)

// access is every route for every caller: the customer of the order, another customer, the
// operator, an unknown token, none. An asterisk marks an answer that is audited by this package.
const access = `
POST  /api/v1/orders                 201  201  403  401  401
GET   /api/v1/orders                 200  200  200  401  401
HEAD  /api/v1/orders                 200  200  200  401  401
GET   /api/v1/orders?customer=bob    403  403  200  401  401
GET   /api/v1/orders/{own}           200  404  200  401  401
HEAD  /api/v1/orders/{own}           200  404  200  401  401
GET   /api/v1/orders/{missing}       404  404  404  401  401
GET   /api/v1/orders/{own}/audit     403* 403* 200  401  401
HEAD  /api/v1/orders/{own}/audit     403* 403* 200  401  401
GET   /api/v1/orders/{missing}/audit 403* 403* 404* 401  401
POST  /api/v1/orders/{own}/cancel    202  404  403  401  401
POST  /api/v1/orders/{missing}/cancel 404 404  403  401  401
POST  /api/v1/orders/{own}/retry     202  404  202  401  401
POST  /api/v1/orders/{missing}/retry 404  404  404* 401  401
POST  /api/v1/orders/{own}/reconcile 403* 403* 202  401  401
POST  /api/v1/orders/{missing}/reconcile 403* 403* 404* 401 401
POST  /api/v1/orders/{own}/void      403* 403* 202  401  401
POST  /api/v1/orders/{missing}/void  403* 403* 404* 401  401
POST  /api/v1/orders/{own}/ship      403* 403* 202  401  401
POST  /api/v1/orders/{missing}/ship  403* 403* 404* 401  401
POST  /api/v1/orders/{own}/close     403* 403* 202  401  401
POST  /api/v1/orders/{missing}/close 403* 403* 404* 401  401
POST  /api/v1/orders/{own}/refunds   403* 403* 202  401  401
POST  /api/v1/orders/{missing}/refunds 403* 403* 404* 401 401
GET   /openapi.yaml                  200  200  200  200  200
HEAD  /openapi.yaml                  200  200  200  200  200
GET   /problems/not_found            200  200  200  200  200
GET   /problems/none                 404  404  404  404  404
GET   /problems                      404  404  404  404  404
GET   /livez                         200  200  200  200  200
HEAD  /livez                         200  200  200  200  200
GET   /readyz                        200  200  200  200  200
GET   /                              404  404  404  404  404
GET   /api/v1/orders/                404  404  404  404  404
GET   /api/v1                        404  404  404  404  404
GET   //api/v1/orders                404  404  404  404  404
GET   /API/v1/orders                 404  404  404  404  404
BREW  /nowhere                       404  404  404  404  404
PUT   /api/v1/orders                 405  405  405  405  405
GET   /api/v1/orders/{own}/ship      405  405  405  405  405
POST  /api/v1/orders/{own}/audit     405  405  405  405  405
GET   /api/v1/orders/{own}/refunds   405  405  405  405  405
DELETE /api/v1/orders/{own}          405  405  405  405  405
BREW  /api/v1/orders/{own}           405  405  405  405  405
OPTIONS /api/v1/orders/{own}/cancel  405  405  405  405  405
POST  /livez                         405  405  405  405  405
`

func TestAccess(t *testing.T) {
	tokens := []string{ann, bob, operator, "unknown", ""}
	for _, row := range strings.Split(strings.TrimSpace(access), "\n") {
		f := strings.Fields(row)
		path := strings.NewReplacer("{own}", annsOrder.String(), "{missing}", missing.String()).
			Replace(f[1])
		for n, token := range tokens {
			b := newBench(t)
			c := call{method: f[0], path: path, token: token, key: "k", body: bodyFor(f[1], token)}
			w := b.do(c)
			got := fmt.Sprint(w.Code) + strings.Repeat("*", len(b.fake.refusals))
			if got != f[2+n] {
				t.Errorf("%s %s by %q: %s, want %s", f[0], f[1], token, got, f[2+n])
			}
			if f[0] == "HEAD" && w.Body.Len() > 0 {
				t.Errorf("HEAD %s has a body", path)
			}
		}
	}
}

// bodyFor is a body that a route takes from the owner of a token.
func bodyFor(path, token string) string {
	switch last := path[strings.LastIndex(path, "/")+1:]; {
	case last == "orders":
		return body
	case last == "refunds":
		return refundBody
	case last == "retry" && token != operator, last == "cancel":
		return ""
	default:
		return decisionBody
	}
}

func TestAllow(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/orders":                                   "GET, HEAD, POST",
		"/api/v1/orders/" + annsOrder.String():             "GET, HEAD",
		"/api/v1/orders/" + annsOrder.String() + "/cancel": "POST",
		"/readyz": "GET, HEAD",
	} {
		if got := newBench(t).do(call{method: "PUT", path: path}).Header()["Allow"]; len(got) != 1 ||
			got[0] != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestForeignOrderLooksMissing compares the whole responses.
func TestForeignOrderLooksMissing(t *testing.T) {
	b := newBench(t)
	foreign, none := findCall(annsOrder), findCall(missing)
	foreign.token, none.token = bob, bob
	w1, w2 := b.do(foreign), b.do(none)
	if w1.Code != 404 || w1.Body.String() != w2.Body.String() ||
		fmt.Sprint(w1.Header()) != fmt.Sprint(w2.Header()) {
		t.Errorf("%v %s\n%v %s", w1.Header(), w1.Body, w2.Header(), w2.Body)
	}
	foreign, none = cancelCall(annsOrder, "k"), cancelCall(missing, "k")
	foreign.token, none.token = bob, bob
	if w1, w2 = b.do(foreign), b.do(none); w1.Body.String() != w2.Body.String() {
		t.Errorf("%s\n%s", w1.Body, w2.Body)
	}
}

// TestIDsAreCanonical: every other spelling of an order's id answers like a missing order.
func TestIDsAreCanonical(t *testing.T) {
	b := newBench(t)
	want := b.do(findCall(missing)).Body.String()
	id := annsOrder.String()
	for _, other := range []string{
		strings.ToUpper(id), strings.ReplaceAll(id, "-", ""), "{" + id + "}", "urn:uuid:" + id,
		id[1:], id + "0", "%" + fmt.Sprintf("%x", id[0]) + id[1:], id + "%00", "1", "null",
	} {
		w := b.do(call{method: "GET", path: "/api/v1/orders/" + other, token: ann})
		if w.Code != 404 || w.Body.String() != want {
			t.Errorf("%s: %d %s", other, w.Code, w.Body)
		}
		w = b.do(call{method: "POST", path: "/api/v1/orders/" + other + "/cancel", token: ann})
		if w.Code != 404 {
			t.Errorf("cancel %s: %d", other, w.Code)
		}
	}
}

func TestBearer(t *testing.T) {
	rows := []struct {
		fields    []string
		challenge string
	}{
		{[]string{"Bearer " + ann}, ""},
		{[]string{"bearer  " + ann + " "}, ""},
		{nil, `Bearer realm="ordeal"`},
		{[]string{"Bearer " + ann, "Bearer " + ann}, `invalid_token`},
		{[]string{""}, `invalid_token`},
		{[]string{"Bearer"}, `invalid_token`},
		{[]string{"Bearer "}, `invalid_token`},
		{[]string{"Bearer ="}, `invalid_token`},
		{[]string{"Bearer a=b"}, `invalid_token`},
		{[]string{"Bearer " + ann + " more"}, `invalid_token`},
		{[]string{"Bearer " + strings.Repeat("a", 513)}, `invalid_token`},
		{[]string{"Bearer \x00"}, `invalid_token`},
		{[]string{"Basic " + ann}, `invalid_token`},
		{[]string{ann}, `invalid_token`},
	}
	for _, row := range rows {
		b := newBench(t)
		b.principal(strings.Repeat("a", 513), "ann", "customer")
		c := findCall(annsOrder)
		c.token, c.header = "", http.Header{"Authorization": row.fields}
		w := b.do(c)
		got := w.Header().Get("WWW-Authenticate")
		if row.challenge == "" && (w.Code != 200 || got != "") ||
			row.challenge != "" && (w.Code != 401 || !strings.Contains(got, row.challenge)) {
			t.Errorf("%q: %d %s", row.fields, w.Code, got)
		}
	}
}

// TestTokenIsCompared: a principal that the source returns for another hash is not believed, nor
// is one without a name, which would stand for everybody.
func TestTokenIsCompared(t *testing.T) {
	for name, p := range map[string]store.Principal{
		"other hash": {Name: "ann", Role: "customer", TokenHash: make([]byte, 32)},
		"no hash":    {Name: "ann", Role: "customer"},
	} {
		b := newBench(t)
		b.fake.whoIs = func(context.Context) (store.Principal, bool, error) {
			return p, true, nil
		}
		if w := b.do(findCall(annsOrder)); w.Code != 401 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	b := newBench(t)
	b.principal("nameless", "", "customer")
	c := findCall(annsOrder)
	c.token = "nameless"
	if w := b.do(c); w.Code != 401 {
		t.Errorf("nameless: %d", w.Code)
	}
}

// TestPrincipalsAreRemembered: one lookup serves 10 s, an unknown token is looked up each time,
// and so is a known one from then on, when its revocation shows.
func TestPrincipalsAreRemembered(t *testing.T) {
	b := newBench(t)
	expect := func(token string, status, lookups int) {
		t.Helper()
		c := findCall(annsOrder)
		c.token = token
		before := b.fake.lookups
		if w := b.do(c); w.Code != status || b.fake.lookups-before != lookups {
			t.Errorf("%s: %d after %d lookups, want %d after %d",
				token, w.Code, b.fake.lookups-before, status, lookups)
		}
	}
	expect(ann, 200, 1)
	expect(ann, 200, 0)
	expect("new", 401, 1)
	expect("new", 401, 1)
	b.principal("new", "olga", "operator")
	expect("new", 200, 1)
	b.fake.tokens = map[string]store.Principal{}
	b.clock.Advance(10*time.Second - 1)
	expect(ann, 200, 0)
	expect("new", 200, 0)
	b.clock.Advance(1)
	expect(ann, 401, 1)
	expect("new", 401, 1)
	b.principal(ann, "ann", "customer")
	expect(ann, 200, 1)
	expect(ann, 200, 0)
	b.clock.Advance(10 * time.Second)
	expect(ann, 200, 1)
	expect(ann, 200, 0)
}

// TestRememberedPrincipalsAreBounded: the 1025th makes the service forget the first.
func TestRememberedPrincipalsAreBounded(t *testing.T) {
	b := newBench(t)
	use := func(n int) (lookups int) {
		c := findCall(annsOrder)
		c.token = fmt.Sprintf("operator-%d", n)
		b.principal(c.token, c.token, "operator")
		before := b.fake.lookups
		if w := b.do(c); w.Code != 200 {
			t.Fatalf("%s: %d", c.token, w.Code)
		}
		return b.fake.lookups - before
	}
	for n := range 1025 {
		use(n)
	}
	if use(1) != 0 || use(1024) != 0 {
		t.Error("forgot one of the last 1024")
	}
	if use(0) != 1 {
		t.Error("remembers 1025")
	}
}

// TestOrderOfChecks: token, rate, syntax, role, values, order; the first that fails answers.
func TestOrderOfChecks(t *testing.T) {
	b := limited(t, api.Rate{PerSecond: 1, Burst: 1}, api.Rate{})
	c := call{method: "POST", path: "/api/v1/orders/" + missing.String() + "/close",
		token: "unknown", key: "k", body: `{"reason_code":"because","expected_version":1`}
	expect := func(code string) {
		t.Helper()
		if p := problemOf(t, b.do(c)); p.Code != code {
			t.Errorf("%s, want %s", p.Code, code)
		}
		b.clock.Advance(time.Second)
	}
	expect("unauthenticated")
	c.token = ann
	b.do(c)
	expect("rate_limited")
	expect("invalid_json")
	c.body += "}"
	expect("forbidden")
	c.token = operator
	expect("invalid_command")
	c.body = strings.Replace(c.body, "because", "other", 1)
	expect("not_found")
	c.path = strings.Replace(c.path, missing.String(), annsOrder.String(), 1)
	expect("stale_version")
}

// TestOperatorSeesNoCustomerActions: what the operator may do is not what the customer may.
func TestOperatorSeesNoCustomerActions(t *testing.T) {
	b := newBench(t)
	b.fake.orders[annsOrder] = orderOf("ann", annsOrder, order.Created)
	c := findCall(annsOrder)
	if w := b.do(c); !strings.Contains(w.Body.String(), `"next_actions":["cancel"]`) {
		t.Errorf("customer: %s", w.Body)
	}
	c.token = operator
	if w := b.do(c); !strings.Contains(w.Body.String(), `"next_actions":[]`) {
		t.Errorf("operator: %s", w.Body)
	}
}
