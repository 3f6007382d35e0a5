package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/content"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"ordeal/service/api"
)

// contract holds responses against the document that the service serves: status, type, headers
// and body, where what is not declared is an error.
type contract struct {
	model     *v3.Document
	validator validator.Validator
	schemas   schema_validation.SchemaValidator
}

// agreed is the contract of all tests; that it bites is shown beside the API itself.
var agreed = readContract(servedDocument())

// servedDocument is the document as a client gets it.
func servedDocument() []byte {
	w := httptest.NewRecorder()
	handler := api.New(api.Config{NewRequestID: func() string { return "drawn" }})
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.yaml", nil))
	return w.Body.Bytes()
}

func readContract(text []byte) *contract {
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		panic(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		panic(err)
	}
	// Every header must be declared but those that belong to the transport of a body.
	strict := []config.Option{config.WithStrictMode(), config.WithFormatAssertions(),
		config.WithRejectUnsupportedBodyContent(), config.WithStandardBodyDecoders(),
		config.WithBodyDecoder("application/json", content.DecoderFunc(decodeWhole)),
		config.WithBodyDecoder("application/problem+json", content.DecoderFunc(decodeWhole)),
		config.WithStrictIgnoredHeaders("content-type", "content-length")}
	v, errs := validator.NewValidator(document, strict...)
	if errs != nil {
		panic(errs)
	}
	return &contract{&model.Model, v, schema_validation.NewSchemaValidator(strict...)}
}

// decodeWhole decodes JSON for a validator that knows numbers as float64 only: there an int64 near
// the largest one would be 2^63, which is none.
func decodeWhole(in *content.DecodeInput) (value any, err error) {
	text, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	// A decoder stops behind the first value; Valid sees what follows it.
	if !json.Valid(text) {
		return nil, errors.New("not one JSON value")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return roundedDown(value), err
}

// roundedDown replaces each int64 that float64 would round up to 2^63 by the number below that.
func roundedDown(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = roundedDown(v[name])
		}
	case []any:
		for n := range v {
			v[n] = roundedDown(v[n])
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return min(float64(i), math.Nextafter(1<<63, 0))
		}
	}
	return value
}

// operation returns what the document says of a request; nil if it has no such operation.
func (c *contract) operation(method, path string) *v3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet // described together
	}
	for template, item := range c.model.Paths.PathItems.FromOldest() {
		if matches(template, path) && method == strings.ToUpper(method) {
			return item.GetOperations().GetOrZero(strings.ToLower(method))
		}
	}
	return nil
}

// matches tells whether a path is one of a template.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for n := range want {
		if want[n] != got[n] && (!strings.HasPrefix(want[n], "{") || got[n] == "") {
			return false
		}
	}
	return true
}

// check reports everything in a response that is not as the document says.
func (c *contract) check(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	switch {
	case c.operation(r.Method, r.URL.Path) == nil:
		c.checkOutside(t, r, w)
	case r.Method == http.MethodHead:
		c.checkHead(t, r, w)
	default:
		response := &http.Response{StatusCode: w.Code, Header: w.Header(),
			Body: io.NopCloser(bytes.NewReader(w.Body.Bytes()))}
		asked := &http.Request{Method: r.Method, URL: r.URL, Header: http.Header{}}
		valid, errs := c.validator.ValidateHttpResponse(asked.WithContext(t.Context()), response)
		for _, err := range errs {
			t.Errorf("%s %s: %d %s %s: %s %s %+v", r.Method, r.URL.Path, w.Code, w.Header(), w.Body,
				err.Message, err.Reason, err.SchemaValidationErrors)
		}
		if !valid && len(errs) == 0 {
			t.Errorf("%s %s: not valid", r.Method, r.URL.Path)
		}
	}
}

// outside are the problems of requests that the document has no operation for.
var outside = map[int]string{404: "NotFound", 405: "MethodNotAllowed"}

// checkOutside checks the response to a request that the document has no operation for.
func (c *contract) checkOutside(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	declared := c.model.Components.Responses.GetOrZero(outside[w.Code])
	if declared == nil {
		t.Errorf("%s %s: %d, but the document does not know it", r.Method, r.URL.Path, w.Code)
		return
	}
	c.checkHeaders(t, r, declared, w.Header())
	if r.Method == http.MethodHead {
		return
	}
	media := declared.Content.GetOrZero(w.Header().Get("Content-Type"))
	if media == nil {
		t.Errorf("%s %s: type %s", r.Method, r.URL.Path, w.Header())
		return
	}
	valid, errs := c.schemas.ValidateSchemaBytes(media.Schema.Schema(), w.Body.Bytes())
	if !valid {
		t.Errorf("%s %s: %s: %v", r.Method, r.URL.Path, w.Body, errs)
	}
}

// checkHead checks that a response to HEAD has the status and the headers of one to GET.
func (c *contract) checkHead(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	responses := c.operation(r.Method, r.URL.Path).Responses
	declared := responses.FindResponseByCode(w.Code)
	if declared == nil {
		t.Errorf("HEAD %s: status %d is not declared", r.URL.Path, w.Code)
		return
	}
	c.checkHeaders(t, r, declared, w.Header())
	if w.Body.Len() > 0 {
		t.Errorf("HEAD %s: body %s", r.URL.Path, w.Body)
	}
}

// checkHeaders checks that a response has the headers that are required and no others than are
// declared.
func (c *contract) checkHeaders(
	t testing.TB, r *http.Request, declared *v3.Response, h http.Header,
) {
	t.Helper()
	known := http.Header{"Content-Type": nil, "Content-Length": nil}
	for name, header := range declared.Headers.FromOldest() {
		known[http.CanonicalHeaderKey(name)] = nil
		if header.Required && h.Get(name) == "" {
			t.Errorf("%s %s: no %s", r.Method, r.URL.Path, name)
		}
	}
	for name := range h {
		if _, ok := known[name]; !ok {
			t.Errorf("%s %s: header %s is not declared", r.Method, r.URL.Path, name)
		}
	}
}
