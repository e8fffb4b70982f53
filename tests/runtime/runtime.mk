# SPDX-License-Identifier: GPL-2.0-only
# What of the kernel src/ needs besides what recovery does, in user space and for tests
# only: once for the simulator, once for threads.  For every Makefile that builds all of
# src/; it sets TOP before, and SRC by src/files.mk.
#
#   include/   headers, beside those of user/include
#   common/    functions that both have
#   sim/       a seeded scheduler, virtual time, a disk that power cuts are taken of
#   threads/   pthreads and a real file
RUNTIME := $(TOP)/tests/runtime

sim-folders := $(RUNTIME)/sim $(RUNTIME)/common
threads-folders := $(RUNTIME)/threads $(RUNTIME)/common
sim-sources := $(wildcard $(sim-folders:%=%/*.c)) $(TOP)/user/lib/crc32c.c
threads-sources := $(wildcard $(threads-folders:%=%/*.c)) \
	$(TOP)/user/lib/crc32c.c $(TOP)/user/lib/pmem.c

runtime-flags := -std=gnu11 -D_GNU_SOURCE -fno-omit-frame-pointer
runtime-warnings := -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers
# The threads' own headers go before the common ones.
sim-include := -I$(RUNTIME)/include -I$(TOP)/user/include -I$(RUNTIME)/sim \
	-I$(TOP)/include -I$(SRC)
threads-include := -I$(RUNTIME)/threads/include -I$(RUNTIME)/include -I$(TOP)/user/include \
	-I$(RUNTIME)/threads -I$(TOP)/include -I$(SRC)

# What an object depends on, with the headers of src/ and the interface.
runtime-headers := $(wildcard $(RUNTIME)/*/*.h $(RUNTIME)/*/*/*.h $(RUNTIME)/*/*/*/*.h \
	$(TOP)/user/include/*/*.h $(TOP)/user/include/*/*/*.h $(TOP)/include/zjournal/*.h) \
	$(zj-headers) $(RUNTIME)/runtime.mk
