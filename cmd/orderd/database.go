package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ordeal/migrations"
	"ordeal/service"
)

// migrateCmd brings the schema up to date.
type migrateCmd struct{}

// Run applies the missing migrations and prints the version reached.
func (*migrateCmd) Run(ctx context.Context, global *cli) error {
	config, err := pgx.ParseConfig(global.DatabaseURL)
	if err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	version, err := migrations.Up(ctx, config)
	if err != nil {
		return err
	}
	fmt.Printf("schema version %d\n", version)
	return nil
}

// seedCmd creates the two local principals.
type seedCmd struct {
	CustomerToken string `env:"ORDERD_SEED_CUSTOMER_TOKEN" help:"Token of order_customer; drawn if not set."`
	OperatorToken string `env:"ORDERD_SEED_OPERATOR_TOKEN" help:"Token of order_operator; drawn if not set."`
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
