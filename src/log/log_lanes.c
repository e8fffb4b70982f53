// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log in our own format: a member's chunks are planned, encoded and sent
 * together.
 *
 * A chunk is a header block and its images. The header's checksum covers the
 * images through their tags, so all blocks may be written in any order, and no
 * commit block is needed (format.h).
 */
#include "core/flush.h"
#include "core/gather.h"
#include "core/journal.h"
#include "core/space.h"
#include "core/super.h"
#include "format/codec.h"
#include "log/commit.h"
#include "log/cursor.h"
#include "log/log_lanes.h"
#include "log/log_default.h"
#include "log/log_io.h"
#include "txn/part.h"
#include <linux/ktime.h>
#include <linux/slab.h>

/**
 * struct zj_plan - one chunk to be written
 *
 * plan_all() allocates it, and log_free() frees it when the member has been
 * written.
 */
struct zj_plan {
	struct list_head link;	/* in zj_lanes_write.chunks */
	struct zj_chunk	chunk;	/* the header's fields */
	void		*block;	/* the header block */
};

/**
 * struct zj_lanes_write - one member that is being written to the log
 *
 * log_prepare() allocates it and sets zj_txn.out; log_free() frees it when the
 * device has completed the blocks. Only the thread that writes the run uses it.
 */
struct zj_lanes_write {
	struct zj_txn	*txn;
	struct zj_journal *zj;
	struct list_head chunks;	/* zj_plan.link */
	struct zj_cursor at;		/* what is written next */
	struct zj_log_io io;		/* its output */
};

/* ---- planning ---- */

static u32 place(u32 *left, u32 size, u32 wanted)
{
	u32 n = min(wanted, *left / size);

	*left -= n * size;
	return n;
}

/*
 * Plans one chunk at the lane's position. Returns false if the lane has no
 * segment left.
 */
static bool plan_chunk(struct zj_lanes_write *log, struct zj_plan *plan,
		       const struct zj_cursor *rest)
{
	struct zj_lane *lane = log->txn->lane;
	u32 seg_blocks = log->zj->geo.seg_blocks;
	u32 left = zj_chunk_room(log->zj->geo.block_size);
	struct zj_chunk *chunk = &plan->chunk;
	bool ok = true;

	chunk->nr_deps = place(&left, sizeof(__le64), rest->nr_deps);
	chunk->nr_revokes = place(&left, sizeof(__le64), rest->nr_revokes);
	spin_lock(&lane->lock);
	lane->limit = 0;
	/*
	 * A last block that has room for a header but not for an image is left
	 * unused.
	 */
	if (!lane->cur || lane->cur_off + !!rest->nr_images >= seg_blocks)
		ok = zj_space_next(lane);
	if (ok) {
		chunk->nr_tags = min(place(&left, sizeof(struct zj_tag),
					   rest->nr_images),
				     seg_blocks - lane->cur_off - 1);
		chunk->seg_index = lane->cur->index;
		chunk->seg_seq = lane->cur->seq;
		chunk->seg_block = lane->cur_off;
		lane->cur_off += 1 + chunk->nr_tags;
		ZJ_ASSERT(log->zj, lane->cur_off <= seg_blocks);
		/* A lane's records are in the order of stamps (R7). */
		ZJ_ASSERT(log->zj, lane->cur->max_stamp <= log->txn->comp->stamp);
		lane->cur->max_stamp = log->txn->comp->stamp;
	}
	spin_unlock(&lane->lock);
	return ok;
}

static void fill_deps(struct zj_lanes_write *log, struct zj_plan *plan)
{
	__le64 *to = zj_chunk_deps(plan->block);
	u32 i;

	/* With more the cursor would run beyond its list. */
	if (!ZJ_ASSERT(log->zj, log->at.nr_deps >= plan->chunk.nr_deps))
		return;
	for (i = 0; i < plan->chunk.nr_deps; i++) {
		u64 stamp = zj_cursor_dep(&log->at);

		ZJ_ASSERT(log->zj, stamp < log->txn->comp->stamp);
		to[i] = cpu_to_le64(stamp);
	}
}

static void fill_revokes(struct zj_lanes_write *log, struct zj_plan *plan)
{
	__le64 *to = zj_chunk_revokes(plan->block, plan->chunk.nr_deps);
	u32 i;

	if (!ZJ_ASSERT(log->zj, log->at.nr_revokes >= plan->chunk.nr_revokes))
		return;
	for (i = 0; i < plan->chunk.nr_revokes; i++)
		to[i] = cpu_to_le64(zj_cursor_revoke(&log->at));
}

