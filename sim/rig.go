package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"

	"ordeal/scenarios"
	"ordeal/scenarios/evidence"
	"ordeal/service"
	"ordeal/sim/engine"
	"ordeal/sim/imitation"
)

// The processes of a world.
const (
	apiProcess     = "api"
	executorPrefix = "executor-"
)

// The service's configuration in a world. The pauses of its loops are longer than production's:
// an idle poll costs a statement and finds nothing.
const (
	pollEvery  = 5 * time.Second
	sweepEvery = 10 * time.Second
	poolSize   = 8
	leasePool  = 2
)

// supply is the stock of each SKU in a world.
const supply = 1000

// rig is one run: the world and everything that the harness puts around it.
type rig struct {
	scenario scenarios.Scenario
	seed     uint64
	conn     *pgx.Conn

	world     *engine.World
	faults    *faults
	calls     *callLog
	customers *customers
	rest      rest

	warehouse *imitation.Warehouse
	payment   *imitation.Payment
	shipping  *imitation.Shipping
	processes []evidence.Process
	touched   int // statements that did something
	// end is the virtual time at which the run was over; zero while it runs.
	end time.Duration
}

func newRig(s scenarios.Scenario, seed uint64, conn *pgx.Conn) *rig {
	r := &rig{scenario: s, seed: seed, conn: conn, calls: &callLog{}}
	r.customers = &customers{workload: s.Workload}
	r.rest.rig = r
	r.faults = newFaults(s, &r.rest)
	return r
}

// config is the engine's configuration of the run.
func (r *rig) config(backend *engine.Backend, trace bool) engine.Config {
	return engine.Config{
		Seed:    r.seed,
		Backend: backend,
		Policy: engine.Policy{
			Operation: r.faults.operation,
			GivenUp:   r.faults.givenUp,
		},
		Hooks:   engine.Hooks{OnEvent: r.onEvent},
		Goal:    r.rest.reached,
		MaxTime: r.scenario.Heal + r.scenario.Limit,
		Restart: engine.Range(r.scenario.Crashes.Down),
		Advance: engine.Advance{OneIn: 25, Max: 20 * time.Second},
		Trace:   trace,
	}
}

// build sets the world up: providers, processes, customers, and the end of the fault period.
func (r *rig) build(w *engine.World) {
	r.world = w
	r.faults.begin(w)
	r.providers(w)
	w.Process(apiProcess).Start(r.serve)
	for n := range r.scenario.Executors {
		w.Process(fmt.Sprintf("%s%d", executorPrefix, n+1)).Start(r.execute)
	}
	r.customers.begin(w)
	if r.scenario.Heal > 0 {
		w.At(r.scenario.Heal, "heal", func() {
			w.Heal()
			r.faults.end()
		})
	}
}

// providers adds the three external systems.
func (r *rig) providers(w *engine.World) {
	c := imitation.Config{Clock: providerClock{w.Clock(), r}, Planner: imitation.PlannerFunc(r.faults.plan)}
	r.warehouse = imitation.NewWarehouse(imitation.WarehouseConfig{
		Config: c, DefaultSupply: supply,
	})
	r.payment = imitation.NewPayment(c)
	r.shipping = imitation.NewShipping(c)
	w.Party(evidence.PartyWarehouse, r.warehouse)
	w.Party(evidence.PartyPayment, r.payment)
	w.Party(evidence.PartyShipping, r.shipping)
}

// providerClock is the world's clock, standing still once the run is over: a provider that is
// read then must not find that days have gone by.
type providerClock struct {
	clockwork.Clock
	rig *rig
}

// Now returns the time of the world.
func (c providerClock) Now() time.Time {
	if c.rig.end > 0 {
		return databaseTime(c.rig.end)
	}
	return c.Clock.Now()
}

// serve runs the API process.
func (r *rig) serve(ctx context.Context, in *engine.Incarnation) error {
	s, closePools, err := r.open(ctx, in)
	if err != nil {
		return err
	}
	defer closePools()
	in.Serve(s.Handler())
	<-ctx.Done()
	return nil
}

// execute runs an executor process.
func (r *rig) execute(ctx context.Context, in *engine.Incarnation) error {
	s, closePools, err := r.open(ctx, in)
	if err != nil {
		return err
	}
	defer closePools()
	return s.Run(ctx)
}

// open wires the service as production does, with its seams leading into the world.
func (r *rig) open(ctx context.Context, in *engine.Incarnation) (*service.Service, func(), error) {
	work, err := openPool(ctx, in, "work", poolSize)
	if err != nil {
		return nil, nil, err
	}
	leases, err := openPool(ctx, in, "leases", leasePool)
	if err != nil {
		work.Close()
		return nil, nil, err
	}
	closePools := func() { leases.Close(); work.Close() }
	s, err := service.New(service.Config{
		Name:       in.Name(),
		Warehouse:  "http://" + evidence.PartyWarehouse,
		Payment:    "http://" + evidence.PartyPayment,
		Shipping:   "http://" + evidence.PartyShipping,
		PollEvery:  pollEvery,
		SweepEvery: sweepEvery,
	}, service.Dependencies{
		Work:         work,
		Leases:       leases,
		Transport:    r.calls.around(r.world, in),
		Clock:        in.Clock(),
		Rand:         in.Rand,
		NewRequestID: func() string { return in.Name() },
		Log:          slog.New(slog.DiscardHandler),
	})
	if err != nil {
		closePools()
		return nil, nil, err
	}
	return s, closePools, nil
}

// openPool opens a pool of the service whose connections lead into the world.
func openPool(
	ctx context.Context, in *engine.Incarnation, name string, size int,
) (*pgxpool.Pool, error) {
	config, err := service.PoolConfig("postgres://simulated@database/orders?sslmode=disable",
		name, size)
	if err != nil {
		return nil, err
	}
	in.ConfigurePool(config, name)
	return pgxpool.NewWithConfig(ctx, config)
}

// onEvent follows the run.
func (r *rig) onEvent(e engine.Event) {
	switch e.Kind {
	case engine.EventStatement:
		r.rest.saw(e)
		if didSomething(e) {
			r.touched++
		}
	case engine.EventStart:
		name, n := splitIncarnation(e.Process)
		r.processes = append(r.processes, evidence.Process{
			Name: name, Role: role(name), Incarnation: n, StartedAt: databaseTime(e.At),
		})
	case engine.EventExit, engine.EventCrash:
		r.ended(e)
	}
}

// ended notes the end of an incarnation.
func (r *rig) ended(e engine.Event) {
	name, n := splitIncarnation(e.Process)
	for i := range r.processes {
		p := &r.processes[i]
		if p.Name == name && p.Incarnation == n && p.EndedAt.IsZero() {
			p.EndedAt = databaseTime(e.At)
			p.Crashed = e.Kind == engine.EventCrash
		}
	}
}

func role(process string) string {
	if strings.HasPrefix(process, executorPrefix) {
		return "executor"
	}
	return process
}

// splitIncarnation splits "executor-1#2" into its name and number.
func splitIncarnation(process string) (name string, n int) {
	name, number, found := strings.Cut(process, "#")
	if !found {
		return process, 0
	}
	if _, err := fmt.Sscanf(number, "%d", &n); err != nil {
		return process, 0
	}
	return name, n
}

// databaseTime is the database clock after so much virtual time.
func databaseTime(elapsed time.Duration) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(elapsed)
}
