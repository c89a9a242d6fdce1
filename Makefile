# Everything goes through make, so that every go command runs with the flags of
# e2e/build/flags.env: with the same flags each package is compiled once.
include e2e/build/flags.env
export CGO_ENABLED GOFLAGS

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .cache/bin
# What "runtimegate version" says.
VERSION ?= $(shell git describe --tags --always --dirty)
API := ./inventory/v1alpha1
CRDS := charts/runtimegate/crds
# Not cmd/cluster, cmd/kubelet and schedulerdiff: vet and staticcheck would read all of
# Kubernetes for them, which takes 6 minutes.
E2E_LINTED := ./build ./harness ./session ./chart ./containerd ./soak ./scale ./configdiff ./image ./bench ./cmd/bench ./cmd/build ./cmd/demo ./cmd/image ./cmd/pause .

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

.PHONY: demo
demo: programs ## Tell what runtimegate is for, with a real control plane (KEEP=1 leaves it up)
	@exec $(BIN)/demo $(if $(KEEP),--keep)

# It builds by itself, once it has found that this host can run a node.
.PHONY: demo-node
demo-node: ## Tell what becomes of a handler on a real node: kubelet, containerd, runc (as root; KEEP=1)
	@cd e2e && go build -ldflags='-s -w' -o ../$(BIN)/demo ./cmd/demo
	@exec $(BIN)/demo --node $(if $(KEEP),--keep)

.PHONY: test
test: containerds promtool verify ## Run all checks and tests
	go test ./...
	cd e2e/promtool && go test .
	$(BIN)/promtool test rules e2e/promtool/alerts.test.yaml
	cd e2e && go test ./build ./harness ./session ./chart ./image ./bench
	cd e2e && go test -vet=off -v -count=1 ./schedulerdiff
	cd e2e && go test -v -count=1 ./configdiff -run='TestLoadAgreesWithContainerd$$|TestUpgradeWithContainerd$$' -args -bin='$(CURDIR)/$(BIN)' -containerd=1.7,2.4 -trees=100
	cd e2e && go test -v -count=1 ./containerd
	cd e2e && go test -v -count=1 ./soak ./scale
	cd e2e && go test -v -count=1 -timeout=20m -parallel=3 .

.PHONY: build
build: ## Build runtimegate into .cache/bin
	go build -ldflags='-s -w -X main.version=$(VERSION)' -o $(BIN)/runtimegate .

.PHONY: image
image: ## Make the image, without a container engine (PLATFORMS=linux/amd64,linux/arm64)
	cd e2e && go run ./cmd/image -version='$(VERSION)' $(if $(PLATFORMS),-platforms='$(PLATFORMS)')

.PHONY: man
man: ## Write the man pages into .cache/man
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run -ldflags='-X main.version=$(VERSION)' . man .cache/man

# Where krew installs the plugin, as .krew.yaml lists them.
PLUGIN_PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: krew
krew: ## Build the kubectl plugin's archives and krew manifest into .cache/krew (VERSION=v1.2.3)
	@[[ '$(VERSION)' =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$$ ]] || { echo "krew: $(VERSION) is no version: VERSION=v1.2.3" >&2; exit 1; }
	@rm -rf .cache/krew && mkdir -p .cache/krew/files
	@cp LICENSE docs/kubectl_complete-runtimegate .cache/krew/files
	@fill=(-e 's/@VERSION@/$(VERSION)/'); \
	for platform in $(PLUGIN_PLATFORMS); do \
	  os=$${platform%/*} arch=$${platform#*/} archive=kubectl-runtimegate_$${os}_$$arch.tar.gz; \
	  GOOS=$$os GOARCH=$$arch go build -ldflags='-s -w -X main.version=$(VERSION)' -o .cache/krew/files/kubectl-runtimegate .; \
	  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$$(git log -1 --format=%ct)" -C .cache/krew/files -czf .cache/krew/$$archive .; \
	  key=$${os}_$$arch; sum=$$(sha256sum .cache/krew/$$archive); \
	  fill+=(-e "s/@SHA256_$${key^^}@/$${sum%% *}/"); \
	done; \
	sed "$${fill[@]}" .krew.yaml > .cache/krew/runtimegate.yaml
	@rm -r .cache/krew/files
	KREW_VERSION='$(VERSION)' go test -count=1 -run=TestKrewArchives$$ .

.PHONY: e2e
e2e: programs ## Run the end-to-end tests (RUN=name for some, UPDATE=1 takes what they print as expected)
	cd e2e && go test -v -count=1 -timeout=20m $(if $(RUN),-run='$(RUN)') . $(if $(UPDATE),-args -update)

