// SPDX-License-Identifier: GPL-2.0-only
/*
 * File data in the log with data=ordered (rules F1 to F4).
 *
 * An fsync of little data logs the blocks together with the metadata (zext4/log_data.c).
 * Such an image is one of the block device's buffer, like that of metadata, so the
 * checkpoint writes it home and recovery replays it as any other. But the file's other
 * blocks are written in place, and recovery would put the image over what was
 * written in place later. Therefore this index knows each block that recovery may
 * replay an image of; zext4 writes none of them in place.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

/* Does recovery, which finds a revoke of this stamp, skip the image of a transaction? */
static bool revoke_ends(u64 stamp, const struct zj_txn *txn)
{
	bool older;

	rcu_read_lock();
	older = zj_txn_comp_stage(txn) >= ZJ_SEALED && READ_ONCE(txn->comp)->stamp <= stamp;
	rcu_read_unlock();
	return older;
}

/* Takes blocks of a run off the entries of @txn, or, if that is NULL, of all up to @stamp. */
static void drop_blocks(struct zj_journal *zj, u64 run, u32 blocks, const struct zj_txn *txn,
			u64 stamp)
{
	struct zj_block_bucket *bucket = zj_bucket_of(&zj->file_blocks, run);
	struct zj_block_entry *entry;
	struct hlist_node *tmp;

	if (hlist_empty(&bucket->head))
		return;
	spin_lock(&bucket->lock);
	hlist_for_each_entry_safe(entry, tmp, &bucket->head, hash) {
		struct zj_txn *owner = entry->txn;

		if (entry->first != run || !(txn ? owner == txn : revoke_ends(stamp, owner)))
			continue;
		spin_lock(&owner->list_lock);
		zj_block_entry_drop(entry, blocks);
		spin_unlock(&owner->list_lock);
	}
	spin_unlock(&bucket->lock);
}

/* Enters a block into the index, once for each transaction. */
static void note_block(struct zj_txn *txn, u64 block)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_block_bucket *bucket = zj_bucket_of(&zj->file_blocks, block);
	struct zj_block_entry *spare;

	if (zj_bucket_holds(bucket, block, txn))
		return;
	if (!READ_ONCE(zj->logs_file_blocks))
		WRITE_ONCE(zj->logs_file_blocks, true);
	spare = zj_bucket_lock(bucket, block, txn);
	spin_lock(&txn->list_lock);
	zj_bucket_add(bucket, block, txn, &txn->file_blocks, spare);
	if (!(txn->nr_file_blocks++ % ZJ_FILE_BLOCK_STEP))
		atomic_add(ZJ_FILE_BLOCK_STEP, &zj->max_file_blocks);
	spin_unlock(&txn->list_lock);
	spin_unlock(&bucket->lock);
}

/* Tells the part, which is the handle's or its component's, what it is an image of. */
static void mark_part(struct buffer_head *bh)
{
	struct journal_head *jh;

	rcu_read_lock();
	jh = zj_jh_peek(bh);
	spin_lock(&jh->lock);
	zj_part_set(jh->newest, BIT(ZJ_PART_FILE_BLOCK));
	spin_unlock(&jh->lock);
	rcu_read_unlock();
}

/**
 * zj_journal_dirty_file_block() - log a block of file data
 * @handle: a handle that has write access or create access to the buffer
 * @bh: the block device's buffer of the block, with the data
 * @again: an older image of the block is not home yet, and need not go home any more
 *
 * From here on the block counts as logged (zj_journal_file_blocks_logged()). The caller
 * holds the lock of the file's folio, so that nobody writes the block in place now.
 *
 * Context: sleeps for memory.
 * Return: the same as zj_journal_dirty_metadata().
 */
int zj_journal_dirty_file_block(handle_t *handle, struct buffer_head *bh, bool again)
{
	struct zj_txn *txn;
	int err;

	if (is_handle_aborted(handle))
		return -EROFS;
	txn = handle_txn(handle);
	note_block(txn, bh->b_blocknr);
	zj_count(&txn->lane->stats.file_blocks, 1);
	zj_count(&txn->lane->stats.file_merged, again);
	err = zj_journal_dirty_metadata(handle, bh);
	if (!err)
		mark_part(bh);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_dirty_file_block);

