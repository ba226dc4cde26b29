# `make help` lists the targets. All targets use .venv and create it if necessary.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
# Test processes also wait for the disk, so one more than the cores and at least three. System tests also wait for other
# processes.
PROCESSES := $(shell cores=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); echo $$((cores < 2 ? 3 : cores + 1)))
SYSTEM_PROCESSES := $(shell echo $$(($(PROCESSES) + 1)))
# Bytecode must be written even if the environment disables it, as some containers do. Otherwise, hundreds of test
# processes would each compile all modules.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder
COMMIT = $(shell git describe --always --dirty --exclude='*' --abbrev=12 2>/dev/null || echo unknown)
# The pages under /docs, which the site serves and the wheel contains.
DOCS := webapp/documentation/site/search.json
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links \
	--python-version 3.11 --custom-compile-command "make lock"
.DEFAULT_GOAL := help
.PHONY: help setup install demo test test-system test-long nemesis pictures lint format lock wheel image release

help: ## list all targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.complete $(DOCS) ## create .venv with the locked packages and the fairboard command

define INSTALL
@test -n "$(PYTHON)" || { echo "Fairboard needs Python 3.11 or newer with venv (on Debian: apt install python3-venv)," \
	"but none was found on PATH. Specify it: make PYTHON=/path/to/python3" >&2; exit 1; }
@$(PYTHON) requirements/install.py $(VENV) --stamp $(@F)
endef

# The targets are stamp files rather than the folder, so that an interrupted installation is repeated. Only one stamp
# file exists at a time: .runnable for the packages of the server and the demo, or .complete for all packages, which
# `make test` and other targets add to the environment of `make demo`.
$(VENV)/.runnable: requirements/app.lock requirements/build.lock pyproject.toml
	$(INSTALL) app.lock build.lock

$(VENV)/.complete: requirements/dev.lock pyproject.toml
	$(INSTALL) dev.lock

$(DOCS): $(wildcard docs/*.md docs/*/*) webapp/documentation/build.py webapp/templates/documentation/page.html
	$(BIN)/python -m webapp.documentation.build

install: $(or $(wildcard $(VENV)/.complete),$(VENV)/.runnable) $(DOCS) ## create .venv with the packages of the server and the demo only

# See PYTEST about bytecode.
demo: install ## run a demo competition until Ctrl-C
	@PYTHONDONTWRITEBYTECODE= exec $(BIN)/fairboard demo

test: setup ## run all tests except system tests and long tests
	$(PYTEST) --junitxml=.reports/$@.xml --numprocesses $(PROCESSES) -p no:playwright -p no:schemathesis -m "not system and not long"

test-system: setup ## run the system tests: killed processes, browsers, crawls and fuzzing of whole sites
	$(PYTEST) --junitxml=.reports/$@.xml --numprocesses $(SYSTEM_PROCESSES) -m "system and not long"

test-long: setup ## run the long tests, including the PostgreSQL tests
	$(PYTEST) --junitxml=.reports/$@.xml --numprocesses $(PROCESSES) --hypothesis-profile=thorough -m "long or hypothesis"

pictures: setup ## regenerate the plots and diagrams of README.md and the documentation, in docs/images
	$(BIN)/python docs/plots.py
	$(BIN)/python docs/diagrams.py

nemesis: setup ## run a fault-injection test (SECONDS=20 SEED=1) and check it [DATABASE= UPLOADS= ROWS= FAULTS=]
	@exec $(BIN)/python -m tests.campaign $(foreach option,SECONDS SEED DATABASE UPLOADS ROWS FAULTS,$(if \
		$($(option)),--$(shell echo $(option) | tr A-Z a-z) $($(option))))

lint: setup ## check style, types, package dependencies and lock files
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports
	$(BIN)/python requirements/check.py
	$(BIN)/uv pip check --quiet --python $(BIN)/python

format: setup ## format the code and apply automatic fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Built in the locked environment, because an isolated build would download the newest hatchling.
wheel: setup ## build dist/fairboard-*.whl for installation without a checkout
	echo $(COMMIT) > grader/build.txt
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir $(or $(DIST),dist) .
	@ls $(or $(DIST),dist)/fairboard-*.whl

image: ## build the container image fairboard:COMMIT, which is also tagged fairboard:latest
	docker build --build-arg COMMIT=$(COMMIT) --tag fairboard:$(COMMIT) --tag fairboard:latest .

release: setup ## check the commit and build a release into dist/VERSION (VERSION=1.0.0)
	@$(BIN)/python deploy/release.py $(VERSION)

secrets: ## generate passwords and a trial certificate for docker-compose.yml in ./secrets, and .env (requires openssl)
	openssl version && umask 077 && mkdir $@
	openssl rand -base64 48 > $@/secret_key
	printf %s "$$(openssl rand -hex 24)" > $@/metrics_token
	printf %s "$$(openssl rand -hex 24)" > $@/postgres_password
	printf 'postgresql+psycopg://fairboard:%s@postgres/fairboard' "$$(cat $@/postgres_password)" > $@/database_url
	openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
		-keyout $@/tls_key -out $@/tls_certificate # for trials; replace both files
	chmod 444 $@/* # readable by the containers' users; the folder's mode denies access to all others
	[ -e .env ] || echo COMPOSE_PROFILES=nginx > .env

lock: ## regenerate requirements/*.lock from pyproject.toml
	$(COMPILE) --extra server --extra client --extra dev pyproject.toml -o requirements/dev.lock
	echo uv | $(COMPILE) --constraints requirements/dev.lock --extra server pyproject.toml - -o requirements/app.lock
	$(COMPILE) --constraints requirements/dev.lock --extra server pyproject.toml -o requirements/image.lock
	echo hatchling | $(COMPILE) --constraints requirements/dev.lock - -o requirements/build.lock
	echo kaggle==1.6.17 | $(COMPILE) - -o requirements/kaggle-1.6.lock
	printf '%s\n' 'numpy==1.26.4; python_version<"3.13"' 'numpy==2.3.5; python_version>="3.13"' \
		'pandas==2.2.3; python_version<"3.14"' 'pandas==2.3.3; python_version>="3.14"' | \
		$(COMPILE) - -o requirements/pandas-2.lock
	printf 'kaggle==2.2.5\nkagglesdk==0.1.38\n' | $(COMPILE) --no-deps - -o requirements/kaggle-2.2.5.lock
	echo kagglehub==1.0.2 | $(COMPILE) - -o requirements/kagglehub.lock
