# The only task runner. `make` prints the targets; `make demo` and `make test` set everything up by themselves.
PYTHON ?= python3
BIN := .venv/bin
STAMPS := .make
LAUNCHER_SOURCES := $(shell find -L ext/launcher ext/redaction -type f -not -path '*/target/*' 2>/dev/null)
KERNEL_STUBS := $(patsubst src/context_graph/kernels/%.pyi,context_graph.kernels.%,$(wildcard src/context_graph/kernels/*.pyi))
KERNEL_SOURCES := $(wildcard ext/kernels/*.pyx ext/kernels/*.pxd)
REDACTION_SOURCES := $(shell find ext/redaction -type f \( -name '*.rs' -o -name 'Cargo.*' \) -not -path '*/target/*' 2>/dev/null)
CRATES := ext/launcher ext/redaction ext/redaction/binding
MADE_FROM := src/context_graph/claude/events.toml $(shell find src/context_graph/cli src/context_graph/operations tools/docs -name '*.py' -not -path '*/memory/table.py')
BENCH_JSON ?= artifacts/bench.json
FUZZ_EXAMPLES ?= 2000
REQUIREMENT_BENCHES = benches/micro/bench_brief.py benches/micro/bench_memory.py benches/hooks/bench_commands.py
BENCHES = $(BIN)/python -m pytest benches -p no:xdist --benchmark-json=$(BENCH_JSON) -o python_files='bench_*.py'
# Twice as many as processors: a test waits half of its time for processes that it started.
TEST_WORKERS ?= $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))
# In memory where that is large and may hold programs: tests open databases all the time, and these flush their files.
TEST_TMP := $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/ {print $$2; exit}' /proc/mounts 2>/dev/null | while read -r at; do \
  [ "$$(df -Pk $$at | awk 'NR == 2 {print $$4}')" -lt 4000000 ] || echo $$at; done)
FAULTS_SHORT := tests/faults tests/integration/owner/test_torture.py tests/integration/consolidation/test_run_torture.py tests/integration/memory/test_torture.py
E2E_SHORT := tests/e2e/test_real_client.py tests/e2e/test_real_gates.py tests/e2e/test_real_mcp.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start some thousand processes of ours: without bytecode each compiles our source first, half of its start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help dev build demo pictures test test-all test-root test-fast pre-commit check fmt lint type rust realclient programs e2e e2e-short conformance torture torture-short fuzz mutants sanitize bench bench-compare bench-requirements bench-kernels bench-mcp bench-processes bench-smoke rivals perf profile-owner safe annotate numbers research wheels clean

help: ## Print the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# A first build takes some minutes: each part says what it does and how long that takes.
$(STAMPS)/venv:
	@echo "first a virtual environment in .venv (10 s)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "context-graph needs Python 3.11 or newer; this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && mkdir -p $(STAMPS) && touch $@

# The next two share nothing, so that `make -j2 build` compiles the launcher while pip fetches the tools.
$(STAMPS)/launcher-wheel: $(STAMPS)/venv $(LAUNCHER_SOURCES)
	@echo "1 of 3: the launcher, in Rust (about 1 min)"
	@command -v cargo >/dev/null || echo "no cargo on PATH: the build backend now tries to fetch a Rust tool chain; https://rustup.rs installs one"
	@rm -rf $(STAMPS)/wheels && $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(STAMPS)/wheels ./ext/launcher || \
	  { command -v cargo >/dev/null || echo "the launcher needs Rust, and none could be fetched: install it (https://rustup.rs) and run make again" >&2; exit 1; }
	@touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml
	@echo "2 of 3: tools for development, from the package index (about 1 min)"
	@$(BIN)/python -m pip install --quiet --group dev && touch $@

