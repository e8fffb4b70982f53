// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log in stock's format: a ring with one lane, which stock ext4 and e2fsck
 * can recover (docs/decisions/0013).
 *
 *   revoke and descriptor blocks, images, zeros -> flush -> commit block -> durable
 *
 * Stock's recovery takes a damaged log block before a valid commit block for
 * corruption, not for the end of the log. So a commit block is written only
 * when all its log blocks are durable, and the commit block before it as well.
 * Few log blocks are written with FUA, so that no flush is needed between.
 * Older contents of the commit block's place are overwritten with zeros first:
 * then a commit block that is torn looks like none, even to readers that do not
 * check for that.
 *
 * One of our runs is one of stock's transactions, with one commit block, so its
 * members cannot become durable out of order. Of two images of a block in it,
 * recovery takes the later one; but a revoke voids all of them, so a member
 * with an image of a block that an older one revokes begins a run. Stock's
 * sequence number is the number of the run plus a constant.
 *
 * The ring's tail is in block 0. It advances over a run when that is home.
 */
#include "core/core.h"
#include "format/codec_jbd2.h"
#include "log/log.h"
#include "txn/part_types.h"
#include "txn/txn.h"
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#define ZJ_RING_MIN	64U	/* in blocks; e2fsprogs makes no journal below 1024 */

/**
 * struct zj_jbd2_write - a transaction that is being written to the ring
 *
 * jbd2_issue() allocates it and sets zj_txn.out. The lane's thread uses it
 * until it completes @sent, then the flush thread, which frees it in
 * jbd2_written().
 */
struct zj_jbd2_write {
	struct zj_txn	*txn;
	struct zj_journal *zj;
	const struct zj_jbd2_geo *log;
	u32		sequence;	/* stock's sequence number of its run */
	u32		pos;		/* next ring block to be written */
	struct zj_cursor at;		/* what is written next */
	void		**own;		/* revoke and descriptor blocks, freed with the struct */
	u32		nr_own;		/* number of these */
	u32		max_own;	/* number for which the promised space is counted */
	struct zj_log_io io;
	struct completion sent;	/* completed when the lane's thread has sent everything */
	bool		waited;	/* the lane's thread has already waited for @io */
	int		err;	/* error of @io, once it was waited for */
};

static u32 sequence_of(const struct zj_journal *zj, u32 run)
{
	return zj->ring.sequence + run;
}

/* ---- space ---- */

/*
 * Returns how many tags a descriptor block holds at least, whatever features
 * are set later.
 */
static u32 images_per_block(u32 block_size)
{
	return (block_size - sizeof(struct zj_jbd2_header) -
		ZJ_JBD2_UUID_BYTES - sizeof(struct zj_jbd2_tail)) /
	       sizeof(struct zj_jbd2_tag3);
}

/*
 * Credits count images and revoke blocks. Descriptor blocks and a commit block
 * come on top.
 */
static u32 ring_blocks(const struct zj_journal *zj, u32 credits)
{
	return credits + 1 +
	       DIV_ROUND_UP(credits, images_per_block(zj->geo.block_size));
}

static u32 ring_fit(struct zj_journal *zj, u32 lanes)
{
	struct zj_jbd2_super *sb = zj->public.j_superblock;

	zj->geo.block_size = zj->public.j_blocksize;
	zj->geo.total_blocks = zj->public.j_total_len;
	zj->geo.log_first = be32_to_cpu(sb->s_first);
	zj->geo.seg_blocks = 1;
	zj->geo.nr_segs = zj->geo.total_blocks - zj->geo.log_first;
	/*
	 * One block stays empty, so that a full ring differs from an empty one.
	 */
	return zj->geo.nr_segs >= ZJ_RING_MIN &&
	       zj->geo.nr_segs > ring_blocks(zj, zj->max_credits) +
				 ring_blocks(zj, 0);
}

/*
 * The lane holds nothing in its hand: it takes blocks from the ring directly.
 */
static u32 ring_room(struct zj_lane *lane, u32 need)
{
	return need ? READ_ONCE(lane->journal->nr_pool) : 0;
}

/*
 * Starts with an empty log. From now on stock's fast commit area is a part of
 * the ring.
 */
static int ring_init(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = zj->public.j_superblock;

	mutex_lock(&zj->super_lock);
	sb->s_feature_incompat &= ~cpu_to_be32(ZJ_JBD2_INCOMPAT_FAST_COMMIT);
	mutex_unlock(&zj->super_lock);
	zj->ring.sequence = be32_to_cpu(sb->s_sequence);
	zj->ring.head = zj->geo.log_first;
	zj->ring.tail = zj->geo.log_first;
	zj->ring.tail_run = 1;
	/* Head and tail are equal only when the ring is empty. */
	zj->nr_pool = zj->geo.nr_segs - 1;
	return 0;
}

