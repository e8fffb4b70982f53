// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folios of journaled data that are truncated or reclaimed.
 *
 * No handle is open here. The transaction that makes a truncation safe is the one
 * with the inode's orphan record or new size: the inode's sync tid names it. Until
 * it is committed, the older image of a truncated block stays replayable (E13).
 */
#include "core/journal.h"
#include "txn/jhead.h"
#include "txn/part.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>

enum unmap {
	UNMAP_FREE,	/* nothing of the journal is left on the buffer */
	UNMAP_KEEP,	/* unfiled once a transaction is committed */
	UNMAP_BUSY,	/* being committed, and part of the folio stays */
	UNMAP_MEMORY,	/* spare memory is missing */
};

static void zap(struct buffer_head *bh)
{
	clear_buffer_dirty(bh);
	clear_buffer_jbddirty(bh);
	clear_buffer_freed(bh);
	clear_buffer_mapped(bh);
	clear_buffer_req(bh);
	clear_buffer_new(bh);
	clear_buffer_delay(bh);
	clear_buffer_unwritten(bh);
	bh->b_bdev = NULL;
}

static void drop_all(struct journal_head *jh)
{
	while (jh->newest) {
		struct zj_part *part = list_first_entry(&jh->parts,
							struct zj_part, jh_link);

		zj_part_clear(part, BIT(ZJ_PART_WAS_DIRTY));
		zj_part_drop(part);
	}
}

/*
 * Put a part without an image into the transaction of the truncation. UNMAP_FREE: that
 * is committed, so nothing is to be kept for it.
 */
static enum unmap pin(struct journal_head *jh, struct zj_txn *txn,
		      struct zj_spare *spare)
{
	struct zj_part *part = zj_part_take(jh, spare);

	if (!part)
		return UNMAP_MEMORY;
	WRITE_ONCE(part->flags, BIT(ZJ_PART_FORGET));
	if (!zj_part_file_late(part, jh, txn)) {
		zj_part_untake(jh, part, spare);
		return UNMAP_FREE;
	}
	set_buffer_freed(jh->bh);
	clear_buffer_dirty(jh->bh);
	return UNMAP_KEEP;
}

/*
 * Drop the image of an open transaction. No handle pins it: comp_lock does, until
 * its commit can no longer meet the part in the middle of this.
 */
static enum unmap drop_unsealed(struct zj_journal *zj, struct journal_head *jh)
{
	struct zj_part *part = jh->newest;
	enum unmap how = UNMAP_BUSY;

	spin_lock(&zj->comp_lock);
	if (part->txn->comp->state < ZJ_C_SEALED) {
		clear_buffer_dirty(jh->bh);
		clear_buffer_jbddirty(jh->bh);
		zj_part_clear(part, BIT(ZJ_PART_MODIFIED) |
				    BIT(ZJ_PART_WAS_DIRTY));
		if (list_is_first(&part->jh_link, &jh->parts)) {
			zj_part_drop(part);
			how = UNMAP_FREE;
		} else {
			zj_part_set(part, BIT(ZJ_PART_FORGET));
			set_buffer_freed(jh->bh);
			how = UNMAP_KEEP;
		}
	}
	spin_unlock(&zj->comp_lock);
	return how;
}

/* A later stamp only may lie on top; a reclaimed transaction has none. */
static bool sealed_before(struct zj_txn *txn, struct zj_txn *owner)
{
	bool before;

	rcu_read_lock();
	before = zj_txn_state(txn) >= ZJ_C_SEALED &&
		 READ_ONCE(READ_ONCE(txn->comp)->stamp) <=
		 READ_ONCE(READ_ONCE(owner->comp)->stamp);
	rcu_read_unlock();
	return before;
}

/* Would a new mapping of the buffer change where an older image is logged to? */
static bool older_unlogged(struct zj_part *part, struct journal_head *jh)
{
	return !list_is_first(&part->jh_link, &jh->parts) &&
	       !zj_txn_is_committed(list_prev_entry(part, jh_link)->txn);
}

