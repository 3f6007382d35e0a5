// Command imitations serves a warehouse, a payment provider and a shipper that behave as told:
// well, by a seeded plan, or by scripts posted to /control/script while they run. Package
// sim/imitation describes routes, behaviours and ledgers.
//
// When all three listen it prints one JSON line each on standard output:
//
//	{"provider":"warehouse","url":"http://127.0.0.1:8081"}
//	{"provider":"payment","url":"http://127.0.0.1:8082"}
//	{"provider":"shipping","url":"http://127.0.0.1:8083"}
//
// Logs go to standard error. SIGTERM and SIGINT end it: calls that hang are cut, late arrivals
// that are still on their way are dropped, and the exit code is 0. It is 1 when a server fails,
// and 80 for a command line that cannot be understood.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"ordeal/sim/imitation"
)

// flags is the command line.
type flags struct {
	Warehouse string `default:"127.0.0.1:8081" help:"Address of the warehouse (port 0: any free)."`
	Payment   string `default:"127.0.0.1:8082" help:"Address of the payment provider."`
	Shipping  string `default:"127.0.0.1:8083" help:"Address of the shipper."`

	Plan    string         `default:"happy" enum:"happy,seeded" help:"How calls are treated: ${enum}."`
	Seed    uint64         `default:"1" help:"Seed of the seeded plan."`
	Weights map[string]int `mapsep:"," placeholder:"KIND=N,…" help:"Weights of the seeded plan."`

	Stock        map[string]int64 `mapsep:"," placeholder:"SKU=N,…" help:"Supply per SKU."`
	DefaultStock int64            `default:"1000000" help:"Supply of any other SKU; 0 refuses it."`
	SafetyTTL    time.Duration    `name:"safety-ttl" default:"168h" help:"Frees forgotten stock."`

	Hang    time.Duration `default:"30s" help:"Longest time that a call without an answer is held."`
	Verbose bool          `help:"Log every call."`
}

// mildWeights is the seeded plan of a command line that gives no weights: most calls succeed and
// every other kind comes up now and then.
func mildWeights() imitation.Weights {
	weights := imitation.Weights{}
	for _, kind := range imitation.Kinds() {
		weights[kind] = 1
	}
	weights[imitation.Succeed] = 4 * len(weights)
	return weights
}

// planner makes the planner that the flags ask for.
func (f flags) planner() (imitation.Planner, error) {
	if f.Plan == "happy" {
		return imitation.Happy{}, nil
	}
	weights := imitation.Weights{}
	for kind, weight := range f.Weights {
		weights[imitation.Kind(kind)] = weight
	}
	if len(weights) == 0 {
		weights = mildWeights()
	}
	return imitation.NewSeeded(f.Seed, weights)
}

// Reasons to refuse a command line.
var (
	errWeightsUnused = errors.New("--weights needs --plan=seeded")
	errNegativeStock = errors.New("stock must not be negative")
)

// Validate is called by kong: it refuses what would only fail later.
func (f flags) Validate() error {
	if f.Plan == "happy" && len(f.Weights) > 0 {
		return errWeightsUnused
	}
	if f.DefaultStock < 0 {
		return errNegativeStock
	}
	for _, supply := range f.Stock {
		if supply < 0 {
			return errNegativeStock
		}
	}
	_, err := f.planner()
	return err
}

func main() {
	var f flags
	kong.Parse(&f, kong.Name("imitations"),
		kong.Description("Serves imitations of a warehouse, a payment provider and a shipper."))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, f, os.Stdout, logger(f, os.Stderr))
	stop()
	if err != nil {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error("imitations failed", "error", err)
		os.Exit(1)
	}
}

// logger writes JSON lines; calls are logged at debug level.
func logger(f flags, to io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if f.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level}))
}
