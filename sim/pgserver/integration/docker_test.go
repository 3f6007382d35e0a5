package integration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ordeal/sim/pgserver"
)

// The image below is one that no registry has.
const noImage = "ordeal.invalid/no/such-image:1"

// Without Docker, or without the image, the docker way fails soon and says what is missing.
func TestDockerFailsSoon(t *testing.T) {
	t.Setenv("ORDEAL_POSTGRES", "docker")
	t.Setenv("ORDEAL_POSTGRES_IMAGE", noImage)
	t.Setenv("ORDEAL_POSTGRES_PULL_TIMEOUT", "10s")
	begun := time.Now()
	s, err := pgserver.Start(context.Background(), pgserver.Options{})
	if err == nil {
		t.Fatal(errors.Join(errors.New("started"), s.Close()))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Fatalf("took %v", took)
	}
	text := err.Error()
	if !strings.Contains(text, "no Docker daemon answers") && !strings.Contains(text, noImage) {
		t.Fatalf("says neither that Docker nor that the image is missing: %v", err)
	}
}
