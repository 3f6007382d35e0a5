# Everything that a developer or CI runs. `make help` lists it.
GO ?= go
OUT ?= reports/out
SEEDS ?= 1-200
CORE := $(shell $(GO) list ./... | grep -v /integration)
INTEGRATION := $(shell $(GO) list ./... | grep /integration | grep -v chaos/)

.DEFAULT_GOAL := help
.PHONY: help postgres test core integration smoke sweep chaos chaos-test run check fmt vet lint build clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

postgres: ## Make sure that there is a PostgreSQL server to play on
	@.ci/postgres

test: core integration smoke ## Core tests, tests on a real PostgreSQL, and a short sweep

core: ## Tests that need nothing
	$(GO) test $(CORE)

integration: postgres ## Tests on a real PostgreSQL; they fail without one
	$(GO) test -timeout 10m $(INTEGRATION)

smoke: postgres ## A short sweep over every scenario
	$(GO) run ./cmd/simulate sweep --seeds 1-20 --out $(OUT)/smoke

sweep: postgres ## Play every scenario over SEEDS (default 1-200) and write the result to OUT
	$(GO) run ./cmd/simulate sweep --seeds $(SEEDS) --out $(OUT)

chaos-test: postgres ## Tests of chaos itself, on real processes
	$(GO) test -timeout 10m ./chaos/integration

chaos: postgres ## Kill real processes at their commit boundaries, the short selection
	$(GO) run ./cmd/chaos run --smoke --out $(OUT)/chaos

run: postgres ## Start database, providers and service for local use
	$(GO) run ./cmd/local

check: fmt vet lint ## Formatting, vet, static analysis and the rules of the house

fmt:
	@files=$$(gofmt -l chaos cmd migrations reports scenarios service sim); \
	if [ -n "$$files" ]; then echo "not gofmt-clean:"; echo "$$files"; exit 1; fi

vet:
	$(GO) vet ./...

lint:
	$(GO) tool staticcheck ./...
	$(GO) test ./cmd

build: ## Build the commands into bin
	$(GO) build -o bin/ ./cmd/...

clean: ## Remove what was built or reported
	rm -rf bin $(OUT)
