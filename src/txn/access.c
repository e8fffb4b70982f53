// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to buffers: the rules R1-R4 (docs/internals/rules.md).
 *
 * Write access never waits for another handle, because ext4 asks for it while it holds
 * s_orphan_lock, i_data_sem and folio locks. It waits only for memory and for I/O of the
 * same buffer: a write home, or a write to the log that is made from the buffer itself.
 *
 * The transaction whose handle dirties a block first pays for its image. It does not
 * matter which member of a component logs the image, so the part moves to the member
 * whose handle has the credits (docs/decisions/0002).
 */
#include "core/core.h"
#include "format/line_set.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

/*
 * Aborts the journal if a block could not be written home. Otherwise handles would go on,
 * and nobody would notice before the checkpoint stamp was about to pass that block.
 */
static int check_wb_err(struct zj_journal *zj)
{
	struct address_space *mapping = zj->public.j_fs_dev->bd_mapping;

	if (likely(!errseq_check(&mapping->wb_err, READ_ONCE(zj->wb_err))))
		return 0;
	zj_err_ratelimited(zj, "a block could not be written to its place on the device: the journal is aborted\n");
	zj_abort(zj, -EIO);
	return -EIO;
}

/*
 * Flags that is_owned() looks at. A part needs no work if, of these flags, it has
 * ZJ_PART_MODIFIED where that is asked for, and none of the others.
 */
#define ANY_ACCESS	BIT(ZJ_PART_FORGET)
#define PLAIN_ACCESS	(ANY_ACCESS | BIT(ZJ_PART_DECLARED))
#define DIRTY(access)	((access) | BIT(ZJ_PART_MODIFIED))

static bool is_ready_for(const struct zj_part *part, unsigned long flags,
			 u64 lines)
{
	unsigned long is = READ_ONCE(part->flags);

	if ((is & flags) != (flags & BIT(ZJ_PART_MODIFIED)))
		return false;
	return !(is & BIT(ZJ_PART_DECLARED)) || !(lines & ~READ_ONCE(part->lines));
}

/*
 * Returns whether the handle's component is the newest owner already and its part needs
 * no work (R4). This takes no lock: the open handle keeps the component unsealed, so its
 * part stays the newest one. RCU-sched readers are cheaper than others, and kfree_rcu()
 * waits for them as well.
 */
static __always_inline bool is_owned(struct buffer_head *bh,
				     const struct zj_txn *txn,
				     unsigned long flags, u64 lines)
{
	const struct zj_txn *owner;
	const struct journal_head *jh;
	const struct zj_part *part;
	bool ret = false;

	rcu_read_lock_sched();
	jh = zj_jh_peek(bh);
	/* Pairs with zj_part_file(): the contents of the part follow. */
	part = jh ? smp_load_acquire(&jh->newest) : NULL;
	if (part) {
		/* Pairs with txn_list_add(): the flags read below are of this owner. */
		owner = smp_load_acquire(&part->txn);
		ret = (owner == txn ||
		       READ_ONCE(owner->comp) == READ_ONCE(txn->comp)) &&
		      is_ready_for(part, flags, lines);
	}
	rcu_read_unlock_sched();
	return ret;
}

/* ---- one attempt, everything under jh->lock ---- */

enum touch {
	TOUCH_DONE,		/* the transaction's component owns the buffer */
	TOUCH_AGAIN,		/* the owner was sealed meanwhile */
	TOUCH_MEMORY,		/* more memory is needed in the zj_spare */
	TOUCH_LOCK_BUFFER,	/* no owner, so the buffer lock is needed */
	TOUCH_WAIT_LOG,		/* the log is being written from the buffer */
};

/*
 * Files a buffer that has no owner, or a committed one, in the handle's transaction (R1).
 * The caller holds the buffer lock, so no home write is in flight (H1).
 */
static enum touch touch_free(struct zj_txn *txn, struct journal_head *jh,
			     struct zj_spare *spare, bool locked)
{
	bool base = !spare->no_lines && zj_jh_wants_base(txn_zj(txn), jh);
	struct buffer_head *bh = jh->bh;
	struct zj_part *older = jh->newest, *part;
	bool dirty;

