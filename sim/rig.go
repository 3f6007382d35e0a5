package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"

	"ordeal/reports"
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

// The sizes of a process's pools.
const (
	poolSize      = 8
	leasePoolSize = 2
)

// supply is the stock of each SKU in a world.
const supply = 1000

// rig is one run: the world and everything that the harness puts around it.
type rig struct {
	scenario scenarios.Scenario
	seed     uint64
	course   Course
	conn     *pgx.Conn

	world     *engine.World
	faults    trouble
	calls     *callLog
	customers *customers
	rest      rest
	pace      pace

	warehouse *imitation.Warehouse
	payment   *imitation.Payment
	shipping  *imitation.Shipping
	processes []evidence.Process
	touched   int // statements that did something
	// end is the virtual time at which the run was over; zero while it runs.
	end time.Duration
}

// trouble decides what goes wrong in a run, until its fault period ends.
type trouble interface {
	begin(w *engine.World)
	end()
	// operation and givenUp are the engine's policy.
	operation(op *engine.Operation, draw *engine.Draw) engine.Fate
	givenUp(op *engine.Operation, draw *engine.Draw) engine.Fate
	// plan is what a provider does with a call that reaches it.
	plan(c imitation.Call) imitation.Behaviour
	// counts tells per kind how often it could have fired and did.
	counts() []reports.Fault
}

func newRig(s scenarios.Scenario, seed uint64, c Course, conn *pgx.Conn) *rig {
	r := &rig{scenario: s, seed: seed, course: c, conn: conn, calls: &callLog{}}
	r.customers = &customers{workload: s.Workload}
	r.rest.rig = r
	r.faults = newFaults(s, &r.rest)
	switch {
	case c.Faultless:
		r.faults = peace{}
	case c.Strategy == Exhaustive:
		r.faults = &enumeration{rest: &r.rest, crashes: c.Crashes}
	}
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
		Quiet:   r.quiet(),
	}
}

// build sets the world up: providers, processes, customers, and the end of the fault period.
func (r *rig) build(w *engine.World) {
	r.world = w
	r.faults.begin(w)
	r.providers(w)
	w.Process(apiProcess).Start(r.serve)
	r.pace = drawPace(w.Workload())
	r.startExecutors(w)
	r.customers.begin(w)
	if r.scenario.Heal > 0 {
		w.At(r.scenario.Heal, "heal", func() {
			w.Heal()
			r.faults.end()
		})
	}
}

// startExecutors starts each executor at its time.
func (r *rig) startExecutors(w *engine.World) {
	for _, name := range processNames(r.scenario)[1:] {
		process := w.Process(name)
		if in := startIn(w.Workload(), name); in > 0 {
			w.At(in, "start "+name, func() { process.Start(r.execute) })
			continue
		}
		process.Start(r.execute)
	}
}

// processNames lists the processes of a scenario.
func processNames(s scenarios.Scenario) []string {
	names := []string{apiProcess}
	for n := range s.Executors {
		names = append(names, fmt.Sprintf("%s%d", executorPrefix, n+1))
	}
	return names
}

// providers adds the three external systems.
func (r *rig) providers(w *engine.World) {
	c := imitation.Config{
		Clock: providerClock{w.Clock(), r}, Planner: imitation.PlannerFunc(r.faults.plan),
	}
	r.warehouse = imitation.NewWarehouse(imitation.WarehouseConfig{
		Config: c, DefaultSupply: supply,
	})
	r.payment = imitation.NewPayment(c)
	r.shipping = imitation.NewShipping(c)
	w.Party(evidence.PartyWarehouse, r.warehouse)
	w.Party(evidence.PartyPayment, r.payment)
	w.Party(evidence.PartyShipping, r.shipping)
}

// providerClock shows the providers the database's time, so that all evidence is on one clock. It
// stands still once the run is over: a provider that is read then must not find that days have
// gone by.
type providerClock struct {
	clockwork.Clock
	rig *rig
}

// Now returns the time of the database.
func (c providerClock) Now() time.Time {
	elapsed := c.rig.end
	if elapsed == 0 {
		elapsed = c.rig.world.Now()
	}
	return c.rig.world.DatabaseTime(elapsed)
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
	work, err := openPool(ctx, in, workPool)
	if err != nil {
		return nil, nil, err
	}
	leases, err := openPool(ctx, in, leasePool)
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
		PollEvery:  r.pace.poll,
		SweepEvery: r.pace.sweep,
	}, service.Dependencies{
		Work:         work,
		Leases:       leases,
		Transport:    r.calls.around(r.world, in),
		Clock:        in.Clock(),
		Rand:         in.Rand,
		CursorKey:    []byte("simulated"),
		NewRequestID: requestIDs(in.Name()),
		Log:          slog.New(slog.DiscardHandler),
	})
	if err != nil {
		closePools()
		return nil, nil, err
	}
	return s, closePools, nil
}

// The configurations of the pools, which take longer to parse than to use.
var (
	workPool  = poolConfig("work", poolSize)
	leasePool = poolConfig("leases", leasePoolSize)
)

func poolConfig(name string, size int) func() (*pgxpool.Config, error) {
	return sync.OnceValues(func() (*pgxpool.Config, error) {
		return service.PoolConfig("postgres://simulated@database/orders?sslmode=disable", name,
			size)
	})
}

// requestIDs numbers the requests of an incarnation. They arrive one event after the other, so the
// numbers do not depend on a race.
func requestIDs(incarnation string) func() string {
	var last atomic.Int64
	name := strings.ReplaceAll(incarnation, "#", ".")
	return func() string { return fmt.Sprintf("%s-%d", name, last.Add(1)) }
}

// openPool opens a pool of the service whose connections lead into the world.
func openPool(
	ctx context.Context, in *engine.Incarnation, configured func() (*pgxpool.Config, error),
) (*pgxpool.Pool, error) {
	config, err := configured()
	if err != nil {
		return nil, err
	}
	config = config.Copy()
	in.ConfigurePool(config, config.ConnConfig.RuntimeParams["application_name"])
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
			Name: name, Role: role(name), Incarnation: n, StartedAt: r.world.DatabaseTime(e.At),
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
			p.EndedAt = r.world.DatabaseTime(e.At)
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
	n, err := strconv.Atoi(number)
	if err != nil {
		return process, 0
	}
	return name, n
}
