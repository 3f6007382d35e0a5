package telemetry

import (
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of a scrape.
const (
	scrapeTimeout = 10 * time.Second
	maxScrapes    = 4
)

// Admin is the handler of the admin listener: /metrics, /debug/pprof and what health answers. It
// asks for no token: the listener must be out of reach for strangers.
func (t *Telemetry) Admin(health http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		Timeout:             scrapeTimeout,
		MaxRequestsInFlight: maxScrapes,
		ErrorHandling:       promhttp.ContinueOnError,
		Registry:            t.registry,
	}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /livez", health)
	mux.Handle("GET /readyz", health)
	return mux
}
