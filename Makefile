# The table of contents of every command. `make help` prints it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export RUST_BACKTRACE ?= 0

CONFIG ?=

.PHONY: help
help: ## This list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-12s %s\n", $$1, $$2 }'

.PHONY: run
run: setup ## Watch a demo fleet on loopback; CONFIG=my.toml watches your own.
	cargo build --locked -p probehost -p probehost-demo
	@scripts/run.sh $(CONFIG)

.PHONY: test
test: setup test-servers ## All tests, against real servers.
	cargo test --locked --workspace --no-fail-fast

.PHONY: lint
lint: setup ## Formatting and clippy, warnings denied.
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

.PHONY: doc
doc: setup ## API docs, warnings denied.
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

.PHONY: bench
bench: setup ## Costs as ratios within one run: sandbox, probes, records.
	cargo bench --locked -p probehost --bench probes

.PHONY: soak
soak: setup ## The long forms of tests: hundreds of kills and replaced plugins, thousands of probes.
	cargo build --locked -p probehost-test-mcp-server
	PROBEHOST_SOAK=1 cargo test --locked --workspace --test e2e -- --nocapture
	PROBEHOST_SOAK=1 cargo test --locked -p probehost-capability --test ssh -- --nocapture soak

.PHONY: release
release: setup ## An optimised binary: target/release/probehost.
	cargo build --locked --release -p probehost

.PHONY: setup
setup: ## What building needs: the toolchain's wasm32-wasip2 target.
	@scripts/toolchain.sh
	@scripts/wasm-target.sh

.PHONY: test-servers
test-servers: ## The real servers that the tests use.
	@scripts/test-servers.sh
