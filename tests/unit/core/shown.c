// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every test: no task sleeps in a queue of the journal without a record that shows it (waits.c).
 * The threads that sleep until there is work are none that anybody waits for.
 */
#include "checkpoint/checkpoint.h"
#include "wrap.h"

#define MAX_RECORDS	512

/**
 * struct record - a wait that is filed
 */
struct record {
	const struct zj_wait *wait;	/* NULL: unused */
	const struct task_struct *task;	/* that has filed it */
};

static struct record records[MAX_RECORDS];

static struct record *record_of(const struct zj_wait *wait)
{
	for (int i = 0; i < MAX_RECORDS; i++)
		if (records[i].wait == wait)
			return &records[i];
	kl_fail(wait ? "a record of a wait ends that was not filed" : "too many waits");
}

/* Who waits for a transaction of others has no reference to it, so a lock keeps it meanwhile. */
static bool is_of_others(enum zj_wait_reason why)
{
	return why == ZJ_WAIT_LOCKED || why == ZJ_WAIT_RESERVED || why == ZJ_WAIT_IMAGE;
}

void __wrap_zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane, enum zj_wait_reason why,
			  const struct zj_txn *txn)
{
	if (txn && is_of_others(why) && !sim_current->spin_depth)
		kl_fail("%s files a wait for a transaction that may go", current->comm);
	*record_of(NULL) = (struct record){ wait, current };
	__real_zj_wait_begin(wait, lane, why, txn);
}

void __wrap_zj_wait_end(struct zj_wait *wait)
{
	*record_of(wait) = (struct record){ };
	__real_zj_wait_end(wait);
}

static bool is_shown(const struct task_struct *task)
{
	for (int i = 0; i < MAX_RECORDS; i++)
		if (records[i].wait && records[i].task == task)
			return true;
	return false;
}

static bool lies_in(const void *p, const void *begin, size_t bytes)
{
	return (uintptr_t)p - (uintptr_t)begin < bytes;
}

static bool is_to_be_shown(const wait_queue_head_t *wq)
{
	const struct zj_journal *zj = fx.journal ? fx.zj : NULL;
	const struct zj_lane *in;

	if (wq == &kl_var_queue)
		return true;
	/* Of a checkpoint's home writes that lanes have taken over. */
	if (zj && zj->pass && wq == &zj->pass->done.wait)
		return true;
	if (!zj || lies_in(wq, zj, sizeof(*zj)))
		return zj && wq != &zj->wait_ckpt;
	if (!zj->lanes || !lies_in(wq, zj->lanes, zj->nr_lanes * sizeof(*zj->lanes)))
		return false;
	in = &zj->lanes[((uintptr_t)wq - (uintptr_t)zj->lanes) / sizeof(*zj->lanes)];
	return wq != &in->wait_work && wq != &in->wait_flush;
}

void __wrap_kl_wait_prepare(wait_queue_head_t *wq, struct kl_wait *wait, void *key)
{
	if (is_to_be_shown(wq) && !is_shown(current))
		kl_fail("%s waits, and no record shows it", current->comm);
	__real_kl_wait_prepare(wq, wait, key);
}
