// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the writers of all formats use: a member's pieces, its images, and output to a
 * block device.
 *
 * Neighbours on the device go out in one request, all requests are in flight at
 * once, and are waited for at the end. Writes bypass the buffer cache, which
 * never sees the log.
 */
#include "core/core.h"
#include "log/log.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>

/*
 * The times of log writes up to this size show what any write takes, and those of larger ones what
 * each byte adds.
 */
#define ZJ_SMALL_WRITE		(16U << 10)

/* An fsync logs at most a 64th of a transaction's blocks: see zj_journal_file_data_limit(). */
#define ZJ_FILE_DATA_PART	64

/* Most bytes of data that an fsync logs to a disk, however large a transaction may be. */
#define ZJ_FILE_DATA_DISK	(64U << 10)

/* ---- images ---- */

/**
 * zj_settle_images() - decide for every image where the log is written from
 * @txn: sealed
 *
 * From here on accessors of live images wait, so the caller must do nothing but
 * the log I/O until zj_txn_logged(). Only a second image that has to be escaped makes
 * this allocate memory beside live images: such blocks are rare, and what frees memory
 * for it waits for devices, not for handles.
 *
 * Context: the thread that writes the transaction.
 * Return: true if there are live images.
 */
bool zj_settle_images(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	void **copy = &txn->lane->spare[1];
	struct zj_part *part;
	bool live = false;

	list_for_each_entry(part, &txn->parts, txn_link) {
		if (!zj_part_test(part, ZJ_PART_MODIFIED) ||
		    zj_part_test(part, ZJ_PART_LOGGED))
			continue;
		if (!*copy)
			*copy = kmem_cache_alloc(zj->frozen_cache,
						 GFP_NOFS | __GFP_NOFAIL);
		live |= zj_part_image(zj, part, copy);
	}
	return live;
}

/* ---- cursors ---- */

/*
 * A cursor hands out what a member has for the log, piece by piece: its
 * dependencies, revokes and images.
 */

static u32 count_images(const struct zj_txn *txn)
{
	struct zj_part *part;
	u32 nr = 0;

	list_for_each_entry(part, &txn->parts, txn_link)
		nr += zj_part_test(part, ZJ_PART_MODIFIED);
	return nr;
}

/**
 * zj_cursor_init() - start at the beginning of a member
 * @cursor: is set
 * @txn: sealed, its parts are fixed; its images may be settled later, but
 *	before the first one is taken
 */
void zj_cursor_init(struct zj_cursor *cursor, struct zj_txn *txn)
{
	struct zj_component *comp = txn->comp;

	/*
	 * The cursor points to the entry taken last; the heads of the lists
	 * stand for "none yet".
	 */
	*cursor = (struct zj_cursor) {
		.dep = list_entry(&comp->deps, struct zj_dep, comp_link),
		.revoke = list_entry(&txn->revokes, struct zj_block_entry, txn_link),
		.part = list_entry(&txn->parts, struct zj_part, txn_link),
		.nr_revokes = txn->nr_revokes,
		.nr_images = count_images(txn),
	};
	/* The first member's record holds the component's dependencies. */
	if (list_is_first(&txn->comp_link, &comp->members))
		cursor->nr_deps = list_count_nodes(&comp->deps);
}

/**
 * zj_cursor_dep() - take a dependency
 * @cursor: has dependencies left
 *
 * Return: stamp of the component that this member's component depends on.
 */
u64 zj_cursor_dep(struct zj_cursor *cursor)
{
	cursor->nr_deps--;
	cursor->dep = list_next_entry(cursor->dep, comp_link);
	return cursor->dep->stamp;
}

/**
 * zj_cursor_revoke() - take a revoke
 * @cursor: has revokes left
 *
 * Return: the revoked block.
 */
