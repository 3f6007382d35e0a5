// Command orderd is the order service.
//
// Every setting is a flag and a variable of the environment, and the help of each command names
// both. Secrets are taken from variables or files alone, since command lines are visible to others
// on the machine. Everything that is wrong with the settings is told at once, before anything is
// opened; so is a variable that begins with ORDERD_ and means nothing.
//
// The exit code is 0 after a stop in good order, 1 when something fails, 80 for settings that
// cannot be, and that of the signal where a second one cut the stop short.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// exitSettings is the exit code for settings that cannot be.
const exitSettings = 80

// cli is the command line.
type cli struct {
	DatabaseURL     string `name:"database-url" env:"ORDERD_DATABASE_URL" help:"PostgreSQL URL of the orders database. As a flag it must have no password."`
	DatabaseURLFile string `name:"database-url-file" env:"ORDERD_DATABASE_URL_FILE" help:"File that holds the URL instead."`
	LogLevel        level  `env:"ORDERD_LOG_LEVEL" default:"info" help:"Least level of the logs: debug, info, warn or error. Debug has a line per request and per attempt."`

	Serve   serveCmd   `cmd:"" help:"Serve the REST API and drive orders until SIGTERM or SIGINT."`
	Migrate migrateCmd `cmd:"" help:"Bring the database schema up to date; any number may run at once."`
	Seed    seedCmd    `cmd:"" help:"Create the local principals order_customer and order_operator."`
}

const description = `Drives orders through reserve, pay and ship.

Every flag can be given by the environment variable that stands beside it; secrets only so, or by a
file. An unknown variable that begins with ORDERD_ is an error.

SIGTERM or SIGINT: /readyz fails, no step is taken any more, calls under way are finished, or
handed back where they have not begun, within the drain timeout. A second signal ends the process
at once.

Traces are exported over OTLP/HTTP where OTEL_EXPORTER_OTLP_ENDPOINT is set; the other standard
OTEL_ variables apply too.

Exit codes: 0 stopped in good order, 1 something failed, 80 the settings cannot be.`

func main() {
	var c cli
	parser, err := kong.New(&c, kong.Name("orderd"), kong.Description(description))
	if err != nil {
		panic(err) // the command line above cannot be
	}
	wrong := checkEnvironment(parser.Model.Node)
	chosen, err := parser.Parse(os.Args[1:])
	if err != nil {
		exit(append(wrong, err))
	}
	wrong = append(wrong, c.check(chosen)...)
	if len(wrong) > 0 {
		exit(wrong)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	chosen.BindTo(ctx, (*context.Context)(nil))
	if err := chosen.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "orderd:", err)
		os.Exit(1)
	}
}

// exit tells all that is wrong with the settings.
func exit(wrong []error) {
	text := strings.ReplaceAll(errors.Join(wrong...).Error(), "\n", "\n  ")
	fmt.Fprintf(os.Stderr, "orderd: cannot start:\n  %s\norderd --help and orderd serve --help "+
		"tell all settings\n", text)
	os.Exit(exitSettings)
}