	if (!locked)
		return TOUCH_LOCK_BUFFER;
	if (base && zj_spare_lacks_base(txn_zj(txn), spare))
		return TOUCH_MEMORY;
	part = zj_part_take(jh, spare);
	if (!part)
		return TOUCH_MEMORY;
	/* From here on write-back must not see it as dirty (J1). */
	dirty = buffer_dirty(bh) && test_clear_buffer_dirty(bh);
	/*
	 * A failed home write leaves the buffer clean, but the image still has to go home. It also
	 * leaves it not up to date, and without the error bit whoever reads the block would fetch
	 * its older contents from the device, over a change.
	 */
	if (buffer_write_io_error(bh)) {
		dirty |= older != NULL;
		set_buffer_uptodate(bh);
		clear_buffer_write_io_error(bh);
	}
	if (dirty) {
		/* ext4 looks at this bit, too, so it does not take a file's folio for clean. */
		set_buffer_jbddirty(bh);
		if (older)
			zj_part_set(older, BIT(ZJ_PART_NEEDS_DIRTY));
		else
			zj_part_set(part, BIT(ZJ_PART_WAS_DIRTY));
	}
	/* Recovery does not know contents that became dirty without the journal. */
	if (base && !zj_part_test(part, ZJ_PART_WAS_DIRTY))
		zj_part_set_base(part, spare);
	zj_part_file(part, jh, txn);
	return TOUCH_DONE;
}

/*
 * Files a buffer with a sealed owner in the handle's transaction, which depends on that
 * owner from then on (R3). The owner's image is copied before anything changes it (C2).
 */
static enum touch touch_sealed(struct zj_txn *txn, struct journal_head *jh,
			       struct zj_spare *spare)
{
	struct zj_part *owner = jh->newest, *part;
	struct zj_journal *zj = txn_zj(txn);
	bool base = !spare->no_lines && zj_jh_wants_base(zj, jh);

	zj_jh_conflict(jh);
	if (base && zj_spare_lacks_base(zj, spare))
		return TOUCH_MEMORY;
	if (zj_part_test(owner, ZJ_PART_MODIFIED) && !owner->frozen_data &&
	    !zj_part_test(owner, ZJ_PART_LOGGED)) {
		if (zj_part_test(owner, ZJ_PART_LIVE))
			return TOUCH_WAIT_LOG;
		if (!spare->frozen_data)
			return TOUCH_MEMORY;
		zj_part_make_copy(zj, owner, &spare->frozen_data);
		zj_count(&txn->lane->stats.copies, 1);
	}
	if (!zj_depend(txn, owner->txn, zj_at_block(jh->bh), &spare->dep))
		return TOUCH_MEMORY;
	part = zj_part_take(jh, spare);
	if (!part)
		return TOUCH_MEMORY;
	/* The owner's image is copied or logged, so its trigger has changed the buffer. */
	if (base)
		zj_part_set_base(part, spare);
	zj_part_file(part, jh, txn);
	zj_part_crowd(part);
	return TOUCH_DONE;
}

static enum touch touch_once(struct zj_txn *txn, struct journal_head *jh,
			     struct zj_spare *spare, bool locked)
{
	struct zj_part *owner = jh->newest;
	enum zj_txn_stage stage;

	if (!owner)
		return touch_free(txn, jh, spare, locked);
	if (owner->txn == txn)
		return TOUCH_DONE;
	rcu_read_lock();
	stage = zj_txn_comp_stage(owner->txn);
	rcu_read_unlock();
	if (stage == ZJ_COMMITTED)
		return touch_free(txn, jh, spare, locked);
	if (stage == ZJ_SEALED)
		return touch_sealed(txn, jh, spare);
	/* The buffer keeps its owner, which is in the same component then (R2). */
	return zj_unite(txn, owner->txn, zj_at_block(jh->bh)) ? TOUCH_DONE :
								TOUCH_AGAIN;
}

/*
 * Locks a buffer that has no owner. Its image must not change while a home write of it, or
 * write-back of a file's folio, is under way (H1).
 */
static void lock_for_home(struct buffer_head *bh)
{
	if (zj_bh_is_file(bh))
		folio_wait_writeback(bh->b_folio);
	lock_buffer(bh);
}

