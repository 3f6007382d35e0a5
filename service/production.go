package service

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	mathrand "math/rand/v2"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"ordeal/service/provider"
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
		NewRequestID: uuid.NewString,
		Log:          log,
	}
}

// systemRand returns a generator seeded by the operating system, whatever the purpose.
func systemRand(string) *mathrand.Rand {
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails
	return mathrand.New(mathrand.NewPCG(
		binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
}
