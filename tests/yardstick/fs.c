// SPDX-License-Identifier: GPL-2.0-only
/* A disk with a journal and blocks, and mounting it. */
#include <stdlib.h>
#include <linux/crc32c.h>
#include "yard.h"

static void put32(u8 *sb, u32 at, u32 value)
{
	*(__be32 *)(sb + at) = cpu_to_be32(value);
}

/* Super block of an empty journal with checksums of version 3. */
static void make_journal(struct fs *fs)
{
	u8 sb[DISK_BLOCK] = { };

	put32(sb, 0x00, 0xc03b3998);	/* magic */
	put32(sb, 0x04, 4);		/* super block, version 2 */
	put32(sb, 0x0c, DISK_BLOCK);
	put32(sb, 0x10, yard.journal);	/* blocks */
	put32(sb, 0x14, 1);		/* first block of the log */
	put32(sb, 0x18, 1);		/* sequence */
	put32(sb, 0x28, 0x10);		/* checksums 3 */
	sb[0x50] = 4;			/* crc32c */
	put32(sb, 0xfc, crc32c(~0u, sb, DISK_BLOCK));
	disk_set(fs->disk, fs->home, sb);
}

void fs_make(struct fs *fs, u32 home, u64 seed)
{
	*fs = (struct fs){ .home = home };
	fs->disk = disk_new(home + yard.journal, seed);
	fs->disk->fua = yard.fua;
	make_journal(fs);
}

void fs_free(struct fs *fs)
{
	disk_free(fs->disk);
}

static u64 map_journal(const struct inode *inode, u64 block)
{
	return container_of(inode, struct fs, inode)->home + block;
}

static void init(struct fs *fs)
{
	fs->sb.s_bdev = &fs->disk->bdev;
	fs->sb.s_blocksize = DISK_BLOCK;
	fs->sb.s_blocksize_bits = 10;
	memcpy(fs->sb.s_uuid.b, "yard-file-system", 16);
	fs->inode.i_sb = &fs->sb;
	fs->inode.i_ino = 8;
	fs->inode.i_size = (loff_t)yard.journal * DISK_BLOCK;
	fs->inode.map = map_journal;
	journal_before_load();
	fs->journal = jbd2_journal_init_inode(&fs->inode);
	if (IS_ERR(fs->journal))
		kl_fail("init: error %ld", PTR_ERR(fs->journal));
	fs->journal->j_flags |= JBD2_BARRIER;
	journal_set_up(fs->journal, &yard);
}

static void give_up(struct fs *fs)
{
	jbd2_journal_destroy(fs->journal);
	journal_after_destroy();
	buf_cache_exit(fs->disk);
}

int fs_mount(struct fs *fs)
{
	int err;

	init(fs);
	err = jbd2_journal_load(fs->journal);
	if (err)
		give_up(fs);
	return err;
}

int fs_recover(struct fs *fs, u32 end)
{
	int err;

	init(fs);
	err = journal_recover(fs->journal, end);
	give_up(fs);
	return err;
}

int fs_unmount(struct fs *fs)
{
	int err = jbd2_journal_destroy(fs->journal);

	journal_after_destroy();
	sim_rcu_drain();
	buf_cache_exit(fs->disk);
	return err;
}

int fs_sync(struct fs *fs, tid_t tid)
{
	bool flush = !jbd2_trans_will_send_data_barrier(fs->journal, tid);
	int err = jbd2_complete_transaction(fs->journal, tid);

	if (!err && flush)
		err = blkdev_issue_flush(&fs->disk->bdev);
	return err;
}

/* ---- what a journal calls ---- */

int bmap(struct inode *inode, sector_t *block)
{
	*block = inode->map(inode, *block);
	return 0;
}

void iput(struct inode *inode)
{
}

/* There is no ordered data. */
int filemap_fdatawrite_range(struct address_space *mapping, loff_t start,
			     loff_t end)
{
	return 0;
}

int filemap_fdatawait_range_keep_errors(struct address_space *mapping,
					loff_t start, loff_t end)
{
	return 0;
}

#ifdef ZJ_INSIDE_H
void zj_proc_add(struct zj_journal *zj)
{
}

void zj_proc_remove(struct zj_journal *zj)
{
}
#endif
