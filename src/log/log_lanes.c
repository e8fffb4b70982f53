// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log in our own format: a member's chunks are planned, encoded and sent
 * together.
 *
 * A chunk is a header block and its images. The header's checksum covers the
 * images through their tags, so all blocks may be written in any order, and no
 * commit block is needed (format.h).
 */
#include "core/core.h"
#include "format/codec.h"
#include "format/line_set.h"
#include "log/log.h"
#include "txn/txn.h"
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/slab.h>

/**
 * struct zj_plan - one chunk to be written
 *
 * spare_fill() allocates it, or takes the one that its lane has kept. log_free() frees
 * it when the member has been written, or has its lane keep it.
 */
struct zj_plan {
	struct list_head link;	/* in zj_lanes_write.chunks */
	struct zj_chunk	chunk;	/* the header's fields */
	void		*block;	/* the header block */
	u32		used;	/* bytes of it that are in use, from its beginning */
	u32		data;	/* where its lines begin, which end with it */
	u32		images;	/* that are to be written behind it */
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
	struct zj_plan	*spare;		/* for when no memory can be allocated, or NULL */
	struct zj_cursor at;		/* what is written next */
	struct zj_log_io io;		/* its output */
};

/* ---- entries ---- */

static void spare_fill(struct zj_lanes_write *log)
{
	const gfp_t gfp = GFP_NOFS | __GFP_NOFAIL;
	struct zj_plan *plan;

	if (log->spare)
		return;
	log->spare = log->txn->lane->plan;
	log->txn->lane->plan = NULL;
	if (log->spare)
		return;
	plan = kzalloc(sizeof(*plan), gfp);
	plan->block = kmem_cache_zalloc(log->zj->frozen_cache, gfp);
	plan->used = sizeof(struct zj_chunk_header);
	plan->data = log->zj->geo.block_size;
	log->spare = plan;
}

static struct zj_plan *new_plan(struct zj_lanes_write *log)
{
	struct zj_plan *plan;

	spare_fill(log);
	plan = log->spare;
	log->spare = NULL;
	list_add_tail(&plan->link, &log->chunks);
	return plan;
}

static struct zj_plan *last_plan(const struct zj_lanes_write *log)
{
	return list_last_entry(&log->chunks, struct zj_plan, link);
}

static bool has_room(const struct zj_plan *plan, u32 bytes)
{
	return plan->data - plan->used >= bytes;
}

/* Returns the newest plan if it has room for @bytes, or else a new one. */
static struct zj_plan *plan_with_room(struct zj_lanes_write *log, u32 bytes)
{
	struct zj_plan *plan = last_plan(log);

	return has_room(plan, bytes) ? plan : new_plan(log);
}

/* Returns a place of @bytes behind a header's last entry. */
static void *put_entry(struct zj_plan *plan, u32 bytes)
{
	void *entry = plan->block + plan->used;

	plan->used += bytes;
	return entry;
}

static void put_deps(struct zj_lanes_write *log)
{
	struct zj_plan *plan;
	u64 stamp;

	while (log->at.nr_deps) {
		stamp = zj_cursor_dep(&log->at);
		ZJ_ASSERT(log->zj, stamp < log->txn->comp->stamp);
		plan = plan_with_room(log, sizeof(__le64));
		*(__le64 *)put_entry(plan, sizeof(__le64)) = cpu_to_le64(stamp);
		plan->chunk.nr_deps++;
	}
}

static void put_revokes(struct zj_lanes_write *log)
{
	struct zj_plan *plan;

	while (log->at.nr_revokes) {
		plan = plan_with_room(log, sizeof(__le64));
		*(__le64 *)put_entry(plan, sizeof(__le64)) =
			cpu_to_le64(zj_cursor_revoke(&log->at));
		plan->chunk.nr_revokes++;
	}
}

static struct zj_tag *put_tag(struct zj_plan *plan, const struct zj_part *part, u64 lines)
{
	struct zj_tag *tag = put_entry(plan, sizeof(*tag));

	tag->block = cpu_to_le64(part->jh->bh->b_blocknr);
	tag->lines = cpu_to_le64(lines);
	plan->chunk.nr_tags++;
	return tag;
}

/* ---- lines ---- */

