package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"ordeal/service/store"
)

// The principals of a local seed and their roles (API-3).
const (
	LocalCustomer = "order_customer"
	LocalOperator = "order_operator"
)

// Tokens are the bearer tokens of the local principals. They are stored hashed and cannot be
// read again.
type Tokens struct {
	Customer, Operator string
}

// Seed creates the local principals, or gives existing ones new tokens. A token that is not given
// is drawn. The database must be migrated.
func Seed(ctx context.Context, databaseURL string, given Tokens) (Tokens, error) {
	pool, err := openPool(ctx, databaseURL, "orderd-seed", 1)
	if err != nil {
		return Tokens{}, fmt.Errorf("seed: %w", err)
	}
	defer pool.Close()
	s := store.New(pool, nil)
	for _, p := range []struct {
		name, role string
		token      *string
	}{
		{LocalCustomer, "customer", &given.Customer},
		{LocalOperator, "operator", &given.Operator},
	} {
		if *p.token == "" {
			*p.token = newToken(p.role)
		}
		hash := sha256.Sum256([]byte(*p.token))
		err := s.SeedPrincipal(ctx, store.Principal{Name: p.name, Role: p.role, TokenHash: hash[:]})
		if err != nil {
			return Tokens{}, err
		}
	}
	return given, nil
}

// newToken draws a token of 256 bits, with a prefix that makes a leaked one recognisable.
func newToken(role string) string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	return "ordeal_" + role + "_" + hex.EncodeToString(secret[:])
}
