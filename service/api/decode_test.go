package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ordeal/service/order"
)

// item is a line of an order with one member replaced: its name and value as JSON.
func item(member string) string {
	members := []string{`"sku":"a"`, `"quantity":1`, `"unit_price":2`}
	name, _, _ := strings.Cut(member, ":")
	for n, m := range members {
		if strings.HasPrefix(m, name+":") {
			members[n] = member
		}
	}
	return `{"items":[{` + strings.Join(members, ",") + `}]}`
}

// refusedBodies are bodies of a creation with the code and the pointer of their refusal.
var refusedBodies = []struct{ name, body, want string }{
	// Not JSON.
	{"empty", ``, `invalid_json ""`},
	{"white space", " \n\t\r", `invalid_json ""`},
	{"byte order mark", "\xef\xbb\xbf" + item(""), `invalid_json ""`},
	{"unfinished object", `{`, `invalid_json ""`},
	{"unfinished name", `{"items`, `invalid_json ""`},
	{"no colon", `{"items" []}`, `invalid_json "/items"`},
	{"unfinished array", `{"items":[`, `invalid_json "/items/0"`},
	{"unfinished item", `{"items":[{"sku":"a"`, `invalid_json "/items/0"`},
	{"trailing comma in an object", `{"items":[],}`, `invalid_json ""`},
	{"trailing comma in an array", `{"items":[{"sku":"a","quantity":1,"unit_price":2},]}`,
		`invalid_json "/items/1"`},
	{"leading comma", `{,"items":[]}`, `invalid_json ""`},
	{"name without quotes", `{items:[]}`, `invalid_json ""`},
	{"single quotes", `{'items':[]}`, `invalid_json ""`},
	{"comment", `{"items":[]/*c*/}`, `invalid_json ""`},
	{"vertical tab", "{\v\"items\":[]}", `invalid_json ""`},
	{"trailing data", item("") + "x", `invalid_json ""`},
	{"two objects", item("") + item(""), `invalid_json ""`},
	{"trailing NUL", item("") + "\x00", `invalid_json ""`},
	{"leading zero", item(`"quantity":01`), `invalid_json "/items/0/quantity"`},
	{"plus sign", item(`"quantity":+1`), `invalid_json "/items/0/quantity"`},
	{"lone minus", item(`"quantity":-`), `invalid_json "/items/0/quantity"`},
	{"point without digits", item(`"quantity":1.`), `invalid_json "/items/0/quantity"`},
	{"hexadecimal", item(`"quantity":0x10`), `invalid_json "/items/0"`},
	{"infinity", item(`"quantity":Infinity`), `invalid_json "/items/0/quantity"`},
	{"raw NUL", item("\"sku\":\"a\x00\""), `invalid_json "/items/0/sku"`},
	{"raw newline", item("\"sku\":\"a\n\""), `invalid_json "/items/0/sku"`},
	{"bad escape", item(`"sku":"\x41"`), `invalid_json "/items/0/sku"`},
	{"short escape", item(`"sku":"\u12"`), `invalid_json "/items/0/sku"`},
	{"signed escape", item(`"sku":"\u+123"`), `invalid_json "/items/0/sku"`},
	{"escape at the end", `{"items":[{"sku":"\`, `invalid_json "/items/0/sku"`},
	{"invalid UTF-8", item("\"sku\":\"a\xff\""), `invalid_json "/items/0/sku"`},
	{"overlong UTF-8", item("\"sku\":\"\xc0\x80\""), `invalid_json "/items/0/sku"`},
	{"surrogate in UTF-8", item("\"sku\":\"\xed\xa0\x80\""), `invalid_json "/items/0/sku"`},
	{"UTF-8 cut by an escape", item("\"sku\":\"\xc3\\u00a9\""), `invalid_json "/items/0/sku"`},
	{"invalid UTF-8 in a name", "{\"items\xff\":[]}", `invalid_json ""`},

	// JSON, but not this request.
	{"null", `null`, `invalid_field ""`},
	{"array", `[]`, `invalid_field ""`},
	{"string", `"items"`, `invalid_field ""`},
	{"number", `1`, `invalid_field ""`},
	{"no items", `{}`, `invalid_field "/items"`},
	{"items null", `{"items":null}`, `invalid_field "/items"`},
	{"items object", `{"items":{}}`, `invalid_field "/items"`},
	{"item null", `{"items":[null]}`, `invalid_field "/items/0"`},
	{"item array", `{"items":[[]]}`, `invalid_field "/items/0"`},
	{"no sku", `{"items":[{"quantity":1,"unit_price":2}]}`, `invalid_field "/items/0/sku"`},
	{"no quantity", `{"items":[{"sku":"a","unit_price":2}]}`,
		`invalid_field "/items/0/quantity"`},
	{"no price", `{"items":[{"sku":"a","quantity":2}]}`, `invalid_field "/items/0/unit_price"`},
	{"second item", `{"items":[{"sku":"a","quantity":1,"unit_price":2},{}]}`,
		`invalid_field "/items/1/sku"`},
	{"unknown field", `{"items":[],"note":"x"}`, `invalid_field "/note"`},
	{"total from outside", `{"items":[],"total":1}`, `invalid_field "/total"`},
	{"amount from outside", `{"items":[{"sku":"a","amount":1}]}`,
		`invalid_field "/items/0/amount"`},
	{"case of a name", `{"Items":[]}`, `invalid_field "/Items"`},
	{"pointer escapes", `{"a/b~c":1}`, `invalid_field "/a~1b~0c"`},
	{"empty name", `{"":1}`, `invalid_field "/"`},
	{"long unknown name", `{"` + strings.Repeat("n", 65) + `":1}`, `invalid_field ""`},
	{"repeated field", `{"items":[],"items":[]}`, `invalid_field "/items"`},
	{"repeated by escape", `{"items":[],"\u0069tems":[]}`, `invalid_field "/items"`},
	{"repeated below", `{"items":[{"sku":"a","sku":"b"}]}`, `invalid_field "/items/0/sku"`},
	{"currency null", `{"items":[],"currency":null}`, `invalid_field "/currency"`},
	{"currency number", `{"items":[],"currency":643}`, `invalid_field "/currency"`},
	{"sku null", item(`"sku":null`), `invalid_field "/items/0/sku"`},
	{"sku number", item(`"sku":1`), `invalid_field "/items/0/sku"`},
	{"sku NUL escape", item(`"sku":"a\u0000"`), `invalid_field "/items/0/sku"`},
	{"lone high surrogate", item(`"sku":"\ud83d"`), `invalid_field "/items/0/sku"`},
	{"lone low surrogate", item(`"sku":"\ude00"`), `invalid_field "/items/0/sku"`},
	{"swapped surrogates", item(`"sku":"\ude00\ud83d"`), `invalid_field "/items/0/sku"`},
	{"two high surrogates", item(`"sku":"\ud83d\ud83d"`), `invalid_field "/items/0/sku"`},
	{"high surrogate and text", item(`"sku":"\ud83dx"`), `invalid_field "/items/0/sku"`},
	{"lone surrogate in a name", `{"\ud83d":1}`, `invalid_field ""`},
	{"quantity null", item(`"quantity":null`), `invalid_field "/items/0/quantity"`},
	{"quantity string", item(`"quantity":"1"`), `invalid_field "/items/0/quantity"`},
	{"quantity boolean", item(`"quantity":true`), `invalid_field "/items/0/quantity"`},
	{"fraction", item(`"quantity":1.0`), `invalid_field "/items/0/quantity"`},
	{"exponent", item(`"quantity":1e2`), `invalid_field "/items/0/quantity"`},
	{"capital exponent", item(`"unit_price":1E2`), `invalid_field "/items/0/unit_price"`},
	{"negative zero", item(`"quantity":-0`), `invalid_field "/items/0/quantity"`},
	{"beyond int64", item(`"unit_price":9223372036854775808`),
		`invalid_field "/items/0/unit_price"`},
	{"below int64", item(`"unit_price":-9223372036854775809`),
		`invalid_field "/items/0/unit_price"`},
	{"very long number", item(`"unit_price":` + strings.Repeat("9", 1<<19)),
		`invalid_field "/items/0/unit_price"`},
	{"deep arrays", strings.Repeat("[", 1_000_000), `invalid_field ""`},
	{"deep objects", strings.Repeat(`{"items":`, 100_000), `invalid_field "/items"`},
	{"deep items", `{"items":[` + strings.Repeat("[", 1_000_000), `invalid_field "/items/0"`},
	{"deep unknown", `{"x":` + strings.Repeat("[", 1_000_000), `invalid_field "/x"`},
	{"deep value", item(`"sku":` + strings.Repeat("[", 1_000_000)),
		`invalid_field "/items/0/sku"`},
}

func TestRefusedBodies(t *testing.T) {
	for _, row := range refusedBodies {
		t.Run(row.name, func(t *testing.T) {
			_, err := decodeCreation([]byte(row.body))
			f, ok := errors.AsType[*refusal](err)
			if !ok {
				t.Fatalf("%v is no refusal", err)
			}
			if got := string(f.code) + ` "` + f.fields[0].Pointer + `"`; got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestAcceptedBodies(t *testing.T) {
	want := func(sku string, quantity, price int64) createRequest {
		return createRequest{
			Items:    []order.Item{{SKU: sku, Quantity: quantity, UnitPrice: price}},
			Currency: "RUB",
		}
	}
	rows := []struct {
		name, body string
		want       createRequest
	}{
		{"plain", item(""), want("a", 1, 2)},
		{"white space", " {\r\n\t\"items\" : [ { \"sku\" : \"a\" , \"quantity\" : 1 ,\n" +
			"\"unit_price\" : 2 } ] } \n", want("a", 1, 2)},
		{"order of names", `{"currency":"RUB","items":[{"unit_price":2,"quantity":1,` +
			`"sku":"a"}]}`, want("a", 1, 2)},
		{"another currency", `{"items":[],"currency":"EUR"}`,
			createRequest{Items: []order.Item{}, Currency: "EUR"}},
		{"no lines", `{"items":[ ]}`, createRequest{Items: []order.Item{}, Currency: "RUB"}},
		{"escapes", item(`"sku":"\"\\\/\b\f\n\r\t\u0041\u00e9\uD83D\ude00é"`),
			want("\"\\/\b\f\n\r\tAé😀é", 1, 2)},
		{"escaped name", item(`"sku":"a"`)[:2] + `\u0069` + item("")[3:], want("a", 1, 2)},
		{"replacement character", item(`"sku":"\ufffd"`), want("\ufffd", 1, 2)},
		{"largest", item(`"unit_price":9223372036854775807`), want("a", 1, 1<<63-1)},
		{"smallest", item(`"quantity":-9223372036854775808`), want("a", -1<<63, 2)},
		{"zero", item(`"quantity":0`), want("a", 0, 2)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := decodeCreation([]byte(row.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFractionIsNamed: what is wrong with 1.0 is not its size.
func TestFractionIsNamed(t *testing.T) {
	_, err := decodeCreation([]byte(item(`"quantity":1.0`)))
	f, ok := errors.AsType[*refusal](err)
	if !ok || !strings.Contains(f.fields[0].Detail, "fraction") {
		t.Errorf("%+v", f)
	}
}

// TestDepthIsFree measures that the depth of a body costs no memory: the decoder does not
// descend into what it does not know.
func TestDepthIsFree(t *testing.T) {
	body := []byte(strings.Repeat(`[`, maxBody))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if _, err := decodeCreation(body); err == nil {
			t.Fatal("accepted")
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes for ten bodies", used)
	}
}

// TestHugeListIsDecoded shows that the number of lines is a question of values: the decoder
// takes as many as a body holds.
func TestHugeListIsDecoded(t *testing.T) {
	line := strings.TrimSuffix(strings.TrimPrefix(item(""), `{"items":[`), `]}`)
	body := `{"items":[` + strings.Repeat(line+",", 20_000) + line + `]}`
	got, err := decodeCreation([]byte(body))
	if err != nil || len(got.Items) != 20_001 {
		t.Fatalf("%d items, %v", len(got.Items), err)
	}
}

// TestDecoderRoundTrip: what is encoded decodes to itself.
func TestDecoderRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 }))
	line := rapid.Custom(func(t *rapid.T) order.Item {
		return order.Item{
			SKU:       text.Draw(t, "sku"),
			Quantity:  rapid.Int64().Draw(t, "quantity"),
			UnitPrice: rapid.Int64().Draw(t, "unit_price"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := createRequest{
			Items:    rapid.SliceOf(line).Draw(t, "items"),
			Currency: text.Draw(t, "currency"),
		}
		if want.Items == nil {
			want.Items = []order.Item{}
		}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeCreation(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzDecode: whatever comes in, the decoder answers with a refusal of the client's input that
// names a field, or with a value that is JSON to the standard library as well, and whose
// re-encoding decodes to the same value.
func FuzzDecode(f *testing.F) {
	for _, row := range refusedBodies {
		if len(row.body) < 4096 {
			f.Add([]byte(row.body))
		}
	}
	f.Add([]byte(item("")))
	f.Add([]byte(item(`"sku":"\ud83d\ude00"`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decodeCreation(body)
		if err != nil {
			r, ok := errors.AsType[*refusal](err)
			if !ok || kinds[r.code].status != 400 || len(r.fields) != 1 {
				t.Fatalf("%#v", err)
			}
			return
		}
		assertSameToLibrary(t, body, got)
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := decodeCreation(again); err != nil || !cmp.Equal(got, second) {
			t.Fatalf("%s: %v", again, err)
		}
	})
}

// assertSameToLibrary compares with the standard library, which accepts more but must see the
// same in what we accept.
func assertSameToLibrary(t *testing.T, body []byte, got createRequest) {
	t.Helper()
	lenient := createRequest{Currency: order.Currency}
	assertLibraryReads(t, body, &lenient)
	if !cmp.Equal(lenient, got) {
		t.Fatal(cmp.Diff(lenient, got))
	}
}

// assertLibraryReads reads a body that we accept with the standard library.
func assertLibraryReads(t *testing.T, body []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("accepted what the library refuses: %v", err)
	}
}