static enum unmap unmap_locked(struct zj_journal *zj, struct journal_head *jh,
			       struct zj_txn *txn, struct zj_spare *spare,
			       bool partial)
{
	struct zj_part *part = jh->newest;
	enum unmap how;

	if (!part || zj_part_retire(jh, true))
		return UNMAP_FREE;
	if (zj_txn_is_committed(part->txn)) {
		how = UNMAP_FREE;
		if (txn && !sealed_before(txn, part->txn))
			how = pin(jh, txn, spare);
		if (how == UNMAP_FREE)
			drop_all(jh);
		return how;
	}
	if (zj_part_test(part, ZJ_PART_FORGET))
		return UNMAP_KEEP;
	if (partial && older_unlogged(part, jh))
		return UNMAP_BUSY;
	how = drop_unsealed(zj, jh);
	if (how != UNMAP_BUSY)
		return how;
	if (partial)
		return UNMAP_BUSY;
	set_buffer_freed(jh->bh);
	if (txn && !sealed_before(txn, part->txn)) {
		how = pin(jh, txn, spare);
		if (how != UNMAP_FREE)
			return how;
	}
	/* Touched only: when it goes, nothing older may be dirty again. */
	if (!zj_part_test(part, ZJ_PART_MODIFIED)) {
		zj_part_clear(part, BIT(ZJ_PART_WAS_DIRTY));
		zj_part_set(part, BIT(ZJ_PART_FORGET));
	}
	return UNMAP_KEEP;
}

/*
 * The buffer will be mapped anew: older images must not be written from it, nor those
 * that are committed and about to be made dirty.
 */
static void leave_home(struct journal_head *jh)
{
	struct zj_part *part;

	list_for_each_entry(part, &jh->parts, jh_link) {
		zj_part_clear(part, BIT(ZJ_PART_NEEDS_DIRTY));
		if (part != jh->newest)
			zj_part_set(part, BIT(ZJ_PART_ELSEWHERE));
	}
}

static enum unmap unmap_buffer(struct zj_journal *zj, struct buffer_head *bh,
			       struct zj_txn *txn, bool partial)
{
	struct journal_head *jh = zj_jh_get(bh);
	enum unmap how = UNMAP_FREE;
	struct zj_spare spare = { };

	/* Home I/O that is in flight ends first. */
	lock_buffer(bh);
	while (jh) {
		spin_lock(&jh->lock);
		how = unmap_locked(zj, jh, txn, &spare, partial);
		if (how == UNMAP_KEEP && partial)
			leave_home(jh);
		spin_unlock(&jh->lock);
		if (how != UNMAP_MEMORY)
			break;
		zj_spare_fill(zj, &spare, false);
	}
	/* The rest of the folio lives on: its next write must map it anew. */
	if (how == UNMAP_FREE || (how == UNMAP_KEEP && partial))
		zap(bh);
	unlock_buffer(bh);
	if (jh)
		zj_jh_put(jh);
	zj_spare_free(zj, &spare);
	return how;
}

/**
 * zj_journal_invalidate_folio() - part or all of a folio is truncated
 * @journal: the journal
 * @folio: locked
 * @offset: first byte that goes
 * @length: bytes
 * @tid: the inode's sync tid: the transaction that makes it safe
 *
 * Return: 0; -EBUSY if the folio stays in part and is being committed: wait for
 * the buffer's owner with zj_journal_wait_buffer() and call again.
 */
int zj_journal_invalidate_folio(journal_t *journal, struct folio *folio,
				size_t offset, size_t length, tid_t tid)
{
	struct zj_journal *zj = to_zj(journal);
	bool partial = offset || length < folio_size(folio);
	size_t pos = 0, stop = offset + length;
	struct buffer_head *head, *bh, *next;
	bool may_free = true;
	struct zj_txn *txn;
	int err = 0;

	head = folio_buffers(folio);
	if (!head)
		return 0;
	txn = zj_txn_find(zj, tid);
	bh = head;
	do {
		size_t end = pos + bh->b_size;

		next = bh->b_this_page;
		if (end > stop)
			break;
		if (pos >= offset) {
			enum unmap how = unmap_buffer(zj, bh, txn, partial);

			may_free &= how == UNMAP_FREE;
			if (how == UNMAP_BUSY)
				err = -EBUSY;
		}
		pos = end;
		bh = next;
	} while (bh != head && !err);
	if (txn)
		zj_txn_put(txn);
	if (!partial && may_free)
		try_to_free_buffers(folio);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_invalidate_folio);

/**
 * zj_journal_try_to_free_buffers() - a clean folio is to be reclaimed
 * @journal: the journal
 * @folio: locked
 *
 * Context: reclaim, perhaps inside a handle; takes spinlocks only.
 * Return: true if the buffers were freed.
 */
bool zj_journal_try_to_free_buffers(journal_t *journal, struct folio *folio)
{
	struct buffer_head *head = folio_buffers(folio), *bh = head;

	do {
		struct journal_head *jh = zj_jh_get(bh);

		if (jh) {
			spin_lock(&jh->lock);
			zj_part_retire(jh, false);
			spin_unlock(&jh->lock);
			zj_jh_put(jh);
		}
		if (buffer_jbd(bh))
			return false;
		bh = bh->b_this_page;
	} while (bh != head);
	return try_to_free_buffers(folio);
}
EXPORT_SYMBOL_GPL(zj_journal_try_to_free_buffers);