/*
 * Returns whether the first attempt will need the buffer lock, as things are now, and gets
 * the memory for it. A buffer without an owner has a part of its own for the new one.
 */
static bool foresee_lock(struct zj_journal *zj, struct journal_head *jh, struct zj_spare *spare)
{
	struct zj_part *newest;
	bool committed;

	rcu_read_lock();
	newest = READ_ONCE(jh->newest);
	committed = newest && zj_txn_is_committed(READ_ONCE(newest->txn));
	rcu_read_unlock();
	spare->kept = READ_ONCE(jh->kept);
	if (committed)
		zj_spare_fill(zj, spare, false);
	return committed || !newest;
}

/**
 * zj_touch() - make the handle's component the newest owner of a buffer
 * @handle: an open handle
 * @jh: the buffer's head
 * @locked: the caller holds the buffer lock
 * @spare: has no memory yet; the caller frees what is left in it
 *
 * Context: sleeps for memory and the buffer lock. Returns with jh->lock held.
 */
static void zj_touch(handle_t *handle, struct journal_head *jh, bool locked,
		     struct zj_spare *spare)
	__acquires(&jh->lock)
{
	struct zj_txn *txn = handle_txn(handle);
	struct zj_journal *zj = txn_zj(txn);
	bool ours = foresee_lock(zj, jh, spare) && !locked, looked = false;
	enum touch how;

	zj_revoke_touch(handle, jh->bh->b_blocknr);
	if (ours)
		lock_for_home(jh->bh);
	for (;;) {
		spin_lock(&jh->lock);
		how = touch_once(txn, jh, spare, locked || ours);
		/* A block without an owner may have been revoked meanwhile; from now on it cannot. */
		if (how == TOUCH_DONE &&
		    (looked || !zj_revoke_pending(zj, jh->bh->b_blocknr)))
			break;
		spin_unlock(&jh->lock);
		/* What follows may wait for memory, and so for who waits for the buffer. */
		if (ours)
			unlock_buffer(jh->bh);
		ours = false;
		if (how == TOUCH_DONE) {
			zj_revoke_touch(handle, jh->bh->b_blocknr);
			looked = true;
		}
		if (how == TOUCH_MEMORY) {
			spare->kept = false;
			zj_spare_fill(zj, spare, spare->part);
		}
		if (how == TOUCH_WAIT_LOG) {
			zj_count(&txn->lane->stats.wait_log, 1);
			zj_count(&txn->lane->stats.conflicts, 1);
			zj_jh_wait_live(txn->lane, jh);
		}
		if (how == TOUCH_LOCK_BUFFER) {
			lock_for_home(jh->bh);
			ours = true;
		}
	}
	if (ours)
		unlock_buffer(jh->bh);
}

/* Takes back that the block was forgotten in this component, as it is used again. */
static void revive_part(struct journal_head *jh)
{
	zj_part_clear(jh->newest, BIT(ZJ_PART_FORGET));
	if (buffer_freed(jh->bh))
		clear_buffer_freed(jh->bh);
}

/*
 * Notes which lines of a block have changed, if its part relies on declarations. If
 * @lines is 0, the changes are not known, so the whole block has to be logged.
 */
static void tell_lines(struct zj_journal *zj, struct zj_part *part, u64 lines)
{
	if (!zj_part_test(part, ZJ_PART_DECLARED))
		return;
	if (lines)
		WRITE_ONCE(part->lines, part->lines | lines);
	else
		zj_part_no_base(zj, part);
}

/* Not inlined, as most accesses find the buffer owned and should not set up its stack. */
static noinline int write_access_slowly(handle_t *handle, struct buffer_head *bh, bool declared)
{
	struct zj_journal *zj = txn_zj(handle_txn(handle));
	struct zj_spare spare = { .declared = declared };
	struct journal_head *jh;
	int err;

	err = check_wb_err(zj);
	if (err)
		return err;
	jh = zj_jh_attach(bh);
	zj_touch(handle, jh, false, &spare);
	revive_part(jh);
	if (!declared)
		tell_lines(zj, jh->newest, 0);
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	zj_spare_free(zj, &spare);
	return 0;
}

