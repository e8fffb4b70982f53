/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What zext4's own C has to do otherwise for ext4 of Linux 6.12 than for that of 7.3. Included by
 * adapt.h only; the patches choose by what fits (decision 66).
 */
#ifndef ZEXT4_COMPAT_H
#define ZEXT4_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)

/*
 * Who maps blocks to write them back, or to settle them, may hold neither the inode nor its
 * mapping, and so must not cache extents around them.
 */
#define ZEXT4_GET_BLOCKS_SUBMIT	(EXT4_GET_BLOCKS_IO_SUBMIT | EXT4_EX_NOCACHE)
#define ZEXT4_GET_BLOCKS_FIND	ZEXT4_GET_BLOCKS_SUBMIT

/* Ends whose extents are still to be converted; counted by patch 33. */
#define zext4_converts(ei)	atomic_read(&(ei)->i_zj_unwritten)

/* Replaces bh_end_read(), and reports the buffer to the journal. */
static inline void zext4_end_read(struct bio *bio)
{
	struct buffer_head *bh = bio->bi_private;

	if (!bio->bi_status)
		zj_journal_buffer_read(bh);
	bh_end_read(bio);
}

#else

#define ZEXT4_GET_BLOCKS_SUBMIT	EXT4_GET_BLOCKS_IO_SUBMIT
#define ZEXT4_GET_BLOCKS_FIND	0
#define zext4_converts(ei)	atomic_read(&(ei)->i_unwritten)

/* Replaces end_buffer_read_sync(), and reports the buffer to the journal. */
static inline void zext4_end_read(struct buffer_head *bh, int uptodate)
{
	if (uptodate)
		zj_journal_buffer_read(bh);
	end_buffer_read_sync(bh, uptodate);
}

#endif

#endif /* ZEXT4_COMPAT_H */
