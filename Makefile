# Every target builds its own virtual environment with plain pip; nothing outside this folder is touched.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOWEST := .venv-lowest
# The quick part of the suite: every package once, nothing that takes minutes.
QUICK  := $(addprefix tests/test_,graph.py tables.py validation.py kernels.py dependence.py regression.py optimal.py \
          tuning.py links.py estimators.py learners.py result.py files.py datasets.py metrics.py pictures.py cli_files.py \
          cli_verbs.py)

.PHONY: help setup demo test test-all test-lowest browser lint format bench clean

help:            ## Show the targets
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:.*##/ -/'

setup: $(READY)  ## Build the virtual environment

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[lint,test,baselines,dask]'
	@touch $@

demo: $(READY)   ## Learn from bundled real data, print the surest edges, say where the report is
	$(BIN)/dagtune learn --demo --density 0.999 --force

test: $(READY)   ## Run the test suite
	$(BIN)/python -m pytest

test-all: $(READY)  ## Run the slow checks that `make test` leaves out
	$(BIN)/python -m pytest -m slow

# What `pip install dagtune` may find, and what the tests need; tests marked `jax` are left out. Wheels only: whoever has
# no compiler can install these versions too. Compiled functions are kept apart from those of $(VENV).
$(LOWEST)/.ready: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) .ci/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	-c $(LOWEST)/lowest.txt -e '.[test]'
	@touch $@

test-lowest: $(LOWEST)/.ready  ## Run the quick part of the suite with the lowest versions that pyproject.toml allows
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -p no:cacheprovider \
	-m 'not slow and not browser and not jax' $(QUICK)

browser: $(READY)  ## Open the report in Chromium and use it (root with apt-get: installs Chromium if there is none)
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	{ apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "could not install Chromium"
	$(BIN)/python -m pytest -m browser -rs

lint: $(READY)   ## ruff (style and format) and mypy (types)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## Rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Measure side by side and rewrite BENCHMARKS.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks

clean:           ## Remove the virtual environment and caches
	rm -rf $(VENV) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
