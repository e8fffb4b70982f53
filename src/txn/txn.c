// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions as objects: allocation, lookup by tid, references, requests to commit what
 * runs; and the barrier, which keeps all of them from having an open handle. Their life is
 * told at struct zj_txn.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>

/* ---- tids ---- */

/*
 * Live transactions are found by their tids: from the first handle that opens one until it
 * is committed. The table is a hash table with a lock for each chain, because each
 * transaction of each lane is entered and removed.
 */

int zj_tids_init(struct zj_journal *zj)
{
	unsigned int i;

	zj->tids = kvcalloc(ZJ_TID_CHAINS, sizeof(*zj->tids), GFP_KERNEL);
	if (!zj->tids)
		return -ENOMEM;
	for (i = 0; i < ZJ_TID_CHAINS; i++)
		spin_lock_init(&zj->tids[i].lock);
	return 0;
}

void zj_tids_exit(struct zj_journal *zj)
{
	kvfree(zj->tids);
}

static struct zj_tid_chain *chain_of(struct zj_journal *zj, tid_t tid)
{
	return &zj->tids[tid % ZJ_TID_CHAINS];
}

/**
 * zj_tids_add() - have a transaction found by its tid from now on
 * @txn: the transaction; it is in no table
 */
void zj_tids_add(struct zj_txn *txn)
{
	struct zj_tid_chain *chain = chain_of(txn_zj(txn), txn->public.t_tid);

	spin_lock(&chain->lock);
	hlist_add_head_rcu(&txn->tid_link, &chain->head);
	spin_unlock(&chain->lock);
}

/**
 * zj_tids_remove() - undo zj_tids_add(), if it was called
 * @txn: the transaction; readers may still see it for an RCU grace period
 */
void zj_tids_remove(struct zj_txn *txn)
{
	struct zj_tid_chain *chain = chain_of(txn_zj(txn), txn->public.t_tid);

	spin_lock(&chain->lock);
	/* Pairs with zj_tids_find(): who does not find it sees what its commit has done. */
	smp_wmb();
	hlist_del_init_rcu(&txn->tid_link);
	spin_unlock(&chain->lock);
}

/**
 * zj_tids_find() - find a live transaction
 * @zj: the journal
 * @tid: its tid
 *
 * Context: caller holds the RCU read lock, which keeps the transaction.
 * Return: the transaction, perhaps without a reference by now; NULL if there is none.
 */
struct zj_txn *zj_tids_find(struct zj_journal *zj, tid_t tid)
{
	struct zj_tid_chain *chain = chain_of(zj, tid);
	struct zj_txn *txn;

	hlist_for_each_entry_rcu(txn, &chain->head, tid_link)
		if (txn->public.t_tid == tid)
			return txn;
	/* Pairs with zj_tids_remove(). */
	smp_rmb();
	return NULL;
}

/**
 * zj_tids_empty() - check whether no transaction is live
 * @zj: the journal
 *
 * What was live before the call, and stays so, is seen.
 */
bool zj_tids_empty(struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < ZJ_TID_CHAINS; i++)
		if (!hlist_empty(&zj->tids[i].head))
			return false;
	return true;
}

/* ---- transactions ---- */

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
	INIT_LIST_HEAD(&txn->file_blocks);
	INIT_LIST_HEAD(&txn->inodes);
	INIT_LIST_HEAD(&txn->prev_dep.comp_link);
	txn->prev_dep.embedded = true;
}

/**
 * zj_txn_alloc() - allocate a transaction in a component of its own
 * @lane: its lane
 *
 * zj_txn_find() does not find it before zj_txn_publish().
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
	return txn;
}

/**
 * zj_txn_publish() - make a transaction the running one of its lane
 * @txn: from zj_txn_alloc()
 *
 * Only from here on it is found by its tid. Earlier, a commit request could seal a
 * transaction that does not run yet.
 *
 * Context: lane->lock held.
 */
