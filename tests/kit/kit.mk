# SPDX-License-Identifier: GPL-2.0-only
# The toy file system's kit (kit.h) over a runtime, for each program that runs a journal.
include $(TOP)/tests/runtime/runtime.mk

KIT := $(TOP)/tests/kit
kit-sources := $(KIT)/kit.c
# Over the simulator there are memory and reports of failures, too.
kit-sim-sources := $(kit-sources) $(KIT)/memory.c $(KIT)/report.c $(sim-sources)
kit-threads-sources := $(kit-sources) $(threads-sources)
kit-sim-folders := $(KIT) $(sim-folders) $(TOP)/user/lib
kit-threads-folders := $(KIT) $(threads-folders) $(TOP)/user/lib
kit-headers := $(wildcard $(KIT)/*.h) $(KIT)/kit.mk $(runtime-headers)

kit-flags := -I$(KIT) -DJOURNAL_H='<zj/inside.h>'
