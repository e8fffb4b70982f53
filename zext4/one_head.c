// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the disk have one head?  Then writes that lanes send side by side are done one
 * after the other, with a seek in between, and one lane is faster.
 *
 * The block layer's rotational flag alone is not enough, because virtual disks have it,
 * whatever storage they are on.  So a disk with this flag is measured: on a disk with a
 * head, a read far from the last one takes as long as a seek.
 */
#include <linux/bio.h>
#include "ext4.h"

/*
 * No disk's arm reaches another part of the disk, and the sector there, in less time; no
 * other kind of storage takes so long at each of several reads.
 */
#define ZEXT4_SEEK_NS	(2 * NSEC_PER_MSEC)

/* Places to read, in eighths of the disk: each is a quarter or more from the last. */
static const u8 places[] = { 1, 5, 3, 7 };

/* Reads past the page cache, and returns how long that took; 0 if it fails. */
static s64 read_takes(struct block_device *bdev, struct page *page, u64 block,
		      unsigned int bits)
{
	ktime_t start = ktime_get();
	struct bio_vec vec;
	struct bio bio;
	int err;

	bio_init(&bio, bdev, &vec, 1, REQ_OP_READ | REQ_SYNC | REQ_META);
	bio.bi_iter.bi_sector = block << (bits - SECTOR_SHIFT);
	__bio_add_page(&bio, page, 1 << bits, 0);
	err = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return err ? 0 : ktime_to_ns(ktime_sub(ktime_get(), start));
}

/**
 * zext4_one_head() - does the disk take a seek for each distant access?
 * @bdev: the disk that the log is on
 * @blocks: its blocks
 * @bits: binary logarithm of the size of a block
 *
 * Reads a few blocks if the disk has the rotational flag, until one comes too soon for a
 * seek. At worst a block that was in a cache makes a disk with a head look like one
 * without.
 *
 * Context: sleeps for the time of four reads at most.
 */
bool zext4_one_head(struct block_device *bdev, u64 blocks, unsigned int bits)
{
	struct page *page;
	int i;

	if (bdev_nonrot(bdev))
		return false;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return false;
	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (read_takes(bdev, page, places[i] * (blocks / 8), bits) < ZEXT4_SEEK_NS)
			break;
	__free_page(page);
	return i == ARRAY_SIZE(places);
}