u64 zj_cursor_revoke(struct zj_cursor *cursor)
{
	u64 block;

	cursor->nr_revokes--;
	if (!cursor->revoked) {
		cursor->revoke = list_next_entry(cursor->revoke, txn_link);
		cursor->revoked = cursor->revoke->blocks;
	}
	block = cursor->revoke->first + __ffs(cursor->revoked);
	cursor->revoked &= cursor->revoked - 1;
	return block;
}

/**
 * zj_cursor_peek() - look at the next image, without taking it
 * @cursor: has images left, which are settled
 *
 * Return: the part that has it.
 */
struct zj_part *zj_cursor_peek(const struct zj_cursor *cursor)
{
	struct zj_part *part = list_next_entry(cursor->part, txn_link);

	/* A part without an image was forgotten. */
	while (!part->image)
		part = list_next_entry(part, txn_link);
	return part;
}

/**
 * zj_cursor_image() - take an image
 * @cursor: has images left, which are settled
 *
 * Return: the part that has it.
 */
struct zj_part *zj_cursor_image(struct zj_cursor *cursor)
{
	cursor->nr_images--;
	cursor->part = zj_cursor_peek(cursor);
	return cursor->part;
}

/* ---- output ---- */

/* Keeps a running mean of each class, from which the price of a byte follows. */
static void note_time(struct zj_log_io *io)
{
	struct zj_write_time *time = &io->lane->write_time[io->bytes > ZJ_SMALL_WRITE];
	s64 ns = ktime_get() - io->sent;

	if (!io->bytes || io->err)
		return;
	WRITE_ONCE(time->bytes, zj_mean(READ_ONCE(time->bytes), io->bytes));
	WRITE_ONCE(time->ns, zj_mean(READ_ONCE(time->ns), ns));
}

static void io_put(struct zj_log_io *io)
{
	if (!atomic_dec_and_test(&io->pending))
		return;
	note_time(io);
	complete(&io->done);
}

static void io_ended(struct bio *bio)
{
	struct zj_log_io *io = bio->bi_private;

	if (bio->bi_status)
		cmpxchg(&io->err, 0, blk_status_to_errno(bio->bi_status));
	bio_put(bio);
	io_put(io);
}

static void io_submit(struct zj_log_io *io)
{
	if (!io->bio)
		return;
	ZJ_ASSERT(io->lane->journal, atomic_read(&io->pending) > 0);
	atomic_inc(&io->pending);
	zj_writes_wait();
	submit_bio(io->bio);
	io->bio = NULL;
}

/**
 * zj_log_io_begin() - prepare for writing to the log
 * @io: the caller's memory; stays until zj_log_io_wait() has returned
 * @lane: whose log it is
 * @flags: flags of all requests, such as REQ_FUA
 * @blocks: how many blocks will be added, as memory for a request of 256 costs more
 */
void zj_log_io_begin(struct zj_log_io *io, struct zj_lane *lane, blk_opf_t flags, u32 blocks)
{
	io->lane = lane;
	io->bytes = 0;
	io->left = blocks;
	io->bio = NULL;
	/*
	 * With REQ_IDLE the block layer does not throttle these writes with
	 * write-back.
	 */
	io->opf = REQ_OP_WRITE | REQ_SYNC | REQ_IDLE | REQ_META | flags;
	io->err = 0;
	atomic_set(&io->pending, 1);
	init_completion(&io->done);
	blk_start_plug(&io->plug);
}

/**
 * zj_log_io_add() - write one block
 * @io: begun
 * @log_block: journal block
 * @data: its contents, which must not change until zj_log_io_wait() has
 *	returned
 */
