# `make help` lists the targets. Everything runs from .venv, which every target makes when it is missing.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
# bash's PPID is make: when it is killed its tests end too. Where the environment forbids compiled files, as some
# containers do, each of the hundreds of processes that the tests start would compile all modules.
PYTEST := PYTHONDONTWRITEBYTECODE= FAIRBOARD_TESTS_END_WITH=$$PPID \
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links \
	--python-version 3.11 --custom-compile-command "make lock"
.DEFAULT_GOAL := help
.PHONY: help setup install demo test test-system test-long nemesis screenshots pictures lint format api-errors lock wheel docs mutants

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.complete ## make .venv with the locked packages and the fairboard command

define INSTALL
@test -n "$(PYTHON)" || { echo "Fairboard needs Python 3.11 or newer with venv (on Debian: apt install python3-venv)," \
	"and found none on PATH. Name one: make PYTHON=/path/to/python3" >&2; exit 1; }
@$(PYTHON) requirements/install.py $(VENV) --stamp $(@F)
endef

# Stamps, not the folder: an interrupted installation is started again. There is one at a time: of what runs the
# server and the demo, or of everything, to which `make test` and the others complete what `make demo` made.
$(VENV)/.runnable: requirements/app.lock requirements/build.lock pyproject.toml
	$(INSTALL) --no-compile app.lock build.lock

$(VENV)/.complete: requirements/dev.lock pyproject.toml
	$(INSTALL) dev.lock

install: $(or $(wildcard $(VENV)/.complete),$(VENV)/.runnable) ## make .venv with what the server and the demo run, without linters and tests

# Compiled files: see PYTEST. --no-compile leaves it to the first use of each module: most are never used.
demo: install ## run a demo competition and leave it running; with CHECK=1 check it against an independent computation and stop
	@PYTHONDONTWRITEBYTECODE= exec $(BIN)/fairboard demo $(if $(CHECK),--check)

test: setup ## run the tests, except those of real processes and those that take minutes
	$(PYTEST) -m "not system and not long"

test-system: setup ## run the tests that start, kill and replace the processes of an installation
	$(PYTEST) -m "system and not long"

test-long: setup ## run the tests that take minutes, and everything on PostgreSQL
	$(PYTEST) -m long

screenshots: setup ## draw the pages at both widths and themes, with 0, 1, 15 and 10,000 teams, into ./screenshots
	FAIRBOARD_SCREENS=screenshots $(BIN)/python -m pytest -q tests/browser/draw_screens.py tests/browser/draw_pages.py

pictures: setup ## draw the pictures of README again, into docs/images
	FAIRBOARD_SCREENS=docs/images $(BIN)/python -m pytest -q tests/browser/draw_screens.py -k readme

nemesis: setup ## break an installation for SECONDS=20 by SEED=1 and check it [DATABASE= UPLOADS= ROWS= FAULTS=]
	@exec $(BIN)/python -m tests.campaign $(foreach option,SECONDS SEED DATABASE UPLOADS ROWS FAULTS,$(if \
		$($(option)),--$(shell echo $(option) | tr A-Z a-z) $($(option))))

mutants: setup ## change the rules in small ways and see whether a test notices [GROUP= MODULE= SAMPLE= SEED= JOBS=]
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/mutants.lock
	@exec $(BIN)/python -m tests.mutants $(foreach option,GROUP MODULE SAMPLE SEED JOBS,$(if \
		$($(option)),--$(shell echo $(option) | tr A-Z a-z) $($(option))))

lint: setup ## check style, types, the arrows between the packages, and the locks
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python requirements/check.py
	$(BIN)/uv pip check --quiet --python $(BIN)/python

format: setup ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Built in the environment of the lock: an isolated build would fetch whatever hatchling is newest.
wheel: setup ## build dist/fairboard-*.whl, which `pip install` takes where no checkout is
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir $(or $(DIST),dist) .
	@ls $(or $(DIST),dist)/fairboard-*.whl

# The product serves the same pages at /docs; these are for a web server without it.
docs: setup ## write the documentation as files into dist/docs
	rm -rf dist/docs
	$(BIN)/python -m webapp.documentation dist/docs

secrets: ## make the passwords and a trial certificate that docker-compose.yml reads, in ./secrets
	umask 077 && mkdir $@
	$(PYTHON) -c 'import secrets; print(secrets.token_urlsafe(48), end="")' > $@/secret_key
	$(PYTHON) -c 'import secrets; print(secrets.token_hex(24), end="")' > $@/postgres_password
	printf 'postgresql+psycopg://fairboard:%s@postgres/fairboard' "$$(cat $@/postgres_password)" > $@/database_url
	openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
		-keyout $@/tls_key -out $@/tls_certificate # for a trial: put the real ones in their place
	chmod 444 $@/* # the containers' users read them; the folder keeps everybody else out

api-errors: setup ## find the errors of each operation of the API in the source code
	$(BIN)/python -m tests.fixtures.raised_errors

lock: ## resolve requirements/*.lock again from pyproject.toml
	$(COMPILE) --extra server pyproject.toml -o requirements/app.lock
	$(COMPILE) --extra server --extra client --extra dev pyproject.toml -o requirements/dev.lock
	echo hatchling | $(COMPILE) --constraints requirements/dev.lock - -o requirements/build.lock
	$(COMPILE) --constraints requirements/dev.lock --group mutants -o requirements/mutants.lock
	echo kaggle==1.6.17 | $(COMPILE) - -o requirements/kaggle-1.6.lock
	printf 'kaggle==2.2.5\nkagglesdk==0.1.38\n' | $(COMPILE) --no-deps - -o requirements/kaggle-2.2.5.lock
	echo kagglehub==1.0.2 | $(COMPILE) - -o requirements/kagglehub.lock
