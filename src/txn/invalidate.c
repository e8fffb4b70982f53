// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folios of journaled data that are truncated or reclaimed.
 *
 * No handle is open here. The transaction that makes a truncation safe has the inode's
 * orphan record or new size, and the inode's sync tid names it. Until it is committed,
 * the older image of a truncated block stays replayable (E13).
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>

enum unmap {
	UNMAP_FREE,	/* the buffer has no part any more */
	UNMAP_KEEP,	/* a commit will drop the buffer's parts and unmap it */
	UNMAP_BUSY,	/* it is being committed, and the rest of the folio stays in use */
	UNMAP_MEMORY,	/* a part is needed in the zj_spare */
};

static void zap_buffer(struct buffer_head *bh)
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
 * Keeps older images replayable by a part without an image in the transaction of the
 * truncation. Returns UNMAP_FREE if that one is committed, so that nothing need be kept.
 */
static enum unmap pin_older(struct journal_head *jh, struct zj_txn *txn,
			    struct zj_spare *spare)
{
	struct zj_part *part = zj_part_take(jh, spare);

	if (!part)
		return UNMAP_MEMORY;
	WRITE_ONCE(part->flags, BIT(ZJ_PART_FORGET));
	if (!zj_part_file_late(part, jh, txn)) {
		zj_part_untake(jh, part);
		return UNMAP_FREE;
	}
	set_buffer_freed(jh->bh);
	clear_buffer_dirty(jh->bh);
	return UNMAP_KEEP;
}

/*
 * A part that is dropped here is not crowded, or zj_part_drop() would take comp_lock again: no
 * older image is on its way to the log.
 */
static enum unmap drop_image(struct zj_journal *zj, struct journal_head *jh,
			     struct zj_part *part)
{
	lockdep_assert_held(&zj->comp_lock);
	clear_buffer_dirty(jh->bh);
	clear_buffer_jbddirty(jh->bh);
	zj_part_clear(part, BIT(ZJ_PART_MODIFIED) | BIT(ZJ_PART_WAS_DIRTY));
	if (list_is_first(&part->jh_link, &jh->parts)) {
		ZJ_ASSERT(zj, !zj_part_test(part, ZJ_PART_CROWDED));
		zj_part_drop(part);
		return UNMAP_FREE;
	}
	zj_part_set(part, BIT(ZJ_PART_FORGET));
	set_buffer_freed(jh->bh);
	return UNMAP_KEEP;
}

/*
 * Drops the image of an unsealed transaction, or returns UNMAP_BUSY. As no handle of the
 * caller keeps the transaction unsealed, comp_lock does so while the part is changed.
 */
static enum unmap drop_unsealed(struct zj_journal *zj, struct journal_head *jh)
{
	struct zj_part *part = jh->newest;
	enum unmap how = UNMAP_BUSY;

	spin_lock(&zj->comp_lock);
	if (part->txn->comp->stage < ZJ_SEALED)
		how = drop_image(zj, jh, part);
	spin_unlock(&zj->comp_lock);
	return how;
}

/*
 * Returns whether @txn must not get a part on top of that of @owner, because parts are in
 * the order of stamps. A reclaimed transaction has the stamp 0.
 */
static bool sealed_before(struct zj_txn *txn, struct zj_txn *owner)
{
	bool before;

	rcu_read_lock();
	before = zj_txn_comp_stage(txn) >= ZJ_SEALED &&
		 READ_ONCE(READ_ONCE(txn->comp)->stamp) <=
		 READ_ONCE(READ_ONCE(owner->comp)->stamp);
	rcu_read_unlock();
	return before;
}

/* Returns whether an older image still needs the buffer's mapping to be logged. */
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
			how = pin_older(jh, txn, spare);
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
		how = pin_older(jh, txn, spare);
		if (how != UNMAP_FREE)
			return how;
	}
	/* It has no image. When it is dropped, the buffer must not become dirty again. */
	if (!zj_part_test(part, ZJ_PART_MODIFIED)) {
		zj_part_clear(part, BIT(ZJ_PART_WAS_DIRTY));
		zj_part_set(part, BIT(ZJ_PART_FORGET));
	}
	return UNMAP_KEEP;
}

/*
 * Keeps images from going home from a buffer that will get a new mapping, also those that
 * are committed and wait for a newer part to be dropped.
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
	struct zj_spare spare = { .no_lines = true };

	/* This waits for a home write that is in flight. */
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
	/* If the rest of the folio stays in use, the buffer's next write must map it anew. */
	if (how == UNMAP_FREE || (how == UNMAP_KEEP && partial))
		zap_buffer(bh);
	unlock_buffer(bh);
	if (jh)
		zj_jh_put(jh);
	zj_spare_free(zj, &spare);
	return how;
}

/**
 * zj_journal_invalidate_folio() - truncate part or all of a folio of journaled data
 * @journal: the journal
 * @folio: the folio, locked
 * @offset: first byte that is truncated
 * @length: number of bytes
 * @tid: the inode's sync tid, which names the transaction that makes it safe
 *
 * Return: 0; -EBUSY if a part of the folio stays in use and a buffer is being committed.
 * The caller then waits for its owner with zj_journal_wait_buffer() and calls again.
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
 * zj_journal_try_to_free_buffers() - free the buffers of a folio that is reclaimed
 * @journal: the journal
 * @folio: the folio, locked and clean
 *
 * Context: reclaim, perhaps inside a handle; takes only spinlocks.
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