void zj_log_io_add(struct zj_log_io *io, u32 log_block, void *data)
{
	struct zj_journal *zj = io->lane->journal;
	u32 size = zj->geo.block_size;
	u64 block;

	if (!ZJ_ASSERT(zj, log_block >= zj->geo.log_first && log_block < zj->public.j_total_len) ||
	    !ZJ_ASSERT(zj, io->left))
		return;
	block = zj_map_block(&zj->map, log_block);

	if (io->bio && (block != io->next ||
			!bio_add_page(io->bio, virt_to_page(data), size,
				      offset_in_page(data))))
		io_submit(io);
	if (!io->bio) {
		io->bio = bio_alloc(zj->public.j_dev, bio_max_segs(io->left), io->opf,
				    GFP_NOFS);
		zj_bio_of_all(zj, io->bio);
		io->bio->bi_iter.bi_sector = block * (size >> SECTOR_SHIFT);
		io->bio->bi_private = io;
		io->bio->bi_end_io = io_ended;
		__bio_add_page(io->bio, virt_to_page(data), size,
			       offset_in_page(data));
	}
	io->bytes += size;
	io->left--;
	io->next = block + 1;
}

/**
 * zj_log_io_send() - send what is left, after the last block was added
 * @io: begun
 *
 * Context: the task that has called zj_log_io_begin(), because of its plug.
 */
void zj_log_io_send(struct zj_log_io *io)
{
	io_submit(io);
	ZJ_ASSERT(io->lane->journal, !io->bio);
	io->sent = ktime_get();
	blk_finish_plug(&io->plug);
	io_put(io);
}

/**
 * zj_log_io_wait() - wait for all requests
 * @io: sent; the caller may free it afterwards
 *
 * Return: 0, or the error of a request.
 */
int zj_log_io_wait(struct zj_log_io *io)
{
	wait_for_completion_io(&io->done);
	return io->err;
}

/* ---- file data in the log ---- */

/**
 * zj_journal_log_write_ns() - tell how long a small write to the log takes
 * @journal: loaded
 * @lane: the lane that writes it, or negative: the current CPU's
 *
 * Context: any.
 * Return: the running mean in ns; 0 if the log is in memory; U64_MAX if it is not known yet.
 */
u64 zj_journal_log_write_ns(journal_t *journal, int lane)
{
	struct zj_journal *zj = to_zj(journal);
	u64 ns = READ_ONCE(zj_lane_at(zj, lane)->write_time[0].ns);

	return zj->log_ops->in_memory ? 0 : ns ?: U64_MAX;
}
EXPORT_SYMBOL_GPL(zj_journal_log_write_ns);

/**
 * zj_journal_file_data_limit() - tell how much file data an fsync may log
 * @journal: loaded
 * @lane: the lane that logs it, or negative: the current CPU's
 *
 * Logging @n bytes saves a write of their own before the record. It makes the record @n
 * bytes longer, and later they are written once more, home. Both cost bandwidth. From
 * the times that log writes of different sizes took follows up to which size that is
 * cheaper. One block always is: as a write of its own it would take no less.
 *
 * No fsync may take more than a small part of what a transaction holds. On a disk the
 * limit is also ZJ_FILE_DATA_DISK, because many of them could be short of bandwidth
 * together. To memory the data is only copied.
 *
 * Context: any.
 * Return: bytes.
 */
u32 zj_journal_file_data_limit(journal_t *journal, int lane)
{
	struct zj_journal *zj = to_zj(journal);
	const struct zj_write_time *time;
	u32 size = zj->public.j_blocksize;
	u32 most = max(zj->max_txn / ZJ_FILE_DATA_PART, 1U) * size;
	s64 small, ns, bytes;

	if (zj->log_ops->in_memory)
		return most;
	most = min_t(u32, most, ZJ_FILE_DATA_DISK);
	time = zj_lane_at(zj, lane)->write_time;
	small = READ_ONCE(time[0].ns);
	ns = READ_ONCE(time[1].ns) - small;
	bytes = READ_ONCE(time[1].bytes) - READ_ONCE(time[0].bytes);
	if (small && ns > 0 && bytes > 0)
		most = min_t(u64, most, div64_u64(small * bytes, 2 * ns));
	return max(most, size);
}
EXPORT_SYMBOL_GPL(zj_journal_file_data_limit);
