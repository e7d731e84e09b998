# Every target is one line of what it does; CI calls the same targets.
GO     ?= go
TOOL   := $(GO) tool -modfile=tools/go.mod
FUZZ   ?= 5s
OPS    ?= 100000
SEED   ?= 0
NODES  ?= 1000000
KILLS  ?= 1000
AWAY   ?= 10m
export CGO_ENABLED ?= 1

.PHONY: build run test unit race compat outage histories fuzz bench load start memory lint fmt cover clean

build: ## the binary, in bin/
	$(GO) build -o bin/zkbridge ./cmd/zkbridge

run: build ## a bridge on its embedded defaults, data in data/
	bin/zkbridge serve

test: unit compat ## everything: what needs nothing, then what needs real peers (fetched and started)

unit: ## tests that need nothing but Go
	$(GO) test ./...

race: ## the same under the race detector, three times
	$(GO) test -race -count=3 ./...

compat: build ## against real ZooKeeper, Dubbo, Curator, dubbo-go and kazoo
	$(GO) test -tags compat -count=1 -p 1 -timeout 40m ./compat-tests/...

outage: build ## the registry away for AWAY (10m) under real Dubbo consumers, then empty, then lying
	$(GO) test -tags compat -count=1 -timeout 0 -v ./compat-tests/registry -away $(AWAY)

histories: build ## random histories beside a real ZooKeeper: OPS operations (100000), the first from SEED
	$(GO) test -tags compat -count=1 -timeout 0 -v -run TestHistories ./compat-tests/histories -operations $(OPS) -seed $(SEED)

kills: build ## KILLS (1000) kills of bridge and registry under running clients, from SEED
	$(GO) test -tags compat -count=1 -timeout 0 -v ./compat-tests/kills -kills $$(( $(KILLS) / 2 )) -seed $(SEED)

fuzz: ## each fuzz target for FUZZ (5s; FUZZ=1h for a night)
	./fuzz.sh $(FUZZ)

bench: build ## beside a real ZooKeeper, in one run
	$(GO) run ./compat-tests/bench

load: build ## 100,000 sessions in memory, their expiry at once, slow readers, storms; then 18,000 over TCP beside a real ZooKeeper
	$(GO) test -count=1 -timeout 30m -v -run TestLoad ./internal/server -load
	$(GO) test -count=1 -timeout 30m -v -run TestThousandsFallSilent ./internal/bridge -silent 10000
	$(GO) run ./compat-tests/bench --servers zkbridge,zookeeper --cases idle,storm --sessions 18000 --rounds 1 --json .cache/load.json

start: ## how long a start on NODES (1000000) ephemerals takes, and what each costs on the disk
	$(GO) test -count=1 -timeout 30m -v -run 'TestStart$$' ./internal/znode -stored $(NODES)

memory: ## what NODES (1000000) provider nodes cost, layer by layer
	$(GO) test -count=1 -timeout 30m -v -run TestMemory ./internal/bridge -nodes $(NODES)

lint: ## vet, staticcheck and the import rule between the rooms
	$(TOOL) golangci-lint run ./...

fmt: ## gofumpt and the order of imports
	$(TOOL) golangci-lint fmt ./...

cover: ## statement coverage of the unit tests
	$(GO) test -coverprofile=.cache/cover.out ./... && $(GO) tool cover -func=.cache/cover.out | tail -1

clean: ## what building and testing left behind
	rm -rf bin data .cache
