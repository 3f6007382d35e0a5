# Runs a PostgreSQL image's own entry point and lets it live no longer than its user.
#
# Standard input is the lifeline: the user is attached to it, and its end, for whatever
# reason, means that the user is gone. While the entry point still prepares the cluster it
# does not listen to signals, so the order to quit is repeated until there is a server.
exec 3<&0
(
	cat <&3 >/dev/null
	while kill -QUIT 1; do sleep 1; done
) &
exec docker-entrypoint.sh "$@" </dev/null 3<&-