/*
 * Takes blocks at the head; -ENOSPC means that promised space is not there.
 * Caller holds lane->lock.
 */
static int ring_take(struct zj_journal *zj, u32 blocks, u32 *pos)
{
	int err = 0;

	lockdep_assert_held(&zj->lanes[0].lock);
	spin_lock(&zj->pool_lock);
	if (blocks <= zj->nr_pool) {
		WRITE_ONCE(zj->nr_pool, zj->nr_pool - blocks);
		*pos = zj->ring.head;
		WRITE_ONCE(zj->ring.head, zj_jbd2_step(&zj->ring.geo, *pos, blocks));
	} else {
		err = -ENOSPC;
	}
	spin_unlock(&zj->pool_lock);
	return err;
}

/*
 * Has the transaction an image of a block that is revoked by one that is not committed yet?
 * All that the open run revokes is among these blocks. Mostly there is none: a block that was
 * freed is used again after the commit only, so it is one that was written in place.
 */
static bool logs_revoked(const struct zj_jbd2_write *w)
{
	struct zj_cursor at = w->at;

	while (at.nr_images)
		if (zj_revoke_pending(w->zj, zj_cursor_image(&at)->jh->bh->b_blocknr))
			return true;
	return false;
}

/*
 * Takes the transaction's blocks of the ring, which were promised, and adds it
 * to the open run, or to a new one.
 */
static int ring_claim(struct zj_jbd2_write *w, u32 blocks)
{
	struct zj_lane *lane = w->txn->lane;
	struct zj_ring *ring = &w->zj->ring;
	bool apart = READ_ONCE(ring->run_revokes) && logs_revoked(w);
	int err;

	spin_lock(&lane->lock);
	lane->limit = 0;
	if (apart)
		zj_run_close(lane);
	err = ring_take(w->zj, blocks, &w->pos);
	if (!err) {
		if (w->at.nr_revokes)
			WRITE_ONCE(ring->run_revokes, true);
		w->sequence = sequence_of(w->zj, lane->run);
		w->txn->out = w;
		zj_run_join(w->txn);
	}
	spin_unlock(&lane->lock);
	return err;
}

/*
 * Takes the block for the commit block. Each member's promise includes one, so
 * there is room.
 */
static void jbd2_close(struct zj_lane *lane)
{
	struct zj_txn *last = list_last_entry(&lane->flight, struct zj_txn,
					      lane_link);
	struct zj_journal *zj = lane->journal;

	WARN_ON_ONCE(ring_take(zj, 1, &last->record_at));
	WRITE_ONCE(zj->ring.run_revokes, false);
}

/* ---- block 0 ---- */

static int ring_go_live(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = zj->public.j_superblock;
	int err;

	lockdep_assert_held(&zj->super_lock);
	/*
	 * This flush is needed even without barriers. On the device block 0 may
	 * still say that lanes use the log, and the ring must not overwrite
	 * their super block before block 0 says something else.
	 */
	err = zj_issue_flush(zj, zj->public.j_dev);
	if (err)
		return err;
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_REVOKE);
	zj_jbd2_geo_of(sb, &zj->ring.geo);
	sb->s_start = cpu_to_be32(zj->ring.tail);
	sb->s_sequence = cpu_to_be32(sequence_of(zj, zj->ring.tail_run));
	return zj_super_write(zj);
}

/* The log has one lane, so a component has one member. */
static struct zj_txn *only_txn(const struct zj_component *comp)
{
	return list_first_entry(&comp->members, struct zj_txn, comp_link);
}

static int write_tail(struct zj_journal *zj, u32 tail, u32 sequence)
{
	struct zj_jbd2_super *sb = zj->public.j_superblock;
	__be32 old_start, old_sequence;
	int err;

	mutex_lock(&zj->super_lock);
	if (!zj->live) {
		/* Another task has already marked the log as empty. */
		mutex_unlock(&zj->super_lock);
		return 0;
	}
	old_start = sb->s_start;
	old_sequence = sb->s_sequence;
	sb->s_start = cpu_to_be32(tail);
	sb->s_sequence = cpu_to_be32(sequence);
	/* Makes the home writes durable first (H4). */
	err = zj_super_write(zj);
	if (err) {
		sb->s_start = old_start;
		sb->s_sequence = old_sequence;
	}
	mutex_unlock(&zj->super_lock);
	return err;
}

/* Recovery replays a whole run, so that its members leave together. */
static bool ring_can_leave(const struct zj_component *comp)
{
	return only_txn(comp)->record_at;
}

