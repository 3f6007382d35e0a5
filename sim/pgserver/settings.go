package pgserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// throwAway holds the settings of a server whose data nobody will miss: no waiting for
// disks, and nothing in the background that could change what a run sees or when. Tables
// are not vacuumed either; a long sweep does that itself between its runs.
var throwAway = map[string]string{
	"autovacuum":                      "off",
	"bgwriter_lru_maxpages":           "0",
	"checkpoint_timeout":              "1h",
	"fsync":                           "off",
	"full_page_writes":                "off",
	"jit":                             "off",
	"log_min_messages":                "log",
	"max_connections":                 "200",
	"max_parallel_workers_per_gather": "0",
	"max_wal_senders":                 "0",
	"shared_buffers":                  "64MB",
	"synchronous_commit":              "off",
	"wal_level":                       "minimal",
}

// durable holds the settings of a server that is treated as in production.
var durable = map[string]string{
	"fsync":              "on",
	"full_page_writes":   "on",
	"jit":                "off",
	"max_connections":    "200",
	"shared_buffers":     "256MB",
	"synchronous_commit": "on",
}

// reserved are the settings that this package decides: where the server is found, and that
// all it writes is inside its folder.
var reserved = []string{
	"config_file",
	"data_directory",
	"dynamic_shared_memory_type",
	"hba_file",
	"listen_addresses",
	"logging_collector",
	"port",
	"unix_socket_directories",
}

// serverSettings are the settings that the options ask for, without the reserved ones.
func serverSettings(o Options) (map[string]string, error) {
	settings := maps.Clone(throwAway)
	if o.Durable {
		settings = maps.Clone(durable)
	}
	settings["timezone"] = "UTC"
	for name, value := range o.Settings {
		name = strings.ToLower(name)
		if slices.Contains(reserved, name) {
			return nil, fmt.Errorf("setting %s is decided by the package itself", name)
		}
		settings[name] = value
	}
	return settings, nil
}

// configFile is the text of postgresql.conf for a server in dir; tcpPort 0 is a server that
// listens on its socket only. Shared memory is kept in files of the data folder so that
// even a killed server leaves none elsewhere.
func configFile(settings map[string]string, dir string, tcpPort int) string {
	all := maps.Clone(settings)
	all["dynamic_shared_memory_type"] = "mmap"
	all["listen_addresses"] = ""
	all["log_timezone"] = "UTC"
	all["port"] = fmt.Sprint(socketPort)
	all["unix_socket_directories"] = `"` + strings.ReplaceAll(dir, `"`, `""`) + `"`
	if tcpPort != 0 {
		all["listen_addresses"] = "127.0.0.1"
		all["port"] = fmt.Sprint(tcpPort)
	}
	quote := strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, quote.Replace(all[name]))
	}
	return text.String()
}
