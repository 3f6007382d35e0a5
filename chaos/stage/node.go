package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ordeal/chaos/process"
	"ordeal/chaos/provider"
	"ordeal/chaos/wire"
	"ordeal/scenarios/evidence"
)

// readyBound limits how long a process may take to serve.
const readyBound = 60 * time.Second

// The roles of nodes.
const (
	RoleAPI    = "api"
	RoleWorker = "executor"
)

// Node is one process of the service, through all its incarnations. Its methods may be called
// concurrently, but for Start and Close, which belong to one goroutine.
type Node struct {
	// Name and Role never change.
	Name string
	Role string

	stage *Stage

	mu           sync.Mutex
	now          *incarnation
	incarnations []*incarnation
}

// incarnation is one life of a node.
type incarnation struct {
	number    int
	wire      *wire.Proxy
	providers map[string]*provider.Proxy
	journal   *journal
	process   *process.Process
	record    evidence.Process
	url       string // where it serves the API; empty until it does
}

// Start starts the process and waits until it serves. A node that has ended starts again.
func (n *Node) Start(ctx context.Context) error {
	in, err := n.incarnate()
	if err == nil {
		err = n.serving(ctx, in)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	return nil
}

// incarnate starts a process with proxies of its own.
func (n *Node) incarnate() (*incarnation, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	in := &incarnation{number: len(n.incarnations) + 1, providers: map[string]*provider.Proxy{}}
	n.incarnations = append(n.incarnations, in)
	if err := n.proxies(in); err != nil {
		return nil, err
	}
	var err error
	in.journal, err = newJournal(filepath.Join(n.stage.config.Logs, n.Name+".log"),
		func(line map[string]any) bool { return line["msg"] == "serving" })
	if err != nil {
		return nil, err
	}
	in.process, err = process.Start(process.Command{
		Path: n.stage.config.Binaries.Orderd,
		Args: n.arguments(in),
		Env: append(environment(),
			"ORDERD_DATABASE_URL="+n.stage.database.through(in.wire.Port())),
		Err: in.journal,
	})
	if err != nil {
		return nil, err
	}
	in.record = evidence.Process{
		Name: n.Name, Role: n.Role, Incarnation: in.number, StartedAt: moment(),
	}
	n.now = in
	return in, nil
}

// environment is this program's own, without what would configure the service.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "ORDERD_")
	})
}

// moment is the time with the precision of the database.
func moment() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// proxies puts a proxy on every connection that will leave the process.
func (n *Node) proxies(in *incarnation) (err error) {
	network, address := n.stage.database.address()
	in.wire, err = wire.Listen(wire.Config{
		Network: network,
		Address: address,
		Hook:    func(m wire.Moment) wire.Fate { return n.stage.config.OnStatement(n, m) },
	})
	for party, url := range n.stage.urls {
		if err != nil {
			return err
		}
		in.providers[party], err = provider.Listen(provider.Config{
			Process:     n.Name,
			Incarnation: in.number,
			Party:       party,
			URL:         url,
			Hook: func(m provider.Moment) provider.Fate {
				return n.stage.config.OnCall(n, m)
			},
		})
	}
	return err
}

// arguments is the command line of an incarnation.
func (n *Node) arguments(in *incarnation) []string {
	c := n.stage.config
	args := []string{"serve",
		"--name=" + n.Name,
		"--listen=127.0.0.1:0",
		"--warehouse=" + in.providers[evidence.PartyWarehouse].URL(),
		"--payment=" + in.providers[evidence.PartyPayment].URL(),
		"--shipping=" + in.providers[evidence.PartyShipping].URL(),
		"--lease=" + c.Lease.String(),
		"--renew-every=" + c.Renew.String(),
		"--poll-every=200ms",
		"--sweep-every=500ms",
		"--pool-size=8",
	}
	if n.Role == RoleAPI {
		args = append(args, "--no-execute")
	}
	return args
}

// errEnded is a process that ended before it served.
var errEnded = errors.New("it ended before it served; its log says why")