static int ring_advance_tail(struct zj_journal *zj, const struct zj_component *last)
{
	struct zj_txn *txn = only_txn(last);
	struct zj_ring *ring = &zj->ring;
	u32 tail = zj_jbd2_step(&ring->geo, txn->record_at, 1);
	u32 run = txn->run + 1, freed;
	int err;

	lockdep_assert_held(&zj->ckpt_lock);
	/* A wrong tail must not reach block 0, or recovery would not find the log. */
	if (!ZJ_ASSERT(zj, txn->record_at) ||
	    !ZJ_ASSERT(zj, (s32)(run - ring->tail_run) >= 0) ||
	    !ZJ_ASSERT(zj, tail >= zj->geo.log_first && tail < zj->geo.total_blocks))
		return -EIO;
	err = write_tail(zj, tail, sequence_of(zj, run));
	if (err)
		return err;
	freed = tail >= ring->tail ? tail - ring->tail :
		tail + zj->geo.nr_segs - ring->tail;
	ring->tail = tail;
	ring->tail_run = run;
	spin_lock(&zj->pool_lock);
	WRITE_ONCE(zj->nr_pool, zj->nr_pool + freed);
	ZJ_ASSERT(zj, zj->nr_pool < zj->geo.nr_segs);
	spin_unlock(&zj->pool_lock);
	return 0;
}

/* ---- log blocks ---- */

static void *new_block(struct zj_journal *zj)
{
	return kmem_cache_zalloc(zj->frozen_cache, GFP_NOFS | __GFP_NOFAIL);
}

static void put_block(struct zj_jbd2_write *w, void *data)
{
	zj_log_io_add(&w->io, w->pos, data);
	w->pos = zj_jbd2_step(w->log, w->pos, 1);
}

static void *own_block(struct zj_jbd2_write *w, u32 type)
{
	void *block = new_block(w->zj);

	ZJ_ASSERT(w->zj, w->nr_own < w->max_own);
	zj_jbd2_put_header(block, type, w->sequence);
	w->own[w->nr_own++] = block;
	return block;
}

static void put_revokes(struct zj_jbd2_write *w)
{
	u32 i, n, most = zj_jbd2_revokes_per_block(w->log);

	while (w->at.nr_revokes) {
		void *block = own_block(w, ZJ_JBD2_REVOKE);

		n = min(w->at.nr_revokes, most);
		for (i = 0; i < n; i++)
			zj_jbd2_put_revoke(w->log, block, i,
					   zj_cursor_revoke(&w->at));
		zj_jbd2_set_csum(w->log, block);
		put_block(w, block);
	}
}

static void put_tag(struct zj_jbd2_write *w, void *block, u32 i, bool last,
		    struct zj_part *part)
{
	struct zj_jbd2_image image = { .block = part->jh->bh->b_blocknr };

	/*
	 * A live image need not be escaped, and must not be changed here,
	 * because the buffer is not ours.
	 */
	if (part->frozen_data && zj_jbd2_escape(part->frozen_data))
		image.flags = ZJ_JBD2_TAG_ESCAPED;
	image.csum = zj_jbd2_image_csum(w->log, w->sequence, part->image);
	zj_jbd2_put_tag(w->log, block, i, last, &image);
}

static void put_images(struct zj_jbd2_write *w)
{
	u32 i, n, most = zj_jbd2_tags_per_block(w->log);

	while (w->at.nr_images) {
		void *block = own_block(w, ZJ_JBD2_DESCRIPTOR);
		struct zj_cursor images = w->at;

		n = min(w->at.nr_images, most);
		for (i = 0; i < n; i++)
			put_tag(w, block, i, i == n - 1, zj_cursor_image(&w->at));
		zj_jbd2_set_csum(w->log, block);
		put_block(w, block);
		while (n--)
			put_block(w, zj_cursor_image(&images)->image);
	}
}

/* ---- one transaction ---- */

/* Returns the number of revoke and descriptor blocks. */
static u32 count_own(const struct zj_jbd2_write *w)
{
	return DIV_ROUND_UP(w->at.nr_images, zj_jbd2_tags_per_block(w->log)) +
	       DIV_ROUND_UP(w->at.nr_revokes, zj_jbd2_revokes_per_block(w->log));
}

static void put_all(struct zj_jbd2_write *w)
{
	put_revokes(w);
	put_images(w);
	zj_log_io_send(&w->io);
}

static void write_free(struct zj_jbd2_write *w)
{
	w->txn->out = NULL;
	while (w->nr_own)
		kmem_cache_free(w->zj->frozen_cache, w->own[--w->nr_own]);
	kvfree(w->own);
	kfree(w);
}

/*
 * Waits for the log I/O of live images in the lane's thread, because accessors
 * wait for it, and the flush thread may be busy with an older run.
 */
