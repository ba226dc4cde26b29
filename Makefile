# `make help` lists the targets. Everything runs from .venv, which every target makes when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long lint format lock

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.complete ## make .venv with the locked packages and the fairboard command

# A stamp, not the folder: an interrupted installation is started again.
$(VENV)/.complete: requirements/dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Fairboard needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	touch $@

lock: ## resolve requirements/*.lock again from pyproject.toml
	$(BIN)/uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links --python-version 3.11 \
		--custom-compile-command "make lock" --extra server pyproject.toml -o requirements/app.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --universal --no-emit-index-url --no-emit-find-links --python-version 3.11 \
		--custom-compile-command "make lock" --extra server --extra dev pyproject.toml -o requirements/dev.lock
