# Two commands do everything: `make lab` opens the course, `make test` proves it.
# All paths are relative, so that the project may live in any folder, spaces in its name included.
VENV := .venv
PY := $(VENV)/bin/python
ROOT_FLAG := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)
PIP := $(PY) -m pip install --quiet --disable-pip-version-check

.PHONY: help lab test test-all notebooks lint

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

lab: $(VENV)/ready-lab ## set up and open JupyterLab at the first notebook
	$(PY) -m jupyterlab --ip=127.0.0.1 $(ROOT_FLAG) notebooks/00_start_here.ipynb

test: $(VENV)/ready-test ## set up and run every test a reader can run, all notebooks included
	$(PY) -m pytest -m "not slow"

test-all: test ## those and the slow ones: every notebook in a real browser
	$(PY) -m pytest -m "slow and not benchmark" tests

notebooks: $(VENV)/ready-test ## run all notebooks afresh and store their outputs with minimal differences
	$(PY) tests/regenerate.py notebooks/*.ipynb

lint: $(VENV)/ready-test ## check style and formatting, notebooks too
	$(PY) -m ruff check . && $(PY) -m ruff format --check .

# A stamp is newer than the requirements only after an installation that ended well.
$(VENV)/ready-lab: requirements.txt pyproject.toml | $(PY)
	@echo "Installing what the course needs (a few minutes, once) ..."
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/ready-test: requirements-dev.txt requirements.txt pyproject.toml | $(PY)
	@echo "Installing what the course and its tests need (a few minutes, once) ..."
	$(PIP) -r requirements-dev.txt
	@touch $(VENV)/ready-lab $@

# The first Python of version 3.11 or later on the path; `make PYTHON=/path/to/python lab` chooses another.
$(PY):
	@python=""; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11 python); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "No Python 3.11 or later: install one, or say make PYTHON=/path/to/python" >&2; exit 1; fi; \
	if ! "$$python" -m venv --clear $(VENV); then \
	  rm -rf $(VENV); \
	  echo "$$python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi
