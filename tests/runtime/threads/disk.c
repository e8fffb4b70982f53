// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk: a file that a few threads read and write in the order of arrival; a flush is
 * fdatasync().
 *
 * The memory of a write must not change while it is in flight, and no two writes
 * of one block may be in flight at once: both are failures.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <klayer/bug.h>
#include <linux/crc32c.h>
#include "disk.h"
#undef snprintf

/**
 * struct request - a bio on its way
 */
struct request {
	struct bio	*bio;
	struct request	*next;	/* in the disk's queue */
};

static int disk_thread(void *arg);

struct kl_disk *disk_open(const char *path, u32 nr, u32 block, bool create)
{
	struct kl_disk *disk = calloc(1, sizeof(*disk));

	disk->fd = open(path, O_RDWR | (create ? O_CREAT | O_TRUNC : 0), 0644);
	if (disk->fd < 0 || (create && ftruncate(disk->fd, (off_t)nr * block)))
		kl_fail("%s: %s", path, strerror(errno));
	disk->nr = nr;
	disk->block = block;
	disk->writing = calloc(nr, 1);
	disk->last = &disk->first;
	buf_cache_init(disk, block);
	for (int i = 0; i < DISK_THREADS; i++)
		disk->thread[i] = thr_spawn(disk_thread, disk, "disk");
	return disk;
}

void disk_close(struct kl_disk *disk)
{
	thr_lock(&disk->lock);
	disk->stopping = true;
	thr_unlock(&disk->lock);
	__atomic_fetch_add(&disk->submitted, 1, __ATOMIC_RELEASE);
	thr_futex_wake(&disk->submitted, INT_MAX);
	for (int i = 0; i < DISK_THREADS; i++)
		thr_join(disk->thread[i]);
	buf_cache_exit(disk);
	close(disk->fd);
	free(disk->writing);
	free(disk);
}

void disk_read(struct kl_disk *disk, u32 block, void *data)
{
	if (pread(disk->fd, data, disk->block, (off_t)block * disk->block) !=
	    disk->block)
		kl_fail("block %u of the disk's file cannot be read", block);
}

void disk_set(struct kl_disk *disk, u32 block, const void *data)
{
	if (pwrite(disk->fd, data, disk->block, (off_t)block * disk->block) !=
	    disk->block)
		kl_fail("block %u of the disk's file cannot be written", block);
}

/* ---- what a thread does with a request ---- */

static u32 block_of(const struct kl_disk *disk, const struct bio *bio, u32 i)
{
	return bio->bi_iter.bi_sector / (disk->block / DISK_SECTOR) + i;
}

static int flush(struct kl_disk *disk)
{
	__atomic_fetch_add(&disk->flushes, 1, __ATOMIC_RELAXED);
	return fdatasync(disk->fd) ? -EIO : 0;
}

static void write_one(struct kl_disk *disk, struct bio *bio, u32 i)
{
	u32 block = block_of(disk, bio, i), crc;

	if (block >= disk->nr)
		kl_fail("write of block %u, beyond the disk", block);
	if (__atomic_exchange_n(&disk->writing[block], 1, __ATOMIC_RELAXED))
		kl_fail("two writes of block %u at once", block);
	crc = crc32c(~0u, bio->vec[i].data, disk->block);
	disk_set(disk, block, bio->vec[i].data);
	kl_point();
	if (crc32c(~0u, bio->vec[i].data, disk->block) != crc)
		kl_fail("memory changed while block %u was written from it",
			block);
	__atomic_store_n(&disk->writing[block], 0, __ATOMIC_RELAXED);
}

static int write_all(struct kl_disk *disk, struct bio *bio)
{
	u32 n = __atomic_add_fetch(&disk->writes, 1, __ATOMIC_RELAXED);

	if (n == disk->fail_write) {
		kl_printk(4, "disk: write of block %u fails\n",
			  block_of(disk, bio, 0));
		return -EIO;
	}
	for (u32 i = 0; i < bio->nr; i++)
		write_one(disk, bio, i);
	return bio->bi_opf & REQ_FUA ? flush(disk) : 0;
}

static int do_bio(struct kl_disk *disk, struct bio *bio)
{
	int err = 0;

	if (!(bio->bi_opf & REQ_OP_WRITE)) {
		for (u32 i = 0; i < bio->nr; i++)
			disk_read(disk, block_of(disk, bio, i), bio->vec[i].data);
		return 0;
	}
	if (bio->bi_opf & REQ_PREFLUSH)
		err = flush(disk);
	if (!err && bio->nr)
		err = write_all(disk, bio);
	return err;
}

static struct request *next_request(struct kl_disk *disk, bool *stop)
{
	struct request *rq;

	thr_lock(&disk->lock);
	rq = disk->first;
	if (rq)
		disk->first = rq->next;
	if (!disk->first)
		disk->last = &disk->first;
	*stop = !rq && disk->stopping;
	thr_unlock(&disk->lock);
	return rq;
}

static int disk_thread(void *arg)
{
	struct kl_disk *disk = arg;
	bool stop = false;

	while (!stop) {
		int seen = __atomic_load_n(&disk->submitted, __ATOMIC_ACQUIRE);
		struct request *rq = next_request(disk, &stop);

		if (!rq) {
			if (!stop)
				thr_futex_wait(&disk->submitted, seen, -1);
			continue;
		}
		rq->bio->bi_status = do_bio(disk, rq->bio);
		thr_current->in_irq = true;
		rq->bio->bi_end_io(rq->bio);
		thr_current->in_irq = false;
		free(rq);
	}
	return 0;
}

/* ---- bios ---- */

void submit_bio(struct bio *bio)
{
	struct kl_disk *disk = bio->bi_bdev->disk;
	struct request *rq = calloc(1, sizeof(*rq));

	might_sleep();
	rq->bio = bio;
	thr_lock(&disk->lock);
	*disk->last = rq;
	disk->last = &rq->next;
	thr_unlock(&disk->lock);
	__atomic_fetch_add(&disk->submitted, 1, __ATOMIC_RELEASE);
	thr_futex_wake(&disk->submitted, 1);
	kl_point();
}

int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector,
			 sector_t nr, gfp_t gfp, unsigned int flags)
{
	u32 size = bdev->disk->block, step = size / DISK_SECTOR;
	void *zero = aligned_alloc(size, size);
	int err = 0;

	memset(zero, 0, size);
	for (; nr && !err; sector += step, nr -= step) {
		struct bio *bio = bio_alloc(bdev, 1, REQ_OP_WRITE, gfp);

		bio->bi_iter.bi_sector = sector;
		bio_add_page(bio, virt_to_page(zero), size, offset_in_page(zero));
		err = submit_bio_wait(bio);
		bio_put(bio);
	}
	free(zero);
	return err;
}

int blkdev_issue_discard(struct block_device *bdev, sector_t sector,
			 sector_t nr, gfp_t gfp)
{
	return blkdev_issue_zeroout(bdev, sector, nr, gfp, 0);
}

bool bdev_write_cache(struct block_device *bdev)
{
	return true;
}