static void fill_tags(struct zj_lanes_write *log, struct zj_plan *plan)
{
	struct zj_tag *tag = zj_chunk_tags(plan->block, plan->chunk.nr_deps,
					   plan->chunk.nr_revokes);
	u32 i;

	for (i = 0; i < plan->chunk.nr_tags; i++, tag++) {
		struct zj_part *part = zj_cursor_image(&log->at);
		u16 flags = 0;

		/*
		 * A live image need not be escaped, and must not be changed
		 * here, because the buffer is not ours.
		 */
		if (part->frozen_data)
			flags = zj_escape(part->frozen_data);

		tag->block = cpu_to_le64(part->jh->bh->b_blocknr);
		tag->lines = cpu_to_le64(ZJ_TAG_ALL_LINES);
		tag->csum = cpu_to_le32(zj_image_csum(log->zj->seed,
						      part->image,
						      log->zj->geo.block_size));
		tag->flags = cpu_to_le16(flags);
	}
}

/*
 * Returns the committed stamp to be named in a header: up to it recovery must
 * find everything, or else the device has lost something. Without flushes a
 * power cut may take any record, so 0 is named then.
 */
static u64 committed_stamp(struct zj_journal *zj)
{
	/*
	 * Pairs with note_committed_stamp(): if anything became committed
	 * without a flush, @unflushed was set before the stamp grew.
	 */
	u64 stamp = smp_load_acquire(&zj->committed_stamp);

	if (READ_ONCE(zj->unflushed))
		return 0;
	/* The flag is stored once only, because all lanes read it. */
	if (stamp && !READ_ONCE(zj->stamped))
		WRITE_ONCE(zj->stamped, true);
	/*
	 * Pairs with zj_ckpt_write(), which may be about to go on without a
	 * flush.
	 */
	smp_mb();
	return READ_ONCE(zj->unflushed) ? 0 : stamp;
}

static void fill_header(struct zj_lanes_write *log, struct zj_plan *plan, u32 index)
{
	struct zj_component *comp = log->txn->comp;
	struct zj_chunk *chunk = &plan->chunk;

	ZJ_ASSERT(log->zj, READ_ONCE(log->zj->committed_stamp) < comp->stamp);
	chunk->stamp = comp->stamp;
	chunk->tid = log->txn->public.t_tid;
	chunk->lane = log->txn->lane->index;
	chunk->nr_members = comp->nr_members;
	chunk->chunk_index = index;
	chunk->commit_sec = ktime_get_real_seconds();
	chunk->committed_stamp = committed_stamp(log->zj);
}

static struct zj_plan *plan_alloc(struct zj_journal *zj)
{
	const gfp_t gfp = GFP_NOFS | __GFP_NOFAIL;
	struct zj_plan *plan = kzalloc(sizeof(*plan), gfp);

	plan->block = kmem_cache_zalloc(zj->frozen_cache, gfp);
	return plan;
}

/*
 * Plans all chunks and allocates their headers, so that nothing has to wait for
 * memory later.
 */
static int plan_all(struct zj_lanes_write *log)
{
	struct zj_cursor rest = log->at;	/* has no place in the lists yet; only
						 * counted down
						 */
	u32 index = 0;

	do {
		struct zj_plan *plan = plan_alloc(log->zj);

		list_add_tail(&plan->link, &log->chunks);
		if (!plan_chunk(log, plan, &rest))
			return -ENOSPC;
		fill_header(log, plan, index++);
		rest.nr_deps -= plan->chunk.nr_deps;
		rest.nr_revokes -= plan->chunk.nr_revokes;
		rest.nr_images -= plan->chunk.nr_tags;
	} while (rest.nr_images || rest.nr_deps || rest.nr_revokes);
	log->txn->nr_chunks = index;
	return 0;
}

/* ---- output ---- */

static void emit(struct zj_lanes_write *log, struct zj_plan *plan)
{
	struct zj_log_geometry *geo = &log->zj->geo;
	u32 block = geo->log_first + plan->chunk.seg_index * geo->seg_blocks +
		    plan->chunk.seg_block;
	struct zj_cursor images = log->at;
	u32 i;

	plan->chunk.nr_chunks = log->txn->nr_chunks;
	fill_deps(log, plan);
	fill_revokes(log, plan);
	fill_tags(log, plan);
	zj_encode_chunk(geo, log->zj->seed, &plan->chunk, plan->block);
	zj_log_io_add(&log->io, block++, plan->block);
	for (i = 0; i < plan->chunk.nr_tags; i++)
		zj_log_io_add(&log->io, block++, zj_cursor_image(&images)->image);
}

