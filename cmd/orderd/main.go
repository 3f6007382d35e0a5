// Command orderd is the order service.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line. Every flag can be given by the environment variable that the help
// names; secrets only so.
type cli struct {
	DatabaseURL string `name:"database-url" env:"ORDERD_DATABASE_URL" required:"" help:"PostgreSQL URL of the orders database."`

	Serve   serveCmd   `cmd:"" help:"Serve the REST API and drive orders until SIGTERM or SIGINT."`
	Migrate migrateCmd `cmd:"" help:"Bring the database schema up to date; any number may run at once."`
	Seed    seedCmd    `cmd:"" help:"Create the local principals order_customer and order_operator."`
}

func main() {
	var c cli
	k := kong.Parse(&c,
		kong.Name("orderd"),
		kong.Description("Drives orders through reserve, pay and ship."),
		kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	k.BindTo(ctx, (*context.Context)(nil))
	if err := k.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "orderd:", err)
		os.Exit(1)
	}
}
