// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk.  A request takes a random time; what it did and when is in the log,
 * from which crash.c makes what a power cut leaves.
 *
 * The memory of a write must not change while it is in flight, and no two writes
 * of one block may be in flight at once: both are failures.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/blk-cgroup.h>
#include <linux/minmax.h>
#include "disk.h"

#define ARENA_CHUNK	(1UL << 20)

static u8 **arena;
static u32 arena_chunks, arena_used;	/* chunks there; blocks used */

void *arena_copy(const void *data)
{
	const u32 per = ARENA_CHUNK / DISK_BLOCK;
	u8 *p;

	if (arena_used / per == arena_chunks) {
		arena = realloc(arena, ++arena_chunks * sizeof(*arena));
		arena[arena_chunks - 1] = malloc(ARENA_CHUNK);
	}
	p = arena[arena_used / per] + (arena_used % per) * DISK_BLOCK;
	arena_used++;
	memcpy(p, data, DISK_BLOCK);
	return p;
}

void arena_reset(void)
{
	arena_used = 0;
}

struct kl_disk *disk_new(u32 nr, u64 seed)
{
	static const u8 zero[DISK_BLOCK];
	struct kl_disk *disk = calloc(1, sizeof(*disk));

	disk->nr = nr;
	disk->seen = calloc(nr, sizeof(*disk->seen));
	disk->writing = calloc(nr, 1);
	disk->rand.state = seed;
	disk->cache = true;
	disk->fua = true;
	for (u32 i = 0; i < nr; i++)
		disk->seen[i] = zero;
	buf_cache_init(disk, DISK_BLOCK);
	return disk;
}

void disk_split(struct kl_disk *disk, u32 block)
{
	disk->split = block;
	disk->cache2 = true;
	disk->fua2 = true;
	disk->bdev2 = disk->bdev;
	disk->bdev2.first = block;
}

void disk_free(struct kl_disk *disk)
{
	free(disk->bufs);
	free(disk->seen);
	free(disk->writing);
	free(disk->log);
	free(disk);
}

void disk_set(struct kl_disk *disk, u32 block, const void *data)
{
	disk->seen[block] = arena_copy(data);
}

void disk_set_all(struct kl_disk *disk, const u8 *image)
{
	for (u32 b = 0; b < disk->nr; b++)
		disk_set(disk, b, image + (size_t)b * DISK_BLOCK);
}

const u8 **disk_contents(const struct kl_disk *disk)
{
	size_t size = disk->nr * sizeof(*disk->seen);

	return memcpy(malloc(size), disk->seen, size);
}

static void log_event(struct kl_disk *disk, enum disk_what what, u32 block,
		      const u8 *data, u64 request)
{
	if (disk->nr_log == disk->room_log) {
		disk->room_log = disk->room_log ? 2 * disk->room_log : 1024;
		disk->log = realloc(disk->log,
				    disk->room_log * sizeof(*disk->log));
	}
	disk->log[disk->nr_log++] = (struct disk_event){ what, block, data,
							 request };
	if (disk->trace)
		disk->trace(disk, disk->nr_log - 1);
}

/* Stores to memory come before any later durable event in the log. */
static void note(struct kl_disk *disk, enum disk_what what, u32 block,
		 const u8 *data, u64 request)
{
	if (disk->pmem && (what == DISK_FLUSHED || what == DISK_DONE_FUA))
		pmem_look(disk->pmem);
	log_event(disk, what, block, data, request);
}

static void note_pmem(void *arg, u32 event)
{
	log_event(arg, DISK_PMEM, 0, NULL, event);
}

void disk_join_pmem(struct kl_disk *disk, struct kl_pmem *pmem)
{
	if (pmem->nr_log)
		kl_fail("memory was in use before it came to its disk");
	disk->pmem = pmem;
	pmem->note = note_pmem;
	pmem->note_arg = disk;
}

static s64 latency(struct kl_disk *disk)
{
	s64 ns = 10000 + sim_below(&disk->rand, 90000);

	if (disk->io_ns)
		return disk->io_ns / 3 + sim_below(&disk->rand, disk->io_ns * 2 / 3);

	/* A long tail: what was started first is often not done first. */
	if (sim_one_in(&disk->rand, 10))
		ns *= 20;
	if (sim_one_in(&disk->rand, 20))
		ns *= 20;
	return ns;
}

