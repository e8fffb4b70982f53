/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files in /proc: kernel/procfs.c has these functions in the kernel, tests/kit
 * in tests.
 */
#ifndef ZJ_PROC_H
#define ZJ_PROC_H

#include "core/journal.h"

int zj_proc_init(void);
void zj_proc_exit(void);
void zj_proc_add(struct zj_journal *zj);
void zj_proc_remove(struct zj_journal *zj);

#endif /* ZJ_PROC_H */