/* Finds the first block of a range that is in the index; returns @end if there is none. */
static u64 next_logged(struct zj_journal *zj, u64 block, u64 end)
{
	for (; block < end; block = zj_run_of(block) + ZJ_BLOCK_RUN) {
		struct zj_block_bucket *bucket = zj_bucket_of(&zj->file_blocks, block);
		u32 blocks = zj_bucket_blocks(bucket, block, NULL) >> block % ZJ_BLOCK_RUN;

		if (blocks)
			return min(block + __ffs(blocks), end);
	}
	return end;
}

/**
 * zj_journal_find_file_blocks() - find blocks that recovery may replay as file data
 * @journal: loaded
 * @block: the first block
 * @count: number of blocks
 * @found: gets the blocks that have an image in the log, or will have it when a running
 *	transaction is committed, in ascending order
 * @most: room in @found
 *
 * As long as no handle has logged file data this reads one word that hardly ever changes.
 *
 * Context: any but interrupts.
 * Return: how many it has found. None of them may be written in place (F1).
 */
u32 zj_journal_find_file_blocks(journal_t *journal, u64 block, u32 count, u64 *found, u32 most)
{
	struct zj_journal *zj = to_zj(journal);
	u64 end = block + count;
	u32 n = 0;

	if (!READ_ONCE(zj->logs_file_blocks))
		return 0;
	while (n < most && (block = next_logged(zj, block, end)) < end)
		found[n++] = block++;
	return n;
}
EXPORT_SYMBOL_GPL(zj_journal_find_file_blocks);

/**
 * zj_journal_file_blocks_logged() - count blocks that recovery may replay as file data
 * @journal: loaded
 * @block: the first block
 * @count: number of blocks
 *
 * Context: any but interrupts.
 * Return: what zj_journal_find_file_blocks() would find.
 */
u32 zj_journal_file_blocks_logged(journal_t *journal, u64 block, u32 count)
{
	struct zj_journal *zj = to_zj(journal);
	u64 end = block + count;
	u32 logged = 0;

	if (!READ_ONCE(zj->logs_file_blocks))
		return 0;
	/* This spares write-back and reclaim, which ask for each block, most of the look-up. */
	if (count == 1)
		return zj_bucket_holds(zj_bucket_of(&zj->file_blocks, block), block, NULL);
	for (; (block = next_logged(zj, block, end)) < end; block++)
		logged++;
	return logged;
}
EXPORT_SYMBOL_GPL(zj_journal_file_blocks_logged);

/**
 * zj_journal_max_file_blocks() - limit how many blocks recovery may replay as file data
 * @journal: loaded
 *
 * Return: their number, or more; 0 if there is none.
 */
u32 zj_journal_max_file_blocks(journal_t *journal)
{
	return atomic_read(&to_zj(journal)->max_file_blocks);
}
EXPORT_SYMBOL_GPL(zj_journal_max_file_blocks);

/**
 * zj_journal_file_synced() - an fsync has logged all its data, for statistics
 * @journal: loaded
 * @lane: the lane that has logged it, or negative: the current CPU's
 */
void zj_journal_file_synced(journal_t *journal, int lane)
{
	zj_count(&zj_lane_at(to_zj(journal), lane)->stats.file_syncs, 1);
}
EXPORT_SYMBOL_GPL(zj_journal_file_synced);

/**
 * zj_file_block_revoked() - the revoke of some blocks is committed
 * @by: the transaction that revokes them
 * @rev: the entry of the blocks
 *
 * A block that was freed cannot have been journaled again, because ext4's callback of the
 * transaction that freed it comes after this. One that stays in use (zj_journal_revoke_home())
 * can, by a transaction with a later stamp, which recovery replays.
 */
void zj_file_block_revoked(struct zj_txn *by, const struct zj_block_entry *rev)
{
	drop_blocks(txn_zj(by), rev->first, rev->blocks, NULL, by->comp->stamp);
}

/**
 * zj_file_block_retire() - forget the file blocks of a transaction
 * @txn: the tail has passed it, or it is dropped
 */
void zj_file_block_retire(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_block_entry *entry;
	u64 run = 0;

	for (;;) {
		spin_lock(&txn->list_lock);
		entry = list_first_entry_or_null(&txn->file_blocks,
						 struct zj_block_entry, txn_link);
		if (entry)
			run = entry->first;
		spin_unlock(&txn->list_lock);
		/* Revokes may take blocks off meanwhile, too, and with the last one the entry. */
		if (!entry)
			break;
		drop_blocks(zj, run, ~0U, txn, 0);
	}
	atomic_sub(DIV_ROUND_UP(txn->nr_file_blocks, ZJ_FILE_BLOCK_STEP) * ZJ_FILE_BLOCK_STEP,
		   &zj->max_file_blocks);
}