$(STAMPS)/launcher: $(STAMPS)/launcher-wheel $(STAMPS)/tools
	@$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(STAMPS)/wheels/*.whl && touch $@

$(STAMPS)/install: $(STAMPS)/launcher pyproject.toml setup.py $(KERNEL_SOURCES) $(REDACTION_SOURCES)
	@echo "3 of 3: the kernels in Cython, the redactor in Rust, and the package itself (about 2 min)"
	@$(BIN)/python -m pip install --quiet --editable . && touch $@

# What an editable install would keep as it was when it was made.
$(STAMPS)/made: $(STAMPS)/install $(MADE_FROM)
	@$(BIN)/python tools/docs/built.py && touch $@

build: $(STAMPS)/made ## Set up .venv: kernels, launcher, editable install
dev: build ## The same, under the name contributors look for

demo: build ## Three acts through the real hooks: remembered, refused, drifted (seconds, once it is built)
	@$(BIN)/python tools/demo.py

pictures: build ## Draw the pictures of the README and docs from real runs, into docs/pictures
	@$(BIN)/python tools/demo.py --svg docs/pictures/demo.svg >/dev/null
	@$(BIN)/python tools/pictures/view.py docs/pictures
	@$(BIN)/python tools/pictures/report.py docs/pictures && ls docs/pictures

test: build ## Each package's behaviour, each contract, a kill and a full disk of each kind
	$(if $(TEST_TMP),TMPDIR=$(TEST_TMP)) $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal -m "not torture and not e2e" $(ALL) $(LEFT_OUT) tests

test-all: ALL := --all
test-all: test ## The same with all rounds and seeds, and what needs Chromium, tmux or other shells; CI runs this

test-root: AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env=CI --preserve-env=TMPDIR)
test-root: build ## What only root can try, another user of the machine above all; CI runs this too (asks for sudo)
	$(AS_ROOT) env PYTHONDONTWRITEBYTECODE=1 $(abspath $(BIN))/python -m pytest -m root -p no:cacheprovider -p no:xdist tests

test-fast: build ## Unit and kernel tests alone, in some two minutes
	$(BIN)/python -m pytest -n 2 --dist worksteal -q $(ALL) tests/unit tests/kernels

pre-commit: build ## Install the hook that judges each commit: format, lint, types, imports, links
	$(BIN)/pre-commit install

check: lint type rust test ## Format, lint, types, launcher, tests; CI runs benches and the real client too

.PHONY: style
style: $(STAMPS)/tools # format and ruff alone: all that can be judged before the build
	$(BIN)/ruff format --check src tests benches tools setup.py
	$(BIN)/ruff check src tests benches tools setup.py

fmt: build ## Format Python and Rust
	$(BIN)/ruff format src tests benches tools setup.py && for crate in $(CRATES); do cargo fmt --manifest-path $$crate/Cargo.toml; done

lint: style build ## Format, ruff and the import contracts
	$(BIN)/lint-imports --no-cache

type: build ## mypy strict, and the kernels against their stubs
	$(BIN)/mypy
	$(BIN)/stubtest $(KERNEL_STUBS)

rust: build ## cargo test, clippy, format of the launcher and the redactor (skipped with a word where cargo is missing)
	@if command -v cargo >/dev/null; then for crate in $(CRATES); do \
	  (cd $$crate && cargo fmt --check && cargo clippy --quiet --all-targets -- -D warnings && cargo test --quiet) || exit 1; done; \
	else echo "rust: no cargo here, launcher and redactor not linted"; fi

realclient: ## The Claude Code client that tests drive, by npm, into .make/realclient (or the folder REALCLIENT_DIR)
	@$(PYTHON) tests/realclient/installed.py

programs: ## Debian's Chromium, tmux, zsh, fish and man, which `make test-all` and `make pictures` drive (needs root)
	@missing=; for name in chromium tmux zsh fish man:man-db; do command -v $${name%%:*} >/dev/null || missing="$$missing $${name#*:}"; done; \
	test -z "$$missing" || { apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing fonts-dejavu-core; } >/dev/null

e2e: build ## Drive the real Claude Code client: scripted model, sealed on loopback (some 5 minutes)
	@$(PYTHON) tests/realclient/installed.py || true
	$(BIN)/python -m pytest -m e2e tests/e2e -p no:xdist

e2e-short: build ## Four of those, as CI runs them; one line with the reason where the client can't be had
	@if said=$$($(PYTHON) tests/realclient/installed.py 100); then $(BIN)/python -m pytest -m e2e $(E2E_SHORT) -p no:xdist; \
	else echo "e2e-short: skipped: $$said"; fi

conformance: build ## The MCP conformance suite against our stdio server (Node and suite from npm)
	$(BIN)/python tests/conformance/run.py

torture: build ## Fault suite, long: kills, pauses, disks, clocks, descriptors, crowds, damage, versions; a table at its end
	mkdir -p artifacts && rm -f artifacts/torture.log
	$(BIN)/python -m pytest --all -m torture tests -p no:xdist

torture-short: build ## The same with a few rounds each, as `make test-all` runs it
	mkdir -p artifacts && rm -f artifacts/torture.log
	$(BIN)/python -m pytest --all -m "not torture" $(FAULTS_SHORT) -p no:xdist

fuzz: build ## Frames, hook input, records, MCP messages, gates, with many inputs each
	HYPOTHESIS_PROFILE=new CONTEXT_GRAPH_FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -p no:xdist --timeout=0 tests/fuzz tests/integration/gates/test_hook_fuzz.py

mutants: build ## Put faults into a copy of the source, one at a time: some test must fail for each
	$(BIN)/python tools/mutants.py

sanitize: build ## Kernels under AddressSanitizer and UBSan in a scratch folder; launcher's tests with overflow checks
	$(BIN)/python tools/sanitize.py
	@if command -v cargo >/dev/null; then cd ext/launcher && cargo test --quiet; fi

bench: build rivals ## Every figure beside its limit, rivals too
	$(BIN)/python benches/suite.py --json artifacts/suite.json
	$(MAKE) bench-kernels

bench-compare: build ## The suite at a small size by turns with the commit before it (some 2 min): exit 1 where a path became slower
	$(BIN)/python benches/compare.py --json artifacts/compare.json $(if $(BENCH_PARENT),--parent $(BENCH_PARENT))

bench-requirements: build ## The benches that the seeds' requirements name, at full size, judged by their goals; what fails runs twice more
	@for again in "" --lf --lf; do \
	  $(BIN)/python -m pytest $(REQUIREMENT_BENCHES) $$again -p no:xdist -q --benchmark-columns=median,rounds && exit 0; done; exit 1

bench-kernels: build ## pytest-benchmark: each kernel beside its twin, events, redaction, store, socket
	mkdir -p $(dir $(BENCH_JSON))
	$(BENCHES) --benchmark-only

bench-processes: build ## Hooks from start to exit, beside a static no-op and plain hooks of interpreters
	$(BIN)/python benches/hooks/processes.py --json artifacts/processes.json

bench-mcp: build ## MCP through the bridge, over 10,000 memories
	mkdir -p $(dir $(BENCH_JSON)) && $(BIN)/python benches/memory/mcp_calls.py --json artifacts/mcp.json

bench-smoke: build ## Each bench of pytest-benchmark at a small size, to see that it runs
	mkdir -p $(dir $(BENCH_JSON))
	CONTEXT_GRAPH_BENCH_SMOKE=1 $(BENCHES) --benchmark-min-rounds=1 --benchmark-max-time=0.005 --benchmark-warmup=off --benchmark-columns=median,rounds -q

rivals: ## npm's peers for `make bench`, into .make/rivals (skipped with a word where npm is missing)
	@if command -v npm >/dev/null; then mkdir -p $(STAMPS)/rivals && cp benches/rivals/package.json $(STAMPS)/rivals/ && \
	npm install --silent --no-audit --no-fund --prefix $(STAMPS)/rivals || echo "rivals: npm could not install them; the suite runs without"; \
	else echo "rivals: no npm here; the suite runs without"; fi

profile-owner: build ## py-spy beside a busy owner: artifacts/owner.svg
	$(BIN)/python tools/profile_owner.py --with py-spy

perf: build ## perf beside a busy owner: artifacts/owner.perf.txt (needs perf and leave to use it)
	$(BIN)/python tools/profile_owner.py --with perf

safe: build ## Rebuild the kernels with bounds checks and run their tests
	CONTEXT_GRAPH_SAFE_KERNELS=1 $(BIN)/python setup.py --quiet build_ext --inplace && $(BIN)/python -m pytest tests/kernels
	$(BIN)/python setup.py --quiet build_ext --inplace

annotate: build ## Cython's HTML annotation of each kernel, with the flags that ship: build/annotated
	CONTEXT_GRAPH_ANNOTATE_KERNELS=1 $(BIN)/python setup.py --quiet build_ext --build-lib build/annotated --build-temp build/annotated
	@find build/annotated -name '*.html'

numbers: build ## What docs quote, measured on the folder DATA=…; one of them by NUMBER=ic (research/README.md)
	$(BIN)/python -m research $(DATA) $(addprefix --number ,$(NUMBER))

research: build ## ruff and the tests of research, which `make check` leaves out
	$(BIN)/ruff check research && $(BIN)/ruff format --check research
	$(BIN)/python -m pytest -n 2 research/tests

wheels: $(STAMPS)/venv ## Wheels for this processor and Python into dist/, and a try of them away from the tree
	@$(BIN)/python tools/wheels.py dist

.PHONY: wheel-launcher sdists
wheel-launcher: $(STAMPS)/venv
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist $(if $(filter Linux,$(shell uname -s)),--config-settings='build-args=--compatibility manylinux2014') ./ext/launcher

sdists: $(STAMPS)/venv ## Source distributions of both packages into dist/
	$(BIN)/python -m pip install --quiet build && $(BIN)/python -m build --sdist --outdir dist . && $(BIN)/python -m build --sdist --outdir dist ext/launcher

clean: ## Remove what was built (not the venv)
	rm -rf build dist artifacts $(STAMPS) ext/launcher/target ext/redaction/target ext/redaction/binding/target src/*.egg-info src/context_graph/kernels/*.so src/context_graph/redact/*.so src/context_graph/claude/event_table.py src/context_graph/cli/memory/table.py ext/kernels/*.c ext/kernels/*.html