static __always_inline int write_access(handle_t *handle,
					struct buffer_head *bh, bool declared)
{
	if (is_handle_aborted(handle))
		return -EROFS;
	if (is_owned(bh, handle_txn(handle), declared ? ANY_ACCESS : PLAIN_ACCESS, 0))
		return 0;
	return write_access_slowly(handle, bh, declared);
}

/**
 * zj_journal_get_write_access() - let a handle change a buffer
 * @handle: an open handle
 * @bh: the buffer, not locked by the caller
 *
 * Afterwards the handle's component is the newest owner of the buffer (R1-R4; Z-Journal
 * §3.2).
 *
 * Context: sleeps, but never for another handle.
 * Return: 0; -EROFS if aborted; -EIO if a block could not be written home.
 */
int zj_journal_get_write_access(handle_t *handle, struct buffer_head *bh)
{
	return write_access(handle, bh, false);
}
EXPORT_SYMBOL_GPL(zj_journal_get_write_access);

/**
 * zj_journal_get_range_access() - let a handle change declared ranges of a buffer
 * @handle: an open handle
 * @bh: the buffer, not locked by the caller
 *
 * This does the same as zj_journal_get_write_access(), but the caller promises to declare
 * each range that it changes with zj_journal_dirty_range() in the same handle, so that a
 * log of lines needs no copy of the buffer. A range that is not declared is lost in a
 * crash, and so is what the buffer's triggers change, if that is not declared. If another
 * handle of the component gets plain access to the buffer, the block is compared with its
 * old contents if that handle came first, else logged as a whole.
 *
 * Context: sleeps, but never for another handle.
 * Return: 0; -EROFS if aborted; -EIO if a block could not be written home.
 */
int zj_journal_get_range_access(handle_t *handle, struct buffer_head *bh)
{
	return write_access(handle, bh, true);
}
EXPORT_SYMBOL_GPL(zj_journal_get_range_access);

/**
 * zj_journal_get_create_access() - let a handle fill a new block
 * @handle: an open handle
 * @bh: the buffer, locked by the caller
 *
 * Context: sleeps for memory.
 * Return: 0, or -EROFS if aborted.
 */
int zj_journal_get_create_access(handle_t *handle, struct buffer_head *bh)
{
	struct zj_spare spare = { .no_lines = true };
	struct journal_head *jh;

	if (is_handle_aborted(handle))
		return -EROFS;
	jh = zj_jh_attach(bh);
	zj_touch(handle, jh, true, &spare);
	revive_part(jh);
	zj_jh_unknown(txn_zj(handle_txn(handle)), jh);
	/* What was dirty belongs to the former use of the block and need not go home. */
	zj_part_clear(jh->newest, BIT(ZJ_PART_WAS_DIRTY));
	jh->triggers = NULL;
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	zj_spare_free(txn_zj(handle_txn(handle)), &spare);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_get_create_access);

/*
 * Gives the part an image, for which the handle pays, as its component has none yet. Blocks that
 * were asked for revokes are not for images: the revokes come later, and take log space in any
 * case (N6).
 */
static int pay_for_image(handle_t *handle, struct zj_part *part)
{
	struct zj_txn *txn = handle_txn(handle);

	if (WARN_ON_ONCE(zj_handle_buffer_credits(handle) <= 0))
		return -ENOSPC;
	handle->h_total_credits--;
	if (part->txn != txn)
		zj_part_move(part, txn);
	zj_part_set(part, BIT(ZJ_PART_MODIFIED));
	zj_part_clear(part, BIT(ZJ_PART_WAS_DIRTY) | BIT(ZJ_PART_FORGET));
	set_buffer_jbddirty(part->jh->bh);
	return 0;
}

static noinline int dirty_lines_slowly(handle_t *handle, struct buffer_head *bh, u64 lines)
{
	struct zj_txn *txn = handle_txn(handle);
	struct journal_head *jh;
	struct zj_part *part;
	int err = -EUCLEAN;

	/* RCU keeps the head, even if the caller has failed to get write access. */
	rcu_read_lock();
	jh = zj_jh_peek(bh);
	if (jh) {
		spin_lock(&jh->lock);
		part = jh->newest;
		if (WARN_ON_ONCE(!part ||
				 !zj_unite(txn, part->txn, zj_at_block(bh)))) {
			err = -EINVAL;
		} else {
			tell_lines(txn_zj(txn), part, lines);
			err = zj_part_test(part, ZJ_PART_MODIFIED) ? 0 :
			      pay_for_image(handle, part);
		}
		spin_unlock(&jh->lock);
	}
	rcu_read_unlock();
	return err;
}

