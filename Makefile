# Every target sets up what it needs in .venv; a second run finds it there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo digits test fuzz coverage mutation audit lint papers speed robustness validity figures parameters clean

# The command line on a bundled table, from file to labels, model and report.
demo: .venv/cli.stamp
	$(BIN)/separatrix demo --to build/demo

# Handwritten digits, two at a time and all ten, beside scikit-learn's methods.
digits: .venv/cli.stamp
	$(BIN)/python examples/digits.py

test: .venv/dev.stamp
	$(BIN)/python -m pytest --numprocesses auto

# Random cases against every estimator, half an hour on two cores; the report is in build/fuzz.
CASES ?= 100000
fuzz: .venv/dev.stamp
	$(BIN)/python -m tests.fuzz.driver --cases $(CASES)

# Share of the lines and branches that the tests run; less than 95 % fails.
coverage: .venv/dev.stamp
	mkdir -p build/coverage
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report term --cov-report html:build/coverage/html

# Share of the faults put into labels and metrics that the tests notice; less than 85 % fails.
MUTANTS ?= 150
mutation: .venv/dev.stamp
	$(BIN)/python benchmarks/quality/mutation.py --sample $(MUTANTS)

# Known vulnerabilities and the licences of what a user installs.
audit: .venv/dev.stamp
	$(BIN)/python benchmarks/quality/audit.py

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tables and figures of the papers beside ours; needs the data sets (see benchmarks/README.md).
papers: .venv/dev.stamp
	for script in benchmarks/papers/*.py; do $(BIN)/python $$script || exit 1; done

# Ratios against peers, measured in one run.
speed: .venv/dev.stamp
	for script in benchmarks/speed/*.py; do $(BIN)/python $$script || exit 1; done

# Kills, interrupts, damaged model files, memory of refits, fits at the same time.
robustness: .venv/dev.stamp
	$(BIN)/python benchmarks/robustness/kills.py --runs 200
	$(BIN)/python benchmarks/robustness/models.py --copies 1000
	$(BIN)/python benchmarks/robustness/memory.py --refits 1000 --fits 100

# The validity that AutoClustering votes by, learned anew from synthetic data.
validity: .venv/dev.stamp
	$(BIN)/python benchmarks/validity/train.py

# The pictures of README and guide.
figures: .venv/dev.stamp
	for script in examples/plot_*.py examples/gallery.py; do $(BIN)/python $$script || exit 1; done

# The table of all estimators and parameters in docs.
parameters: .venv/dev.stamp
	$(BIN)/python docs/generate_parameters.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/cli.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

.venv/dev.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/cli.stamp

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis
