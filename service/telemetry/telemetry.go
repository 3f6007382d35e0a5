package telemetry

import (
	"log/slog"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
)

// Config is what telemetry depends on. Every field is required but Tracer.
type Config struct {
	// Clock is the process's clock.
	Clock clockwork.Clock
	// Log gets a line per request at level debug, and failures of the census.
	Log *slog.Logger
	// Tracer makes spans; nil makes none.
	Tracer trace.Tracer
}

// Telemetry collects what a process does. It is the observer of its executor.
type Telemetry struct {
	clock    clockwork.Clock
	log      *slog.Logger
	tracer   trace.Tracer // nil: off
	registry *prometheus.Registry
	http     httpMetrics
	work     workMetrics
}

// New returns a telemetry with the metrics of the Go runtime and the process.
func New(c Config) *Telemetry {
	t := &Telemetry{
		clock:    c.Clock,
		log:      c.Log,
		tracer:   c.Tracer,
		registry: prometheus.NewRegistry(),
		http:     newHTTPMetrics(),
		work:     newWorkMetrics(),
	}
	t.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	t.registry.MustRegister(t.http.all()...)
	t.registry.MustRegister(t.work.all()...)
	return t
}

// Register adds metrics of the caller.
func (t *Telemetry) Register(c ...prometheus.Collector) { t.registry.MustRegister(c...) }
