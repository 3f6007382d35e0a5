# Runs one program and lets it live no longer than the lifeline, which is file descriptor 3.
#
#   guard.sh PROGRAM ARGUMENT...
#
# The guard leads a session of its own. It tells the program's pid on file descriptor 4, and ends
# with the program's status. When the lifeline ends, for whatever reason, everything in the
# guard's group is killed, the guard included: its own pid is the group's, so no stranger can be
# hit, and a stopped program dies as well.

"$@" </dev/null 3<&- 4>&- &
program=$!
echo "$program" >&4
exec 4>&-

# The watcher; a background job would read from nowhere, were it not told where from.
{
	read -r _
	kill -KILL 0
} <&3 >/dev/null 2>&1 &
exec 3<&-

wait "$program"
status=$?
kill -KILL "$!" 2>/dev/null
exit "$status"
