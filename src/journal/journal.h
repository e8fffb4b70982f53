/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal as a whole. What ext4 calls of it is in include/zjournal/jbd2.h. */
#ifndef ZJ_JOURNAL_H
#define ZJ_JOURNAL_H

#include "core/core.h"

/* drop.c */
void zj_drop_everything(struct zj_journal *zj);

/* lane.c */
int zj_lanes_start(struct zj_journal *zj);
void zj_lanes_place(struct zj_journal *zj);
void zj_lanes_stop(struct zj_journal *zj);
void zj_lanes_free(struct zj_journal *zj);

/* load.c */
int zj_recover_device(struct zj_journal *zj);

/*
 * Files in /proc: kernel/procfs.c has these functions in the kernel, tests/kit
 * in tests.
 */
int zj_proc_init(void);
void zj_proc_exit(void);
void zj_proc_add(struct zj_journal *zj);
void zj_proc_remove(struct zj_journal *zj);

#endif /* ZJ_JOURNAL_H */
