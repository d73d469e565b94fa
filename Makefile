# Everything runs in .venv, which `make setup` fills once with the versions of requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Tests start many processes, and each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo quick test check bench conformance reference slow lock

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup
	$(BIN)/thalweg demo

# All that needs neither Java nor a broker and is not about benchmarks, with fewer examples of each property.
quick: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile quick --ignore tests/unit/bench \
		-m "not slow and not spark and not hermit and not broker"

# Three processes for two cores: the one with the tests of Spark waits for Java a good part of its time.
test: setup
	$(BIN)/python -m pytest -n 3 --dist worksteal

# Each property has 5,000 new cases; random programs run on kernels in which every access to memory is asserted.
slow: setup
	THALWEG_CHECKED=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m slow tests/properties
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow --ignore tests/properties

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup
	$(BIN)/thalweg bench laser
	$(BIN)/thalweg bench spark
	$(BIN)/thalweg bench coror
	$(BIN)/thalweg bench consistency
	$(BIN)/thalweg bench streamrule
	$(BIN)/thalweg bench rspql
	$(BIN)/thalweg bench cascade
	$(BIN)/thalweg bench tables
	$(BIN)/thalweg bench serve

# The page of results needs the W3C's tests, in the folder that THALWEG_DATA names.
conformance: setup
	$(BIN)/thalweg bench conformance
	cp bench-results/conformance/conformance.md docs/reference/conformance.md

# The pages that are written from docstrings and help texts.
reference: setup
	$(BIN)/python docs/make_reference.py

# For maintainers: pins what pyproject.toml asks for.
lock:
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe \
		--all-extras --all-build-deps --output-file requirements.lock pyproject.toml
