// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordered data: file data that a transaction's metadata points at is durable before the
 * transaction's record is sent (R6). With data=journal the same entries serve to
 * write-protect folios before they are copied.
 *
 * An inode may have data in several transactions at once, so there is an entry for each
 * pair of inode and transaction. ext4's callbacks get the proxy in the entry.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

struct kmem_cache *zj_jinode_cache;
EXPORT_SYMBOL_GPL(zj_jinode_cache);

void zj_journal_init_jinode(struct jbd2_inode *jinode, struct inode *inode)
{
	memset(jinode, 0, sizeof(*jinode));
	jinode->i_vfs_inode = inode;
	spin_lock_init(&jinode->i_lock);
	INIT_LIST_HEAD(&jinode->i_entries);
}
EXPORT_SYMBOL_GPL(zj_journal_init_jinode);

/* ---- the handle's side ---- */

static struct zj_inode_entry *newest_entry(struct jbd2_inode *jinode)
{
	if (list_empty(&jinode->i_entries))
		return NULL;
	return list_last_entry(&jinode->i_entries, struct zj_inode_entry,
			       inode_link);
}

static void extend_range(struct zj_inode_entry *entry, loff_t start, loff_t end)
{
	struct jbd2_inode *proxy = &entry->proxy;

	if (start < proxy->i_dirty_start)
		proxy->i_dirty_start = start;
	if (end > proxy->i_dirty_end)
		proxy->i_dirty_end = end;
}

static struct zj_inode_entry *entry_alloc(struct jbd2_inode *jinode,
					  struct zj_txn *txn)
{
	struct zj_inode_entry *entry;

	entry = kzalloc(sizeof(*entry), GFP_NOFS | __GFP_NOFAIL);
	entry->jinode = jinode;
	entry->txn = txn;
	entry->proxy.i_vfs_inode = jinode->i_vfs_inode;
	entry->proxy.i_transaction = &txn->public;
	entry->proxy.i_dirty_start = LLONG_MAX;
	entry->proxy.i_dirty_end = 0;
	return entry;
}

static void entry_file(struct zj_inode_entry *entry)
{
	struct zj_txn *txn = entry->txn;

	list_add_tail(&entry->inode_link, &entry->jinode->i_entries);
	spin_lock(&txn->list_lock);
	ZJ_ASSERT(txn_zj(txn), READ_ONCE(txn->stage) < ZJ_SEALED);
	list_add_tail(&entry->txn_link, &txn->inodes);
	spin_unlock(&txn->list_lock);
}

enum entry_how { ENTRY_FILED, ENTRY_AGAIN, ENTRY_MEMORY };

/*
 * Finds or files the entry of the handle's transaction, after tying the transaction to
 * that of the newest entry (R2, R3). Caller holds jinode->i_lock.
 */
static enum entry_how entry_locked(struct zj_txn *txn,
				   struct jbd2_inode *jinode,
				   struct zj_inode_entry **spare,
				   struct zj_inode_entry **found,
				   struct zj_dep **dep)
{
	struct zj_inode_entry *entry = newest_entry(jinode);
	struct zj_cause at = zj_at(ZJ_KIND_ORDERED);
	enum zj_txn_stage stage;

	if (entry && entry->txn != txn) {
		rcu_read_lock();
		stage = zj_txn_comp_stage(entry->txn);
		rcu_read_unlock();
		if (stage < ZJ_SEALED && !zj_unite(txn, entry->txn, at))
			return ENTRY_AGAIN;
		if (stage == ZJ_SEALED &&
		    !zj_depend(txn, entry->txn, at, dep))
			return ENTRY_MEMORY;
		if (stage >= ZJ_SEALED)
			entry = NULL;
	}
	if (!entry) {
		if (!*spare)
			return ENTRY_MEMORY;
		entry = *spare;
		*spare = NULL;
		entry_file(entry);
	}
	*found = entry;
	return ENTRY_FILED;
}

static int file_entry(handle_t *handle, struct jbd2_inode *jinode,
		      loff_t start, loff_t length, bool write)
{
	struct zj_inode_entry *spare = NULL, *entry;
	struct zj_dep *dep = NULL;
	struct zj_txn *txn;
	enum entry_how how;

	if (is_handle_aborted(handle))
		return -EROFS;
	txn = handle_txn(handle);
	do {
		spin_lock(&jinode->i_lock);
		how = entry_locked(txn, jinode, &spare, &entry, &dep);
		if (how == ENTRY_FILED) {
			extend_range(entry, start, start + length - 1);
			if (write) {
				entry->write = true;
				WRITE_ONCE(entry->txn->sends_data, true);
			}
		}
		spin_unlock(&jinode->i_lock);
		if (how == ENTRY_MEMORY && !spare)
			spare = entry_alloc(jinode, txn);
		else if (how == ENTRY_MEMORY && !dep)
			dep = kzalloc(sizeof(*dep), GFP_NOFS | __GFP_NOFAIL);
	} while (how != ENTRY_FILED);
	kfree(spare);
	kfree(dep);
	return 0;
}

