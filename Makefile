# Every target builds its own virtual environment with plain pip; nothing outside this folder is touched.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOWEST := .venv-lowest
NEWEST := .venv-newest
OTHERS := .venv-handover
# Files of tests side by side, one for each processor up to four. Slow tests measure memory and workers: one by one.
ABREAST := -n logical --maxprocesses 4 --dist loadfile
# The quick part of the suite: every package once, nothing that takes minutes.
QUICK  := $(addprefix tests/test_,graph.py tables.py validation.py kernels.py dependence.py regression.py optimal.py \
          tuning.py search.py estimators.py learners.py result.py files.py datasets.py metrics.py pictures.py cli_files.py \
          cli_verbs.py)

.PHONY: help setup setup-locked lock licences demo test test-all test-lowest test-newest fuzz kills mutants long-run browser \
        handover lint format bench docs wheel clean

help:            ## Show the targets
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:.*##/ -/'

setup: $(READY)  ## Build the virtual environment

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[lint,test,docs,baselines,dask]'
	@touch $@

setup-locked:    ## Build it with the versions of requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements-dev.lock \
	-e '.[lint,test,docs,baselines,dask]'
	@touch $(READY)

lock: $(READY)   ## Write the versions of the virtual environment into requirements-dev.lock
	@{ echo "# Versions with which the suite was last green, for people who want the same environment: make setup-locked."; \
	echo "# Written by make lock (pip freeze of .venv, $$($(BIN)/python --version), $$(uname -s) $$(uname -m))."; \
	$(BIN)/python -m pip freeze --exclude-editable | grep -v ' @ '; } > requirements-dev.lock

licences: $(READY)  ## Write docs/licences.md from what the packages say
	$(BIN)/python .ci/licences.py

demo: $(READY)   ## Learn from bundled real data, print the edges beside chance, say where the report is
	$(BIN)/dagtune learn --demo --force

test: $(READY)   ## Run the test suite
	$(BIN)/python -m pytest $(ABREAST)

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
	$(ABREAST) -m 'not slow and not browser and not jax' $(QUICK)

# What `pip install --upgrade dagtune` may find today: nothing is pinned, and an old environment is not used again.
test-newest: pyproject.toml  ## Run the quick part of the suite with the newest versions of everything
	$(PYTHON) -m venv --clear $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[test]'
	NUMBA_CACHE_DIR=$(CURDIR)/$(NEWEST)/numba $(NEWEST)/bin/python -m pytest -p no:cacheprovider \
	$(ABREAST) -m 'not slow and not browser and not jax' $(QUICK)

fuzz: $(READY)   ## 2 000 random commands and 5 000 random files; what they find is kept in tests/data/fuzz
	$(BIN)/python -m trust.fuzz

kills: $(READY)  ## Kill 100 runs just before or after they write, rename or remove a file
	$(BIN)/python -m trust.kills --write

mutants: $(READY)  ## Spoil every term of the conditional score, and 100 random places of each package: do tests fail?
	$(BIN)/python -m trust.terms
	$(BIN)/python -m trust.mutants
	$(BIN)/python -m trust.survivors

long-run: $(READY)  ## 1 000 fits in one process: memory, threads, open files
	$(BIN)/python -m trust.long_run

browser: $(READY)  ## Open the report in Chromium and use it (root with apt-get: installs Chromium if there is none)
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	{ apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "could not install Chromium"
	$(BIN)/python -m pytest -m browser -rs

$(OTHERS)/.ready: pyproject.toml tests/handover.txt
	$(PYTHON) -m venv --clear $(OTHERS)
	$(OTHERS)/bin/python -m pip install --quiet --disable-pip-version-check -e . pytest hypothesis -r tests/handover.txt
	@touch $@

handover: $(OTHERS)/.ready  ## Hand the graph to DoWhy, gcm, pgmpy, causal-learn, lingam, in an environment of their own
	DAGTUNE_HANDOVER=required $(OTHERS)/bin/python -m pytest -p no:cacheprovider -m handover tests/test_handover.py

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

docs: $(READY)   ## Build the site into build/site: pages, notebooks, gallery of reports; no warning, every link followed
	$(BIN)/python .ci/site.py

wheel:           ## Build wheel and sdist, install and run each in clean environments of the Pythons at hand
	.ci/wheel

clean:           ## Remove the virtual environment and caches
	rm -rf $(VENV) $(LOWEST) $(NEWEST) $(OTHERS) .mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
