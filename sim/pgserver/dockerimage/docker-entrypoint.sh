#!/bin/sh
# The entry point of the image that build.sh makes.
set -eu

if [ "$(id -u)" = 0 ]; then
	mkdir -p "$PGDATA"
	chown postgres "$PGDATA"
	exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi

user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}

if [ ! -e "$PGDATA/PG_VERSION" ]; then
	password=$(mktemp)
	printf '%s\n' "${POSTGRES_PASSWORD:?}" >"$password"
	# The variable holds several words on purpose.
	# shellcheck disable=SC2086
	initdb --username="$user" --pwfile="$password" --auth-local=trust \
		--auth-host=scram-sha-256 ${POSTGRES_INITDB_ARGS:-}
	printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
	pg_ctl start --wait --options="-c listen_addresses= -c unix_socket_directories=/tmp"
	if [ "$database" != postgres ]; then
		psql --host=/tmp --username="$user" --dbname=postgres \
			--command="CREATE DATABASE \"$database\""
	fi
	pg_ctl stop --wait --mode=fast
fi

exec "$@" -c 'listen_addresses=*' -c unix_socket_directories=/tmp