/**
 * zj_journal_inode_ranged_write() - have a commit submit file data and wait for it
 * @handle: the handle whose metadata points at the data
 * @jinode: the inode
 * @start: first byte
 * @length: number of bytes
 *
 * Context: sleeps for memory; folio locks and i_data_sem may be held.
 * Return: 0, or -EROFS if aborted.
 */
int zj_journal_inode_ranged_write(handle_t *handle, struct jbd2_inode *jinode,
				  loff_t start, loff_t length)
{
	return file_entry(handle, jinode, start, length, true);
}
EXPORT_SYMBOL_GPL(zj_journal_inode_ranged_write);

/* Has a commit only wait for the data, as ext4 submits it itself. */
int zj_journal_inode_ranged_wait(handle_t *handle, struct jbd2_inode *jinode,
				 loff_t start, loff_t length)
{
	return file_entry(handle, jinode, start, length, false);
}
EXPORT_SYMBOL_GPL(zj_journal_inode_ranged_wait);

/* ---- the commit's side ---- */

/* Caller holds jinode->i_lock and list_lock. */
static void entry_unlink(struct zj_inode_entry *entry)
{
	lockdep_assert_held(&entry->jinode->i_lock);
	lockdep_assert_held(&entry->txn->list_lock);
	list_del(&entry->inode_link);
	list_del(&entry->txn_link);
	kfree(entry);
}

/*
 * Returns the entry after @prev, or the first one, and marks it busy, so that neither the
 * entry nor its inode goes away when list_lock is dropped.
 */
static struct zj_inode_entry *entry_next(struct zj_txn *txn,
					 struct zj_inode_entry *prev)
{
	struct zj_inode_entry *entry;

	spin_lock(&txn->list_lock);
	entry = list_prepare_entry(prev, &txn->inodes, txn_link);
	if (list_is_last(&entry->txn_link, &txn->inodes)) {
		entry = NULL;
	} else {
		entry = list_next_entry(entry, txn_link);
		ZJ_ASSERT(txn_zj(txn), !entry->busy);
		entry->busy = true;
	}
	spin_unlock(&txn->list_lock);
	return entry;
}

static void entry_done(struct zj_inode_entry *entry)
{
	struct zj_txn *txn = entry->txn;

	spin_lock(&txn->list_lock);
	entry->busy = false;
	spin_unlock(&txn->list_lock);
}

static int visit_entries(struct zj_txn *txn,
			 int (*fn)(journal_t *journal,
				   struct zj_inode_entry *entry))
{
	struct zj_inode_entry *entry = NULL, *next;
	int err = 0, err2;

	/* Marks the next entry busy before it releases the previous one. */
	for (;;) {
		next = entry_next(txn, entry);
		if (entry)
			entry_done(entry);
		if (!next)
			return err;
		entry = next;
		err2 = fn(txn->public.t_journal, entry);
		if (!err)
			err = err2;
	}
}

static int submit_one(journal_t *journal, struct zj_inode_entry *entry)
{
	if (!entry->write ||
	    !journal->j_submit_inode_data_buffers)
		return 0;
	return journal->j_submit_inode_data_buffers(&entry->proxy);
}

static int wait_one(journal_t *journal, struct zj_inode_entry *entry)
{
	const u64 *written = entry->jinode->i_written;
	int err = 0;

	if (journal->j_finish_inode_data_buffers)
		err = journal->j_finish_inode_data_buffers(&entry->proxy);
	/*
	 * All of the data has completed. The word that @written points to stays, as
	 * eviction of the inode waits while the entry is busy.
	 */
	if (written)
		zj_txn_take_written(&entry->txn->public, zj_written(written));
	return err;
}

/**
 * zj_ordered_submit() - start writing a sealed transaction's ordered data
 * @txn: the transaction; the caller is its lane's thread
 *
 * Return: 0 or the first error of ext4's callbacks.
 */
int zj_ordered_submit(struct zj_txn *txn)
{
	return visit_entries(txn, submit_one);
}