static __always_inline int dirty_lines(handle_t *handle, struct buffer_head *bh,
				       unsigned long access, u64 lines)
{
	if (is_handle_aborted(handle))
		return -EROFS;
	if (is_owned(bh, handle_txn(handle), DIRTY(access), lines))
		return 0;
	return dirty_lines_slowly(handle, bh, lines);
}

/**
 * zj_journal_dirty_metadata() - note that a handle has changed a buffer
 * @handle: the handle that has write access
 * @bh: the buffer
 *
 * Context: never sleeps.
 * Return: 0; -EROFS if aborted; -EUCLEAN if the buffer is not journaled;
 * -EINVAL without write access; -ENOSPC without credits.
 */
int zj_journal_dirty_metadata(handle_t *handle, struct buffer_head *bh)
{
	return dirty_lines(handle, bh, PLAIN_ACCESS, 0);
}
EXPORT_SYMBOL_GPL(zj_journal_dirty_metadata);

/**
 * zj_journal_dirty_range() - note that a handle has changed only a range of a buffer
 * @handle: the handle; it has write access or range access
 * @bh: the buffer
 * @offset: offset of the first changed byte
 * @len: changed bytes, not 0
 *
 * Context: never sleeps.
 * Return: the same as zj_journal_dirty_metadata().
 */
int zj_journal_dirty_range(handle_t *handle, struct buffer_head *bh,
			   u32 offset, u32 len)
{
	return dirty_lines(handle, bh, ANY_ACCESS, zj_lines_of(offset, len, bh->b_size));
}
EXPORT_SYMBOL_GPL(zj_journal_dirty_range);

/**
 * zj_journal_set_triggers() - set the callbacks that complete a buffer's image
 * @bh: a journaled buffer
 * @type: the callbacks, which for instance put the checksum into the block before the image is
 *	copied or logged; or NULL
 */
void zj_journal_set_triggers(struct buffer_head *bh,
			     struct jbd2_buffer_trigger_type *type)
{
	struct journal_head *jh = zj_jh_get(bh);

	if (WARN_ON_ONCE(!jh))
		return;
	spin_lock(&jh->lock);
	jh->triggers = type;
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
}
EXPORT_SYMBOL_GPL(zj_journal_set_triggers);

/* ---- forget ---- */

/*
 * Drops the image that the component has of a block. Images of older transactions must
 * stay replayable until this one is committed. If there are any, a part without an image
 * stays, so that the older ones neither go home nor leave the log before.
 */
static void forget_part(handle_t *handle, struct journal_head *jh)
{
	struct zj_part *part = jh->newest;
	struct buffer_head *bh = jh->bh;

	if (zj_part_test(part, ZJ_PART_MODIFIED)) {
		if (part->txn == handle_txn(handle))
			handle->h_total_credits++;
		zj_part_clear(part, BIT(ZJ_PART_MODIFIED));
	}
	clear_buffer_jbddirty(bh);
	clear_buffer_dirty(bh);
	zj_jh_unknown(txn_zj(handle_txn(handle)), jh);
	jh->triggers = NULL;
	zj_part_clear(part, BIT(ZJ_PART_WAS_DIRTY));
	if (list_is_first(&part->jh_link, &jh->parts))
		zj_part_drop(part);
	else
		zj_part_set(part, BIT(ZJ_PART_FORGET));
}

/**
 * zj_journal_forget() - drop the image of a block that is being freed (R5)
 * @handle: an open handle
 * @bh: its buffer, not locked; one reference is consumed
 *
 * After this no home write can land late on a block that is used again (V3). zj_touch()
 * waits for one that is in flight, by locking the buffer; there is none if the owner is
 * not committed. No home write starts later, because the buffer then has an owner that
 * is not committed.
 *
 * Context: sleeps, but never for another handle.
 * Return: 0, or -EROFS if aborted.
 */
