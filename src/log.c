// SPDX-License-Identifier: GPL-2.0-only
/*
 * Log writer: one member's chunks, planned, encoded and sent out together.
 *
 * A chunk is one header block and its images; the header's checksum covers the
 * images through their tags, so header and images need no order among each
 * other and there is no separate commit block (format.h).
 */
#include "zj.h"
#include <linux/bio.h>
#include <linux/completion.h>

/**
 * struct zj_plan - one chunk to be written; owned by the lane's thread
 */
struct zj_plan {
	struct list_head link;	/* in zj_log.chunks */
	struct zj_chunk	chunk;	/* the header's fields */
	void		*block;	/* the header block */
	struct zj_part	*first;	/* part of the first image, or NULL */
};

/**
 * struct zj_log - one member on its way to the log; on the thread's stack
 */
struct zj_log {
	struct zj_txn	*txn;
	struct zj_journal *zj;
	struct list_head chunks;	/* zj_plan.link */
	struct zj_part	*part;		/* next part to place */
	struct zj_dep	*dep;		/* next dependency to place */
	struct zj_revoke *revoke;	/* next revoke to place */
	int		nr_parts;	/* images not placed yet */
	int		nr_deps;	/* dependencies not placed yet */
	int		nr_revokes;	/* revokes not placed yet */
	struct bio	*bio;		/* being filled, or NULL */
	u64		next;		/* device block that continues it */
	blk_opf_t	opf;		/* of all bios */
	atomic_t	pending;	/* bios in flight, and one for the builder */
	struct completion done;		/* all bios have ended */
	int		err;		/* of any bio */
};

/* ---- planning ---- */

static u32 place(u32 *left, u32 size, int wanted)
{
	u32 n = min_t(u32, wanted, *left / size);

	*left -= n * size;
	return n;
}

/* Fill one chunk at the lane's position; false if the log has no room. */
static bool plan_chunk(struct zj_log *log, struct zj_plan *plan)
{
	struct zj_lane *lane = log->txn->lane;
	u32 seg_blocks = log->zj->geo.seg_blocks;
	u32 left = zj_chunk_room(log->zj->geo.block_size);
	struct zj_chunk *chunk = &plan->chunk;
	bool ok = true;

	chunk->nr_deps = place(&left, sizeof(__le64), log->nr_deps);
	chunk->nr_revokes = place(&left, sizeof(__le64), log->nr_revokes);
	spin_lock(&lane->lock);
	lane->limit = 0;
	/* A last block that could hold a bare header only is left alone. */
	if (!lane->cur || lane->cur_off + !!log->nr_parts >= seg_blocks)
		ok = zj_space_next(lane);
	if (ok) {
		chunk->nr_tags = min(place(&left, sizeof(struct zj_tag),
					   log->nr_parts),
				     seg_blocks - lane->cur_off - 1);
		chunk->seg_index = lane->cur->index;
		chunk->seg_seq = lane->cur->seq;
		chunk->seg_block = lane->cur_off;
		lane->cur_off += 1 + chunk->nr_tags;
		lane->cur->max_stamp = log->txn->comp->stamp;
	}
	spin_unlock(&lane->lock);
	return ok;
}

static void fill_deps(struct zj_log *log, struct zj_plan *plan)
{
	__le64 *to = zj_chunk_deps(plan->block);
	u32 i;

	for (i = 0; i < plan->chunk.nr_deps; i++) {
		to[i] = cpu_to_le64(log->dep->stamp);
		log->dep = list_next_entry(log->dep, comp_link);
	}
}

static void fill_revokes(struct zj_log *log, struct zj_plan *plan)
{
	__le64 *to = zj_chunk_revokes(plan->block, plan->chunk.nr_deps);
	u32 i;

	for (i = 0; i < plan->chunk.nr_revokes; i++) {
		to[i] = cpu_to_le64(log->revoke->block);
		log->revoke = list_next_entry(log->revoke, txn_link);
	}
}

/* Forgotten blocks have no image. */
static struct zj_part *skip_forgotten(struct zj_log *log, struct zj_part *part)
{
	while (!list_entry_is_head(part, &log->txn->parts, txn_link) &&
	       !part->image)
		part = list_next_entry(part, txn_link);
	return part;
}

static struct zj_part *next_image(struct zj_log *log, struct zj_part *part)
{
	return skip_forgotten(log, list_next_entry(part, txn_link));
}

