// SPDX-License-Identifier: GPL-2.0-only
/* Reads and writes of journal blocks past the buffer cache; how all writes are held. */
#include "core/core.h"
#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/wait.h>

/**
 * zj_bio_of_all() - have a request sent in the same way whichever task sends it
 * @zj: the journal
 * @bio: complete but for that
 *
 * Other lanes wait for it, too, so neither the I/O priority nor a limit of the task's cgroup
 * may hold it back.
 */
void zj_bio_of_all(struct zj_journal *zj, struct bio *bio)
{
	bio->bi_ioprio = READ_ONCE(zj->log_ioprio);
	bio_associate_blkg_from_css(bio, blkcg_root_css);
}

/**
 * zj_issue_flush() - flush a device's cache, and wait
 * @zj: the journal
 * @bdev: the device
 *
 * As blkdev_issue_flush(), but whichever task calls it (zj_bio_of_all()).
 *
 * Return: 0, or the device's error.
 */
int zj_issue_flush(struct zj_journal *zj, struct block_device *bdev)
{
	struct bio bio;
	int err;

	bio_init(&bio, bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	zj_bio_of_all(zj, &bio);
	err = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return err;
}

static struct page *page_of(void *buf)
{
	return is_vmalloc_addr(buf) ? vmalloc_to_page(buf) : virt_to_page(buf);
}

/*
 * Builds a request for the first blocks that are neighbours on the device, and
 * advances the arguments past them.
 */
static struct bio *dev_bio(struct zj_journal *zj, u32 *block, u32 *nr,
			   void **buf, blk_opf_t opf)
{
	u32 size = zj->public.j_blocksize, n;
	struct bio *bio;
	u64 at;

	n = zj_map_look(&zj->map, *block, *nr, &at);
	bio = bio_alloc(zj->public.j_dev, min_t(u32, n, BIO_MAX_VECS),
			opf | REQ_SYNC | REQ_META, GFP_NOFS);
	zj_bio_of_all(zj, bio);
	bio->bi_iter.bi_sector = at * (size >> SECTOR_SHIFT);
	for (; n; n--, ++*block, --*nr, *buf += size) {
		if (!bio_add_page(bio, page_of(*buf), size, offset_in_page(*buf)))
			break;
	}
	return bio;
}

/**
 * zj_dev_rw() - read or write journal blocks, and wait
 * @zj: the journal
 * @block: first journal block
 * @nr: number of blocks
 * @buf: memory for them
 * @opf: REQ_OP_READ, or REQ_OP_WRITE with flags
 *
 * Bypasses the buffer cache, which never sees the log.
 */
int zj_dev_rw(struct zj_journal *zj, u32 block, u32 nr, void *buf,
	      blk_opf_t opf)
{
	int err = 0;

	while (nr && !err) {
		struct bio *bio = dev_bio(zj, &block, &nr, &buf, opf);

		if (op_is_write(opf))
			zj_writes_wait();
		err = submit_bio_wait(bio);
		bio_put(bio);
	}
	return err;
}

static void dev_read_put(struct zj_dev_reads *reads)
{
	if (atomic_dec_and_test(&reads->pending))
		complete(&reads->done);
}

static void dev_read_ended(struct bio *bio)
{
	struct zj_dev_reads *reads = bio->bi_private;

	if (bio->bi_status)
		cmpxchg(&reads->err, 0, blk_status_to_errno(bio->bi_status));
	bio_put(bio);
	dev_read_put(reads);
}

/**
 * zj_dev_read_start() - begin to read journal blocks
 * @zj: the journal
 * @reads: zeroed, or begun by the same task
 * @block: first journal block
 * @nr: number of blocks
 * @buf: memory for them; belongs to the device until zj_dev_read_end()
 */
void zj_dev_read_start(struct zj_journal *zj, struct zj_dev_reads *reads,
		       u32 block, u32 nr, void *buf)
{
	if (!reads->begun) {
		reads->begun = true;
		reads->err = 0;
		atomic_set(&reads->pending, 1);
		init_completion(&reads->done);
	}
	while (nr) {
		struct bio *bio = dev_bio(zj, &block, &nr, &buf, REQ_OP_READ);

		bio->bi_private = reads;
		bio->bi_end_io = dev_read_ended;
		atomic_inc(&reads->pending);
		submit_bio(bio);
	}
}

/**
 * zj_dev_read_end() - wait for all reads that were begun
 * @reads: may be used again afterwards
 *
 * Return: 0, or the error of a request.
 */
int zj_dev_read_end(struct zj_dev_reads *reads)
{
	if (!reads->begun)
		return 0;
	reads->begun = false;
	dev_read_put(reads);
	wait_for_completion_io(&reads->done);
	return reads->err;
}

/* ---- holding writes ---- */

/*
 * Writes are held while a copy of the memory exists that is to be resumed (L3).
 *
 * A hibernation copies the memory, and then goes on running for as long as it takes to write the
 * copy. Whatever the disk gets meanwhile the resumed system knows nothing of: it would give out the
 * same stamps and the same places in the log again. So no write of any journal begins as long as
 * writes are held, no matter in which thread (docs/decisions/0054).
 */

/* One for all journals, as the memory is copied as a whole. */
static bool held;
static DECLARE_WAIT_QUEUE_HEAD(wait_release);

/**
 * zj_writes_hold() - let no write begin any more
 *
 * A write that begins at this moment may still go out. That does no harm: the copy has it as one
 * that is on its way, with the same contents, and sends it again.
 *
 * Context: any. No task that can be frozen is at work, so that no freezing waits for a commit.
 */
void zj_writes_hold(void)
{
	WRITE_ONCE(held, true);
}

/**
 * zj_writes_release() - let writes go on
 *
 * Context: any.
 */
void zj_writes_release(void)
{
	WRITE_ONCE(held, false);
	wake_up_all(&wait_release);
}

/**
 * zj_writes_wait() - wait until writes are not held
 *
 * Called right before each write, whose contents and place are decided by then. One that has none
 * of its own to decide, because it writes home what is committed, need not call it.
 *
 * Context: sleeps, possibly for as long as a hibernation takes; mutexes of the journal may be held.
 */
void zj_writes_wait(void)
{
	/* Idle, as nobody is to report a hung task. */
	wait_event_idle(wait_release, !READ_ONCE(held));
}
