# Targets a person types. Everything runs from .venv, made here from pinned, hashed requirements.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
AGENT_PACKAGES ?= @anthropic-ai/claude-code@2.1.197 @openai/codex@0.171.0
DEMO_STATE ?= $(CURDIR)/.demo
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help install demo run test test-postgres test-faults test-faults-postgres test-engines check bench lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    run a real batch on a throw-away repository"
	@echo "make run     start the web server and the worker (PORT=8001 for another port)"
	@echo "make test    run the tests (SQLite; PostgreSQL too when TEST_DATABASE_URL is set)"
	@echo "make test-faults  kill every process at every boundary, on the same databases"
	@echo "make test-engines  run real agents' command lines against a model server of our own"
	@echo "make check   ruff, mypy, import contracts, migrations, the architecture's tests"
	@echo "make bench   measure our own overhead"

$(VENV)/.installed: requirements/dev.txt
	@command -v $(PYTHON) >/dev/null || { echo "codeframe needs Python 3.11 or newer as $(PYTHON)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "codeframe needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@command -v git >/dev/null || { echo "codeframe needs git" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing pinned requirements into $(VENV); this takes about a minute."
	@$(PY) -m pip install --quiet --require-hashes --no-deps -r requirements/dev.txt
	@touch $@

install: $(VENV)/.installed

demo: install
	@CODEFRAME_STATE_DIR="$(DEMO_STATE)" $(PY) manage.py demo

# On one's own machine, the pages may register what lies in one's own home.
run: export CODEFRAME_WORKSPACE_ROOTS ?= $(HOME)
ifdef PORT
run: export CODEFRAME_PORT := $(PORT)
endif
run: install
	@$(PY) manage.py migrate --verbosity 0
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/honcho start

# Arguments for pytest, for example: make test ARGS="-n 2 tests/tasks"
test: install
	@echo "tests on SQLite"
	@DATABASE_URL= $(PY) -m pytest $(ARGS)
ifdef TEST_DATABASE_URL
	@$(MAKE) --no-print-directory test-postgres
else
	@echo "tests on PostgreSQL were skipped: set TEST_DATABASE_URL=postgres://user@host/name"
endif

test-postgres: install
	@test -n "$(TEST_DATABASE_URL)" || { echo "set TEST_DATABASE_URL=postgres://user@host/name" >&2; exit 2; }
	@echo "tests on PostgreSQL"
	@DATABASE_URL="$(TEST_DATABASE_URL)" $(PY) -m pytest $(ARGS)

# kill -9 of every process at every boundary; minutes, not seconds. See docs/reliability.md.
test-faults: install
	@echo "fault tests on SQLite"
	@DATABASE_URL= $(PY) -m pytest -m faults --dist loadgroup $(ARGS) tests/faults
ifdef TEST_DATABASE_URL
	@$(MAKE) --no-print-directory test-faults-postgres
else
	@echo "fault tests on PostgreSQL were skipped: set TEST_DATABASE_URL=postgres://user@host/name"
endif

test-faults-postgres: install
	@test -n "$(TEST_DATABASE_URL)" || { echo "set TEST_DATABASE_URL=postgres://user@host/name" >&2; exit 2; }
	@echo "fault tests on PostgreSQL"
	@DATABASE_URL="$(TEST_DATABASE_URL)" $(PY) -m pytest -m faults --dist loadgroup $(ARGS) tests/faults

# Real command lines of agents against a model server of our own; some hundred megabytes, once.
AGENTS_DIR ?= $(VENV)/agents
test-engines: install
	@command -v npm >/dev/null || { echo "make test-engines needs npm" >&2; exit 2; }
	@test -d $(AGENTS_DIR)/node_modules || npm install --prefix $(AGENTS_DIR) --no-audit --no-fund $(AGENT_PACKAGES)
	@DATABASE_URL= CODEFRAME_TEST_AGENTS="$(abspath $(AGENTS_DIR))" $(PY) -m pytest -m agents $(ARGS) tests/agents

# Type checker and migrations read the settings, which make the state folder: not in your home.
check: export CODEFRAME_STATE_DIR := $(CURDIR)/$(VENV)/state-of-check
check: install
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	DATABASE_URL= $(PY) -m pytest -q tests/architecture

bench: install
	$(PY) -m tests.bench

lock:
	cd requirements && for f in base dev redis; do uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url $$f.in -o $$f.txt; done

clean:
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache
