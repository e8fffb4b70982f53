/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of live transactions. */
#ifndef ZJ_TIDS_TYPES_H
#define ZJ_TIDS_TYPES_H

#include <linux/list.h>
#include <linux/spinlock.h>

/* A power of two. Tids are consecutive, so lanes that work at once use different chains. */
#define ZJ_TID_CHAINS		128

/**
 * struct zj_tid_chain - one chain of the table
 */
struct zj_tid_chain {
	spinlock_t	lock;		/* guards the chain; inside lane->lock */
	struct hlist_head head;		/* lock to change, RCU to read; zj_txn.tid_link */
} ____cacheline_aligned_in_smp;

#endif /* ZJ_TIDS_TYPES_H */
