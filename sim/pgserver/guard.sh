# Runs one private PostgreSQL cluster and lets it live no longer than its user.
#
#   guard.sh run DIR CONF BIN INITDB-FLAG...   make DIR and a cluster in it, run it
#   guard.sh watch DIR                         make DIR, in which somebody else may run one
#   guard.sh adopt DIR                         end what another guard left in DIR
#
# Standard input is the lifeline: the user holds its other end and never has to say good-bye.
# A line on it asks for a restart and names the signal that stops the server (INT or QUIT);
# its end, for whatever reason, means that the user is gone: stop the server, remove DIR.
#
# Files in DIR: log (initdb's and the server's words), pid (of the server), exit (its status,
# there only when it has ended), postgresql.conf, data/, and the server's socket.

task=$1
dir=$2

# A handler that does nothing, unlike an ignored signal, is not inherited by the server.
trap : HUP INT TERM PIPE

nap() {
	sleep 0.05 || sleep 1
}

# gone WAITS: whether the server ends within so many naps.
gone() {
	waits=$1
	while [ ! -e "$dir/exit" ] && kill -0 "$pid"; do
		[ "$waits" -gt 0 ] || return 1
		waits=$((waits - 1))
		nap
	done
}

# The inner shell stays to tell the exit status, which it alone can learn.
start() {
	rm -f "$dir/pid" "$dir/exit"
	(
		"$bin/postgres" -D "$dir/data" -c "config_file=$dir/postgresql.conf" \
			>>"$dir/log" 2>&1 &
		echo "$!" >"$dir/pid"
		wait "$!"
		echo "$?" >"$dir/exit"
	) </dev/null &
	tries=200
	until [ -s "$dir/pid" ] || [ "$tries" -eq 0 ]; do
		tries=$((tries - 1))
		nap
	done
}

# A backend that somebody stopped with SIGSTOP would not see the order to quit.
wake() {
	kill -CONT "$pid"
	ps -A -o pid= -o ppid= | while read -r child parent; do
		[ "$parent" = "$pid" ] && kill -CONT "$child"
	done
}

# After an order to quit the server itself kills what has not obeyed within 5 s.
stop() {
	pid=$(cat "$dir/pid")
	[ -n "$pid" ] || pid=$(sed -n 1p "$dir/data/postmaster.pid")
	case $pid in
	'' | -*) return ;; # there is none, or only a part of initdb
	esac
	gone 0 || kill -"$1" "$pid"
	gone 0 || wake
	gone 200 || kill -QUIT "$pid"
	gone 200 || kill -KILL "$pid"
	gone 200
	release
}

# A server that was killed outright leaves its lock file and a shared memory segment.
release() {
	lock="$dir/data/postmaster.pid"
	[ -e "$lock" ] || return
	segment=$(sed -n 7p "$lock")
	[ -n "$segment" ] && ipcrm -m "${segment##* }"
}

# settle ends what somebody else runs in DIR: initdb is let finish, since it would leave
# shared memory, a server is stopped.
settle() {
	tries=600
	while ps -A -o args= | grep -q "[-]D $dir/data"; do
		[ "$tries" -gt 0 ] || return
		tries=$((tries - 1))
		stop QUIT
		nap
	done
}

# A backend of a killed server may live, and write, a moment longer.
clear() {
	tries=200
	until rm -rf "$dir" && [ ! -e "$dir" ]; do
		[ "$tries" -gt 0 ] || return
		tries=$((tries - 1))
		nap
	done
}

if [ "$task" != adopt ]; then
	mkdir -m 700 "$dir" || exit
	echo ready
	exec >/dev/null 2>&1
fi

if [ "$task" = run ]; then
	conf=$3
	bin=$4
	shift 4
	printf '%s\n' "$conf" >"$dir/postgresql.conf"
	if "$bin/initdb" -D "$dir/data" "$@" >"$dir/log" 2>&1 </dev/null; then
		: >"$dir/log"
		start
	else
		echo "$?" >"$dir/exit"
	fi
fi

while read -r signal; do
	stop "$signal"
	start
done
stop QUIT
[ "$task" = run ] || settle
clear
