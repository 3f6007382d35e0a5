package integration_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ordeal/service/order"
)

// generator makes Go clients from descriptions; it is run and not imported.
const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// clientModule is a module of its own, so that what generated code needs is nothing that we need.
const clientModule = `module example

go 1.26

require (
	github.com/oapi-codegen/runtime v1.9.0
	go.yaml.in/yaml/v3 v3.0.6
)
`

// clientMain creates an order, reads it, and asks for one that is not there.
const clientMain = `package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example/client"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) error {
	c, err := client.NewClientWithResponses(url, client.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer ann")
			return nil
		}))
	if err != nil {
		return err
	}
	made, err := c.CreateOrderWithResponse(ctx,
		&client.CreateOrderParams{IdempotencyKey: "key"},
		client.NewOrder{Items: []client.NewLine{{Sku: "tea", Quantity: 2, UnitPrice: 500}}})
	if err != nil {
		return err
	}
	got, err := c.GetOrderWithResponse(ctx, made.JSON201.Id, nil)
	if err != nil {
		return err
	}
	other, err := c.GetOrderWithResponse(ctx, "00000000-0000-8000-8000-000000000000", nil)
	if err != nil {
		return err
	}
	fmt.Println(got.JSON200.Id, got.JSON200.State, got.JSON200.Total,
		other.ApplicationproblemJSON404.Code)
	return nil
}
`

// TestClientIsGenerated makes a client from the document that the service serves, builds it, and
// lets it create and read an order.
func TestClientIsGenerated(t *testing.T) {
	s := setup(t)
	server := httptest.NewServer(s.instances[0])
	defer server.Close()
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		var complaints strings.Builder
		command.Stderr = &complaints
		out, err := command.Output()
		if err != nil {
			t.Fatalf("go %s: %v: %s %s", arguments, err, out, complaints.String())
		}
		return strings.TrimSpace(string(out))
	}
	write("go.mod", clientModule)
	write("main.go", clientMain)
	write("openapi.yaml", string(servedDocument()))
	write("client/client.go", run("run", generator, "-generate", "types,client", "-package",
		"client", "openapi.yaml"))
	run("vet", "./...")
	want := order.NewID(ann, "key").String() + " created 1000 not_found"
	if got := run("run", ".", server.URL); got != want {
		t.Errorf("the client says %q, want %q", got, want)
	}
}