static void fill_tags(struct zj_log *log, struct zj_plan *plan)
{
	struct zj_tag *tag = zj_chunk_tags(plan->block, plan->chunk.nr_deps,
					   plan->chunk.nr_revokes);
	u32 i;

	plan->first = log->part;
	for (i = 0; i < plan->chunk.nr_tags; i++, tag++) {
		struct zj_part *part = log->part;
		u16 flags = 0;

		/* A live image has nothing to escape, and is not ours. */
		if (part->frozen)
			flags = zj_escape(part->frozen);

		tag->block = cpu_to_le64(part->jh->bh->b_blocknr);
		tag->lines = cpu_to_le64(ZJ_TAG_ALL_LINES);
		tag->csum = cpu_to_le32(zj_image_csum(log->zj->seed,
						      part->image,
						      log->zj->geo.block_size));
		tag->flags = cpu_to_le16(flags);
		log->part = next_image(log, part);
	}
}

static void fill_header(struct zj_log *log, struct zj_plan *plan, u32 index)
{
	struct zj_component *comp = log->txn->comp;
	struct zj_chunk *chunk = &plan->chunk;

	chunk->stamp = comp->stamp;
	chunk->tid = log->txn->pub.t_tid;
	chunk->lane = log->txn->lane->index;
	chunk->nr_members = comp->nr_members;
	chunk->chunk_index = index;
	chunk->commit_sec = ktime_get_real_seconds();
}

static struct zj_plan *plan_alloc(struct zj_journal *zj)
{
	const gfp_t gfp = GFP_NOFS | __GFP_NOFAIL;
	struct zj_plan *plan = kzalloc(sizeof(*plan), gfp);

	plan->block = kmem_cache_zalloc(zj->frozen_cache, gfp);
	return plan;
}

/* Place all chunks and allocate their headers: nothing to wait for later. */
static int plan_all(struct zj_log *log)
{
	u32 index = 0;

	do {
		struct zj_plan *plan = plan_alloc(log->zj);

		list_add_tail(&plan->link, &log->chunks);
		if (!plan_chunk(log, plan))
			return -ENOSPC;
		fill_header(log, plan, index++);
		log->nr_deps -= plan->chunk.nr_deps;
		log->nr_revokes -= plan->chunk.nr_revokes;
		log->nr_parts -= plan->chunk.nr_tags;
	} while (log->nr_parts || log->nr_deps || log->nr_revokes);
	log->txn->nr_chunks = index;
	return 0;
}

/* ---- output ---- */

static void log_put(struct zj_log *log)
{
	if (atomic_dec_and_test(&log->pending))
		complete(&log->done);
}

static void log_end_io(struct bio *bio)
{
	struct zj_log *log = bio->bi_private;

	if (bio->bi_status)
		cmpxchg(&log->err, 0, blk_status_to_errno(bio->bi_status));
	bio_put(bio);
	log_put(log);
}

static void log_submit(struct zj_log *log)
{
	if (!log->bio)
		return;
	atomic_inc(&log->pending);
	submit_bio(log->bio);
	log->bio = NULL;
}

static void log_add(struct zj_log *log, u32 log_block, void *data)
{
	struct zj_journal *zj = log->zj;
	u32 size = zj->geo.block_size;
	u64 block = zj->map[log_block];

	if (log->bio && (block != log->next ||
			 !bio_add_page(log->bio, virt_to_page(data), size,
				       offset_in_page(data))))
		log_submit(log);
	if (!log->bio) {
		log->bio = bio_alloc(zj->front.j_dev, BIO_MAX_VECS, log->opf,
				     GFP_NOFS);
		log->bio->bi_iter.bi_sector = block * (size >> SECTOR_SHIFT);
		log->bio->bi_private = log;
		log->bio->bi_end_io = log_end_io;
		__bio_add_page(log->bio, virt_to_page(data), size,
			       offset_in_page(data));
	}
	log->next = block + 1;
}

static void emit(struct zj_log *log, struct zj_plan *plan)
{
	struct zj_log_geometry *geo = &log->zj->geo;
	u32 block = geo->log_first + plan->chunk.seg_index * geo->seg_blocks +
		    plan->chunk.seg_block;
	struct zj_part *part;
	u32 i;

	plan->chunk.nr_chunks = log->txn->nr_chunks;
	fill_deps(log, plan);
	fill_revokes(log, plan);
	fill_tags(log, plan);
	part = plan->first;
	zj_encode_chunk(geo, log->zj->seed, &plan->chunk, plan->block);
	log_add(log, block++, plan->block);
	for (i = 0; i < plan->chunk.nr_tags; i++) {
		log_add(log, block++, part->image);
		part = next_image(log, part);
	}
}

static int emit_all(struct zj_log *log)
{
	struct zj_plan *plan;
	struct blk_plug plug;
	bool fua = zj_needs_flush(log->zj) && bdev_fua(log->zj->front.j_dev);

	if (!fua)
		zj_flush_expected(log->txn->lane);
	log->opf = REQ_OP_WRITE | REQ_SYNC | REQ_META | (fua ? REQ_FUA : 0);
	atomic_set(&log->pending, 1);
	init_completion(&log->done);
	blk_start_plug(&plug);
	list_for_each_entry(plan, &log->chunks, link)
		emit(log, plan);
	log_submit(log);
	blk_finish_plug(&plug);
	log_put(log);
	wait_for_completion_io(&log->done);
	log->txn->cached = !fua;
	return log->err;
}

static void plan_free(struct zj_log *log)
{
	struct zj_plan *plan, *tmp;

	list_for_each_entry_safe(plan, tmp, &log->chunks, link) {
		kmem_cache_free(log->zj->frozen_cache, plan->block);
		kfree(plan);
	}
}

/* From here on accessors of live images wait: only the log I/O may follow. */
static void settle_images(struct zj_log *log)
{
	struct zj_part *part;
	void *copy = NULL;

	list_for_each_entry(part, &log->txn->parts, txn_link) {
		if (!zj_part_test(part, ZJ_PART_MODIFIED))
			continue;
		if (!copy)
			copy = kmem_cache_alloc(log->zj->frozen_cache,
						GFP_NOFS | __GFP_NOFAIL);
		zj_part_image(log->zj, part, &copy);
	}
	if (copy)
		kmem_cache_free(log->zj->frozen_cache, copy);
}

static void count_entries(struct zj_log *log)
{
	struct zj_component *comp = log->txn->comp;
	struct zj_part *part;

	list_for_each_entry(part, &log->txn->parts, txn_link)
		log->nr_parts += zj_part_test(part, ZJ_PART_MODIFIED);
	log->nr_revokes = log->txn->nr_revokes;
	/* The component's dependencies stand in its first member's record. */
	if (list_is_first(&log->txn->comp_link, &comp->members))
		log->nr_deps = list_count_nodes(&comp->deps);
}

/**
 * zj_log_write() - write a frozen member's record, wait for the device
 * @txn: frozen; the caller is its lane's thread
 *
 * CJFS and Z-Journal keep JBD2's descriptor, images and commit block in order;
 * here everything goes out at once under one checksum (design §4). Without FUA
 * it is in the device's cache then: the caller's next flush makes it durable.
 *
 * Return: 0; -ENOSPC if the lane's promise was broken; an I/O error.
 */
int zj_log_write(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	struct zj_log log = { .txn = txn, .zj = lane->journal };
	int err;

	INIT_LIST_HEAD(&log.chunks);
	count_entries(&log);
	lane->stats.blocks += log.nr_parts;
	err = plan_all(&log);
	lane->stats.headers += txn->nr_chunks;
	if (!err) {
		settle_images(&log);
		log.part = skip_forgotten(&log, list_first_entry(&txn->parts,
								 struct zj_part,
								 txn_link));
		log.dep = list_first_entry(&txn->comp->deps, struct zj_dep,
					   comp_link);
		log.revoke = list_first_entry(&txn->revokes, struct zj_revoke,
					      txn_link);
		err = emit_all(&log);
	}
	plan_free(&log);
	return err;
}

static struct page *page_of(void *buf)
{
	return is_vmalloc_addr(buf) ? vmalloc_to_page(buf) : virt_to_page(buf);
}

/**
 * zj_dev_rw() - read or write journal blocks, and wait
 * @zj: the journal
 * @block: first journal block
 * @nr: blocks
 * @buf: memory for them, from kmalloc or the frozen cache
 * @opf: REQ_OP_READ, or REQ_OP_WRITE with flags
 *
 * Past the buffer cache, which never sees the log.
 */
int zj_dev_rw(struct zj_journal *zj, u32 block, u32 nr, void *buf,
	      blk_opf_t opf)
{
	u32 size = zj->front.j_blocksize, n;
	struct bio *bio;
	int err = 0;

	for (; nr && !err; nr -= n) {
		bio = bio_alloc(zj->front.j_dev, min_t(u32, nr, BIO_MAX_VECS),
				opf | REQ_SYNC | REQ_META, GFP_NOFS);
		bio->bi_iter.bi_sector = zj->map[block] * (size >> SECTOR_SHIFT);
		for (n = 0; n < nr; n++, block++, buf += size) {
			if (n && zj->map[block] != zj->map[block - 1] + 1)
				break;
			if (!bio_add_page(bio, page_of(buf), size,
					  offset_in_page(buf)))
				break;
		}
		err = submit_bio_wait(bio);
		bio_put(bio);
	}
	return err;
}
