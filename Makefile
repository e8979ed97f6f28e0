# Set-up, demo, checks. Every target but help and clean makes .venv if it is missing.
SHELL := /bin/bash
VENV ?= .venv
PYTHON ?= python3
BIN := $(abspath $(VENV))/bin
export PATH := $(BIN):$(PATH)
SIDE_BY_SIDE := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: help install demo plan unlock report test lint check verify bench-parser bench-features reruns dag clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

$(VENV)/installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": call make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --requirement requirements.txt
	@touch $@

install: $(VENV)/installed ## install everything into .venv

demo: $(VENV)/installed ## run the main job on the embedded icons world, then draw its plots
	snakemake --cores all results/tables/systematicity.csv
	snakemake --cores all
	@echo; cat results/tables/systematicity_gap.csv
	@echo; echo "Tables: results/tables. Plots: results/plots."

plan: $(VENV)/installed ## estimate jobs, time and disk before a run; ARGS="--configfile my.yaml" for one of yours
	snakemake --cores all --quiet rules host progress --workflow-profile profiles/plain $(ARGS) -- plan

unlock: $(VENV)/installed ## remove the lock of a run that was killed; ARGS as for plan
	snakemake --unlock $(ARGS)

report: $(VENV)/installed ## one page of all results: results/report.html
	snakemake --report results/report.html

test: $(VENV)/installed ## run the whole test suite
	pytest tests $(SIDE_BY_SIDE)

lint: $(VENV)/installed ## formatters, linters, snakemake --lint
	snakefmt --check Snakefile workflow
	ruff check .
	ruff format --check .
	snakemake --lint

check: lint ## lint, and the unit tests
	pytest tests/unit $(SIDE_BY_SIDE)

verify: $(VENV)/installed ## the slow full-size checks, outside CI
	pytest tests --run-slow $(SIDE_BY_SIDE)

bench-parser: $(VENV)/installed ## measure the parser on hand-made graphs, and its speed; needs CREPE_SHARED_DATA
	$(BIN)/pip install --quiet --requirement requirements-dev.txt
	python tests/benchmarks/parser_quality.py

bench-features: $(VENV)/installed ## measure how fast features are made, against the usual ways; ARGS="--device cuda"
	python tests/benchmarks/extract_features.py $(ARGS)

reruns: $(VENV)/installed ## write docs/reruns.md again, from dry runs
	pytest tests/workflow/test_reruns.py --write-docs -k page

dag: $(VENV)/installed ## draw docs/dag.svg again (needs graphviz)
	snakemake --rulegraph dot all 2>/dev/null | sed -n '/digraph/,$$p' \
	  | sed 's/graph\[.*\];/graph[bgcolor=white, margin=0.1, rankdir=LR, ranksep=0.35, nodesep=0.15];/; s/penwidth=2, color=grey/penwidth=1.2, color="#888888"/' \
	  | dot -Tsvg -o docs/dag.svg

clean: ## remove what runs have made, not the environment
	rm -rf results .snakemake