static void wait_live(struct zj_jbd2_write *w)
{
	w->err = zj_log_io_wait(&w->io);
	zj_txn_logged(w->txn);
	w->waited = true;
}

/**
 * jbd2_issue() - send out a transaction's log blocks
 * @txn: sealed
 *
 * Context: the lane's thread.
 * Return: 0, or -ENOSPC if promised log space is not there.
 */
static int jbd2_issue(struct zj_txn *txn)
{
	struct zj_jbd2_write *w = kzalloc(sizeof(*w), GFP_NOFS | __GFP_NOFAIL);
	struct zj_journal *zj = txn_zj(txn);
	struct zj_lane_stats *st = &txn->lane->stats;
	bool live, fua;
	u32 nr_own;
	int err;

	w->txn = txn;
	w->zj = zj;
	w->log = &zj->ring.geo;
	init_completion(&w->sent);
	zj_cursor_init(&w->at, txn);
	nr_own = count_own(w);
	w->max_own = nr_own;
	st->blocks += w->at.nr_images;
	st->headers += nr_own + 1;
	w->own = kvmalloc_array(nr_own + 1, sizeof(*w->own),
				GFP_NOFS | __GFP_NOFAIL);
	live = zj_settle_images(txn);
	fua = zj_log_wants_fua(txn->lane, nr_own + w->at.nr_images);
	txn->log_cached = !fua;
	zj_log_io_begin(&w->io, txn->lane, fua ? REQ_FUA : 0, nr_own + w->at.nr_images);
	/*
	 * From here on the flush thread may take the transaction and wait for
	 * it.
	 */
	err = ring_claim(w, nr_own + w->at.nr_images);
	if (err) {
		zj_log_io_send(&w->io);
		zj_txn_logged(txn);
		write_free(w);
		return err;
	}
	put_all(w);
	if (live && txn->lane->flusher)
		wait_live(w);
	complete(&w->sent);
	return 0;
}

static int jbd2_written(struct zj_txn *txn)
{
	struct zj_jbd2_write *w = txn->out;
	int err;

	wait_for_completion_io(&w->sent);
	if (!w->waited)
		wait_live(w);
	err = w->err;
	write_free(w);
	return err;
}

/* ---- one run ---- */

static void put_record(struct zj_run *run, blk_opf_t flags)
{
	struct zj_txn *last = list_last_entry(&run->txns, struct zj_txn,
					      lane_link);

	zj_log_io_begin(&run->io, run->lane, flags, 1);
	/*
	 * Without a block of the ring, which breaks a promise, it would be
	 * written over block 0.
	 */
	if (last->record_at)
		zj_log_io_add(&run->io, last->record_at, run->record);
	else
		run->io.err = -ENOSPC;
	zj_log_io_send(&run->io);
}

/*
 * Overwrites the commit block's place with zeros, which become durable as the
 * log blocks do.
 */
static void jbd2_begin(struct zj_run *run)
{
	run->record = new_block(run->lane->journal);
	put_record(run, zj_run_cached(run) ? 0 : REQ_FUA);
}

static int jbd2_begun(struct zj_run *run)
{
	return zj_log_io_wait(&run->io);
}

/**
 * jbd2_record() - write a run's commit block
 * @run: its log blocks and the commit block before it are durable
 * @fua: write with FUA
 *
 * Return: 0 or an I/O error.
 */
static int jbd2_record(struct zj_run *run, bool fua)
{
	struct zj_journal *zj = run->lane->journal;
	struct zj_txn *txn = list_first_entry(&run->txns, struct zj_txn,
					      lane_link);

	zj_jbd2_put_commit(&zj->ring.geo, run->record,
			   sequence_of(zj, txn->run),
			   ktime_get_real_seconds(), 0);
	put_record(run, fua ? REQ_FUA : 0);
	/*
	 * The zeros of the next run are sent while the commit block is being
	 * written.
	 */
	zj_run_ahead(run->lane, fua, &run->io.done);
	return zj_log_io_wait(&run->io);
}

const struct zj_log_ops zj_log_jbd2 = {
	.name		= "jbd2",
	.log_before_data = true,
	.obeys_features	= true,
	.stock_numbers	= true,
	.max_lanes	= 1,
	.fit		= ring_fit,
	.blocks		= ring_blocks,
	.room		= ring_room,
	.init		= ring_init,
	.go_live	= ring_go_live,
	.can_leave	= ring_can_leave,
	.advance_tail	= ring_advance_tail,
	.issue		= jbd2_issue,
	.written	= jbd2_written,
	.close		= jbd2_close,
	.begin		= jbd2_begin,
	.begun		= jbd2_begun,
	.record		= jbd2_record,
};
