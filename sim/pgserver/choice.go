package pgserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// way is one way to a server.
type way struct {
	name   string
	enable string // what a person can do to make it work
	start  func(context.Context, Options) (*Server, error)
}

// allWays are the ways in the order in which they are tried.
var allWays = []way{
	{
		name:   wayURL,
		enable: "set ORDEAL_DATABASE_URL to a server where the user may create databases",
		start:  startURL,
	},
	{
		name: wayLocal,
		enable: "install the PostgreSQL server programs, " +
			"or set ORDEAL_POSTGRES_BIN to the folder with initdb and postgres",
		start: startLocal,
	},
	{
		name: wayDocker,
		enable: "run a Docker daemon that this user may use; ORDEAL_POSTGRES_IMAGE names " +
			"the image, ORDEAL_POSTGRES_PULL_TIMEOUT how long to wait for it",
		start: startDocker,
	},
	{
		name: wayDownload,
		enable: "be another user than root, with the network or with ORDEAL_POSTGRES_MIRROR " +
			"set to a copy of the repository",
		start: startDownload,
	},
}

// errUnset is the reason of a way that nobody configured.
var errUnset = errors.New("not configured")

// choice is what of all ways is to be tried. A way forced by ORDEAL_POSTGRES stands alone,
// and so does a server named by ORDEAL_DATABASE_URL: who names one does not want another.
func choice(getenv func(string) string, all []way) ([]way, error) {
	forced := getenv("ORDEAL_POSTGRES")
	if forced == "" && getenv("ORDEAL_DATABASE_URL") != "" {
		forced = wayURL
	}
	if forced == "" {
		return all, nil
	}
	var names []string
	for _, w := range all {
		if w.name == forced {
			return []way{w}, nil
		}
		names = append(names, w.name)
	}
	return nil, fmt.Errorf("ORDEAL_POSTGRES is %q, and can be %s",
		forced, strings.Join(names, ", "))
}

// firstOf starts the server of the first way that works.
func firstOf(ctx context.Context, ways []way, o Options) (*Server, error) {
	var failed noServerError
	for _, w := range ways {
		s, err := w.start(ctx, o)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		failed = append(failed, failure{way: w, err: err})
	}
	return nil, failed
}

// failure is a way that did not work.
type failure struct {
	way way
	err error
}

// noServerError lists every way that was tried.
type noServerError []failure

func (e noServerError) Error() string {
	var text strings.Builder
	text.WriteString("no PostgreSQL server")
	for _, f := range e {
		reason := strings.ReplaceAll(f.err.Error(), "\n", "\n      ")
		fmt.Fprintf(&text, "\n  %s: %s\n      (%s)", f.way.name, reason, f.way.enable)
	}
	return text.String()
}

// Unwrap gives the causes to errors.Is and errors.As.
func (e noServerError) Unwrap() []error {
	var causes []error
	for _, f := range e {
		causes = append(causes, f.err)
	}
	return causes
}
