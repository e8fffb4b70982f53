# SPDX-License-Identifier: GPL-2.0-only
# What DKMS runs.  In dkms.conf itself a command substitution would run whenever DKMS reads it.
modules:
	@source=$$(packaging/ext4-source $(KVER)) && \
		$(MAKE) --no-print-directory -f kernel/Makefile modules BUILD=build LINUX_SOURCE=$$source

.PHONY: modules