/* ---- bios ---- */

/**
 * struct request - a bio on its way
 */
struct request {
	struct bio	*bio;
	struct kl_disk	*disk;
	u64		number;		/* of its writes */
	u64		flush;		/* of the flush in progress */
	u32		first;		/* index of its first write in the log */
	bool		fail;		/* it is meant to */
};

static u32 block_of(const struct bio *bio, u32 i)
{
	return bio->bi_bdev->first + bio->bi_iter.bi_sector / (DISK_BLOCK / DISK_SECTOR) + i;
}

static u32 unit_of(const struct bio *bio)
{
	return bio->bi_bdev == &bio->bi_bdev->disk->bdev2;
}

bool bdev_write_cache(struct block_device *bdev)
{
	return bdev == &bdev->disk->bdev2 ? bdev->disk->cache2 : bdev->disk->cache;
}

bool bdev_fua(struct block_device *bdev)
{
	return bdev == &bdev->disk->bdev2 ? bdev->disk->fua2 : bdev->disk->fua;
}

loff_t bdev_nr_bytes(struct block_device *bdev)
{
	u32 end = bdev->disk->split && bdev == &bdev->disk->bdev ?
		  bdev->disk->split : bdev->disk->nr;

	return (loff_t)(end - bdev->first) * DISK_BLOCK;
}

static void finish(struct request *rq, int err)
{
	struct bio *bio = rq->bio;

	kfree(rq);
	bio->bi_status = err;
	bio->bi_end_io(bio);
}

static void post_flushed(void *arg, u64 number)
{
	struct request *rq = arg;

	note(rq->disk, DISK_FLUSHED, unit_of(rq->bio), NULL, rq->flush);
	finish(rq, 0);
}

static void start_flush(struct request *rq, void (*then)(void *, u64))
{
	struct kl_disk *disk = rq->disk;

	rq->flush = ++disk->last_request;
	note(disk, DISK_FLUSH, unit_of(rq->bio), NULL, rq->flush);
	sim_event(bdev_write_cache(rq->bio->bi_bdev) ? latency(disk) : 0, then, rq);
}

static void settle(struct request *rq, u32 i)
{
	struct kl_disk *disk = rq->disk;
	const struct disk_event *e = &disk->log[rq->first + i];

	if (memcmp(e->data, rq->bio->vec[i].data, DISK_BLOCK))
		kl_fail("memory changed while block %u was written from it",
			e->block);
	disk->writing[e->block] = 0;
	if (!rq->fail || sim_one_in(&disk->rand, 2))
		disk->seen[e->block] = e->data;
}

static void written(void *arg, u64 number)
{
	struct request *rq = arg;
	struct kl_disk *disk = rq->disk;
	bool cache = bdev_write_cache(rq->bio->bi_bdev);
	bool knows_fua = bdev_fua(rq->bio->bi_bdev);
	bool fua = rq->bio->bi_opf & REQ_FUA;

	for (u32 i = 0; i < rq->bio->nr; i++)
		settle(rq, i);
	if (rq->fail) {
		kl_printk(4, "disk: write of block %u fails\n", block_of(rq->bio, 0));
		/*
		 * The write fails and is never completed: it may be there at any later time,
		 * or not.
		 */
		finish(rq, -EIO);
		return;
	}
	note(disk, !cache || (fua && knows_fua) ? DISK_DONE_FUA : DISK_DONE,
	     0, NULL, rq->number);
	if (fua && !knows_fua && cache)
		start_flush(rq, post_flushed);
	else
		finish(rq, 0);
}

static void start_write(struct request *rq)
{
	struct kl_disk *disk = rq->disk;
	struct bio *bio = rq->bio;

	rq->number = ++disk->last_request;
	rq->first = disk->nr_log;
	rq->fail = ++disk->writes == disk->fail_write;
	for (u32 i = 0; i < bio->nr; i++) {
		u32 block = block_of(bio, i);

		if (block >= disk->nr || disk_unit(disk, block) != unit_of(bio))
			kl_fail("write of block %u, beyond the disk", block);
		if (disk->writing[block])
			kl_fail("two writes of block %u at once", block);
		disk->writing[block] = 1;
		note(disk, DISK_WRITE, block, arena_copy(bio->vec[i].data),
		     rq->number);
	}
	sim_event(latency(disk), written, rq);
}

