// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the disk takes.  tests/runtime/sim/disk.c is compiled with drive_event() in
 * place of sim_event(), so this decides when what it has begun is done.
 *
 * One link carries the blocks of writes one after the other; latencies overlap. A
 * seek, of a drive that has any, does not: there is one head.
 * Flushes are done one at a time, and all that wait share the next one, as the
 * block layer has it.
 */
#include "yard.h"

static struct drive drive;
static struct kl_disk *disk;
static s64 link_free;		/* when the link is idle */
static u64 head;		/* the block behind the last write */
static s64 flush_end;		/* of the last flush begun or waited for */

u64 drive_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg);

void drive_use(const struct drive *times, struct kl_disk *which)
{
	drive = *times;
	disk = which;
	link_free = 0;
	head = 0;
	flush_end = 0;
}

static s64 flush_time(void)
{
	if (flush_end <= sim_now)
		flush_end = sim_now + drive.flush;
	else if (flush_end <= sim_now + drive.flush)
		flush_end += drive.flush;	/* one is under way: the next */
	return flush_end - sim_now;
}

static s64 write_time(const struct bio *bio)
{
	s64 fua = bio->bi_opf & REQ_FUA && disk->fua ? drive.fua : 0;

	link_free = max_t(s64, link_free, sim_now) + bio->nr * drive.block;
	if (bio->bi_iter.bi_sector != head)
		link_free += drive.seek;
	head = bio->bi_iter.bi_sector + bio->nr * (DISK_BLOCK >> 9);
	return link_free - sim_now + drive.write + fua;
}

/* @arg is a request of disk.c, which begins with its bio. */
u64 drive_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg)
{
	const struct bio *bio = *(struct bio **)arg;
	const struct kl_disk *d = bio->bi_bdev->disk;

	if (d != disk || !drive.write)
		return sim_event(ns, fn, arg);
	if (!(bio->bi_opf & REQ_OP_WRITE))
		ns = drive.read;
	else if (d->log[d->nr_log - 1].what == DISK_FLUSH)
		ns = flush_time();
	else
		ns = write_time(bio);
	return sim_event(ns, fn, arg);
}
