// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device in virtual time: in memory (brd, pmem), or a drive.  A drive has one link for
 * the blocks of all writes, beyond which latencies overlap; flushes are done one at a time,
 * and all that wait share the next one, as in the block layer.  What is written is not kept:
 * nothing here is read again.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/minmax.h>
#include <klayer/pmem.h>
#include "native.h"
#include "sim.h"
#include "load.h"

static s64 link_free;		/* when the link is idle */
static s64 memory_free;		/* when the memory has written what was begun */
static s64 flush_end;		/* of the last flush that has begun or is waited for */
/* The last request that went to a drive. */
static struct {
	u64	first, end;		/* blocks */
	const struct sim_task *by;
	u64	sleep;			/* its last one then */
} last;

struct mem_disk *mem_disk_new(u32 nr, u32 block, u8 *memory)
{
	struct mem_disk *mem = sim_arena(64, sizeof(*mem));
	struct kl_disk *disk = &mem->disk;

	mem->memory = calloc(nr, block);
	disk->nr = nr;
	disk->block = block;
	disk->fua = true;
	buf_cache_init(disk, block);
	return mem;
}

void mem_disk_free(struct mem_disk *mem)
{
}

static u8 *at(const struct kl_disk *disk, u64 block)
{
	if (block >= disk->nr)
		kl_fail("block %llu is beyond the disk", block);
	return container_of(disk, struct mem_disk, disk)->memory + block * disk->block;
}

void disk_set(struct kl_disk *disk, u32 block, const void *data)
{
	memcpy(at(disk, block), data, disk->block);
}

static void finish(void *arg)
{
	struct bio *bio = arg;

	bio->bi_end_io(bio);
}

static s64 flush_time(s64 now)
{
	if (flush_end <= now)
		flush_end = now + cost_of(device_flush);
	else if (flush_end <= now + cost_of(device_flush))
		flush_end += cost_of(device_flush);	/* one is under way: the next */
	return flush_end;
}

static s64 request_cost(u64 blocks)
{
	return max((s64)blocks * cost_of(device_block), cost_of(device_request));
}

/*
 * What a bio costs the drive. A task that sends blocks beside what it sent last, and has not slept
 * since, makes the request longer, as it has plugged the queue.
 */
static s64 drive_time(const struct bio *bio)
{
	u64 first = bio->bi_iter.bi_sector / (bio->bi_bdev->disk->block / DISK_SECTOR);
	u64 end = first + bio->nr;
	s64 before = 0;

	if (last.by == sim_current && last.sleep == sim_current->sleep &&
	    (first == last.end || end == last.first)) {
		before = request_cost(last.end - last.first);
		first = min(first, last.first);
		end = max(end, last.end);
	}
	last.by = sim_current;
	last.sleep = sim_current->sleep;
	last.first = first;
	last.end = end;
	return request_cost(end - first) - before;
}

/* When the request is done. */
static s64 done(const struct bio *bio, s64 now)
{
	bool cache = sim_load.device == DEVICE_NVME;

	if (cache && bio->bi_opf & REQ_PREFLUSH)
		now = flush_time(now);
	if (!bio->nr)
		return now;
	link_free = max(link_free, now) + drive_time(bio);
	return link_free + cost_of(device_write) +
	       (cache && bio->bi_opf & REQ_FUA ? cost_of(device_fua) : 0);
}

static void read_blocks(struct bio *bio)
{
	struct kl_disk *disk = bio->bi_bdev->disk;
	u64 block = bio->bi_iter.bi_sector / (disk->block / DISK_SECTOR);

	for (unsigned int i = 0; i < bio->nr; i++)
		memcpy(bio->vec[i].data, at(disk, block + i), disk->block);
}

/* The CPU copies, and all CPUs share the memory's bandwidth. */
static void write_memory(u32 blocks)
{
	struct sim_task *t;

	if (!blocks)
		return;
	sim_point();
	t = sim_current;
	memory_free = max(memory_free, t->clock) + blocks * cost_of(memory_share);
	t->clock = max(t->clock + blocks * cost_of(memory_block), memory_free);
}

void submit_bio(struct bio *bio)
{
	struct sim_task *t = sim_current;

	if (!(bio->bi_opf & REQ_OP_WRITE)) {
		read_blocks(bio);
		finish(bio);
		return;
	}
	if (sim_load.device == DEVICE_MEMORY) {
		write_memory(bio->nr);
		finish(bio);
		return;
	}
	sim_spend(cost_of(submit));
	sim_point();
	t = sim_current;
	sim_event(done(bio, max(t->clock, t->drain)), t->cpu, finish, bio);
}

int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector, sector_t nr,
			 gfp_t gfp, unsigned int flags)
{
	return 0;
}

int blkdev_issue_discard(struct block_device *bdev, sector_t sector, sector_t nr, gfp_t gfp)
{
	return 0;
}

bool bdev_write_cache(struct block_device *bdev)
{
	return sim_load.device != DEVICE_PLP;
}

/* ---- persistent memory ---- */

static void store_through(const void *from, size_t n)
{
	sim_spend(cost_of(nvm_line) * ((n + SIM_LINE - 1) / SIM_LINE));
	sim_touch(from, n, false, __builtin_return_address(0));
}

void memcpy_flushcache(void *to, const void *from, size_t n)
{
	store_through(from, n);
	__builtin_memcpy(to, from, n);
}

void arch_wb_cache_pmem(void *p, size_t n)
{
	store_through(p, n);
}

void pmem_wmb(void)
{
	sim_spend(cost_of(nvm_fence));
	sim_current->clock = max(sim_current->clock, sim_current->drain);
}
