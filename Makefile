# Everything that a person or CI runs here. `make install` is idempotent: it does nothing twice.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := $(CURDIR)/.venv
CHECKOV := $(CURDIR)/.venv-checkov
CLIENTS := $(CURDIR)/.venv-clients
BROWSER := $(CURDIR)/.venv-browser
DIST := $(CURDIR)/.venv-dist
DOCS := $(CURDIR)/.venv-docs
SBOM := $(CURDIR)/.venv-sbom
export PATH := $(VENV)/bin:$(CURDIR)/node_modules/.bin:$(PATH)
# No bytecode beside sources is read: one in a commit would run in place of what was reviewed.
# Bytecode in .venv is harmless, so it is written even if the environment forbids bytecode.
export PYTHONPYCACHEPREFIX := $(VENV)/bytecode
export PYTHONDONTWRITEBYTECODE :=

# make runs $(shell ...) in the value of a variable: workflows pass no text of a change to make, but
# to programs, in quoted variables of the shell (review/files/workflows.py).
STAGE ?= local
BASE ?= origin/main
FROM_STAGE ?=
KEEP ?=
ONLY ?=
QUICK ?=
JSON ?=
IGNORE_PREFLIGHT ?=
ALLOW_OLDER ?=
TAKE_OVER ?=
NEWER ?= python3.13

# Each package is a wheel that the lock has the hash of: no index can give another, nor code that
# builds one. PyTorch's page has torch alone, for CPUs; pip's own setting (find-links) replaces it.
# Bytecode is written when it is needed: of all of the CDK it would be 300 MB.
PIP := -m pip install --disable-pip-version-check --no-compile --require-hashes --only-binary :all:
TORCH_FOR_CPUS := https://download.pytorch.org/whl/cpu/torch/

# The first Python that the locked packages support; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3 python3.12 python3.11; do \
	if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' \
		2>/dev/null; then echo $$python; break; fi; done)

# Local deployments wait more than they compute: four workers keep two cores busy.
PARALLEL := --numprocesses 4 --no-loadscope-reorder

.PHONY: help
help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-13s %s\n", $$1, $$2 }'

.PHONY: install install-cdk
install: $(VENV)/.installed node_modules/.installed ## make .venv and node_modules, where they are not current
install-cdk: $(VENV)/.installed-cdk node_modules/.installed ## the part of it for synth, diff and reviews: no torch, no Triton

$(VENV)/.installed-cdk: requirements/cdk.txt pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "error: no Python 3.11 or 3.12 on PATH: install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@echo "installing the pinned Python packages of synth and reviews into .venv (about 0.8 GB)"
	@$(PYTHON) -m venv $(VENV) || { echo "error: $(PYTHON) cannot make virtual environments: on Debian and Ubuntu, apt-get install python3-venv" >&2; exit 1; }
	@$(VENV)/bin/python $(PIP) --quiet --requirement requirements/cdk.txt
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@PYTHONPATH=constructs $(VENV)/bin/python -c 'import cdk_nag, stacks'  # writes bytecode for later
	@touch $@

$(VENV)/.installed: requirements.txt $(VENV)/.installed-cdk
	@echo "installing the other pinned Python packages into .venv (about 1.3 GB more, minutes the first time)"
	@links=$${PIP_FIND_LINKS:-$$($(PYTHON) -m pip config get global.find-links 2> /dev/null || echo $(TORCH_FOR_CPUS))}; \
		PIP_FIND_LINKS=$$links $(VENV)/bin/python $(PIP) --progress-bar on --requirement requirements.txt | { grep --line-buffered -E '^(Collecting|Installing)' || true; } | cut -c1-100
	@$(VENV)/bin/python -c 'import torch, tritonclient.http; from transformers import BertModel'
	@touch $@

node_modules/.installed: package-lock.json $(VENV)/.installed-cdk
	@echo "installing the pinned cdk CLI into node_modules"
	@npm ci --no-audit --no-fund --loglevel error || { echo "error: npm ci failed: it needs the npm registry once (behind a proxy, set npm's https-proxy); run make again" >&2; exit 1; }
	@ln -sf ../../node_modules/.bin/cdk $(VENV)/bin/cdk
	@ln -sf ../../tritonsm $(VENV)/bin/tritonsm
	@touch $@

$(CHECKOV)/.installed: requirements/checkov.txt
	@echo "installing checkov into an environment of its own"
	@$(PYTHON) -m venv $(CHECKOV)
	@$(CHECKOV)/bin/python $(PIP) --quiet --requirement requirements/checkov.txt
	@touch $@

$(CLIENTS)/%/.installed: tests/clients/requirements-%.txt
	@echo "installing the clients of $< into an environment of their own"
	@$(PYTHON) -m venv $(CLIENTS)/$*
	@$(CLIENTS)/$*/bin/python $(PIP) --quiet --requirement $<
	@touch $@

