package pgserver

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestWithDatabase(t *testing.T) {
	for name, from := range map[string]dsn{
		"socket":           socketDSN("/run/x y&z", 5432),
		"address":          hostDSN("127.0.0.1:5432", "postgres", "p@ss/w?rd"),
		"url with queries": "postgresql://u:p@h:1/old?dbname=older&application_name=a+b%20c",
		"keywords":         `host=h user=u dbname='old one' password='it\'s'`,
	} {
		t.Run(name, func(t *testing.T) {
			before, err := pgx.ParseConfig(string(from))
			if err != nil {
				t.Fatal(err)
			}
			const database = `a 'new'/\one?`
			after, err := pgx.ParseConfig(from.withDatabase(database))
			if err != nil {
				t.Fatal(err)
			}
			if after.Database != database {
				t.Errorf("database %q, want %q", after.Database, database)
			}
			if after.Host != before.Host || after.Port != before.Port ||
				after.User != before.User || after.Password != before.Password {
				t.Errorf("leads elsewhere: %+v", after)
			}
			if after.RuntimeParams["application_name"] != before.RuntimeParams["application_name"] {
				t.Errorf("lost parameters: %v", after.RuntimeParams)
			}
		})
	}
}

func TestSocketDSN(t *testing.T) {
	config, err := pgx.ParseConfig(string(socketDSN("/run/a folder&more", 4711)))
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "/run/a folder&more" || config.Port != 4711 {
		t.Fatalf("leads to %s:%d", config.Host, config.Port)
	}
}
