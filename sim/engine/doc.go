// Package engine plays an unmodified Go service, with its goroutines, pgx pools, SQL on a real
// PostgreSQL, HTTP handlers and clients, under virtual time, and repeats a run event for event
// from a seed. It knows nothing about what the service does.
//
// # Model
//
// A run is a [World] inside a testing/synctest bubble: processes, clients, parties (whatever a
// process calls), one database, and a driver. Everything that a process does to the world passes
// a seam, and at a seam its goroutine parks:
//
//	      process "worker-1#1"                    process "api#1"      client "alice"
//	 goroutines   pgx pool   http.Client           http.Handler         http.Client
//	     |            |           |                   ^     |              |    ^
//	   Clock      DialFunc    Transport               |     |              |    |
//	     |            |           |                   |  Response       Request |
//	.....|............|...........|...................|.....|..............|....|..... seams
//	     v            v           v                   |     v              v    |
//	+---------------------------------------------------------------------------------+
//	| driver: wait until all is quiet; what is due? what is pending, by content?      |
//	|         the schedule stream picks one, the policy draws its fate; perform it    |
//	+---------------------------------------------------------------------------------+
//	     |            |           |
//	virtual time   one of few     handler of a party, called
//	               kept server    in the driver's own step
//	               connections
//	                  |
//	............. real sockets, outside virtual time .............
//	                  v
//	              PostgreSQL
//
// When synctest says that every goroutine is parked, the driver does the first that applies:
//
//	+-> quiet --- preparations, closed connections ----> settle them (no choice) --+
//	|     |------ a context's deadline has come -------> its sender times out -----|
//	|     |------ a scheduled event is due ------------> run it -------------------|
//	|     |------ timers of a clock are due -----------> fire one group of equals -|
//	|     |------ the last operation's latency runs ---> sleep --------------------|
//	|     |------ operations are pending --------------> choose one and its fate, -|
//	|     |                                              or let time pass          |
//	|     +------ nothing at all ----------------------> sleep to the next thing --|
//	+------------------------------------------------------------------------------+
//
// So the order in which the runtime happens to run goroutines decides nothing. Pending operations
// are ordered by content: process, kind, party, statement name (from a leading "-- name: X"
// comment) or request line, argument bytes, and what the transaction sent before. Which
// connection carries a statement, or which goroutine came first, is not content. Operations with
// equal content are one choice and are performed one after the other, since nothing can tell
// their goroutines apart.
//
// Every choice is a draw from a named stream of the seed ([StreamSchedule], [StreamFaults],
// [StreamWorkload]) and is recorded ([Result].Choices). Every event is one line of a log whose
// SHA-256 is [Result].EventHash.
//
// # Choice sequences
//
// A run is its choices, whoever makes them. They come from a [Source]:
//
//	Seeded   each stream from its own generator: a random walk
//	PCT      the next operation by priorities that change a few times, the rest as Seeded
//	Replay   a whole recorded sequence, strictly
//	Recall   the recorded choices that are not zero, strictly: where they no longer fit, the
//	         run ends with the choice and the reason
//	Adapt    of those, what fits; zero elsewhere: for shrinking, and for old recordings
//	Bytes    a byte each, for fuzzing; zero once they are used up
//
// Zero is always the plainest value: the first operation in content order, no fault, no delay. So
// [Deviations], the choices that are not zero, tell what is special about a run, and leaving some
// out gives a plainer run. They are found again by stream, label and how often that was asked
// for, not by position, so what was left out does not shift the rest; the label of a choice about
// an operation names its sender and statement or call.
//
// # The database
//
// A virtual connection speaks the PostgreSQL protocol with pgx. The unit of choice is a message
// group, up to Sync: one statement, or a pipelined batch. Start-up, pings and preparation are
// answered from a record that the [Backend] keeps across runs, or forwarded at once; they are no
// choices and no events, because which of a pool's connections needs them is a race. A group is
// performed on any kept server connection, which stays with its virtual connection while a
// transaction is open. (Session state, such as SET or advisory locks, is recognised by its text;
// such a connection is not shared and not kept.)
//
// now() and its siblings come from a schema ahead of pg_catalog ([InstallClock]) and read a
// setting that the engine sends in front of each group that begins a transaction, in the same
// write. The database's clock can be off ([Config].DatabaseSkew).
//
// What an idle service asks for again and again, and what cannot have changed meanwhile, may be
// answered from memory ([Quiet]); the log of events is the same with and without.
//
// Statements of several open transactions interleave, and one that waits for a row lock does not
// stop the run: the type lockWait tells how.
//
// # Time and processes
//
// Virtual time starts at 2000-01-01 and passes only when the driver sleeps: a little after each
// operation ([Config].Latency), to the next due thing where nothing is pending, and now and then
// although something is ([Config].Advance). Each process has a clock of its own with skew and
// drift ([Process.SetClock]), whose timers belong to the driver. Contexts with deadlines use the
// bubble's time; where a goroutine waits in a seam, the driver ends the wait a microsecond before
// its context's deadline, one sender after the other.
//
// A crash ends an [Incarnation]: its seams fail from that instant on, its contexts end, and its
// goroutines, which nothing can kill, find every door closed. What it had sent may still arrive.
// A pause holds its seams and timers; what it had written before may be performed meanwhile, and
// what it was about to write may leave after the pause, when its lease is long over.
//
// # Faults
//
// For each operation whose turn has come, and each that its sender has given up, the harness's
// [Policy] decides a [Fate], drawing from the faults stream. [World.Cut],
// [World.RestartDatabase], [Process.Crash], [Process.Pause] and [World.Heal] act on the world,
// from scheduled events ([World.At]), policies or hooks. Offered and fired faults are counted by
// kind.
//
// # Rules for code under simulation
//
//   - Time and randomness are injected: no time.Now, time.After, or global randomness. Contexts
//     with timeouts are fine. One random generator is not shared by goroutines that race; ask
//     for one per goroutine, under a name of its own.
//   - Goroutines that send the same statement or call with the same arguments at one time must
//     be interchangeable: what tells their work apart has to be in what they send.
//   - No decision by map order. No select that can find two cases ready at one instant.
//   - A goroutine that changes several things another one looks at changes all of them before it
//     wakes it, and goroutines started at one instant do not hand on results before a seam.
//   - No mutex is held across a seam (database, HTTP, clock): a mutex is no durable block.
//   - Channels are made where they are used, not in package variables or init.
//   - Results of more than one row have an ORDER BY; data do not depend on sequences, OIDs, or
//     CURRENT_TIMESTAMP (write now()).
//   - Every goroutine ends when its context does. The pool is closed by whoever made it.
//   - No COPY, no Flush messages, no TLS to the database.
//
// # A service in the engine
//
// The host program gets its *testing.T from [Main]; tests use their own. A harness opens one
// [Backend] and plays many seeds on it:
//
//	func main() {
//		engine.Main(func(t *testing.T) int {
//			ctx := context.Background()
//			backend, err := engine.OpenBackend(ctx, dsn, engine.BackendOptions{})
//			if err != nil {
//				log.Print(err)
//				return 1
//			}
//			defer backend.Close()
//			for seed := range uint64(1000) {
//				backend.Exec(ctx, "delete from orders")
//				r := engine.Run(t, engine.Config{
//					Seed:    seed,
//					Backend: backend,
//					Goal:    func(w *engine.World) bool { return done },
//					MaxTime: time.Hour,
//					Restart: engine.Range{Min: time.Second, Max: 10 * time.Second},
//				}, build)
//				if r.Outcome != engine.GoalReached {
//					log.Print(seed, r.Outcome, r.Err)
//				}
//			}
//			return 0
//		})
//	}
//
//	func build(w *engine.World) {
//		w.Party("payment", paymentHandler)
//		w.Process("worker").Start(func(ctx context.Context, in *engine.Incarnation) error {
//			config, err := pgxpool.ParseConfig("host=127.0.0.1 sslmode=disable")
//			if err != nil {
//				return err
//			}
//			in.ConfigurePool(config, "main")
//			pool, err := pgxpool.NewWithConfig(ctx, config)
//			if err != nil {
//				return err
//			}
//			defer pool.Close()
//			service := NewService(pool, in.Client(), in.Clock(), in.Rand("jitter"))
//			in.Serve(service.Handler())
//			return service.Run(ctx)
//		})
//		w.Go("alice", func(ctx context.Context) {
//			resp, err := w.Client("alice", "worker").Post("http://worker/orders", ...)
//			...
//		})
//		w.At(20*time.Second, "pause", func() { w.Process("worker").Pause(time.Minute) })
//	}
//
// The folder integration holds such a service with its tests.
package engine