void zj_txn_publish(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;

	lockdep_assert_held(&lane->lock);
	ZJ_ASSERT(lane->journal, !lane->running);
	ZJ_ASSERT(lane->journal, txn->comp->stage == ZJ_RUNNING);
	txn->expires = jiffies +
		       READ_ONCE(lane->journal->public.j_commit_interval);
	zj_tids_add(txn);
	atomic_add(txn->granted, &lane->journal->granted);
	atomic_inc(&lane->journal->nr_running);
	/* Pairs with zj_try_seal_lane(), which reads it without lane->lock. */
	smp_store_release(&lane->running, txn);
	mod_timer(&lane->timer, txn->expires);
}

/**
 * zj_txn_free_unused() - undo zj_txn_alloc()
 * @txn: a transaction that was not published
 */
void zj_txn_free_unused(struct zj_txn *txn)
{
	zj_txn_set_finished(txn);
	zj_component_free(txn_zj(txn), txn->comp);
}

/**
 * zj_txn_find() - find the transaction of a tid while it is not finished
 * @zj: the journal
 * @tid: the tid that ext4 has stored; no transaction has 0
 *
 * Context: any but interrupts.
 * Return: the transaction with a reference; NULL if it is finished or unknown.
 */
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid)
{
	struct zj_txn *txn;

	if (!tid)
		return NULL;
	rcu_read_lock();
	txn = zj_tids_find(zj, tid);
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
	idle &= ZJ_ASSERT(txn_zj(txn), list_empty(&txn->late));
	idle &= ZJ_ASSERT(txn_zj(txn), list_empty(&txn->revokes));
	idle &= ZJ_ASSERT(txn_zj(txn), list_empty(&txn->inodes));
	idle &= ZJ_ASSERT(txn_zj(txn), !txn->out);
	/* Lost memory does less harm than what points to memory that is freed. */
	if (idle)
		kfree_rcu(txn, rcu);
}

/* Only a transaction that was never used, or one that an abort drops, leaves out stages. */
static bool leaves_out(const struct zj_txn *txn, enum zj_txn_stage to)
{
	return to == ZJ_FINISHED && (txn->stage == ZJ_RUNNING || zj_aborted(txn_zj(txn)));
}

/**
 * zj_txn_advance() - note that a transaction has reached its next stage
 * @txn: the transaction
 * @to: the stage
 *
 * Context: see enum zj_txn_stage.
 */
void zj_txn_advance(struct zj_txn *txn, enum zj_txn_stage to)
{
	/* Waiters for a stage that is taken back would wait for ever. */
	if (!ZJ_ASSERT(txn_zj(txn), txn->stage < to))
		return;
	ZJ_ASSERT(txn_zj(txn), txn->stage + 1 == to || leaves_out(txn, to));
	/* Pairs with zj_txn_wait_finished(): a waiter sees all that ext4's callbacks did. */
	smp_store_release(&txn->stage, to);
}

/**
 * zj_component_advance() - take all members of a component to a stage at one moment
 * @comp: the component
 * @to: its next stage of those that a component has
 *
 * Context: comp_lock held.
 */
void zj_component_advance(struct zj_component *comp, enum zj_txn_stage to)
{
	lockdep_assert_held(&comp->journal->comp_lock);
	ZJ_ASSERT(comp->journal, comp->stage < to);
	/* Pairs with zj_txn_comp_stage(): a thread that sees it sealed also sees its stamp. */
	smp_store_release(&comp->stage, to);
}

/**
 * zj_txn_set_finished() - remove a transaction's tid and wake threads that wait for it
 */
void zj_txn_set_finished(struct zj_txn *txn)
{
	zj_tids_remove(txn);
	zj_txn_advance(txn, ZJ_FINISHED);
	/* Pairs with the barrier in wait_var_event(): no waiter is missed. */
	smp_mb();
	wake_up_var(&txn->stage);
}

/**
 * zj_commit_request_lane() - have a lane's running transaction committed, if there is one
 * @lane: the lane
 */
void zj_commit_request_lane(struct zj_lane *lane)
{
	struct zj_txn *txn;

	spin_lock(&lane->lock);
	txn = lane->running;
	if (txn)
		refcount_inc(&txn->refs);
	spin_unlock(&lane->lock);
	if (!txn)
		return;
	zj_commit_request(lane->journal, txn);
	zj_txn_put(txn);
}

