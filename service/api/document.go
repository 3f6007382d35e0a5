package api

import (
	_ "embed"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// openapi is the description of the API (OpenAPI 3.1). It is written by hand; tests hold every
// route and every response against it.
//
//go:embed openapi.yaml
var openapi []byte

// typeYAML is the media type of YAML (RFC 9512).
const typeYAML = "application/yaml"

// document shows the description of the API.
func document(*http.Request) (reply, error) {
	return reply{status: http.StatusOK, contentType: typeYAML, body: openapi}, nil
}

// problemView explains a problem to the people who write clients; the type of a problem leads
// here.
type problemView struct {
	Code    code   `json:"code"`
	Status  int    `json:"status"`
	Title   string `json:"title"`
	Meaning string `json:"meaning"`
	// Retry says that the same request may succeed later.
	Retry bool `json:"retry"`
}

// explain explains the problems of one code.
func explain(r *http.Request) (reply, error) {
	c := code(chi.URLParam(r, "code"))
	k, known := kinds[c]
	if !known {
		return reply{}, notFound()
	}
	return shown(http.StatusOK, problemView{c, k.status, k.title, k.meaning, k.retry})
}