static void emit_all(struct zj_lanes_write *log, bool fua)
{
	struct zj_plan *plan;

	/* A log on a device of its own waits for no other lane's flush. */
	if (!fua && !zj_log_apart(log->zj))
		zj_flush_expected(log->txn->lane);
	zj_log_io_begin(&log->io, log->txn->lane, fua ? REQ_FUA : 0);
	list_for_each_entry(plan, &log->chunks, link)
		emit(log, plan);
	zj_log_io_send(&log->io);
	/* C5: the record has all of them. */
	ZJ_ASSERT(log->zj, !log->at.nr_deps && !log->at.nr_revokes && !log->at.nr_images);
}

static void plan_free(struct zj_lanes_write *log)
{
	struct zj_plan *plan, *tmp;

	list_for_each_entry_safe(plan, tmp, &log->chunks, link) {
		kmem_cache_free(log->zj->frozen_cache, plan->block);
		kfree(plan);
	}
}

/* ---- a run ---- */

/*
 * Returns 0, or -ENOSPC if the log space promised to the transaction is not
 * there.
 */
static int log_prepare(struct zj_txn *txn)
{
	struct zj_lanes_write *log = kzalloc(sizeof(*log), GFP_NOFS | __GFP_NOFAIL);
	struct zj_lane_stats *st = &txn->lane->stats;
	int err;

	ZJ_ASSERT(txn_zj(txn), !txn->out);
	txn->out = log;
	log->txn = txn;
	log->zj = txn_zj(txn);
	INIT_LIST_HEAD(&log->chunks);
	zj_cursor_init(&log->at, txn);
	st->blocks += log->at.nr_images;
	err = plan_all(log);
	st->headers += txn->nr_chunks;
	return err;
}

static void log_send(struct zj_txn *txn, bool fua)
{
	struct zj_lanes_write *log = txn->out;

	zj_settle_images(txn);
	emit_all(log, fua);
}

static void log_free(struct zj_txn *txn)
{
	plan_free(txn->out);
	kfree(txn->out);
	txn->out = NULL;
}

static void log_unprepare(struct zj_run *run)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &run->txns, lane_link)
		if (txn->out)
			log_free(txn);
}

/**
 * lanes_record() - write the records of a run's members, and wait for the
 * device
 * @run: the data of its members is durable
 * @fua: write with FUA
 *
 * CJFS and Z-Journal keep JBD2's order of descriptor, images and commit block.
 * Here all blocks are sent at once under one checksum (C5), and all members
 * side by side, because recovery goes by their dependencies. Memory is
 * allocated before accessors have to wait.
 *
 * Return: 0; -ENOSPC if promised log space is not there; an I/O error.
 */
static int lanes_record(struct zj_run *run, bool fua)
{
	struct zj_txn *txn;
	int err = 0, err2;

	list_for_each_entry(txn, &run->txns, lane_link) {
		err = log_prepare(txn);
		if (err) {
			log_unprepare(run);
			return err;
		}
	}
	list_for_each_entry(txn, &run->txns, lane_link)
		log_send(txn, fua);
	list_for_each_entry(txn, &run->txns, lane_link) {
		struct zj_lanes_write *log = txn->out;

		err2 = zj_log_io_wait(&log->io);
		err = err ?: err2;
		zj_txn_logged(txn);
		log_free(txn);
	}
	return err;
}

/* ---- this format's place in the journal ---- */

static u32 lanes_fit(struct zj_journal *zj, u32 wanted)
{
	return zj_fit_lanes(&zj->geo, zj->public.j_total_len,
			    zj->public.j_blocksize, wanted);
}

static u32 lanes_blocks(const struct zj_journal *zj, u32 credits)
{
	return zj_txn_blocks(&zj->geo, credits);
}

static int lanes_advance_tail(struct zj_journal *zj, const struct zj_component *last)
{
	return zj_ckpt_write(zj, last->stamp);
}

const struct zj_log_ops zj_log_lanes = {
	.name		= "zj",
	.max_lanes	= ZJ_MAX_LANES,
	.open		= zj_log_default_open,
	.release	= zj_log_default_release,
	.fit		= lanes_fit,
	.blocks		= lanes_blocks,
	.room		= zj_seg_room,
	.init		= zj_seg_init,
	.go_live	= zj_lanes_go_live,
	.can_leave	= zj_log_default_can_leave,
	.advance_tail	= lanes_advance_tail,
	.issue		= zj_log_default_issue,
	.written	= zj_log_default_written,
	.close		= zj_log_default_close,
	.begin		= zj_log_default_begin,
	.begun		= zj_log_default_begun,
	.record		= lanes_record,
	.full		= zj_log_default_full,
};