/**
 * zj_commit_request_all() - have the running transactions of all lanes committed
 * @zj: the journal
 */
void zj_commit_request_all(struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_commit_request_lane(&zj->lanes[i]);
}

/**
 * zj_wake_sealed() - wake the threads of lanes in which something was sealed
 * @zj: the journal
 * @sealed: these lanes
 *
 * Handle starts that wait there are woken, too.
 *
 * Context: comp_lock not held, since a wake-up takes longer than all else that a seal does.
 */
void zj_wake_sealed(struct zj_journal *zj, const struct zj_sealed *sealed)
{
	unsigned int i;

	for_each_set_bit(i, sealed->lanes, zj->nr_lanes) {
		if (&zj->lanes[i] != sealed->here)
			wake_up(&zj->lanes[i].wait_work);
		/* It has a barrier: a start that waits has not seen the lane empty. */
		if (wq_has_sleeper(&zj->lanes[i].wait_start))
			wake_up_all(&zj->lanes[i].wait_start);
	}
}

/**
 * zj_txn_wait_finished() - wait until a transaction is committed and finished (V2)
 * @txn: sealed, or its commit was requested; the caller holds a reference
 *
 * Context: sleeps; the caller has no handle open, unless @txn is sealed.
 * Return: 0; -EIO if the journal was aborted first; or the error of zj_log_flush(),
 * which makes up for flushes that were left out while barriers were off.
 */
int zj_txn_wait_finished(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_wait wait;

	zj_wait_begin(&wait, txn->lane, ZJ_WAIT_COMMITTED, txn);
	/* Pairs with zj_txn_advance(): ext4's callbacks have run. */
	wait_var_event(&txn->stage, smp_load_acquire(&txn->stage) == ZJ_FINISHED ||
		       zj_aborted(zj));
	zj_wait_end(&wait);
	/* Pairs with zj_txn_advance(), as above. */
	if (smp_load_acquire(&txn->stage) != ZJ_FINISHED)
		return -EIO;
	return zj_log_flush(zj, txn->lane);
}

/* ---- the barrier ---- */

/* While a thread holds the barrier, no handle is open and none can start. */

static bool lane_drained(struct zj_lane *lane)
{
	bool drained;

	spin_lock(&lane->lock);
	drained = !lane->rsv_credits &&
		  !(lane->running && lane->running->updates);
	spin_unlock(&lane->lock);
	return drained;
}

/**
 * zj_journal_lock_updates() - take the barrier and wait until no handle is open
 * @journal: the journal
 *
 * Reserved handles may still start, and the barrier waits until they have stopped. Only
 * one thread at a time can hold the barrier. Handle starts that it has held up are served before
 * the next one begins (N11).
 *
 * Context: sleeps; the caller has no handle open.
 */
void zj_journal_lock_updates(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_wait wait;
	unsigned int i;

	zj_wait_begin(&wait, &zj->lanes[0], ZJ_WAIT_DRAIN, NULL);
	mutex_lock(&zj->barrier_lock);
	/* Otherwise starts would wait as long as one barrier follows another. */
	wait_event(zj->wait_barrier, !atomic_read(&zj->held_up));
	zj_wait_end(&wait);
	ZJ_ASSERT(zj, !zj->barrier);
	WRITE_ONCE(zj->barrier, 1);
	for (i = 0; i < zj->nr_lanes; i++) {
		if (lane_drained(&zj->lanes[i]))
			continue;
		zj_wait_begin(&wait, &zj->lanes[i], ZJ_WAIT_DRAIN, NULL);
		wait_event(zj->wait_barrier, lane_drained(&zj->lanes[i]));
		zj_wait_end(&wait);
	}
}
EXPORT_SYMBOL_GPL(zj_journal_lock_updates);

void zj_journal_unlock_updates(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);

	ZJ_ASSERT(zj, zj->barrier);
	/* Pairs with join_locked(): a handle sees what was changed under the barrier. */
	smp_store_release(&zj->barrier, 0);
	mutex_unlock(&zj->barrier_lock);
	wake_up_all(&zj->wait_barrier);
}
EXPORT_SYMBOL_GPL(zj_journal_unlock_updates);
