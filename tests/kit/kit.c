// SPDX-License-Identifier: GPL-2.0-only
/* The part of a file system that a journal uses, and the functions that a journal calls. */
#include <stdlib.h>
#include <linux/bio.h>
#include <linux/crc32c.h>
#include <linux/log2.h>
#include <linux/pagemap.h>
#include "disk.h"
#include "kit.h"

#define SECTOR		512u
#define SUPER_BYTES	1024u	/* that the checksum is over */
#define JOURNAL_INODE	8

/* ---- the journal's place ---- */

u64 kit_place(const struct kit *kit, u64 block)
{
	if (kit->stock_numbers && block)
		block -= KIT_START;
	return kit->first + block + (kit->piece ? block / kit->piece : 0);
}

u32 kit_log_blocks(const struct kit *kit)
{
	return kit->blocks + (kit->stock_numbers ? KIT_START : 0);
}

u32 kit_disk_blocks(const struct kit *kit)
{
	return kit_place(kit, kit_log_blocks(kit));
}

static u64 map_journal(const struct inode *inode, u64 block)
{
	return kit_place(container_of(inode, struct kit, journal), block);
}

/* ---- making it ---- */

void kit_init(struct kit *kit, struct block_device *bdev, u32 block_size, const char *uuid)
{
	kit->sb = (struct super_block){
		.s_bdev = bdev,
		.s_blocksize = block_size,
		.s_blocksize_bits = ilog2(block_size),
	};
	memcpy(kit->sb.s_uuid.b, uuid, sizeof(kit->sb.s_uuid.b));
	kit->journal = (struct inode){
		.i_sb = &kit->sb,
		.i_ino = JOURNAL_INODE,
		.i_size = (loff_t)kit->blocks * block_size,
		.map = map_journal,
	};
}

static void put32(u8 *sb, u32 at, u32 value)
{
	*(__be32 *)(sb + at) = cpu_to_be32(value);
}

/* By its bytes, since the yardstick's stock journal has none of our structures. */
void kit_make_journal(const struct kit *kit, struct kl_disk *disk, u32 sequence, u32 features)
{
	u32 start = kit->dev ? KIT_START : 0;
	u8 *sb = calloc(1, kit->sb.s_blocksize);

	put32(sb, 0x00, 0xc03b3998);	/* magic */
	put32(sb, 0x04, 4);		/* super block, version 2 */
	put32(sb, 0x0c, kit->sb.s_blocksize);
	put32(sb, 0x10, kit->blocks + start);
	put32(sb, 0x14, 1 + start);	/* first block of the log */
	put32(sb, 0x18, sequence);
	put32(sb, 0x28, features);
	put32(sb, 0x40, kit->dev ? 1 : 0);	/* file systems that use it */
	sb[0x50] = 4;			/* crc32c */
	if (kit->dev)
		memcpy(sb + 0x100, kit->sb.s_uuid.b, sizeof(kit->sb.s_uuid.b));
	put32(sb, 0xfc, crc32c(~0u, sb, SUPER_BYTES));
	disk_set(disk, kit_place(kit, 0), sb);
	free(sb);
}

void kit_inode(struct kit *kit, struct inode *inode, unsigned long number)
{
	*inode = (struct inode){ .i_sb = &kit->sb, .i_ino = number };
	inode->i_mapping = &inode->i_data;
	inode->i_data.host = inode;
}

journal_t *kit_open(struct kit *kit)
{
	journal_t *journal = kit->dev ?
		jbd2_journal_init_dev(kit->dev, kit->sb.s_bdev, KIT_START,
				      kit->blocks + KIT_START, kit->sb.s_blocksize) :
		jbd2_journal_init_inode(&kit->journal);

	if (!IS_ERR(journal))
		journal->j_flags |= JBD2_BARRIER;
	return journal;
}

void kit_call_back(journal_t *journal)
{
	journal->j_commit_callback = commit_callback;
	journal->j_submit_inode_data_buffers = submit_data;
	journal->j_finish_inode_data_buffers = finish_data;
}

/*
 * As in ext4, a block whose write has failed is not read again: the buffer is newer. Such a
 * write may also come between the end of a read and this task; then ext4 would say EIO.
 */
struct buffer_head *kit_read(const struct kit *kit, u32 block)
{
	const struct super_block *sb = &kit->sb;
	struct buffer_head *bh = __getblk(sb->s_bdev, block, sb->s_blocksize), *found;

	do {
		if (buffer_write_io_error(bh))
			set_buffer_uptodate(bh);
		found = __bread(sb->s_bdev, block, sb->s_blocksize);
	} while (!found);
	brelse(bh);
	return found;
}

void kit_write(const struct kit *kit, struct bio *bio, u32 block, void *data)
{
	bio->bi_iter.bi_sector = block * (kit->sb.s_blocksize / SECTOR);
	bio_add_page(bio, virt_to_page(data), kit->sb.s_blocksize, offset_in_page(data));
	submit_bio(bio);
}

/* ---- what a journal calls ---- */

int bmap(struct inode *inode, sector_t *block)
{
	*block = inode->map(inode, *block);
	return 0;
}

void iput(struct inode *inode)
{
	if (inode)
		inode->nr_put++;
}

void (*kit_loaded)(struct zj_journal *zj);

void zj_proc_add(struct zj_journal *zj)
{
	if (kit_loaded)
		kit_loaded(zj);
}

void zj_proc_remove(struct zj_journal *zj)
{
	if (kit_loaded)
		kit_loaded(NULL);
}

int filemap_fdatawrite_range(struct address_space *mapping, loff_t start, loff_t end)
{
	struct jbd2_inode range = { .i_vfs_inode = mapping->host,
				    .i_dirty_start = start, .i_dirty_end = end };

	return submit_data(&range);
}

int filemap_fdatawait_range_keep_errors(struct address_space *mapping, loff_t start, loff_t end)
{
	struct jbd2_inode range = { .i_vfs_inode = mapping->host,
				    .i_dirty_start = start, .i_dirty_end = end };

	return finish_data(&range);
}
