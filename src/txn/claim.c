// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sync tids and claims: words of ext4 that hold the tid of the transaction that last
 * changed something, where handles may share no block (R8, R9, R10, R11).
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

/*
 * Ties the handle's transaction to that of a tid, if that is not finished. As a rule the two are
 * in one component by now, and stay so, as an open handle keeps it unsealed.
 */
static void tie_to(struct zj_txn *txn, tid_t tid, enum zj_kind kind)
{
	struct zj_txn *other;

	if (!tid)
		return;
	rcu_read_lock();
	other = zj_tids_find(txn_zj(txn), tid);
	if (other && (READ_ONCE(other->comp) == READ_ONCE(txn->comp) ||
		      !refcount_inc_not_zero(&other->refs)))
		other = NULL;
	rcu_read_unlock();
	if (!other)
		return;
	might_sleep();
	/* It adds nothing for a sealed transaction of the same lane (R7). */
	zj_tie(txn, other, kind);
	zj_txn_put(other);
}

/**
 * zj_journal_hand_over() - store the tid of the handle's transaction in a word
 * @handle: an open handle
 * @slot: a sync tid or a claim
 * @kind: what is handed over, for statistics
 *
 * The handle's transaction is tied to the one that the word named before.
 *
 * Context: sleeps for memory, never waits for another handle.
 */
void zj_journal_hand_over(handle_t *handle, tid_t *slot, enum zj_kind kind)
{
	struct zj_txn *txn;
	tid_t old, mine;

	if (is_handle_aborted(handle))
		return;
	txn = handle_txn(handle);
	mine = txn->public.t_tid;
	do {
		old = READ_ONCE(*slot);
		if (old == mine)
			return;
		tie_to(txn, old, kind);
		/*
		 * Store the tid only after the tie, because a handle that finds the tid
		 * is tied to this transaction alone, and relies on it for older ones.
		 */
	} while (cmpxchg(slot, old, mine) != old);
}
EXPORT_SYMBOL_GPL(zj_journal_hand_over);

void zj_journal_read_claimed(handle_t *handle, const tid_t *claim,
			     enum zj_kind kind)
{
	if (is_handle_aborted(handle))
		return;
	/*
	 * Pairs with the exchange in zj_journal_hand_over(): a thread that has read a
	 * change that was made under a claim sees that claim.
	 */
	smp_rmb();
	tie_to(handle_txn(handle), READ_ONCE(*claim), kind);
}
EXPORT_SYMBOL_GPL(zj_journal_read_claimed);
