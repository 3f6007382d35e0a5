package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// startURL uses the server that ORDEAL_DATABASE_URL names.
func startURL(ctx context.Context, _ Options) (*Server, error) {
	named := dsn(os.Getenv("ORDEAL_DATABASE_URL"))
	if named == "" {
		return nil, errUnset
	}
	conn, err := connect(ctx, named)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	v, err := parseVersion(conn.PgConn().ParameterStatus("server_version"))
	if err != nil {
		return nil, err
	}
	if err := v.supported(); err != nil {
		return nil, err
	}
	var user string
	var mayCreate bool
	err = conn.QueryRow(ctx, `
		SELECT
			rolname,
			rolcreatedb OR rolsuper
		FROM pg_roles
		WHERE rolname = current_user`).Scan(&user, &mayCreate)
	if err != nil {
		return nil, fmt.Errorf("read the user's rights: %w", err)
	}
	if !mayCreate {
		return nil, errors.New("user " + user + " may not create databases")
	}
	config := conn.Config()
	source := fmt.Sprintf("%s:%d as %s", config.Host, config.Port, user)
	return &Server{way: wayURL, version: v, source: source, dsn: named}, nil
}