int zj_journal_forget(handle_t *handle, struct buffer_head *bh)
{
	struct journal_head *jh = zj_jh_get(bh);
	struct zj_spare spare = { .no_lines = true };

	if (!jh || is_handle_aborted(handle)) {
		int err = is_handle_aborted(handle) ? -EROFS : 0;

		if (jh)
			zj_jh_put(jh);
		else if (!err)
			zj_bh_unknown(bh);
		bforget(bh);
		return err;
	}
	zj_touch(handle, jh, false, &spare);
	forget_part(handle, jh);
	spin_unlock(&jh->lock);
	zj_spare_free(txn_zj(handle_txn(handle)), &spare);
	zj_jh_put(jh);
	__brelse(bh);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_forget);

/* ---- what zext4 asks about buffers ---- */

/* Returns the buffer's owner with a reference, or NULL if it has none. */
static struct zj_txn *pending_owner(struct buffer_head *bh)
{
	struct journal_head *jh = zj_jh_get(bh);
	struct zj_txn *txn = NULL;

	if (!jh)
		return NULL;
	spin_lock(&jh->lock);
	if (jh->newest && !zj_txn_is_committed(jh->newest->txn)) {
		txn = jh->newest->txn;
		refcount_inc(&txn->refs);
	}
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	return txn;
}

tid_t zj_journal_buffer_tid(journal_t *journal, struct buffer_head *bh)
{
	struct zj_txn *txn = pending_owner(bh);
	tid_t tid = 0;

	if (txn) {
		tid = txn->public.t_tid;
		zj_txn_put(txn);
	}
	return tid;
}
EXPORT_SYMBOL_GPL(zj_journal_buffer_tid);

int zj_journal_read_dependency(handle_t *handle, struct buffer_head *bh)
{
	struct zj_txn *owner;

	if (is_handle_aborted(handle))
		return -EROFS;
	owner = pending_owner(bh);
	if (owner) {
		zj_tie(handle_txn(handle), owner, ZJ_KIND_READ);
		zj_txn_put(owner);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_read_dependency);

int zj_journal_wait_buffer(journal_t *journal, struct buffer_head *bh)
{
	struct zj_txn *owner;
	int err = 0;

	while (!err && (owner = pending_owner(bh))) {
		zj_commit_request(to_zj(journal), owner);
		err = zj_txn_wait_finished(owner);
		zj_txn_put(owner);
	}
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_wait_buffer);

bool zj_journal_newest_is(struct buffer_head *bh, transaction_t *txn)
{
	struct journal_head *jh = zj_jh_get(bh);
	bool ret;

	if (!jh)
		return false;
	spin_lock(&jh->lock);
	ret = jh->newest && to_txn(txn)->comp == jh->newest->txn->comp;
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	return ret;
}
EXPORT_SYMBOL_GPL(zj_journal_newest_is);

/* Locks a buffer. If it has an owner, returns that one and leaves the buffer unlocked. */
static struct zj_txn *lock_or_owner(journal_t *journal, struct buffer_head *bh)
{
	struct zj_txn *owner;

	lock_buffer(bh);
	if (is_journal_aborted(journal) || journal_current_handle())
		return NULL;
	owner = pending_owner(bh);
	if (owner)
		unlock_buffer(bh);
	return owner;
}

/*
 * A buffer that is changed all the time has a new owner whenever one is committed.
 * Therefore the second try holds the barrier until the buffer is locked. A caller that
 * holds the barrier already (ext4_freeze()) needs no second try, because no handle can
 * give the buffer a new owner then.
 */
void zj_journal_lock_committed_buffer(journal_t *journal, struct buffer_head *bh)
{
	struct zj_txn *owner;
	int tries = 0;

	while ((owner = lock_or_owner(journal, bh))) {
		if (++tries == 2)
			zj_journal_lock_updates(journal);
		zj_commit_request(to_zj(journal), owner);
		zj_txn_wait_finished(owner);
		zj_txn_put(owner);
	}
	if (tries > 1)
		zj_journal_unlock_updates(journal);
}
EXPORT_SYMBOL_GPL(zj_journal_lock_committed_buffer);
