package pgserver

import (
	"slices"
	"testing"
	"time"
)

func TestPullBound(t *testing.T) {
	for text, want := range map[string]time.Duration{"": defaultPullBound, "3s": 3 * time.Second} {
		env := environment(map[string]string{"ORDEAL_POSTGRES_PULL_TIMEOUT": text})
		if got, err := pullBound(env); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	env := environment(map[string]string{"ORDEAL_POSTGRES_PULL_TIMEOUT": "soon"})
	if got, err := pullBound(env); err == nil {
		t.Errorf("soon is %v", got)
	}
}

func TestContainerCommand(t *testing.T) {
	got := containerCommand(map[string]string{"work_mem": "1MB", "fsync": "off"})
	want := []string{"postgres", "-c", "fsync=off", "-c", "work_mem=1MB"}
	if !slices.Equal(got, want) {
		t.Fatalf("command %v", got)
	}
}
