# SPDX-License-Identifier: GPL-2.0-only
#
#   make                 build zjournal.ko and zext4.ko
#   make test            install what is missing, build, run all tests
#   make demo            install what is missing, build, show a power cut survived
#   make sim             the journal's sources in the simulator, for a minute
#   make fuzz            recovery under libFuzzer, then zjctl, for SECONDS=60 each
#   make mutants-auto    src/ mutated by machine: what no test notices; SAMPLE=2000 SEED=1
#                        FILE=src/core/flush.c SECONDS=600 ARGS="--only ID"
#   make model           the protocol as a state machine, each rule left out once
#   make litmus          orders between threads without a lock, in the kernel's memory model
#   make ace             the causality oracle: all sets of two operations over lanes, power cuts;
#                        SEQ3=50000 of three as well, ENGINE=qemu, FSTYPE=ext4, ARGS="--jobs 2 ..."
#   make ties            zext4 without one tie between lanes at a time: the oracle must notice
#   make lint            style, spelling, sizes, sparse; ARGS="ruff columns" for some of the checks
#   make bench           zext4 beside other file systems under many loads, with a report; QUICK=1,
#                        ROUNDS=5, DEV=/dev/X (real hardware; overwrites it, asks first), ARGS=;
#                        with tools/deps bench-apps also MariaDB, RocksDB...: ARGS="LOADS=apps"
#   make bench-fsync     what an fsync costs, beside stock ext4; ARGS="ROUNDS=1 ..."
#   make bench-fast      fsyncs on drives of 0, 15, 100 and 1000 us, beside other file systems; ARGS=
#   make bench-clock     the same by the clock, in User Mode Linux of 7.3 with two CPUs; ARGS=
#   make bench-ties      what features of the file system cost in ties between lanes; ARGS=
#   make features-table  all sets of features, and bench-ties: fills the tables of docs/compatibility.md
#   make bench-concurrent  fsyncs of eight clients, one lane and several, beside stock ext4; ARGS=
#   make bench-bulk      what loads pay that never sync, beside stock ext4; ARGS="LOADS=untar ..."
#   make bench-aging     fragmentation after an aging run, beside stock ext4
#   make bench-nvm       a journal in persistent memory, beside stock's; ARGS="SWEEP=all ..."
#   make bench-core      the journal's code by the clock, in user space, beside stock jbd2; ARGS=
#   make bench-papers    the figures of the papers that zjournal's ideas come from; QUICK=1
#   make figures         the figures of README and docs/performance.md, measured again (an hour);
#                        FIGURES="programs beside"; make plots: only drawn again
#   make dashboard       what monitoring/grafana.json shows, by Prometheus, as docs/img/dashboard.svg
#   make bench-sim       SIMULATED: both journals' sources on 1 to 256 virtual CPUs, QUICK=1; ARGS=
#   make diagrams      draws docs/img/*.dot anew (the package graphviz)
#   make xfstests        XFSTESTS_DIR=a built checkout: xfstests on stock ext4 and on zext4, and where
#                        they differ; XFSTESTS_TESTS="quick generic/001 -stress", ENGINE=qemu,
#                        TYPES="ext4 zext4 lanes", MKFS="-O bigalloc", MOUNT=data=journal, ARGS=
#   make debug-kernel    run the VM tests on a kernel with lockdep and KASAN
#   make soak            applications on a file system that is disturbed and cut off, HOURS=1; SEED=
#                        CYCLE_S=60 CYCLES= LIFE= APPS="git trees", DEBUG_KERNEL=1
#   make deb             Debian packages in build/deb
#   make release         VERSION=0.1 KEY=ID: packages, sources, checksums, and a repository for apt that gpg
#                        signs with this key, in build/release; nothing is pushed
#   make kernels         which kernels of Debian's archive are served, and what differs in the others,
#                        in docs/install.md; ARGS=--diff shows the differences
#   make test-packages   install them in a Debian of its own, 12 or 13 like this one, boot that, upgrade, purge
#   make stock-faults    faults of stock ext4 that this project found, each shown on it; FAULTS="fdatasync ...",
#                        FSTYPE=zext4 for the same on zext4
#   make newcomer        README's commands, typed in a bare Debian 12 and a bare Debian 13 (root; half an hour)
#
# KVER=<release>     kernel to build for and to test with; default: the running one, else the newest
#                    installed 6.12. One of another Debian: tools/debian-kernel trixie brings it
# FSTYPE=ext4        run the VM tests on stock ext4, to try the tests themselves
# TESTS=<paths>      what pytest runs; default: tests model
# PYTEST_ARGS=...    for pytest
$(if $(word 2,$(CURDIR)),$(error make cannot work in a folder with a space in its path: $(CURDIR)))

BUILD := build
KVER ?= $(shell tools/kver)
ifeq ($(origin KVER),command line)
export ZJ_KVER := $(KVER)
endif
PYTHON := $(BUILD)/venv/bin/python
TESTS ?= tests model
FSTYPE ?= zext4

