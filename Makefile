# Two commands set everything up: `make demo` grades the reference solution, `make test` runs the tests.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
REFERENCE = solutions/distributed-03/accepted/starter_filled.py
# As many at a time as there are cores; the tests that grade use a core or two each.
JOBS ?= auto
# Which tests, as pytest's -m takes it; all without one.
MARKED ?=

.PHONY: demo test lint check audit bench clean

demo: $(VENV)/.installed
	$(BIN)/grade distributed-03 $(REFERENCE)

test: lint check

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m '$(MARKED)'

audit: $(VENV)/.installed
	$(BIN)/grade audit

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/single.py

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
