package service

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	mathrand "math/rand/v2"
	"os"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"ordeal/service/provider"
	"ordeal/service/telemetry"
)

// Production returns the dependencies of a process that runs for real: the clock of the machine,
// randomness of the operating system and calls over the network.
func Production(pools Pools, log *slog.Logger) Dependencies {
	return Dependencies{
		Work:         pools.Work,
		Leases:       pools.Leases,
		Transport:    provider.NewTransport(),
		Clock:        clockwork.NewRealClock(),
		Rand:         systemRand,
		CursorKey:    newCursorKey(),
		NewRequestID: uuid.NewString,
		Log:          log,
	}
}

// newCursorKey draws a key for a process that shares its lists with no other.
func newCursorKey() []byte {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return key[:]
}

// NewTelemetry returns the telemetry of a process that runs for real, with metrics and, where the
// environment says so (see telemetry.StartTracing), traces. Instance names the process. Stop
// exports what is left of the traces.
func NewTelemetry(
	ctx context.Context, log *slog.Logger, instance string,
) (t *telemetry.Telemetry, stop func(context.Context) error, err error) {
	tracing, err := telemetry.StartTracing(ctx, os.Getenv, instance, systemRand("traces"))
	if err != nil {
		return nil, nil, err
	}
	return telemetry.New(telemetry.Config{
		Clock:  clockwork.NewRealClock(),
		Log:    log,
		Tracer: tracing.Tracer(),
	}), tracing.Stop, nil
}

// systemRand returns a generator seeded by the operating system, whatever the purpose.
func systemRand(string) *mathrand.Rand {
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails
	return mathrand.New(mathrand.NewPCG(
		binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
}
