# Every target sets up what it needs; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test quick check page docs recipes bench peers audit train release rehearse lock setup clean

PYTHON ?= python3
export PYTHON
# Where this is set, each of the many processes that the tests start would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
# How many processes run the fast tests at once.
JOBS ?= 2
# Folders of measurements and training, and those whose imports (a browser, a framework, clients of servers) take longer than their
# short tests.
NOT_QUICK := $(addprefix --ignore=,tests/page tests/server tests/workers tests/bench tests/train tests/inspect_ai tests/adapters tests/store/remote src/disputatio/inspect_ai)

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

setup: ## make or refresh the environment in .venv from requirements.lock
	@bash scripts/setup.sh

demo: setup ## ingest examples/, show what contradicts, ask a model on this machine, estimate reliabilities
	@$(BIN)/disputatio demo

test: check ## everything: check, the tests that need no model, then those that run one (under 12 minutes)
	$(BIN)/pytest -m "not slow" -n $(JOBS) --dist loadfile
	$(BIN)/pytest -m slow -n $(JOBS) --dist loadgroup --durations 10

quick: check ## what one runs all day: check, and the short tests with fewer made examples (about a minute)
	$(BIN)/pytest -m "not slow and not long" -n $(JOBS) --dist loadfile --hypothesis-profile quick $(NOT_QUICK)

check: setup ## lint, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

page: setup ## build the page that `disputatio serve` shows at / (takes Node 20.19 or newer; wheels bring it built)
	@$(BIN)/python scripts/build_page.py

docs: setup ## build the documentation as a site in out/docs/site
	@test -x .venv-docs/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venv-docs
	@$(BIN)/uv pip sync --quiet --python .venv-docs/bin/python --only-binary :all: --require-hashes scripts/docs.lock
	@$(BIN)/python -m scripts.build_docs

recipes: setup ## run the recipes for agent frameworks, each in an environment of its own in .venv-recipes
	@DISPUTATIO_RECIPES=.venv-recipes $(BIN)/pytest tests/test_recipes.py -n 0

bench: setup ## list the measurements; run one with RUN=its name and ARGS="its options"
	@$(BIN)/python scripts/measurements.py $(RUN) $(ARGS)

peers: setup ## the engines that bench/search/search_scale.py and bench/engine/llama.py compare ours with, in .venv-peers
	@test -x .venv-peers/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venv-peers
	@$(BIN)/uv pip install --quiet --python .venv-peers/bin/python --only-binary :all: \
		--require-hashes -r bench/search/peers.lock

audit: setup ## list the packages as CycloneDX in out/sbom.json, and what is known to be wrong with them
	@bash scripts/audit.sh

train: setup ## train a head of our own encoder: HEAD=read, or HEAD=export, HEAD=measure; ARGS="its options"
	@bash scripts/train.sh $(or $(HEAD),--help) $(ARGS)

release: setup ## rehearse a release: build archive and wheel from what git has, ask from each set of extras
	@bash scripts/rehearse_release.sh

rehearse: release ## what follows: upload to an index of this machine, install by name, the image's steps (as root)
	@bash scripts/rehearse_index.sh
	@$(BIN)/python -m scripts.rehearse_image

lock: setup ## remake requirements.lock from pyproject.toml; UPGRADE=1 takes newer versions
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --generate-hashes --no-annotate \
		--python-version 3.11 --universal --only-binary :all: \
		--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) --quiet --output-file requirements.lock
	@for tool in bench/search/peers.txt scripts/audit.in scripts/docs.in; do \
		$(BIN)/uv pip compile "$$tool" --generate-hashes --no-annotate \
			--python-version 3.11 --universal --only-binary :all: \
			--custom-compile-command "make lock" --quiet --output-file "$${tool%.*}.lock"; done
	@if grep -nE '://|^-|@ ' requirements.lock bench/search/peers.lock scripts/audit.lock scripts/docs.lock; then \
		echo "a lock names an address or a path: not fit to be committed" >&2; exit 1; fi

clean: ## remove the environment, caches and what the demo wrote
	rm -rf page/node_modules src/disputatio/server/page .venv .venv-peers .venv-audit .venv-docs .venv-recipes .mypy_cache .ruff_cache .pytest_cache .hypothesis .disputatio out dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
