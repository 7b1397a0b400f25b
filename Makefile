# Every target works on a fresh machine that has only Python (3.11 to 3.13) and make: the first one that needs it
# makes .venv and installs the project into it, and again whenever pyproject.toml changes.
#
#   make demo                 a sample video, its world, a question, its evidence     (VIDEO=my.mp4 takes yours)
#   make ablation             an experiment from films to report: arms, libraries, domains, worlds; goes on where it stopped
#   make test                 the tests
#   make test SEED=7          the tests in the order of that seed; without one the order is random, and the seed is printed
#   make nightly              the tests that take minutes: hundreds of damaged files, a build killed at twenty moments
#   make test-neural          profile neural with trained weights: takes them from ../shared/data/models and from packages
#   make site                 the documentation as a website, in site/
#   make check                the tests, format, lint, types and import contracts: what CI runs
#
# PYTHON=python3.12 chooses an interpreter, VENV=folder another place for the environment, JOBS=4 more test workers.

VENV ?= .venv
JOBS ?= 2
SEED ?= $$(date +%s)
READY := $(VENV)/.installed
BIN := $(VENV)/bin
VIDEO ?=
export VIDEO
# Commands are started by the hundred in tests: none compiles the project anew, or starts threads that wait busily.
unexport PYTHONDONTWRITEBYTECODE
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help demo ablation test nightly test-neural check format lint types imports docs site clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(READY)
	@$(BIN)/python -m eval.demo demo

ablation: $(READY)
	@$(BIN)/python -m eval.demo ablation

test: $(READY)
	@seed=$(SEED); echo "tests in random order: make $@ SEED=$$seed runs them in the same order"; \
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder --randomly-seed=$$seed

nightly: $(READY)
	@seed=$(SEED); echo "tests in random order: make $@ SEED=$$seed runs them in the same order"; \
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder --randomly-seed=$$seed -m nightly

# The only target that fetches weights, into .models; tests of weights that are not to be had are skipped by name.
test-neural: $(READY)
	-$(BIN)/videoworld models pull --from ../shared/data/models --folder .models
	-$(BIN)/videoworld models pull yolo11n whisper-base use-multilingual-v3 resemblyzer --folder .models
	-$(BIN)/pip install -q -e '.[speech]'
	VIDEOWORLD_TEST_MODELS=.models $(BIN)/python -m pytest -q -m 'nightly or not nightly' \
	  tests/world_api/perception/test_detectors.py tests/world_api/perception/test_model_files.py \
	  tests/world_api/build/tracking/test_detections.py tests/world_api/test_neural_profile.py \
	  tests/world_api/perception/test_identification.py tests/world_api/perception/test_whisper_for_real.py tests/test_real_faces.py tests/test_real_people_neural.py \
	  tests/world_api/test_meaning.py

check: test lint types imports

format: $(READY)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/python docs/write_operations.py
	$(BIN)/python docs/write_commands.py
	$(BIN)/python -m tool_induction.reference docs
	$(BIN)/python docs/write_diagnostics.py

# The pages as a website, in site/; its generator is installed here and nowhere else.
site: $(READY)
	$(BIN)/pip install -q -e '.[docs]'
	$(BIN)/properdocs build -q --strict

clean:
	rm -rf demo ablation build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# The first of these that is a Python we support makes the environment.
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11 python
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

$(READY): pyproject.toml
	@if ! $(BIN)/python -c '$(SUPPORTED)' 2>/dev/null || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  for name in $(CANDIDATES); do \
	    if $$name -c '$(SUPPORTED)' 2>/dev/null; then found=$$name; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "error: this project needs Python 3.11, 3.12 or 3.13; python3 here is: $$(python3 --version 2>&1)" >&2; \
	    echo "  hint: install one of them, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; \
	  fi; \
	  echo "making $(VENV) with $$($$found --version)"; \
	  $$found -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }; \
	fi
	@echo "installing the project into $(VENV) (some minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,eval]' >$(VENV)/install.log 2>&1 || \
	  { cat $(VENV)/install.log >&2; exit 1; }
	@touch $@
