// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device in memory.  A request is done when submit_bio() returns, as with the kernel's
 * brd and pmem.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include "native.h"

struct mem_disk *mem_disk_new(u32 nr, u32 block, u8 *memory)
{
	struct mem_disk *mem = calloc(1, sizeof(*mem));
	struct kl_disk *disk = &mem->disk;

	mem->memory = memory ?: calloc(nr, block);
	disk->nr = nr;
	disk->block = block;
	disk->fua = true;
	buf_cache_init(disk, block);
	return mem;
}

void mem_disk_free(struct mem_disk *mem)
{
	buf_cache_exit(&mem->disk);
	free(mem->memory);
	free(mem);
}

u8 *mem_disk_copy(const struct mem_disk *mem)
{
	size_t bytes = (size_t)mem->disk.nr * mem->disk.block;

	return memcpy(malloc(bytes), mem->memory, bytes);
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

static void finish(struct bio *bio)
{
	struct kl_disk *disk = bio->bi_bdev->disk;
	u64 block = bio->bi_iter.bi_sector / (disk->block / DISK_SECTOR);

	for (unsigned int i = 0; i < bio->nr; i++)
		if (bio->bi_opf & REQ_OP_WRITE)
			memcpy(at(disk, block + i), bio->vec[i].data, disk->block);
		else
			memcpy(bio->vec[i].data, at(disk, block + i), disk->block);
	bio->bi_end_io(bio);
}

static bool keep(struct mem_disk *mem, struct bio *bio)
{
	if (!bio->nr || !(bio->bi_opf & REQ_OP_WRITE) ||
	    !__atomic_exchange_n(&mem->hold, false, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&mem->held, bio, __ATOMIC_RELEASE);
	return true;
}

void mem_disk_release(struct mem_disk *mem)
{
	finish(__atomic_exchange_n(&mem->held, NULL, __ATOMIC_ACQUIRE));
}

void submit_bio(struct bio *bio)
{
	struct mem_disk *mem = container_of(bio->bi_bdev->disk, struct mem_disk, disk);

	if (__atomic_load_n(&mem->hold, __ATOMIC_RELAXED) && keep(mem, bio))
		return;
	finish(bio);
}

int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector, sector_t nr,
			 gfp_t gfp, unsigned int flags)
{
	u32 sectors = bdev->disk->block / DISK_SECTOR;

	memset(at(bdev->disk, sector / sectors), 0, (size_t)nr * DISK_SECTOR);
	return 0;
}

int blkdev_issue_discard(struct block_device *bdev, sector_t sector, sector_t nr, gfp_t gfp)
{
	return blkdev_issue_zeroout(bdev, sector, nr, gfp, 0);
}

bool bdev_write_cache(struct block_device *bdev)
{
	return true;
}
