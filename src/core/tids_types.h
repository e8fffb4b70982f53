/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of live transactions. */
#ifndef ZJ_TIDS_TYPES_H
#define ZJ_TIDS_TYPES_H

#include <linux/list.h>
#include <linux/spinlock.h>

/*
 * A power of two. Tids are consecutive, so with as many chains as there can be lanes those
 * that work at once rarely meet: what is in a chain is written by its neighbours.
 */
#define ZJ_TID_CHAINS		256

/**
 * struct zj_tid_chain - one chain of the table
 */
struct zj_tid_chain {
	spinlock_t	lock;		/* guards the chain; inside lane->lock */
	struct hlist_head head;		/* lock to change, RCU to read; zj_txn.tid_link */
} ____cacheline_aligned_in_smp;

#endif /* ZJ_TIDS_TYPES_H */
