// Package pgserver gives everybody a PostgreSQL server: tests, sweeps, chaos runs and local
// use start one with a call and owe nothing for it.
//
// # Ways
//
// Start takes the first way that works:
//
//   - url: the server that ORDEAL_DATABASE_URL names. Setting that variable rules out the
//     other ways. The server keeps its own settings and durability, its user must be allowed
//     to create databases, and only databases that this Server created are ever dropped.
//   - local: a private cluster, run by the programs of this machine: those in
//     ORDEAL_POSTGRES_BIN, else on the PATH, else the highest version in the folders of the
//     usual distributions. Root lends the server the account postgres or nobody.
//   - docker: a container, when a Docker daemon answers within 2 s. ORDEAL_POSTGRES_IMAGE
//     names the image (one that needs a login must be pulled beforehand),
//     ORDEAL_POSTGRES_PULL_TIMEOUT limits its download (a duration such as "2m", the
//     default). What configures testcontainers and its reaper works here too.
//   - download: a private cluster as above, run by programs from a public repository, or
//     from ORDEAL_POSTGRES_MIRROR, that are kept in ORDEAL_POSTGRES_CACHE (by default a
//     folder of the user's cache). Not for root. While it downloads, for the first time on
//     a machine, TMPDIR of the process is a folder that will be removed.
//
// ORDEAL_POSTGRES set to one of these names forces that way: its failure is final then. When
// no way works, one error lists each with its reason and what would enable it. PostgreSQL 15
// to 18 are supported and other versions refused.
//
// # A private cluster
//
// All of it is one folder in a temporary place, readable by the server's account alone: data,
// configuration, log and the Unix socket that it listens on. The socket asks for no password,
// since who reaches it owns it; Options.TCP adds an address that does. The folder is in
// TMPDIR, or where that is too deep for a socket's path or closed to the account, in /tmp or
// /var/tmp. Nothing is outside of it but one small segment of shared memory.
//
// The server must not outlive its user, who may be killed at any instant. So the user starts
// neither folder nor server itself. It starts a guard, a shell in a session of its own which
// does not see Ctrl-C, and holds the only writing end of the pipe that is the guard's standard
// input, the lifeline:
//
//	user ── lifeline ──> guard (sh) ──> shell that waits ──> postgres ──> backends
//	  │                                                        ^
//	  └──────────────────────── socket ────────────────────────┘
//
// The guard's life:
//
//	         mkdir fails
//	start ───────────────> end           (the user tries another place)
//	  │ mkdir
//	  v        fails
//	initdb ──────────────┐
//	  │                  v
//	  ├────────> waits with the exit status in a file
//	  v   ends           │
//	server runs ─────────┤
//	  │    ^             │ lifeline ends: closed by Close, or by the kernel
//	  └────┘             │ as the user exits, panics or is killed
//	  a line on the      v
//	  lifeline:     SIGQUIT, stopped backends woken by SIGCONT, at last SIGKILL;
//	  restart       folder removed ──> end
//
// There is no instant at which a killed user leaves anything: before the guard runs there is
// nothing, and once it runs it holds the lifeline. Close cuts the lifeline and waits for the
// guard's end. If it was the guard that was killed, Close starts another one to clean up; a
// user and its guard both killed with SIGKILL are the one case that leaves a server behind.
//
// A container is kept alive by the same means, a connection to its standard input whose end
// stops the server, after which the container removes itself. A server named by a URL has
// no guard: a user that is killed leaves its databases there, named as UniqueName names them.
package pgserver
