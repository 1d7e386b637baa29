# The one file of commands. `make help` lists them.
#
# Everything lands in two places inside this folder, both ignored by git: .venv (Python environment, the `nuthatch` command,
# the embedding model) and target (what cargo compiles; CARGO_TARGET_DIR moves it).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Steps share cargo's lock and the environment: in parallel they would only wait for each other.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# The Python that .venv is made with; 3.10 or newer.
PYTHON ?= python3
CARGO_TARGET_DIR ?= $(CURDIR)/target

VENV := $(CURDIR)/.venv
TARGET := $(abspath $(CARGO_TARGET_DIR))
RELEASE := $(TARGET)/release
STEP := scripts/step.sh

# One environment for every cargo command. RocksDB and its bindings are compiled again (many minutes) whenever one of
# these differs, so nothing below may set its own. libclang is kept beside what it helped to build for the same reason:
# two checkouts that share a target folder then name the same path.
export CARGO_TARGET_DIR := $(TARGET)
export LIBCLANG_PATH := $(TARGET)/libclang
# RocksDB is compiled by scripts/rocksdb.py. Without these two its crate compiles it alone, in three times the time.
export ROCKSDB_LIB_DIR := $(TARGET)/rocksdb
export ROCKSDB_STATIC := 1
# The wheel has the library but not clang's own headers (stddef.h and the like); the compiler's do.
export BINDGEN_EXTRA_CLANG_ARGS := -I$(shell $${CC:-cc} -print-file-name=include 2>/dev/null)
# The interpreter whose C API the module is built for.
export PYO3_PYTHON := $(VENV)/bin/python
# Where the engine finds the model, and tests the command.
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)

