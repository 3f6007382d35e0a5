package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ordeal/chaos/collect"
	"ordeal/chaos/process"
	"ordeal/chaos/provider"
	"ordeal/chaos/wire"
	"ordeal/scenarios/evidence"
	"ordeal/sim/imitation"
)

// Config says what is put on a stage.
type Config struct {
	Ground   *Ground
	Binaries Binaries
	// Workers is how many processes drive orders, beside one that only serves the API.
	Workers int
	// Lease and Renew are the service's configuration; the lease must be above 3 s.
	Lease, Renew time.Duration
	// OnStatement and OnCall are the hooks of all proxies.
	OnStatement func(*Node, wire.Moment) wire.Fate
	OnCall      func(*Node, provider.Moment) provider.Fate
	// Logs is an existing folder for the logs of the processes.
	Logs string
}

// Stage is the running service.
type Stage struct {
	// API only serves the API; Workers drive orders, and serve it too.
	API     *Node
	Workers []*Node
	// Customers are the clients of the API.
	Customers *Customers

	config     Config
	database   database
	pool       *pgxpool.Pool
	imitations *process.Process
	journal    *journal
	urls       map[string]string // of the imitations, by party
}

// Open starts everything and returns when all processes serve. Close ends it.
func Open(ctx context.Context, c Config) (*Stage, error) {
	s := &Stage{config: c, urls: map[string]string{}}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context) (err error) {
	if s.database, err = s.config.Ground.clone(ctx); err != nil {
		return err
	}
	if s.pool, err = pgxpool.New(ctx, s.database.url); err != nil {
		return err
	}
	if err := s.imitate(ctx); err != nil {
		return err
	}
	s.API = &Node{Name: "api", Role: RoleAPI, stage: s}
	s.Customers = newCustomers(s.API)
	for n := range s.config.Workers {
		s.Workers = append(s.Workers,
			&Node{Name: fmt.Sprintf("worker-%d", n+1), Role: RoleWorker, stage: s})
	}
	for _, node := range s.Nodes() {
		if err := node.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Nodes are all processes of the service.
func (s *Stage) Nodes() []*Node {
	if s.API == nil {
		return nil
	}
	return append([]*Node{s.API}, s.Workers...)
}

// imitate starts the providers.
func (s *Stage) imitate(ctx context.Context) (err error) {
	s.journal, err = newJournal(filepath.Join(s.config.Logs, "imitations.log"),
		func(line map[string]any) bool { return line["provider"] != nil && line["url"] != nil })
	if err != nil {
		return err
	}
	s.imitations, err = process.Start(process.Command{
		Path: s.config.Binaries.Imitations,
		Args: []string{"--warehouse=127.0.0.1:0", "--payment=127.0.0.1:0",
			"--shipping=127.0.0.1:0", "--hang=4s"},
		Env: os.Environ(),
		Out: s.journal,
		Err: s.journal,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	for len(s.urls) < 3 {
		select {
		case line := <-s.journal.noticed:
			s.urls[fmt.Sprint(line["provider"])] = fmt.Sprint(line["url"])
		case <-s.imitations.Ended():
			return errors.New("the imitations ended at once; their log says why")
		case <-ctx.Done():
			return fmt.Errorf("start the imitations: %w", ctx.Err())
		}
	}
	return nil
}

// Script tells a provider how to treat the next calls of an operation.
func (s *Stage) Script(ctx context.Context, party string, script imitation.Script) error {
	body, err := json.Marshal(script)
	if err != nil {
		return fmt.Errorf("script for %s: %w", party, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		s.urls[party]+"/control/script", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("script for %s: %w", party, err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("script for %s: %w", party, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("script for %s: answered %s", party, response.Status)
	}
	return nil
}

// Restart crashes the database server and starts it again.
func (s *Stage) Restart(ctx context.Context) error { return s.config.Ground.Restart(ctx) }

// Revive starts every process that has ended.
func (s *Stage) Revive(ctx context.Context) error {
	var failed []error
	for _, node := range s.Nodes() {
		if !node.Running() {
			failed = append(failed, node.Retire(), node.Start(ctx))
		}
	}
	return errors.Join(failed...)
}

// Statements is how many named statements all processes sent.
func (s *Stage) Statements() (total int) {
	for _, node := range s.Nodes() {
		_, _, counts := node.witnessed()
		for _, count := range counts {
			total += count
		}
	}
	return total
}

// Evidence collects what the run left behind. AtRest says that it had all the time it may have.
func (s *Stage) Evidence(ctx context.Context, atRest bool) (*evidence.Run, error) {
	sources := collect.Sources{
		Database:  s.database.url,
		Providers: s.urls,
		Client:    s.Customers.History(),
		Lease:     s.config.Lease,
		AtRest:    atRest,
	}
	for _, node := range s.Nodes() {
		calls, lives, _ := node.witnessed()
		sources.Calls = append(sources.Calls, calls...)
		sources.Processes = append(sources.Processes, lives...)
	}
	return collect.Run(ctx, sources)
}

// Close ends all processes at once and drops the database. Closing a stage that never opened
// whole is fine.
func (s *Stage) Close() error {
	var failed []error
	for _, node := range s.Nodes() {
		failed = append(failed, node.Close())
	}
	if s.Customers != nil {
		s.Customers.close()
	}
	if s.imitations != nil {
		failed = append(failed, s.imitations.Close())
	}
	if s.journal != nil {
		failed = append(failed, s.journal.close())
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.database.ground != nil {
		ctx, cancel := context.WithTimeout(context.Background(), readyBound)
		defer cancel()
		failed = append(failed, s.database.drop(ctx))
	}
	return errors.Join(failed...)
}