guest_programs := $(patsubst tests/vm/%.c,$(BUILD)/guest/%,$(wildcard tests/vm/*.c)) \
	$(BUILD)/guest/sqlload

# What a virtual machine needs, by all CPUs: for somebody who waits for the demo.
build-all = $(MAKE) --no-print-directory -j$(shell nproc) modules guest-programs

.PHONY: all modules deps guest-programs test lint sim mutants-auto fuzz model demo bench-fsync bench-concurrent bench-aging debug-kernel clean

all: modules

# KVER is found only after deps has installed a kernel: hence the new make.
modules:
	@+tools/for-kernel '$(ZJ_KVER)' $(MAKE) --no-print-directory -f kernel/Makefile modules

deps:
	@tools/deps

guest-programs: $(guest_programs)
	@+tools/for-kernel '$(KVER)' $(MAKE) --no-print-directory -C tests/vm/zjdisk KVER=$(KVER)
	@+$(MAKE) --no-print-directory -C tests/vm/crash OUT=$(CURDIR)/$(BUILD)/guest
	@+$(MAKE) --no-print-directory -C tests/vm/lanes OUT=$(CURDIR)/$(BUILD)/guest
	@+$(MAKE) --no-print-directory -C bench OUT=$(CURDIR)/$(BUILD)/guest
	@+tools/for-kernel '$(KVER)' $(MAKE) --no-print-directory -C bench/zjmeter KVER=$(KVER)
	@+$(MAKE) --no-print-directory -s -C user
	@cp -u $(BUILD)/zjctl user/fsck.zext4 $(BUILD)/guest/

$(BUILD)/guest/%: tests/vm/%.c
	@mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -Werror -static -o $@ $<

$(BUILD)/guest/polled: tests/vm/uring.h

$(BUILD)/guest/sqlload: demo/sqlload.c
	@mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -Werror -o $@ $< -lsqlite3

test: deps
	@tools/deps lint
	@+tools/run-tests

lint:
	@tools/deps lint
	@+$(MAKE) --no-print-directory modules >/dev/null
	@$(PYTHON) tools/lint $(ARGS)

sim:
	@python3 tests/sim/campaign.py --seconds 60

mutants-auto:
	@tests/mutants/auto/auto.py $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) \
		$(FILE:%=--file %) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

fuzz:
	@+$(MAKE) --no-print-directory -C tests/fuzz run
	@build/venv/bin/python tests/zjctl/fuzz.py --seconds $(or $(SECONDS),60)

model:
	@+$(MAKE) --no-print-directory -C model check

.PHONY: litmus
litmus:
	@tools/check-barriers
	@$(PYTHON) -m pytest -q tests/litmus

demo:
	@tools/deps demo
	@+$(build-all)
	@$(PYTHON) demo/demo.py

.PHONY: bench
bench:
	@tools/deps bench
	@+$(build-all)
	@$(PYTHON) bench/bench.py $(foreach name,QUICK ROUNDS DEV,$(if $($(name)),$(name)=$($(name)))) \
		$(ARGS)

.PHONY: bench-fast
bench-fast:
	@tools/deps bench
	@+$(MAKE) --no-print-directory modules guest-programs
	@$(PYTHON) bench/fast.py $(ARGS)

.PHONY: bench-clock
bench-clock:
	@tools/deps bench
	@tools/deps debug-kernel
	@+SERIES=7.3 tools/run-uml $(PYTHON) bench/fast.py $(ARGS)

bench-fsync:
	@tools/deps bench
	@+$(build-all)
	@$(PYTHON) bench/fsync.py $(ARGS)

# What lanes pay for features of the file system, and what was tried with each (docs/compatibility.md).
.PHONY: bench-ties features-table
bench-ties: deps
	@+$(build-all)
	@$(PYTHON) bench/ties.py $(ARGS)

features-table: bench-ties
	@ZJ_FEATURE_SETS=all $(PYTHON) -m pytest -q tests/vm/test_feature_sets.py
	@tools/features-doc --write

bench-concurrent:
	@tools/deps bench-concurrent
	@+$(build-all)
	@$(PYTHON) bench/concurrent.py $(ARGS)

bench-aging: deps
	@+$(build-all)
	@$(PYTHON) bench/aging.py $(ARGS)

.PHONY: bench-nvm
bench-nvm:
	@tools/deps bench-nvm
	@+$(build-all)
	@$(PYTHON) bench/nvm.py $(ARGS)

.PHONY: bench-bulk
bench-bulk:
	@tools/deps bench-bulk
	@+$(build-all)
	@$(PYTHON) bench/bulk.py $(ARGS)

.PHONY: bench-core
bench-core:
	@tools/deps bench-core
	@+$(MAKE) --no-print-directory -s -C bench/core
	@$(PYTHON) bench/core.py $(ARGS)

.PHONY: bench-sim
bench-sim:
	@tools/deps bench-sim
	@+$(MAKE) --no-print-directory -s -C bench/core
	@+$(MAKE) --no-print-directory -s -C bench/sim
	@$(PYTHON) bench/sim.py $(if $(QUICK),QUICK=$(QUICK)) $(ARGS)

# Figures of the documents (bench/figures.json).
.PHONY: figures plots dashboard
figures:
	@tools/deps bench-apps
	@tools/deps bench-sim
	@+$(build-all)
	@+$(MAKE) --no-print-directory -s -C bench/core
	@+$(MAKE) --no-print-directory -s -C bench/sim
	@$(PYTHON) bench/figures.py $(FIGURES)
	@tools/figures --write

plots:
	@tools/figures --write

# Needs the package prometheus.
dashboard:
	@+$(build-all)
	@$(PYTHON) bench/dashboard.py

.PHONY: bench-papers
bench-papers:
	@tools/deps bench-papers
	@+$(build-all)
	@+$(MAKE) --no-print-directory -s -C bench/core
	@+$(MAKE) --no-print-directory -s -C bench/sim
	@$(PYTHON) bench/papers.py $(foreach name,QUICK FIGURES ROUNDS SCALE,$(if $($(name)),$(name)='$($(name))')) \
		$(ARGS)

ENGINE ?= uml
SEQ3 ?= 0
.PHONY: ace
ace:
	@tools/deps $(if $(filter uml,$(ENGINE)),debug-kernel)
	@+$(build-all)
	@+$(if $(filter uml,$(ENGINE)),tools/build-uml)
	@$(PYTHON) tests/vm/lanes/ace.py --engine $(ENGINE) --fstype $(FSTYPE) --seq3 $(SEQ3) $(ARGS)

.PHONY: ties
ties:
	@tools/deps debug-kernel
	@+$(build-all)
	@+tools/build-uml
	@$(PYTHON) tests/vm/lanes/ties.py $(ARGS)

.PHONY: xfstests
xfstests:
	@[ -n "$(XFSTESTS_DIR)" ] || { echo "make xfstests: XFSTESTS_DIR= has to name a built checkout of xfstests"; exit 2; }
	@tools/deps xfstests
	@+$(if $(filter uml,$(ENGINE)),tests/xfstests/build-uml,$(MAKE) --no-print-directory modules)
	@$(PYTHON) tests/xfstests/run.py "$(XFSTESTS_DIR)" --engine $(ENGINE) \
		$(if $(XFSTESTS_TESTS),--tests="$(XFSTESTS_TESTS)") $(if $(TYPES),--types="$(TYPES)") \
		$(if $(MKFS),--mkfs="$(MKFS)") $(if $(MOUNT),--mount="$(MOUNT)") $(ARGS)

debug-kernel: deps
	@tools/deps debug-kernel
	@+tools/run-debug-kernel

.PHONY: soak
soak:
	@tools/deps soak
	@$(if $(DEBUG_KERNEL),tools/deps debug-kernel)
	@# Without its variables: OUT means something else to others.
	@+MAKEFLAGS= $(build-all)
	@+$(if $(DEBUG_KERNEL),MAKEFLAGS= tools/run-debug-kernel) $(PYTHON) tests/soak/soak.py \
		$(foreach name,HOURS SEED CYCLE_S CYCLES LIFE APPS LIE OUT,$(if $($(name)),$(name)='$($(name))'))

.PHONY: diagrams
diagrams:
	@tools/diagrams --write

.PHONY: deb test-packages
deb:
	@tools/deps deb
	@packaging/make-deb

test-packages:
	@tools/deps lintian
	@. /etc/os-release && packaging/fetch-ext4 $$VERSION_CODENAME $$VERSION_CODENAME-security
	@packaging/make-deb
	@tools/deps test-packages
	@ZJ_PACKAGES=1 $(PYTHON) -m pytest -q tests/packages

.PHONY: newcomer
newcomer:
	@tools/deps newcomer
	@ZJ_NEWCOMER=1 $(PYTHON) -m pytest -q tests/newcomer

.PHONY: stock-faults
stock-faults: FSTYPE := ext4
stock-faults:
	@+$(build-all)
	@FSTYPE=$(FSTYPE) $(PYTHON) tests/stock/stock_faults.py $(FAULTS)

.PHONY: kernels
kernels:
	@packaging/fetch-ext4 --others
	@tools/kernels --write $(ARGS)

.PHONY: release
release:
	@KEY='$(KEY)' tools/release '$(VERSION)'

clean:
	rm -rf $(BUILD)/kmod-* $(BUILD)/guest $(BUILD)/vm $(BUILD)/tests $(BUILD)/bench $(BUILD)/results \
		$(BUILD)/deb $(BUILD)/packages $(BUILD)/newcomer $(BUILD)/release