$(BROWSER)/.installed: tests/browser/requirements.txt
	@echo "installing what drives a browser beside the app's packages"
	@rm -rf $(BROWSER)
	@$(VENV)/bin/python $(PIP) --quiet --target $(BROWSER) --requirement $<
	@touch $@

$(DOCS)/.installed: docs/requirements.txt
	@echo "installing Sphinx into an environment of its own"
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python $(PIP) --quiet --requirement $<
	@touch $@

$(SBOM)/.installed: tests/distribution/requirements-sbom.txt
	@$(PYTHON) -m venv $(SBOM)
	@$(SBOM)/bin/python $(PIP) --quiet --requirement $<
	@touch $@

.PHONY: demo
demo: install ## deploy MiniLM to the local SageMaker, invoke it, compare, clean up; KEEP=1 leaves it running
	@./tritonsm demo $(if $(KEEP),--keep)

.PHONY: test
test: install $(CHECKOV)/.installed ## run the tests: units, templates, deployments on the local SageMaker
	@python -m pytest $(PARALLEL) -m "not drill"
	@echo "make drill-test runs the drills: failures, rollbacks, scaling and every kind of change"
	@echo "the shipped models are built, loaded and compared by make models-test"

.PHONY: drill-test
drill-test: install $(CHECKOV)/.installed ## drill failures, rollbacks, scaling and every kind of change on the local SageMaker
	@python -m pytest $(PARALLEL) -m drill

.PHONY: models-test
models-test: install $(CHECKOV)/.installed ## build every model for the CPU, load it into Triton, compare with its framework
	@python -m pytest models

.PHONY: readme-test
readme-test: install ## run the README's commands, in order, in a copy of the repository
	@python -m pytest tests/readme

.PHONY: clients-test
clients-test: install $(CLIENTS)/v2/.installed $(CLIENTS)/v3/.installed ## ask the local SageMaker with the AWS CLI, boto3 and the SageMaker SDKs v2 and v3
	@python -m pytest tests/clients

.PHONY: browser-test
browser-test: install $(BROWSER)/.installed ## look at the local SageMaker's page in headless Chromium, which must be on PATH
	@PYTHONPATH=$(BROWSER) python -m pytest tests/browser

.PHONY: browser-image
browser-image: install $(BROWSER)/.installed ## make the images of the docs anew (five minutes)
	@PYTHONPATH=$(BROWSER) python -m tests.browser

.PHONY: bench
bench: install $(CHECKOV)/.installed $(CLIENTS)/v2/.installed ## measure on a quiet machine (20 minutes), and write tools/bench/results/, of which `make docs` makes a page; QUICK=1, ONLY=synth
	@python -m tools.bench $(if $(QUICK),--quick) $(ONLY)

.PHONY: lint
lint: lint-fast lint-templates ## all linters: style, types, imports, models, workflows, templates

# In a recipe that is one shell: $(call step,NAME,COMMANDS) runs the commands, and prints the time that
# they took; $(failures) fails with the names of the steps that failed.
step = start=$$SECONDS; ( $(2) ) || failed+=', $(1)'; printf '%4d s  %s\n' $$((SECONDS - start)) '$(1)'
failures = [ -z "$${failed-}" ] || { echo "error: these steps failed: $${failed\#, }" >&2; exit 1; }

.PHONY: lint-fast
lint-fast: install ## style, types, imports, models, workflows: 20 seconds, the second time
	@$(call step,no compiled Python,compiled=$$(git ls-files '*.pyc' '*.pyo' '*__pycache__/*'); \
		[ -z "$$compiled" ] || { echo "error: $$compiled: compiled Python would run in place of its source: git rm" >&2; exit 1; }); \
	$(call step,style (mend with make format),ruff check . && ruff format --check --quiet .); \
	$(call step,language,python -m tools.lint.language); \
	$(call step,types,mypy); \
	$(call step,imports,out=$$(lint-imports) || { echo "$$out"; exit 1; }); \
	$(call step,models,./tritonsm lint --strict models/ cli/templates/models/); \
	$(call step,workflows,zizmor --offline --persona=auditor --no-progress --quiet .github/workflows && \
		check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml); \
	$(call step,schema of stages,./tritonsm stages --schema | diff - stages/stage.schema.json || { echo "error: stages/stage.schema.json is not current: make schema" >&2; exit 1; }); \
	$(failures)

