// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images and output, for all writers of a log on a block device.
 *
 * Neighbours on the device go out in one request, all requests are in flight at
 * once, and are waited for at the end. Writes bypass the buffer cache, which
 * never sees the log.
 */
#include "core/journal.h"
#include "log/log_io.h"
#include "txn/part.h"
#include "txn/version.h"
#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/slab.h>

/* ---- images ---- */

/**
 * zj_settle_images() - decide for every image where the log is written from
 * @txn: sealed
 *
 * From here on accessors of live images wait, so the caller must do nothing but
 * the log I/O until zj_txn_logged().
 *
 * Context: the thread that writes the transaction.
 * Return: true if there are live images.
 */
bool zj_settle_images(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_part *part;
	bool live = false;
	void *copy = NULL;

	list_for_each_entry(part, &txn->parts, txn_link) {
		if (!zj_part_test(part, ZJ_PART_MODIFIED))
			continue;
		if (!copy)
			copy = kmem_cache_alloc(zj->frozen_cache,
						GFP_NOFS | __GFP_NOFAIL);
		live |= zj_part_image(zj, part, &copy);
	}
	if (copy)
		kmem_cache_free(zj->frozen_cache, copy);
	return live;
}

/* ---- output ---- */

static void io_put(struct zj_log_io *io)
{
	if (atomic_dec_and_test(&io->pending))
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
	ZJ_ASSERT(io->zj, atomic_read(&io->pending) > 0);
	atomic_inc(&io->pending);
	submit_bio(io->bio);
	io->bio = NULL;
}

/**
 * zj_log_io_begin() - prepare for writing to the log
 * @io: the caller's memory; stays until zj_log_io_wait() has returned
 * @zj: the journal
 * @flags: flags of all requests, such as REQ_FUA
 */
void zj_log_io_begin(struct zj_log_io *io, struct zj_journal *zj,
		     blk_opf_t flags)
{
	io->zj = zj;
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
	struct zj_journal *zj = io->zj;
	u32 size = zj->geo.block_size;
	u64 block;

	if (!ZJ_ASSERT(zj, log_block >= zj->geo.log_first && log_block < zj->public.j_total_len))
		return;
	block = zj->map[log_block];

	if (io->bio && (block != io->next ||
			!bio_add_page(io->bio, virt_to_page(data), size,
				      offset_in_page(data))))
		io_submit(io);
	if (!io->bio) {
		io->bio = bio_alloc(zj->public.j_dev, BIO_MAX_VECS, io->opf,
				    GFP_NOFS);
		io->bio->bi_iter.bi_sector = block * (size >> SECTOR_SHIFT);
		io->bio->bi_private = io;
		io->bio->bi_end_io = io_ended;
		__bio_add_page(io->bio, virt_to_page(data), size,
			       offset_in_page(data));
	}
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
	ZJ_ASSERT(io->zj, !io->bio);
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
