package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"ordeal/migrations"
	"ordeal/service"
)

// migrateCmd brings the schema up to date.
type migrateCmd struct {
	Wait span `env:"ORDERD_MIGRATE_WAIT" default:"2m" help:"How long to wait while another process migrates."`
}

// Run applies the missing migrations and the roles, and prints the version reached. What this
// role may not do about roles is told, and no failure: the service also works without them.
func (c *migrateCmd) Run(ctx context.Context, global *cli) error {
	config, err := pgx.ParseConfig(global.DatabaseURL)
	if err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	version, err := migrations.UpWithin(ctx, config, c.Wait.Duration)
	if err != nil {
		return err
	}
	if err := applyRoles(ctx, config); err != nil {
		return err
	}
	fmt.Printf("schema version %d\n", version)
	return nil
}

// roleTime bounds the work on roles.
const roleTime = time.Minute

// applyRoles tells on standard error what was skipped.
func applyRoles(ctx context.Context, config *pgx.ConnConfig) (err error) {
	ctx, cancel := context.WithTimeout(ctx, roleTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("apply roles: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	skipped, err := migrations.ApplyRoles(ctx, conn)
	if err != nil || len(skipped) == 0 {
		return err
	}
	fmt.Fprintln(os.Stderr, "Roles are incomplete, since this one may not do the following; let "+
		"a superuser, or whoever may create roles, run orderd migrate:")
	for _, command := range skipped {
		fmt.Fprintln(os.Stderr, " ", command)
	}
	return nil
}

// seedCmd creates the two local principals.
type seedCmd struct {
	CustomerToken     string `env:"ORDERD_SEED_CUSTOMER_TOKEN" help:"Token of order_customer, by the variable only; drawn if not set."`
	CustomerTokenFile string `env:"ORDERD_SEED_CUSTOMER_TOKEN_FILE" help:"File that holds it instead."`
	OperatorToken     string `env:"ORDERD_SEED_OPERATOR_TOKEN" help:"Token of order_operator, by the variable only; drawn if not set."`
	OperatorTokenFile string `env:"ORDERD_SEED_OPERATOR_TOKEN_FILE" help:"File that holds it instead."`
}

// check refuses tokens on the command line and reads those in files.
func (c *seedCmd) check(found *problems, given map[string]bool) {
	for _, token := range []struct {
		name  string
		value *string
		file  string
	}{
		{"customer-token", &c.CustomerToken, c.CustomerTokenFile},
		{"operator-token", &c.OperatorToken, c.OperatorTokenFile},
	} {
		found.unless(!given[token.name], "--%s must not be a flag, which others on this "+
			"machine can read: give it by its variable or in --%s-file", token.name, token.name)
		readSecret(found, "--"+token.name, token.value, token.file)
	}
}

// Run creates the principals, or gives existing ones new tokens, and prints the tokens: they are
// stored hashed and cannot be read again.
func (c *seedCmd) Run(ctx context.Context, global *cli) error {
	tokens, err := service.Seed(ctx, global.DatabaseURL,
		service.Tokens{Customer: c.CustomerToken, Operator: c.OperatorToken})
	if err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	fmt.Printf("%s %s\n", service.LocalCustomer, tokens.Customer)
	fmt.Printf("%s %s\n", service.LocalOperator, tokens.Operator)
	return nil
}
