# SPDX-License-Identifier: GPL-2.0-only
# The journal's sources, for every Makefile that compiles them.  SRC is the folder that
# they are in: this one, or a copy of it.
#
# zj-all       everything
# zj-recovery  what programs need that only read or recover a log
# zj-headers   what an object depends on
zj-all := $(sort $(wildcard $(SRC)/*/*.c))
zj-recovery := $(sort $(wildcard $(SRC)/format/*.c $(SRC)/recovery/*.c) \
	$(SRC)/nvm/codec_nvm.c $(SRC)/nvm/recovery_nvm.c)
zj-headers := $(wildcard $(SRC)/*/*.h)

# Their objects below a folder: $(call zj-objects,$(zj-all),$(O)/src).
zj-objects = $(patsubst $(SRC)/%.c,$(2)/%.o,$(1))