static void put_lines(struct zj_lanes_write *log, const struct zj_part *part, u64 lines)
{
	u32 size = log->zj->geo.block_size, bytes = zj_lines_bytes(lines, size);
	struct zj_plan *plan = plan_with_room(log, bytes + sizeof(struct zj_tag));

	put_tag(plan, part, lines);
	plan->chunk.nr_line_tags++;
	plan->data -= bytes;
	zj_lines_gather(part->image, plan->block + plan->data, lines, size);
}

/*
 * Puts what has changed of a block into a header if it is little, and lets
 * accessors of the buffer go on. Otherwise the part gets a whole image later.
 * Memory is allocated before, as accessors of a live image have to wait.
 */
static int try_lines(struct zj_lanes_write *log, struct zj_part *part)
{
	u32 size = log->zj->geo.block_size;
	u64 lines;
	int err;

	zj_part_image(log->zj, part, &log->txn->lane->spare[1]);
	err = zj_part_check(log->zj, part);
	lines = zj_part_lines(part);
	if (err || zj_lines_bytes(lines, size) > zj_lines_max(size)) {
		zj_part_unsettle(log->zj, part);
		return err;
	}
	if (lines)
		put_lines(log, part, lines);
	zj_part_logged(log->zj, part);
	log->at.nr_images--;
	return 0;
}

static int put_parts(struct zj_lanes_write *log)
{
	u32 most = zj_lines_max(log->zj->geo.block_size);
	struct zj_lane *lane = log->txn->lane;
	struct zj_part *part;
	int err;

	list_for_each_entry(part, &log->txn->parts, txn_link) {
		if (!zj_part_has_lines(part))
			continue;
		if (!lane->spare[1])
			lane->spare[1] = kmem_cache_alloc(log->zj->frozen_cache,
							  GFP_NOFS | __GFP_NOFAIL);
		if (!has_room(last_plan(log), most + sizeof(struct zj_tag)))
			spare_fill(log);
		err = try_lines(log, part);
		if (err)
			return err;
	}
	return 0;
}

/* ---- places ---- */

/*
 * Gives a chunk its place in the lane's segment, with as many of the images that
 * are left as there is room for. Returns false if the lane has no segment left.
 */