// serving waits until an incarnation serves.
func (n *Node) serving(ctx context.Context, in *incarnation) error {
	bound, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	select {
	case line := <-in.journal.noticed:
		n.mu.Lock()
		defer n.mu.Unlock()
		if name, ok := line["executor"].(string); ok {
			in.record.Name = name
		}
		in.url = fmt.Sprintf("http://%v", line["address"])
		return nil
	case <-in.process.Ended():
		return fmt.Errorf("%w (%s)", errEnded, n.Name)
	case <-bound.Done():
		return bound.Err()
	}
}

// current is the incarnation that runs or ran last.
func (n *Node) current() *incarnation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Incarnation numbers the node's lives from 1.
func (n *Node) Incarnation() int { return n.current().number }

// URL is where the node serves the API, or served it last. Each incarnation has an address of its
// own: a port that is free for a moment can be taken by anybody.
func (n *Node) URL() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.incarnations) - 1; i >= 0; i-- {
		if url := n.incarnations[i].url; url != "" {
			return url
		}
	}
	return ""
}

// Wire is the proxy between the node and its database, of the current incarnation.
func (n *Node) Wire() *wire.Proxy { return n.current().wire }

// Provider is the proxy between the node and a provider, of the current incarnation.
func (n *Node) Provider(party string) *provider.Proxy { return n.current().providers[party] }

// Executor is the name under which the current incarnation holds leases.
func (n *Node) Executor() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now.record.Name
}

// Kill kills the process with SIGKILL and returns when it is dead, and when that was. A process
// that has ended already is an error.
func (n *Node) Kill() (time.Time, error) {
	in := n.current()
	if err := in.process.Signal(syscall.SIGKILL); err != nil {
		return time.Time{}, fmt.Errorf("kill %s: %w", n.Name, err)
	}
	at := moment()
	<-in.process.Ended()
	n.ended(in, true)
	return at, nil
}

// Stop holds the process with SIGSTOP.
func (n *Node) Stop() error { return n.current().process.Signal(syscall.SIGSTOP) }

// Continue lets a stopped process go on.
func (n *Node) Continue() error { return n.current().process.Signal(syscall.SIGCONT) }

// Terminate asks the process to end with SIGTERM.
func (n *Node) Terminate() error { return n.current().process.Signal(syscall.SIGTERM) }

// Ended waits until the process has ended and returns its exit status.
func (n *Node) Ended(ctx context.Context) (status int, err error) {
	in := n.current()
	select {
	case <-in.process.Ended():
		n.ended(in, in.process.Status() != 0)
		return in.process.Status(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the end of %s: %w", n.Name, ctx.Err())
	}
}

// ended notes the end of an incarnation, once.
func (n *Node) ended(in *incarnation, crashed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if in.record.EndedAt.IsZero() {
		in.record.EndedAt, in.record.Crashed = moment(), crashed
	}
}

// Running reports whether the process runs, stopped or not.
func (n *Node) Running() bool {
	select {
	case <-n.current().process.Ended():
		return false
	default:
		return true
	}
}

// Retire gives back what an ended incarnation had: its proxies, whose hooks it waits for.
func (n *Node) Retire() error { return n.current().close() }

// close ends everything of an incarnation. It may be repeated.
func (in *incarnation) close() error {
	var failed []error
	if in.process != nil {
		failed = append(failed, in.process.Close())
	}
	if in.wire != nil {
		failed = append(failed, in.wire.Close())
	}
	for _, p := range in.providers {
		p.Close()
	}
	if in.journal != nil {
		_ = in.journal.close()
	}
	return errors.Join(failed...)
}

// Close ends the process, at once, and everything around it.
func (n *Node) Close() error {
	n.mu.Lock()
	all := append([]*incarnation{}, n.incarnations...)
	n.mu.Unlock()
	var failed []error
	for _, in := range all {
		failed = append(failed, in.close())
	}
	return errors.Join(failed...)
}

// witnessed adds up what the proxies of all incarnations saw.
func (n *Node) witnessed() (calls []evidence.Call, lives []evidence.Process,
	statements map[string]int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	statements = map[string]int{}
	for _, in := range n.incarnations {
		for _, p := range in.providers {
			calls = append(calls, p.Calls()...)
		}
		lives = append(lives, in.record)
		counts := maps.Clone(in.wire.Counts())
		for name, count := range counts {
			statements[name] += count
		}
	}
	return calls, lives, statements
}
