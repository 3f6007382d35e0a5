package service

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"ordeal/service/store"
)

// watch lets the telemetry see what the service does and how its orders stand.
func (s *Service) watch(d Dependencies, orders *store.Store) {
	s.handler = d.Telemetry.HTTP(s.handler)
	s.admin = d.Telemetry.Admin(s.handler)
	d.Telemetry.Watch(orders)
	d.Telemetry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ordeal_leases_held",
		Help: "Steps in work, each under a lease.",
	}, func() float64 { return float64(s.executor.InWork()) }))
	watchPool(d, "work", d.Work)
	watchPool(d, "leases", d.Leases)
}

// watchPool shows how many connections of a pool are used, and may be.
func watchPool(d Dependencies, name string, pool *pgxpool.Pool) {
	if pool == nil {
		return // a process that takes no steps renews no leases
	}
	gauge := func(metric, help string, value func(*pgxpool.Stat) int32) {
		d.Telemetry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        metric,
			Help:        help,
			ConstLabels: prometheus.Labels{"pool": name},
		}, func() float64 { return float64(value(pool.Stat())) }))
	}
	gauge("ordeal_pool_connections_acquired", "Database connections in use.",
		(*pgxpool.Stat).AcquiredConns)
	gauge("ordeal_pool_connections_open", "Database connections that are open.",
		(*pgxpool.Stat).TotalConns)
	gauge("ordeal_pool_connections_limit", "Database connections that may be open at once.",
		(*pgxpool.Stat).MaxConns)
}