static bool place_chunk(struct zj_lanes_write *log, struct zj_plan *plan, u32 images)
{
	struct zj_lane *lane = log->txn->lane;
	u32 seg_blocks = log->zj->geo.seg_blocks;
	struct zj_chunk *chunk = &plan->chunk;
	bool ok = true, needs_image = images && plan->used == sizeof(struct zj_chunk_header);

	spin_lock(&lane->lock);
	lane->limit = 0;
	/*
	 * A last block that has room for a header but not for its only image is
	 * left unused.
	 */
	if (!lane->cur || lane->cur_off + needs_image >= seg_blocks)
		ok = zj_space_next(lane);
	if (ok) {
		plan->images = min3(images, (plan->data - plan->used) / (u32)sizeof(struct zj_tag),
				    seg_blocks - lane->cur_off - 1);
		chunk->seg_index = lane->cur->index;
		chunk->seg_seq = lane->cur->seq;
		chunk->seg_block = lane->cur_off;
		lane->cur_off += 1 + plan->images;
		ZJ_ASSERT(log->zj, lane->cur_off <= seg_blocks);
		/* A lane's records are in the order of stamps (R7). */
		ZJ_ASSERT(log->zj, lane->cur->max_stamp <= log->txn->comp->stamp);
		lane->cur->max_stamp = log->txn->comp->stamp;
	}
	spin_unlock(&lane->lock);
	return ok;
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

/*
 * Plans all chunks and allocates their headers, so that nothing has to wait for
 * memory later. Only the last ones can have images.
 */
static int plan_all(struct zj_lanes_write *log)
{
	struct zj_plan *plan = new_plan(log);
	u32 index = 0, images;
	int err;

	put_deps(log);
	put_revokes(log);
	err = put_parts(log);
	if (err)
		return err;
	images = log->at.nr_images;
	list_for_each_entry(plan, &log->chunks, link) {
		bool last = plan == last_plan(log);

		if (!place_chunk(log, plan, last ? images : 0))
			return -ENOSPC;
		fill_header(log, plan, index++);
		images -= plan->images;
		if (last && images)
			new_plan(log);
	}
	log->txn->nr_chunks = index;
	return 0;
}

/* ---- output ---- */

static void put_image(struct zj_lanes_write *log, struct zj_plan *plan, struct zj_part *part)
{
	u16 flags = 0;
	struct zj_tag *tag;

	/*
	 * A live image need not be escaped, and must not be changed here, because
	 * the buffer is not ours.
	 */
	if (part->frozen_data)
		flags = zj_escape(part->frozen_data);
	tag = put_tag(plan, part, ZJ_TAG_ALL_LINES);
	tag->csum = cpu_to_le32(zj_image_csum(log->zj->seed, part->image,
					      log->zj->geo.block_size));
	tag->flags = cpu_to_le16(flags);
}

static void emit_plan(struct zj_lanes_write *log, struct zj_plan *plan)
{
	struct zj_log_geometry *geo = &log->zj->geo;
	u32 block = geo->log_first + plan->chunk.seg_index * geo->seg_blocks +
		    plan->chunk.seg_block;
	struct zj_cursor images = log->at;
	u32 i;

	plan->chunk.nr_chunks = log->txn->nr_chunks;
	for (i = 0; i < plan->images; i++)
		put_image(log, plan, zj_cursor_image(&log->at));
	zj_encode_chunk(geo, log->zj->seed, &plan->chunk, plan->block);
	zj_log_io_add(&log->io, block++, plan->block);
	for (i = 0; i < plan->images; i++)
		zj_log_io_add(&log->io, block++, zj_cursor_image(&images)->image);
}

static void emit_all(struct zj_lanes_write *log, bool fua)
{
	u32 blocks = log->txn->nr_chunks + log->at.nr_images;
	struct zj_plan *plan;

	/* A log on a device of its own waits for no other lane's flush. */
	if (!fua && !zj_log_apart(log->zj))
		zj_flush_expected(log->txn->lane);
	zj_log_io_begin(&log->io, log->txn->lane, fua ? REQ_FUA : 0, blocks);
	list_for_each_entry(plan, &log->chunks, link)
		emit_plan(log, plan);
	zj_log_io_send(&log->io);
	/* C5: the record has all of them. */
	ZJ_ASSERT(log->zj, !log->at.nr_deps && !log->at.nr_revokes && !log->at.nr_images);
}

static void plan_free(struct zj_journal *zj, struct zj_plan *plan)
{
	kmem_cache_free(zj->frozen_cache, plan->block);
	kfree(plan);
}

/*
 * Has a lane keep a plan for its next chunk. Most of a small record's header block is zero
 * already, so only what was used of it is cleared.
 */
static void plan_keep(struct zj_lane *lane, struct zj_plan *plan)
{
	u32 size = lane->journal->geo.block_size;
	void *block = plan->block;

	memset(block, 0, plan->used);
	memset(block + plan->data, 0, size - plan->data);
	*plan = (struct zj_plan) {
		.block = block,
		.used = sizeof(struct zj_chunk_header),
		.data = size,
	};
	lane->plan = plan;
}

static void plans_free(struct zj_lanes_write *log)
{
	struct zj_lane *lane = log->txn->lane;
	struct zj_plan *plan, *tmp;

	if (log->spare)
		list_add(&log->spare->link, &log->chunks);
	list_for_each_entry_safe(plan, tmp, &log->chunks, link)
		if (lane->plan)
			plan_free(log->zj, plan);
		else
			plan_keep(lane, plan);
}

/* ---- a run ---- */

/*
 * Returns 0; -ENOSPC if the log space promised to the transaction is not there; or
 * -EUCLEAN if tune=log_check:on has found something.
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
	err = plan_all(log);
	st->headers += txn->nr_chunks;
	st->blocks += log->at.nr_images;
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
	plans_free(txn->out);
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
 * Return: 0; an error of log_prepare(), or of the I/O.
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

static void lanes_release(struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; zj->lanes && i < zj->nr_lanes; i++) {
		if (zj->lanes[i].plan)
			plan_free(zj, zj->lanes[i].plan);
		zj->lanes[i].plan = NULL;
	}
}

static int lanes_advance_tail(struct zj_journal *zj, const struct zj_component *last)
{
	return zj_ckpt_write(zj, last->stamp);
}

const struct zj_log_ops zj_log_lanes = {
	.name		= "zj",
	.logs_lines	= true,
	.max_lanes	= ZJ_MAX_LANES,
	.release	= lanes_release,
	.fit		= lanes_fit,
	.blocks		= lanes_blocks,
	.room		= zj_seg_room,
	.init		= zj_seg_init,
	.go_live	= zj_lanes_go_live,
	.advance_tail	= lanes_advance_tail,
	.record		= lanes_record,
};
