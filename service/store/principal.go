package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Principal is who a token belongs to.
type Principal struct {
	// Name is the principal's unique name; of a customer, the customer of its orders.
	Name string
	// Role is customer or operator.
	Role string
	// TokenHash is the SHA-256 of the token.
	TokenHash []byte
}

const findPrincipal = `-- name: FindPrincipal
select name, role, token_hash
from principals
where token_hash = $1`

// FindPrincipal returns the principal of a token's hash; ok is false when there is none.
func (s *Store) FindPrincipal(
	ctx context.Context, tokenHash []byte,
) (p Principal, ok bool, err error) {
	err = s.work.QueryRow(ctx, findPrincipal, tokenHash).Scan(&p.Name, &p.Role, &p.TokenHash)
	if errors.Is(err, pgx.ErrNoRows) {
		return Principal{}, false, nil
	}
	if err != nil {
		return Principal{}, false, fmt.Errorf("find principal: %w", err)
	}
	return p, true, nil
}

const seedPrincipal = `-- name: SeedPrincipal
insert into principals (token_hash, name, role, created_at)
values ($1, $2, $3, now())
on conflict (name) do update
set
    token_hash = excluded.token_hash,
    role = excluded.role`

// SeedPrincipal creates a principal, or gives an existing one of that name a new token and role.
func (s *Store) SeedPrincipal(ctx context.Context, p Principal) error {
	_, err := s.work.Exec(ctx, seedPrincipal, p.TokenHash, p.Name, p.Role)
	if err != nil {
		return fmt.Errorf("seed principal %s: %w", p.Name, err)
	}
	return nil
}