.PHONY: soak
soak: programs ## Let many reporters run for minutes (REPORTERS=10000 DURATION=5m)
	cd e2e && go test -v -count=1 -timeout=1h ./soak -args -reporters=$(or $(REPORTERS),10000) -duration=$(or $(DURATION),5m)

.PHONY: scale
scale: programs ## Measure serve in a cluster of many nodes (NODES=100000 DURATION=1m)
	cd e2e && go test -v -count=1 -timeout=1h ./scale -args -nodes=$(or $(NODES),100000) -starts=$(or $(STARTS),3) -duration=$(or $(DURATION),1m)

.PHONY: verify
verify: lint ## Check that go.mod and generated files are up to date, and lint
	go mod tidy -diff
	cd e2e && go mod tidy -diff
	cd e2e/promtool && go mod tidy -diff
	cd e2e/peers && go mod tidy -diff
	cd e2e/peers/gatekeeper && go mod tidy -diff
	@if go list -deps . | grep '^k8s.io/kubernetes/'; then \
	  echo "runtimegate depends on k8s.io/kubernetes: that is for e2e only" >&2; exit 1; fi
	@generated=$$(mktemp -d) && trap 'rm -rf "$$generated"' EXIT && \
	$(call controller_gen,$$generated,$$generated) && \
	for file in $(API)/zz_generated.deepcopy.go $(CRDS)/*.yaml; do \
	  diff -u "$$file" "$$generated/$$(basename "$$file")" || { echo "$$file is out of date: make generate" >&2; exit 1; }; \
	done && \
	for file in "$$generated"/*.yaml; do \
	  test -e "$(CRDS)/$$(basename "$$file")" || { echo "$(CRDS) lacks $$(basename "$$file"): make generate" >&2; exit 1; }; \
	done
	cd e2e && go test ./chart -run=TestDocs$$

# For macOS, too, for which krew has archives: the first time that compiles all
# packages once more.
.PHONY: lint
lint: tools ## Run gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	test -z "$$unformatted" || { echo "not formatted by gofmt:" $$unformatted >&2; exit 1; }
	go vet ./...
	cd e2e && go vet $(E2E_LINTED)
	cd e2e/promtool && go vet .
	$(BIN)/staticcheck ./...
	cd e2e && ../$(BIN)/staticcheck $(E2E_LINTED)
	cd e2e/promtool && ../../$(BIN)/staticcheck .

.PHONY: generate
generate: tools ## Write the files that are generated from the API types and the chart's values
	$(call controller_gen,$(API),$(CRDS))
	cd e2e && go test ./chart -run=TestDocs$$ -args -update

.PHONY: bench
bench: containerds programs peers ## Run the benchmarks; the last ones compare webhooks (ROUNDS=5 DURATION=2s; DOCUMENT=1 writes docs/performance.md)
	go test -run='^$$' -bench=. -benchmem ./... | tee .cache/go.bench
	cd e2e && go test -run='^$$' -bench=. ./containerd
	$(MAKE) --no-print-directory bench-webhooks

.PHONY: bench-webhooks
bench-webhooks: programs peers
	cd e2e && go run ./cmd/bench -rounds=$(or $(ROUNDS),5) -duration=$(or $(DURATION),2s) \
	  -profile='$(CURDIR)/.cache/serve.pprof' \
	  $(if $(wildcard .cache/go.bench),-benchmarks='$(CURDIR)/.cache/go.bench') $(if $(DOCUMENT),-document='$(CURDIR)/docs/performance.md')
	go tool pprof -top -nodecount=25 .cache/serve.pprof 2>/dev/null

.PHONY: clean
clean: ## Remove what was built (the Go build cache stays)
	rm -rf .cache

# controller_gen writes the deep copies into the first folder, the CRDs into the second.
controller_gen = $(BIN)/controller-gen paths=$(API) \
	object output:object:dir=$(1) \
	crd output:crd:dir=$(2)

.PHONY: programs
programs:
	@cd e2e && go run ./cmd/build

.PHONY: containerds
containerds:
	@cd e2e && go run ./cmd/build containerd

# Without service discovery, which is half of it and no part of testing rules: 40
# seconds on two cores when the Go build cache has the rest of the tests only.
.PHONY: promtool
promtool:
	cd e2e/promtool && go build -tags=remove_all_sd -ldflags='-s -w' -o ../../$(BIN)/ tool

# What runtimegate is compared with: for make bench only, since Gatekeeper takes
# minutes to build.
.PHONY: peers
peers:
	cd e2e/peers && go build -ldflags='-s -w' -o ../../$(BIN)/peers/ ./floor ./noop ./psa
	cd e2e/peers/gatekeeper && go build -ldflags='-s -w' -o ../../../$(BIN)/peers/ .

.PHONY: tools
tools:
	@cd e2e && go build -o ../$(BIN)/ tool