.PHONY: lint-templates
lint-templates: install $(CHECKOV)/.installed ## cdk-nag, cfn-lint and checkov on the templates of all stages, and types of models
	@$(call step,types of models,for model in models/*/*/1/model.py cli/templates/models/*/*/1/model.py cli/templates/models/*/*/1/*/model.py; do \
		mypy --no-error-summary --allow-untyped-defs --allow-untyped-calls --ignore-missing-imports $$model || exit 1; done); \
	$(call step,templates,for stage in $(basename $(notdir $(wildcard stages/*.yaml))); do \
		out=cdk.out.lint/$$stage; mkdir -p $$out; \
		cdk synth --quiet -c stage=$$stage --output $$out > $$out.log 2>&1 || { cat $$out.log; exit 1; }; \
		cfn-lint $$out/*.template.json || exit 1; done); \
	$(call step,checkov,$(CHECKOV)/bin/checkov --config-file .checkov.yaml --directory cdk.out.lint/prod); \
	$(failures)

.PHONY: review
review: install-cdk ## report the effects of a change: BASE=origin/main; STAGE=prod
	@./tritonsm review --base '$(BASE)' $(if $(filter command line,$(origin STAGE)),'$(STAGE)')

.PHONY: release
release: install-cdk ## synthesise every stage, once, into release.out/, for a review and for deliveries
	@./tritonsm release build

.PHONY: preflight
preflight: install-cdk ## ask the account what a deploy needs: STAGE=prod; JSON=1
	@./tritonsm preflight '$(STAGE)' $(if $(JSON),--json)

.PHONY: deliver
deliver: install ## ask the account, deploy release.out, try every model: STAGE=prod, FROM_STAGE=dev, RELEASE=
	@./tritonsm deliver '$(STAGE)' $(if $(RELEASE),--release '$(RELEASE)') $(if $(FROM_STAGE),--from-stage '$(FROM_STAGE)') $(if $(IGNORE_PREFLIGHT),--ignore-preflight) $(if $(ALLOW_OLDER),--allow-older) $(if $(TAKE_OVER),--take-over)

.PHONY: rollback
rollback: install ## deploy the release that served a stage before: STAGE=prod, TO=
	@./tritonsm rollback-stage '$(STAGE)' $(if $(TO),--to '$(TO)') $(if $(TAKE_OVER),--take-over)

.PHONY: dist
dist: install-cdk ## build sdists and wheels into dist/: the client with the construct library, the local SageMaker
	@.ci/distribution.sh . dist
	@.ci/distribution.sh local_sagemaker dist

.PHONY: dist-test
dist-test: dist ## use the client's wheel in a newer Python: NEWER=python3.14
	@rm -rf $(DIST)
	@$(NEWER) -m venv $(DIST)
	@$(DIST)/bin/python $(PIP) --quiet --requirement tests/distribution/requirements.txt
	@$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index dist/triton_sagemaker-*.whl
	@CDK_OUTDIR=$(DIST)/cdk.out $(DIST)/bin/python -I docs/examples/own_app.py
	@$(DIST)/bin/python -I -c 'import endpoint_client, platform_facts, sys; print("the wheel serves Python", sys.version)'

.PHONY: sbom
sbom: $(SBOM)/.installed ## write sbom.json: the packages that the client and the constructs install, in CycloneDX's form
	@$(SBOM)/bin/cyclonedx-py requirements --pyproject pyproject.toml --mc-type library --output-reproducible \
		--output-file sbom.json tests/distribution/requirements.txt

.PHONY: docs
docs: install-cdk $(DOCS)/.installed ## build the documentation site into docs.out/; a warning is an error
	@python -m platform_facts.rules > docs/rules.md
	@python -m tests.articles > docs/articles.md
	@python -m delivery.permissions > docs/permissions.md
	@python -m local_sagemaker.tests.recorded.coverage > docs/local-sagemaker-coverage.md
	@$(DOCS)/bin/python -m tools.bench.page
	@$(DOCS)/bin/sphinx-build --quiet --fail-on-warning --fresh-env docs docs.out
	@echo "docs.out/index.html"

.PHONY: pr
pr: lint test drill-test models-test ## lint, tests and the review; the workflow adds docs, readme-test, dist-test
	@$(MAKE) review

.PHONY: lines
lines: install ## print the code lines of each package, without blanks, comments and docstrings
	@python -m tools.lint.lines

.PHONY: format
format: install ## format the code
	@ruff check --fix . && ruff format .

.PHONY: synth
synth: install-cdk ## write a stage's templates (STAGE=prod); needs no credentials
	@cdk synth --quiet -c 'stage=$(STAGE)' > cdk.out.log 2>&1 || { grep -v 'Subprocess exited with' cdk.out.log; exit 1; }
	@ls -1 $(CURDIR)/cdk.out/$(STAGE)-*.template.json

.PHONY: schema
schema: install-cdk ## write the JSON Schema of stages for editors
	@./tritonsm stages --schema > stages/stage.schema.json

.PHONY: transitions
transitions: install ## write tests/transitions/transitions.md: the effects of each stage update on calls
	@python -m tests.transitions

.PHONY: review-changes
review-changes: install ## list random changes of templates that the review misses without a reason
	@python -m tests.review_changes

.PHONY: lock
lock: install ## resolve requirements/app.in into requirements.txt, and of it requirements/build.txt
	@./requirements/lock.sh
