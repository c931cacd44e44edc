# The front door. Everything is CMake and Ninja behind it; see CMakePresets.json.
# Each target does its own set-up: a fresh Debian 12 needs only git and make.

WERROR ?= ON
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
PYTHON ?= python3
SEED ?= 1
OPS ?=
VIEW_PROGRAMS ?= 5000
PRESETS = release debug asan tsan fuzz
CONFIGURE = cmake --preset $(1) -DLZ_WERROR=$(WERROR) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
BUILD = $(call CONFIGURE,$(1)) && cmake --build --preset $(1)
# With OPS=FILE... the library of these operators, in a folder of its own.
FOLDER = $(if $(OPS),build/selective,build)
empty :=
SELECTED = $(subst $(empty) ,;,$(abspath $(OPS)))
SELECTIVE = $(call CONFIGURE,release -B $(FOLDER) "-DLZ_OPS=$(SELECTED)") && cmake --build $(FOLDER)
CTEST = ctest --preset $(1)

.PHONY: all setup build test check test-torch fuzz-torch demo bench lint reference $(filter-out release,$(PRESETS)) install clean help

all: build

help:
	@sed -n 's/^\([a-z-]*\): .*## /  make \1\t/p' Makefile

setup: ## install the missing packages
	@tools/setup.sh

build: setup ## the release build: build/lazuli, build/liblazuli.so; OPS=FILE...: build/selective/liblazuli.so, with these operators only
	@$(if $(OPS),$(SELECTIVE),$(call BUILD,release))

demo: setup ## the main job; builds only what it runs
	@$(call BUILD,release) --target lazuli_cli run_graph lazy digits
	build/lazuli --version
	build/examples/run_graph
	build/examples/lazy
	build/examples/digits examples/data 1

test: setup ## the release build, every test, formatting: under 10 minutes on two cores
	@tools/test.sh test

check: setup ## the rest that must never break: clang with ASan and UBSan, TSan, stress tests, lint
	@tools/test.sh check

test-torch: build ## graph texts, VIEW_PROGRAMS=5000 random programs and a generated backend against PyTorch; says that it skips them if PYTHON=python3 has no torch
	@$(PYTHON) test/torch/check.py build/lazuli --folder test/data/oracle/graphs --folder test/data/oracle/graphs_more || [ $$? = 77 ]
	@$(PYTHON) test/torch/view_programs.py build/lazuli --count $(VIEW_PROGRAMS) || [ $$? = 77 ]
	@$(PYTHON) test/torch/backend_stubs.py build/lazuli || [ $$? = 77 ]
	@$(PYTHON) test/torch/lazy_build.py build/lazuli || [ $$? = 77 ]

fuzz-torch: build ## random programs on PyTorch and Lazuli for SECONDS=60; says that it skips them if PYTHON=python3 has no torch
	@$(PYTHON) test/torch/fuzz.py build/lazuli build/test/fuzz_driver test/data --known test/data/fuzz_known.txt \
	    --seconds $(SECONDS) --seed $(SEED) --out build/fuzz_found.jsonl || [ $$? = 77 ]

asan: setup ## the tests as built by clang, under ASan and UBSan
	@$(call BUILD,asan) && $(call CTEST,asan)

tsan: setup ## the tests under TSan, but those that have one thread or no races of their own
	@$(call BUILD,tsan) && $(call CTEST,tsan)

debug: setup ## the tests with assertions and without optimisation
	@$(call BUILD,debug) && $(call CTEST,debug)

lint: build ## formatting, clang-tidy, cppcheck, layers, headers, papers
	@tools/lint.sh

fuzz: setup ## every fuzzer for SECONDS=60 each
	@$(call BUILD,fuzz) && tools/fuzz.sh $(SECONDS)

bench: build ## measure; prints ratios
	@tools/bench.sh

reference: build ## docs/operators.md, made of ops/*.yaml
	@tools/reference.sh build/lazuli >build/operators.md && mv build/operators.md docs/operators.md

install: build ## into PREFIX=/usr/local, below DESTDIR; with OPS=FILE... the library of these operators
	@DESTDIR=$(DESTDIR) cmake --install $(FOLDER) --prefix $(PREFIX)

clean: ## remove build/
	rm -rf build
