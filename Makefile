# Every target sets up what it needs in .venv; a second run finds it there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo digits test test-fast properties fuzz coverage mutation audit lint typing stub docs check-site dist minimum papers speed robustness validity figures parameters clean

# The command line on a bundled table, from file to labels, model and report.
demo: .venv/cli.stamp
	$(BIN)/separatrix demo --to build/demo

# Handwritten digits, two at a time and all ten, beside scikit-learn's methods.
digits: .venv/cli.stamp
	$(BIN)/python examples/digits.py

# All tests; the slowest are listed at the end.
test: .venv/dev.stamp
	@echo "about six minutes on two cores; make test-fast takes less than 90 seconds"
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations 10

# The tests that are fast: those of tests/slow.txt are left out.
test-fast: .venv/dev.stamp
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --fast

# Bounds of sizes and links in 500 random cases per estimator, where the tests have a few.
properties: .venv/dev.stamp
	SEPARATRIX_CASES=500 $(BIN)/python -m pytest --numprocesses auto tests/contracts/test_sizes.py tests/common/test_linked_estimators.py -k "any_bounds or random_links"

# Random cases against every estimator, over an hour on two cores; the report is in build/fuzz.
# SKIP=40000 CASES=60000 goes on where a run was left.
CASES ?= 100000
SKIP ?= 0
fuzz: .venv/dev.stamp
	$(BIN)/python -m tests.fuzz.driver --cases $(CASES) --skip $(SKIP)

# Share of the lines and branches that the tests run; less than 95 % fails.
coverage: .venv/dev.stamp
	mkdir -p build/coverage
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --cov --cov-report term --cov-report html:build/coverage/html

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
	$(BIN)/codespell
	$(BIN)/mypy

# What mypy and pyright say of ordinary use, with the package as users have it.
typing: .venv/dev.stamp
	$(BIN)/python -m pytest tests/typing

# The file from which type checkers and editors learn the public names.
stub: .venv/dev.stamp
	$(BIN)/python tests/typing/regenerate_stub.py

# The site in build/site; a warning fails.
docs: .venv/docs.stamp
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/site
	@echo "open build/site/index.html"

# Every page of the site in a browser, at desktop and phone width; a fault fails.
check-site: .venv/dev.stamp
	$(BIN)/python docs/check_site.py

# Wheel and sdist in dist, and what users find who install them in an empty environment.
dist: .venv/dev.stamp
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tests/packaging/check_dist.py dist

# A part of the tests with the oldest versions that pyproject.toml allows.
minimum:
	$(PYTHON) tests/packaging/check_minimum.py build/minimum

# Tables and figures of the papers beside ours; needs the data sets (see benchmarks/README.md).
papers: .venv/dev.stamp
	$(BIN)/python -m benchmarks.papers

# Time and memory of every clusterer beside its peers, from a thousand to a million samples; hours, of
# which a killed run loses none. SPEED="--again" measures anew and compares with the last run.
speed: .venv/dev.stamp
	$(BIN)/python benchmarks/speed/harness.py $(SPEED)
	$(BIN)/python docs/fill_figures.py
	$(BIN)/python docs/draw_speed.py

# Kills, interrupts, damaged model files, memory of refits, fits at the same time.
robustness: .venv/dev.stamp
	$(BIN)/python benchmarks/robustness/kills.py --runs 200
	$(BIN)/python benchmarks/robustness/models.py --copies 1000
	$(BIN)/python benchmarks/robustness/memory.py --refits 1000 --fits 100

# The validity that AutoClustering votes by, learned anew from synthetic data.
validity: .venv/dev.stamp
	$(BIN)/python benchmarks/validity/train.py

# The pictures of README and guide, and the figures that benchmarks measured.
figures: .venv/dev.stamp
	$(BIN)/python docs/fill_figures.py
	$(BIN)/python examples/criteria/plot_readme_picture.py docs/images/one_unit_changed.png
	$(BIN)/python examples/kinds_of_data/plot_image_segmentation.py docs/images/segmentation.png
	$(BIN)/python examples/choosing/plot_idea.py light docs/images/idea_light.png
	$(BIN)/python examples/choosing/plot_idea.py dark docs/images/idea_dark.png
	$(BIN)/python examples/gallery.py
	$(BIN)/python docs/draw_chart.py
	$(BIN)/python docs/draw_criteria.py
	$(BIN)/python docs/draw_scaling.py
	$(BIN)/python docs/draw_speed.py

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

.venv/docs.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
