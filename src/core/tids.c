// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of live transactions, by their tids: from the first handle that opens a
 * transaction until it is finished. It is a hash table with a lock for each chain,
 * because each transaction of each lane is entered and removed.
 */
#include "core/tids.h"
#include "txn/txn_types.h"
#include <linux/rcupdate.h>
#include <linux/slab.h>

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
 * zj_tids_empty() - tell whether no transaction is live
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
