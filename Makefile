# Every target sets up what it needs and can be run again at any time.
#   make demo          answers on real facts, then a server until Ctrl-C (ONCE=1: exit after the answers)
#   make test          all tests, on the embedded engine and on real Neo4j (needs Maven, JDK 17 and JDK 21 or newer)
#   make check         format, lint, types, imports, sizes and the fast tests
#   make soak          the long runs: soak-crash, kill -9 in the middle of writes, 20 rounds on each engine, then 200
#                      random histories on each (ROUNDS=N, EXAMPLES=N); soak-specs, 10,000 random formulas against
#                      their definition and RTAMT, 10 minutes of strange texts (FORMULAS=N, MINUTES=N); soak-http,
#                      20,000 fuzzed requests on each engine and ten minutes of load (REQUESTS=N, SECONDS=N)
#   make openapi       write chronofy_kg/api/openapi.json anew; a test compares it with the application
#   make grammar       the editor grammar and the railroad diagrams, from the data in grammar/
#   make neo4j         a stand-alone Neo4j with Neo4j Browser and the demo's facts; make neo4j-stop ends it
#                      (LINE=2026.08: the newest Neo4j, on JDK 21 or newer, in a folder of its own)
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.9
READY := $(VENV)/.ready
LINE := 5.26
NEO4J_HOME := .neo4j/$(LINE)

.PHONY: setup demo test soak soak-crash soak-specs soak-http check format openapi grammar neo4j neo4j-stop clean

setup: $(READY)

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name it with: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "== Creating the virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(READY): pyproject.toml constraints.txt | $(BIN)/uv
	@echo "== Installing the dependencies into $(VENV) (5.5 GB on Linux, most of it torch; later runs skip this)"
	@env -u VIRTUAL_ENV $(UV) pip install --python $(BIN)/python --constraint constraints.txt --editable '.[all,dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/chronofy-kg demo $(if $(ONCE),--once)

test: $(READY)
	@$(BIN)/pytest $(PYTEST_ARGS)

soak: soak-crash soak-specs soak-http

soak-crash: $(READY)
	@$(BIN)/python benchmarks/crash_rounds.py --rounds $(or $(ROUNDS),20)
	@EXAMPLES=$(or $(EXAMPLES),200) $(BIN)/pytest -q tests/store/test_stateful.py --hypothesis-profile=soak

soak-specs: $(READY)
	@$(BIN)/python benchmarks/rtamt_peer.py --make
	@SOAK_FORMULAS=$(or $(FORMULAS),10000) SOAK_MINUTES=$(or $(MINUTES),10) $(BIN)/pytest -q -s tests/property/test_spec_*.py

soak-http: $(READY)
	@$(BIN)/python benchmarks/http_fuzz.py --requests $(or $(REQUESTS),20000)
	@$(BIN)/python benchmarks/http_load.py --seconds $(or $(SECONDS),600)

grammar: $(READY)
	@$(BIN)/python deploy/grammar_files.py

check: $(READY)
	@echo "== Format and lint" && $(BIN)/ruff format --check . && $(BIN)/ruff check .
	@echo "== Types" && $(BIN)/mypy
	@echo "== Imports" && $(BIN)/lint-imports
	@echo "== Fast tests" && $(BIN)/pytest -q -m "not engine and not model and not wheel and not demo" tests/unit tests/property tests/cases tests/docs chronofy_kg

format: $(READY)
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

openapi: $(READY)
	@$(BIN)/python -m chronofy_kg.api

neo4j: $(READY)
	@$(BIN)/python deploy/neo4j_demo.py --home $(NEO4J_HOME) --line $(LINE)

neo4j-stop: $(READY)
	@$(BIN)/python deploy/neo4j_server.py stop --home $(NEO4J_HOME)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
