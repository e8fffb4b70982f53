// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions as objects: birth, lookup by tid, death.
 *
 * A transaction is made by the first handle that finds none running in its lane.
 * Its component holds a reference until it is reclaimed; waiters hold others.
 */
#include "core/flush.h"
#include "core/journal.h"
#include "core/waits.h"
#include "txn/component.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>

static void txn_init(struct zj_txn *txn, struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;

	txn->public.t_journal = &zj->public;
	INIT_LIST_HEAD(&txn->public.t_private_list);
	txn->lane = lane;
	txn->granted = zj->grant;
	refcount_set(&txn->refs, 1);
	spin_lock_init(&txn->list_lock);
	INIT_LIST_HEAD(&txn->comp_link);
	INIT_LIST_HEAD(&txn->parts);
	INIT_LIST_HEAD(&txn->late);
	INIT_LIST_HEAD(&txn->revokes);
	INIT_LIST_HEAD(&txn->inodes);
	INIT_LIST_HEAD(&txn->prev_dep.comp_link);
	txn->prev_dep.embedded = true;
}

/**
 * zj_txn_alloc() - a new transaction in a component of its own
 * @lane: its lane
 *
 * Nobody finds it by its tid before zj_txn_publish().
 *
 * Context: sleeps for memory.
 * Return: the transaction; never NULL.
 */
struct zj_txn *zj_txn_alloc(struct zj_lane *lane)
{
	const gfp_t gfp = GFP_NOFS | __GFP_NOFAIL;
	struct zj_journal *zj = lane->journal;
	struct zj_txn *txn = kzalloc(sizeof(*txn), gfp);

	txn_init(txn, lane);
	zj_component_add(zj_component_alloc(), txn);
	do {
		txn->public.t_tid = atomic_inc_return(&zj->next_tid);
	} while (!txn->public.t_tid);
	WARN_ON_ONCE(xa_reserve(&zj->tids, txn->public.t_tid, gfp));
	return txn;
}

/**
 * zj_txn_publish() - make it its lane's running transaction
 * @txn: from zj_txn_alloc()
 *
 * Not findable earlier: a commit request could seal what is not running yet.
 *
 * Context: lane->lock held.
 */
void zj_txn_publish(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;

	lockdep_assert_held(&lane->lock);
	ZJ_ASSERT(lane->journal, !lane->running);
	txn->expires = jiffies +
		       READ_ONCE(lane->journal->public.j_commit_interval);
	/* The slot is reserved: no allocation. */
	xa_store(&lane->journal->tids, txn->public.t_tid, txn, GFP_ATOMIC);
	atomic_add(txn->granted, &lane->journal->granted);
	atomic_inc(&lane->journal->nr_running);
	/* Pairs with zj_try_seal_lane(), which does not take the lane's lock. */
	smp_store_release(&lane->running, txn);
	mod_timer(&lane->timer, txn->expires);
}

/**
 * zj_txn_free_unused() - undo zj_txn_alloc()
 * @txn: never published as running
 */
void zj_txn_free_unused(struct zj_txn *txn)
{
	zj_txn_set_committed(txn);
	zj_component_free(txn_zj(txn), txn->comp);
}

/**
 * zj_txn_find() - the live transaction of a tid
 * @zj: the journal
 * @tid: as ext4 stores it; 0 is nobody's
 *
 * Context: any but interrupts.
 * Return: with a reference; NULL if it is committed, or never was.
 */
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid)
{
	struct zj_txn *txn;

	if (!tid)
		return NULL;
	rcu_read_lock();
	txn = xa_load(&zj->tids, tid);
	if (txn && !refcount_inc_not_zero(&txn->refs))
		txn = NULL;
	rcu_read_unlock();
	return txn;
}

void zj_txn_put(struct zj_txn *txn)
{
	bool idle;

	if (!refcount_dec_and_test(&txn->refs))
		return;
	idle = ZJ_ASSERT(txn_zj(txn), list_empty(&txn->parts));
	WARN_ON_ONCE(!list_empty(&txn->late));
	idle &= ZJ_ASSERT(txn_zj(txn), list_empty(&txn->revokes));
	idle &= ZJ_ASSERT(txn_zj(txn), list_empty(&txn->inodes));
	idle &= ZJ_ASSERT(txn_zj(txn), !txn->out);
	/* Lost memory does less harm than what points to memory that is freed. */
	if (idle)
		kfree_rcu(txn, rcu);
}

/**
 * zj_txn_set_committed() - the tid is no longer live, wake who waits for it
 */
void zj_txn_set_committed(struct zj_txn *txn)
{
	ZJ_ASSERT(txn_zj(txn), !txn->committed);
	xa_erase(&txn_zj(txn)->tids, txn->public.t_tid);
	/* Pairs with the loads in zj_txn_wait_committed(). */
	smp_store_release(&txn->committed, true);
	/* Pairs with the barrier in wait_var_event(). */
	smp_mb();
	wake_up_var(&txn->committed);
}

/**
 * zj_txn_wait_committed() - wait until recovery is certain to replay it
 * @txn: sealed, or requested to commit; the caller holds a reference
 *
 * Context: sleeps; no handle open, unless @txn is sealed.
 * Return: 0; -EIO if the journal was aborted first; the error of a flush, if there was
 * none as barriers were off.
 */
int zj_txn_wait_committed(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_wait wait;

	zj_wait_begin(&wait, txn->lane, ZJ_WAIT_COMMITTED, txn);
	/* Pairs with zj_txn_set_committed(): callbacks have run. */
	wait_var_event(&txn->committed, smp_load_acquire(&txn->committed) ||
		       zj_aborted(zj));
	zj_wait_end(&wait);
	/* As above. */
	if (!smp_load_acquire(&txn->committed))
		return -EIO;
	return zj_log_flush(zj, txn->lane);
}