/**
 * zj_ordered_wait() - wait until a transaction's ordered data is written
 */
int zj_ordered_wait(struct zj_txn *txn)
{
	return visit_entries(txn, wait_one);
}

/**
 * zj_ordered_drop() - drop the entries after the data was waited for, or after an error
 */
void zj_ordered_drop(struct zj_txn *txn)
{
	struct zj_inode_entry *entry;
	struct jbd2_inode *jinode;

	/* The busy entry stays until both locks are taken in their order. */
	while ((entry = entry_next(txn, NULL))) {
		jinode = entry->jinode;
		spin_lock(&jinode->i_lock);
		spin_lock(&txn->list_lock);
		entry_unlink(entry);
		spin_unlock(&txn->list_lock);
		spin_unlock(&jinode->i_lock);
	}
}

/**
 * zj_journal_release_jinode() - drop the entries of an inode that is evicted
 * @journal: the journal
 * @jinode: the inode
 *
 * Waits while a commit works on one of the entries, but not until the commit is over.
 */
void zj_journal_release_jinode(journal_t *journal, struct jbd2_inode *jinode)
{
	struct zj_inode_entry *entry;
	struct zj_txn *txn;
	bool busy;

	spin_lock(&jinode->i_lock);
	while ((entry = newest_entry(jinode))) {
		/* i_lock keeps the entry, and a transaction with an entry is not freed. */
		txn = entry->txn;
		spin_lock(&txn->list_lock);
		busy = entry->busy;
		if (!busy)
			entry_unlink(entry);
		spin_unlock(&txn->list_lock);
		if (busy) {
			spin_unlock(&jinode->i_lock);
			schedule_timeout_uninterruptible(1);
			spin_lock(&jinode->i_lock);
		}
	}
	spin_unlock(&jinode->i_lock);
}
EXPORT_SYMBOL_GPL(zj_journal_release_jinode);

int zj_journal_finish_inode_data(struct jbd2_inode *jinode)
{
	struct address_space *mapping = jinode->i_vfs_inode->i_mapping;

	return filemap_fdatawait_range_keep_errors(mapping,
						   jinode->i_dirty_start,
						   jinode->i_dirty_end);
}
EXPORT_SYMBOL_GPL(zj_journal_finish_inode_data);

/**
 * zj_journal_inode_orders() - will a commit write a range of a file in place?
 * @jinode: the inode, or NULL if it has never had ordered data
 * @start: offset in the file
 * @end: offset after the range
 *
 * Return: true if a transaction that is not committed yet has ordered data that may
 * overlap the range, and has not waited for it yet.
 */
bool zj_journal_inode_orders(struct jbd2_inode *jinode, loff_t start, loff_t end)
{
	struct zj_inode_entry *entry;
	bool found = false;

	if (!jinode)
		return false;
	spin_lock(&jinode->i_lock);
	list_for_each_entry(entry, &jinode->i_entries, inode_link)
		found |= entry->write && start <= entry->proxy.i_dirty_end &&
			 end > entry->proxy.i_dirty_start;
	spin_unlock(&jinode->i_lock);
	return found;
}
EXPORT_SYMBOL_GPL(zj_journal_inode_orders);

/**
 * zj_journal_begin_ordered_truncate() - write ordered data before its pages are dropped
 * @journal: the journal
 * @jinode: the inode
 * @size: its new size
 *
 * A sealed transaction may make data beyond @size reachable that is not written yet. If
 * its pages were dropped, the file could show stale blocks after a crash (E19).
 *
 * Return: 0, or the error of the write-back, which aborts the journal.
 */
int zj_journal_begin_ordered_truncate(journal_t *journal,
				      struct jbd2_inode *jinode, loff_t size)
{
	struct zj_inode_entry *entry;
	bool pending;
	int err;

	spin_lock(&jinode->i_lock);
	/* If any entry's transaction is sealed, the oldest one's is. */
	entry = list_first_entry_or_null(&jinode->i_entries,
					 struct zj_inode_entry, inode_link);
	rcu_read_lock();
	pending = entry && zj_txn_comp_stage(entry->txn) >= ZJ_SEALED;
	rcu_read_unlock();
	spin_unlock(&jinode->i_lock);
	if (!pending)
		return 0;
	err = filemap_fdatawrite_range(jinode->i_vfs_inode->i_mapping, size,
				       LLONG_MAX);
	if (err)
		zj_journal_abort(journal, err);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_begin_ordered_truncate);
