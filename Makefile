# The front door. Everything is CMake and Ninja behind it; see CMakePresets.json.
# Each target does its own set-up: a fresh Debian 12 needs only git and make.

WERROR ?= ON
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
PYTHON ?= python3
PRESETS = release clang debug asan tsan fuzz
CONFIGURE = cmake --preset $(1) -DLZ_WERROR=$(WERROR) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
BUILD = $(call CONFIGURE,$(1)) && cmake --build --preset $(1)
CTEST = ctest --preset $(1)

.PHONY: all setup build test test-torch demo bench lint $(filter-out release,$(PRESETS)) install clean help

all: build

help:
	@sed -n 's/^\([a-z-]*\): .*## /  make \1\t/p' Makefile

setup: ## install the missing packages
	@tools/setup.sh

build: setup ## the release build: build/lazuli, build/liblazuli.so
	@$(call BUILD,release)

demo: build ## the main job
	build/lazuli --version
	build/examples/run_graph
	build/examples/lazy
	build/examples/digits

test: setup ## gcc and clang builds, every test in release, clang and asan, those of threads in tsan, lint
	@tools/test.sh

test-torch: build ## graph texts against PyTorch; says that it skips them if PYTHON=python3 has no torch
	@$(PYTHON) test/torch/check.py build/lazuli --folder test/data/oracle/graphs --folder test/data/oracle/graphs_more || [ $$? = 77 ]

asan: setup ## the tests under ASan and UBSan
	@$(call BUILD,asan) && $(call CTEST,asan)

tsan: setup ## the tests under TSan, but those that have one thread or no races of their own
	@$(call BUILD,tsan) && $(call CTEST,tsan)

clang: setup ## the tests as built by clang
	@$(call BUILD,clang) && $(call CTEST,clang)

debug: setup ## the tests with assertions and without optimisation
	@$(call BUILD,debug) && $(call CTEST,debug)

lint: build ## formatting, clang-tidy, cppcheck, layers, headers, papers
	@tools/lint.sh

fuzz: setup ## every fuzzer for SECONDS=60 each
	@$(call BUILD,fuzz) && tools/fuzz.sh $(SECONDS)

bench: build ## measure; prints ratios
	@tools/bench.sh

install: build ## into PREFIX=/usr/local, below DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)

clean: ## remove build/
	rm -rf build
