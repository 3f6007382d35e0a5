package imitation

import (
	"encoding/json"
	"net/http"
)

// routeCommon adds what every provider serves beside its business.
func (p *provider) routeCommon() {
	p.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	p.mux.HandleFunc("GET /v1/ledger", func(w http.ResponseWriter, _ *http.Request) {
		entries := p.Ledger()
		if entries == nil {
			entries = []Entry{}
		}
		writeJSON(w, http.StatusOK, entries)
	})
	p.mux.HandleFunc("GET /v1/keys", func(w http.ResponseWriter, _ *http.Request) {
		keys := p.Keys()
		if keys == nil {
			keys = []KeyState{}
		}
		writeJSON(w, http.StatusOK, keys)
	})
	p.mux.HandleFunc("GET /control/script", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, p.script.Left())
	})
	p.mux.HandleFunc("DELETE /control/script", func(w http.ResponseWriter, _ *http.Request) {
		p.script.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	p.mux.HandleFunc("POST /control/script", p.addScript)
}

// addScript appends one script from a request body.
func (p *provider) addScript(w http.ResponseWriter, r *http.Request) {
	raw, wrong := readBody(r)
	if wrong != nil {
		writeJSON(w, wrong.status, wrong)
		return
	}
	var script Script
	if err := json.Unmarshal(raw, &script); err != nil {
		writeJSON(w, http.StatusBadRequest, bad("bad_json", "no script: %v", err))
		return
	}
	if err := p.script.Add(script); err != nil {
		writeJSON(w, http.StatusBadRequest, bad("bad_script", "%v", err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