# One profile and one selection of packages everywhere: the same dependencies with the same features, compiled once.
CARGO_SCOPE = --release --workspace --locked $(if $(ASSERTIONS),$(ASSERTING))
# With ASSERTIONS=1 our crates check their debug assertions, and only they are compiled again.
ASSERTING := $(foreach crate,$(notdir $(wildcard crates/*)),--config profile.release.package.nuthatch-$(crate).debug-assertions=true)
# Of these, what a user runs: the command and the Python module, and no test, example or fuzz target, and nothing that only
# nodes of a cluster have. scripts/features.py sees to it that the dependencies' features are those of the whole all the same.
PARTS_APART := nuthatch-fuzz nuthatch-cluster nuthatch-cassandra nuthatch-node
CARGO_PRODUCT := $(PARTS_APART:%=--exclude %) --bin nuthatch --lib

PACKAGES_STAMP := $(VENV)/.packages-installed
LIBCLANG_STAMP := $(TARGET)/libclang/.copied

.PHONY: help
help: ## List these commands
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: quickstart
quickstart: setup ## Set up, then run the main job on real input (start here)
	@scripts/quickstart.sh

.PHONY: setup
setup: check-tools $(PACKAGES_STAMP) build ## Set everything up: .venv, the nuthatch command, the Python module, the model
	@$(STEP) "The embedding model" $(VENV)/bin/python -m nuthatch.model install

.PHONY: check-tools
check-tools:
	@PYTHON="$(PYTHON)" scripts/check-tools.sh

$(VENV)/bin/python:
	@$(STEP) "A Python environment in .venv" $(PYTHON) -m venv $(VENV)

$(PACKAGES_STAMP): python/requirements-dev.txt $(VENV)/bin/python
	@$(STEP) "Python packages for building and testing, into .venv" \
		$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r python/requirements-dev.txt
	@touch $@

$(LIBCLANG_STAMP): $(PACKAGES_STAMP)
	@mkdir -p $(@D)
	@cmp -s $(VENV)/lib/python3*/site-packages/clang/native/libclang.* $(@D)/libclang.* \
		|| cp $(VENV)/lib/python3*/site-packages/clang/native/libclang.* $(@D)/
	@touch $@

.PHONY: rocksdb
rocksdb: $(LIBCLANG_STAMP)
	@$(STEP) "RocksDB, which is C++ (minutes the first time, then nothing)" \
		$(PYO3_PYTHON) scripts/rocksdb.py "$(TARGET)"

.PHONY: compile
compile: rocksdb
	@$(STEP) "The engine, the command and the Python module" cargo build $(CARGO_SCOPE) $(CARGO_PRODUCT)

.PHONY: build
build: check-tools compile ## Compile, and put the command and the Python module into .venv
	@scripts/install-built.sh "$(RELEASE)" "$(VENV)"
	@$(VENV)/bin/python scripts/install_metadata.py

.PHONY: wheel
wheel: build ## Build the wheel, with the command inside, into dist; pip installs it anywhere like here
	@$(STEP) "The wheel" $(VENV)/bin/python scripts/distributions.py wheel dist "$(RELEASE)"

.PHONY: sdist
sdist: check-tools $(PACKAGES_STAMP) ## Build the sdist, from which pip compiles the wheel elsewhere, into dist
	@$(STEP) "The sdist" $(VENV)/bin/python scripts/distributions.py sdist dist

.PHONY: release
release: build ## Rehearse a release into dist: versions, changelog, licences, packages, checksums; publishes nothing
	@$(VENV)/bin/python scripts/release.py dist "$(RELEASE)" "$(TARGET)/release-environment"

.PHONY: node
node: check-tools rocksdb ## Compile nuthatch-cluster, which serves data from object storage or Cassandra
	@$(STEP) "The node of a cluster" cargo build $(CARGO_SCOPE) --bin nuthatch-cluster

.PHONY: test
test: setup ## Set up, then run all tests: Rust, the documents' examples, Python (ASSERTIONS=1: with debug assertions)
	@$(STEP) "Rust tests" scripts/cargo-test.sh $(CARGO_SCOPE)
	@$(STEP) "Documents: links lead somewhere, examples run" $(VENV)/bin/python scripts/documents.py
	@$(VENV)/bin/python -m pytest -ra python/tests

.PHONY: test-long
test-long: export NUTHATCH_LONG := 1
test-long: ASSERTIONS := 1
test-long: test ## The same with the long loops (hundreds of kill -9 rounds, larger models) and with debug assertions

.PHONY: lint
lint: check-tools rocksdb ## Formatting, clippy, ruff, type check, the order of modules
	@$(STEP) "cargo fmt" cargo fmt --all --check
	@$(STEP) "clippy" cargo clippy $(CARGO_SCOPE) --all-targets -- -D warnings
	@$(STEP) "ruff" $(VENV)/bin/ruff check python scripts bench
	@$(STEP) "ruff format" $(VENV)/bin/ruff format --check python scripts bench
	@cd python && ../$(STEP) "mypy" $(VENV)/bin/mypy
	@$(STEP) "the order of modules" $(VENV)/bin/python scripts/layers.py
	@$(STEP) "features of dependencies" $(VENV)/bin/python scripts/features.py $(PARTS_APART)
	@$(STEP) "shell syntax" bash -n scripts/*.sh .ci/run

.PHONY: format
format: $(PACKAGES_STAMP) ## Format all sources
	@cargo fmt --all
	@$(VENV)/bin/ruff format python scripts bench
	@$(VENV)/bin/ruff check --fix python scripts bench

.PHONY: audit
audit: check-tools $(PACKAGES_STAMP) ## Licences, yanked crates and known advisories of all dependencies
	@$(STEP) "Licences" $(VENV)/bin/python scripts/licences.py
	@$(STEP) "Yanked crates" $(VENV)/bin/python scripts/yanked.py
	@$(STEP) "Advisories" $(VENV)/bin/python scripts/advisories.py

.PHONY: openapi
openapi: check-tools rocksdb ## Write docs/openapi.json, the description of the server, as the code says it
	@$(STEP) "The description of the server" scripts/openapi.sh $(CARGO_SCOPE)

.PHONY: typescript
typescript: ## Write the types of the TypeScript client anew from docs/openapi.json (needs node)
	@$(STEP) "The TypeScript client" scripts/typescript.sh generate

.PHONY: console
console: ## Build the console's pages anew into the server's sources (needs node)
	@$(STEP) "The console" scripts/console.sh build

.PHONY: docs
docs: build node ## Build the site of the documents, with its search and references, into target/docs/html
	@$(STEP) "The site" scripts/docs.sh "$(TARGET)/docs" "$(RELEASE)/nuthatch" "$(RELEASE)/nuthatch-cluster"
	@NUTHATCH_SITE="$(TARGET)/docs/html" $(VENV)/bin/python -m pytest -ra python/tests/test_website.py

.PHONY: conformance
conformance: build ## Run suites of others against the server (schemathesis, redis-py, the Model Context Protocol's, LangChain's, …; packages from PyPI and npm into .conformance and target)
	@# Errors are described once for all statuses, which is why one rule is left out.
	@$(STEP) "Redocly's rules for docs/openapi.json" npx --yes @redocly/cli@1.34.5 lint --skip-rule operation-4xx-response docs/openapi.json
	@scripts/conformance.sh "$(RELEASE)/nuthatch"
	@scripts/conformance_mcp.sh "$(RELEASE)/nuthatch"
	@$(STEP) "The server for redis-py's tests" cargo build $(CARGO_SCOPE) --example serve
	@$(VENV)/bin/python scripts/conformance_redis.py $(RELEASE)/examples/serve
	@$(VENV)/bin/python scripts/conformance_frameworks.py
	@$(VENV)/bin/python scripts/conformance_importers.py
	@$(VENV)/bin/python scripts/conformance_mneme.py

.PHONY: fuzz
fuzz: check-tools rocksdb ## Let libFuzzer look for what breaks a parser (FUZZ=where: that one of fuzz/README.md; FUZZ_SECONDS=60 each)
	@scripts/fuzz.sh "$(or $(FUZZ),all)" "$(or $(FUZZ_SECONDS),60)" $(CARGO_SCOPE)

.PHONY: bench
bench: check-tools rocksdb ## Run the measurements behind the documents (minutes; wants a quiet machine)
	@scripts/bench.sh

.PHONY: bench-vector
bench-vector: check-tools ## Measure the vector index against its peers (bench/README.md; wants a quiet machine)
	@scripts/bench-vector.sh

.PHONY: prove
prove: check-tools rocksdb ## Prove the five promises on this machine (PROMISE=3: one of them; NUTHATCH_LONG=1: for longer)
	@scripts/prove.sh $(PROMISE)

.PHONY: report
report: build ## Measure what five systems publish, beside their programs and ours, and write one page (15 minutes; SCALE=tiny: one)
	@$(STEP) "The peers, into an environment of their own" scripts/report-environment.sh "$(TARGET)/report-environment"
	@PYTHONPATH="$(CURDIR):$(CURDIR)/python/src" NUTHATCH_BIN="$(RELEASE)/nuthatch" \
		"$(TARGET)/report-environment/bin/python" -m bench.systems --scale "$(or $(SCALE),quick)" --out "$(TARGET)/report"

.PHONY: bench-kv
bench-kv: check-tools rocksdb ## Measure key-value against Pebble and RocksDB (over an hour; QUICK=1: minutes)
	@scripts/bench-kv.sh

.PHONY: aarch64
aarch64: check-tools ## Run the tests of the kernels and of their files on aarch64, emulated (needs qemu and a target of Rust)
	@$(STEP) "Kernels on aarch64" scripts/aarch64.sh

.PHONY: compat-fixture
compat-fixture: check-tools rocksdb ## Make the folder of this format that later builds must open (tests/compat) anew
	@$(STEP) "The fixture of this format" cargo test $(CARGO_SCOPE) --test compat -- --ignored make_the_fixture

.PHONY: env
env: ## Print the environment of cargo here: eval "$(make env)", then use cargo by hand
	@for name in CARGO_TARGET_DIR LIBCLANG_PATH ROCKSDB_LIB_DIR ROCKSDB_STATIC BINDGEN_EXTRA_CLANG_ARGS PYO3_PYTHON VIRTUAL_ENV PATH; do \
		printf 'export %s=%q\n' "$$name" "$${!name}"; done

.PHONY: clean
clean: ## Remove everything that these commands made
	rm -rf -- "$(CURDIR)/target" "$(VENV)" "$(CURDIR)/.quickstart" "$(CURDIR)/dist" THIRD-PARTY-* nuthatch.cdx.json python/src/nuthatch/*.so
