// SPDX-License-Identifier: GPL-2.0-only
/*
 * A journal that has a device of its own, where ext4 itself does not open it or says too
 * little.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include "ext4.h"

/* Reads one block of the file system's size past the page cache. */
static int read_block(struct super_block *sb, struct block_device *bdev,
		      ext4_fsblk_t block, struct page *page)
{
	struct bio_vec vec;
	struct bio bio;
	int err;

	bio_init(&bio, bdev, &vec, 1, REQ_OP_READ | REQ_SYNC | REQ_META);
	bio.bi_iter.bi_sector = block << (sb->s_blocksize_bits - SECTOR_SHIFT);
	__bio_add_page(&bio, page, sb->s_blocksize, 0);
	err = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return err;
}

/* Is it the device that the file system names, and is no log of lanes on it? */
static bool is_clean(struct super_block *sb, struct block_device *bdev,
		     struct page *page)
{
	const ext4_fsblk_t at = EXT4_MIN_BLOCK_SIZE / sb->s_blocksize;
	const struct ext4_super_block *es;
	const journal_superblock_t *log = page_address(page);

	if (sb->s_blocksize < bdev_logical_block_size(bdev) ||
	    read_block(sb, bdev, at, page))
		return false;
	es = page_address(page) + EXT4_MIN_BLOCK_SIZE % sb->s_blocksize;
	if (memcmp(EXT4_SB(sb)->s_es->s_journal_uuid, es->s_uuid, sizeof(es->s_uuid)) ||
	    read_block(sb, bdev, at + 1, page))
		return false;
	return log->s_magic == cpu_to_be32(ZJ_JBD2_MAGIC) &&
	       !(log->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES));
}

/**
 * zext4_journal_dev_is_live() - may the journal's own device hold a log of lanes?
 * @sb: mounted, or being mounted, without its journal
 *
 * A device that cannot be read, or is another one than the file system names, may be
 * anything. Then nothing must be written to the file system.
 *
 * Context: sleeps.
 */
bool zext4_journal_dev_is_live(struct super_block *sb)
{
	dev_t dev = new_decode_dev(le32_to_cpu(EXT4_SB(sb)->s_es->s_journal_dev));
	struct page *page = alloc_page(GFP_KERNEL);
	struct file *file;
	bool clean = false;

	if (!page)
		return true;
	file = bdev_file_open_by_dev(dev, BLK_OPEN_READ, NULL, NULL);
	if (!IS_ERR(file)) {
		clean = is_clean(sb, file_bdev(file), page);
		bdev_fput(file);
	}
	__free_page(page);
	if (!clean)
		ext4_msg(sb, KERN_ERR,
			 "the journal's device %u:%u cannot be looked at, is not the file system's, or holds a log to be recovered; without it mount with ro,noload only",
			 MAJOR(dev), MINOR(dev));
	return !clean;
}

/**
 * zext4_no_journal_dev() - say which device was expected
 * @sb: being mounted
 * @dev: the device that has been tried; ext4 has said what was wrong
 */
void zext4_no_journal_dev(struct super_block *sb, dev_t dev)
{
	ext4_msg(sb, KERN_ERR,
		 "the journal should be on a device of its own with UUID %pU, which %u:%u is not, or it is damaged or in use; nothing was written: mount with journal_path=<that device>, or check it with dumpe2fs",
		 EXT4_SB(sb)->s_es->s_journal_uuid, MAJOR(dev), MINOR(dev));
}
