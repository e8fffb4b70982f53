// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sync tids and claims: words that name the transaction that something belongs to
 * (R8, R9, R10, R11).
 */
#include "core/journal.h"
#include "txn/component.h"
#include "txn/txn.h"
#include <linux/module.h>

/**
 * zj_journal_hand_over() - a tid word names the handle's transaction from now on
 * @handle: an open handle
 * @slot: a sync tid or a claim
 * @kind: what is handed over, for statistics
 *
 * Whoever was named there is tied to the new holder.
 *
 * Context: sleeps for memory, never waits for another handle.
 */
void zj_journal_hand_over(handle_t *handle, tid_t *slot, enum zj_kind kind)
{
	struct zj_txn *txn, *other;
	tid_t old, mine;

	if (is_handle_aborted(handle))
		return;
	txn = handle_txn(handle);
	mine = txn->public.t_tid;
	do {
		old = READ_ONCE(*slot);
		if (old == mine)
			return;
		/* A sealed one of the own lane is implied by R7. */
		other = zj_txn_find(txn_zj(txn), old);
		if (other) {
			might_sleep();
			zj_tie(txn, other, kind);
			zj_txn_put(other);
		}
		/* Named only when tied: who finds us here relies on it. */
	} while (cmpxchg(slot, old, mine) != old);
}
EXPORT_SYMBOL_GPL(zj_journal_hand_over);

void zj_journal_read_claimed(handle_t *handle, const tid_t *claim,
			     enum zj_kind kind)
{
	struct zj_txn *txn, *other;

	if (is_handle_aborted(handle))
		return;
	txn = handle_txn(handle);
	/* After what was read: pairs with the exchange in zj_journal_hand_over(). */
	smp_rmb();
	other = zj_txn_find(txn_zj(txn), READ_ONCE(*claim));
	if (!other)
		return;
	zj_tie(txn, other, kind);
	zj_txn_put(other);
}
EXPORT_SYMBOL_GPL(zj_journal_read_claimed);