static void pre_flushed(void *arg, u64 number)
{
	struct request *rq = arg;
	struct kl_disk *disk = rq->disk;

	disk->flushes_of[unit_of(rq->bio)]++;
	if (++disk->flushes == disk->fail_flush) {
		finish(rq, -EIO);
		return;
	}
	note(disk, DISK_FLUSHED, unit_of(rq->bio), NULL, rq->flush);
	if (rq->bio->nr)
		start_write(rq);
	else
		finish(rq, 0);
}

static void read_done(void *arg, u64 number)
{
	struct request *rq = arg;

	if (++rq->disk->reads == rq->disk->fail_read) {
		finish(rq, -EIO);
		return;
	}
	for (u32 i = 0; i < rq->bio->nr; i++)
		memcpy(rq->bio->vec[i].data,
		       rq->disk->seen[block_of(rq->bio, i)], DISK_BLOCK);
	finish(rq, 0);
}

/*
 * Tasks wait for the journal's requests, so these must have priority over write-back. Neither
 * they nor a flush may be charged to the task that happens to send them: a limit of its cgroup
 * would hold back all others.
 */
static void check_flags(const struct bio *bio)
{
	const blk_opf_t wanted = REQ_SYNC | REQ_META;
	const struct kl_disk *disk = bio->bi_bdev->disk;

	if (!disk->log_blocks ||
	    (bio->nr && block_of(bio, 0) - disk->log_first >= disk->log_blocks))
		return;
	if (bio->bi_css != blkcg_root_css)
		kl_fail("a request for the log, or a flush, is charged to a task");
	if (bio->nr && (bio->bi_opf & wanted) != wanted)
		kl_fail("a request for block %u of the log has flags %#x only",
			block_of(bio, 0), bio->bi_opf);
}

void submit_bio(struct bio *bio)
{
	struct request *rq;

	might_sleep();
	rq = kzalloc(sizeof(*rq), GFP_NOFS | __GFP_NOFAIL);
	rq->bio = bio;
	rq->disk = bio->bi_bdev->disk;
	check_flags(bio);
	if (!(bio->bi_opf & REQ_OP_WRITE)) {
		rq->disk->reads_sent++;
		sim_event(latency(rq->disk), read_done, rq);
	} else if (bio->bi_opf & REQ_PREFLUSH) {
		start_flush(rq, pre_flushed);
	} else {
		start_write(rq);
	}
	kl_point();
}

#define ZERO_BLOCKS	32	/* in one request */

int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector,
			 sector_t nr, gfp_t gfp, unsigned int flags)
{
	static char zero[DISK_BLOCK] __attribute__((__aligned__(DISK_BLOCK)));
	const u32 per = DISK_BLOCK / DISK_SECTOR;
	int err = 0;

	while (nr && !err) {
		u32 n = min_t(u32, nr / per, ZERO_BLOCKS);
		struct bio *bio;

		if (sim_alloc_fails(gfp))
			return -ENOMEM;
		bio = bio_alloc(bdev, n, REQ_OP_WRITE | REQ_SYNC | REQ_META,
				GFP_NOFS);
		bio->bi_iter.bi_sector = sector;
		/* Only the caller waits for it. */
		bio_associate_blkg_from_css(bio, blkcg_root_css);
		for (u32 i = 0; i < n; i++)
			bio_add_page(bio, virt_to_page(zero), DISK_BLOCK,
				     offset_in_page(zero));
		err = submit_bio_wait(bio);
		bio_put(bio);
		sector += n * per;
		nr -= n * per;
	}
	return err;
}

/* A device may do it or not. */
int blkdev_issue_discard(struct block_device *bdev, sector_t sector,
			 sector_t nr, gfp_t gfp)
{
	if (sim_one_in(&bdev->disk->rand, 2))
		return sim_alloc_fails(gfp) ? -ENOMEM : 0;
	return blkdev_issue_zeroout(bdev, sector, nr, gfp, 0);
}
