// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completes ext4's replay of fast commits (E25, decision 46): link counts, blocks and group
 * statistics of directories, attribute blocks, and inodes without a name.
 *
 * ext4 replays before the journal is loaded, so there are no handles: blocks are changed in
 * the buffer cache, and recovery flushes it before it empties the log.  If recovery is cut
 * off, the next one replays everything again.  So what is set here does not depend on what
 * an earlier replay has left: it counts instead of adding, but for the directories of a group.
 */
#include <linux/sched/signal.h>
#include <linux/unaligned.h>
#include "ext4.h"
#include "ext4_jbd2.h"
#include "ext4_extents.h"

/**
 * zext4_replay_nameless() - had the inode no name when the fast commit was written?
 * @val: value of an inode's tag
 *
 * Such a file was open and is deleted by the crash.  Its last name was removed by an
 * earlier tag, which deleted it, or by a transaction, which put it on the orphan list.
 * ext4 would fail, because it cannot read such an inode.
 */
bool zext4_replay_nameless(const u8 *val)
{
	__le16 links;

	val += offsetof(struct ext4_fc_inode, fc_raw_inode) +
	       offsetof(struct ext4_inode, i_links_count);
	memcpy(&links, val, sizeof(links));
	return !links;
}

/* ---- orphans ---- */

/* As ext4's own limit, beyond which it does not mount. */
#define ZEXT4_MAX_ORPHAN_BLOCKS	512

/* For loops over what an image claims: lets others run, and ends when the mount is killed. */
static int replay_yield(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Finds the inode behind @ino in the list. Like the mount itself, it takes a number that no
 * inode has for the list's end.
 */
static int next_orphan(struct super_block *sb, u32 *ino)
{
	struct ext4_iloc iloc;
	int err = replay_yield() ?: ext4_get_fc_inode_loc(sb, *ino, &iloc);

	if (err == -EFSCORRUPTED)
		*ino = 0;
	if (err)
		return err == -EFSCORRUPTED ? 0 : err;
	*ino = le32_to_cpu(ext4_raw_inode(&iloc)->i_dtime);
	brelse(iloc.bh);
	return 0;
}

/*
 * Returns 1, 0 or a negative errno. The walk stops at every inode whose number in the list
 * is a power of two, and compares the following ones with it: so it ends in a list that is
 * a ring, however long.
 */
static int in_orphan_list(struct super_block *sb, u32 ino)
{
	u32 next = le32_to_cpu(EXT4_SB(sb)->s_es->s_last_orphan);
	u32 seen = 0, span = 1, left = 1;
	int err;

	while (next && next != ino && next != seen) {
		if (!--left) {
			seen = next;
			span *= 2;
			left = span;
		}
		err = next_orphan(sb, &next);
		if (err)
			return err;
	}
	return next == ino;
}

static int in_orphan_block(struct inode *file, ext4_lblk_t block, u32 ino)
{
	u32 size = i_blocksize(file) - sizeof(struct ext4_orphan_block_tail);
	struct buffer_head *bh = ext4_bread(NULL, file, block, 0);
	const __le32 *entry;
	u32 i;

	if (IS_ERR_OR_NULL(bh))
		return PTR_ERR_OR_ZERO(bh);
	entry = (const void *)bh->b_data;
	for (i = 0; i < size / sizeof(*entry) && le32_to_cpu(entry[i]) != ino;)
		i++;
	brelse(bh);
	return i < size / sizeof(*entry);
}

/* Returns 1, 0 or a negative errno. */
static int in_orphan_file(struct super_block *sb, u32 ino)
{
	struct inode *file;
	ext4_lblk_t block;
	int found = 0;

	if (!ext4_has_feature_orphan_present(sb))
		return 0;
	file = ext4_iget(sb, le32_to_cpu(EXT4_SB(sb)->s_es->s_orphan_file_inum),
			 EXT4_IGET_SPECIAL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	if (file->i_size >> file->i_blkbits > ZEXT4_MAX_ORPHAN_BLOCKS) {
		ext4_msg(sb, KERN_ERR,
			 "the orphan file claims %lld bytes, more than it can have; run e2fsck -f",
			 file->i_size);
		found = -EFSCORRUPTED;
	}
	for (block = 0; block < file->i_size >> file->i_blkbits && !found; block++)
		found = replay_yield() ?: in_orphan_block(file, block, ino);
	iput(file);
	return found;
}

/**
 * zext4_replay_keep_orphan() - leave an inode where it is in the list of orphans, or is not
 * @sb: being mounted
 * @ino: of the inode
 * @raw: its contents before the replay
 * @wanted: its contents in the fast commit
 *
 * The list leads through i_dtime. The fast commit has the place that the inode had in the
 * list when it was written, but the list on the disk is older.
 *
 * Return: 0 or a negative errno: then nothing must be changed, as it could cut the list.
 */
int zext4_replay_keep_orphan(struct super_block *sb, int ino,
			     const struct ext4_inode *raw,
			     struct ext4_inode *wanted)
{
	int listed = in_orphan_list(sb, ino);

	if (listed < 0)
		return listed;
	put_unaligned(listed ? raw->i_dtime : 0, &wanted->i_dtime);
	return 0;
}

/* ---- inodes ---- */

/**
 * zext4_replay_removed() - was a file that gets a name removed again before the crash?
 * @sb: being mounted
 * @ino: of the file
 *
 * The tag before has put the inode into its place, unless it was without a name when the
 * fast commit was written.
 */
bool zext4_replay_removed(struct super_block *sb, int ino)
{
	struct ext4_iloc iloc;
	bool removed;

	/* The caller meets the same error, and reports it. */
	if (ext4_get_fc_inode_loc(sb, ino, &iloc))
		return false;
	removed = !ext4_raw_inode(&iloc)->i_links_count;
	brelse(iloc.bh);
	return removed;
}

/*
 * After a replay that was cut off the bitmap may be newer than the descriptor, which the log
 * has brought back. So this counts what the bitmap says.
 */
static int describe_inode(struct super_block *sb, ext4_group_t group, u32 bit,
			  bool is_new_dir)
{
	struct buffer_head *desc_bh, *bitmap_bh;
	struct ext4_group_desc *gdp;
	u32 nr_free;

	gdp = ext4_get_group_desc(sb, group, &desc_bh);
	if (!gdp)
		return -EFSCORRUPTED;
	/* ext4 has read it, so it comes out of the cache. */
	bitmap_bh = sb_bread(sb, ext4_inode_bitmap(sb, gdp));
	if (!bitmap_bh)
		return -EIO;
	nr_free = ext4_count_free(bitmap_bh->b_data,
				  EXT4_INODES_PER_GROUP(sb) / 8);
	brelse(bitmap_bh);
	ext4_lock_group(sb, group);
	ext4_free_inodes_set(sb, gdp, nr_free);
	if (ext4_has_group_desc_csum(sb) &&
	    ext4_itable_unused_count(sb, gdp) > EXT4_INODES_PER_GROUP(sb) - 1 - bit)
		ext4_itable_unused_set(sb, gdp, EXT4_INODES_PER_GROUP(sb) - 1 - bit);
	if (is_new_dir)
		ext4_used_dirs_set(sb, gdp, ext4_used_dirs_count(sb, gdp) + 1);
	ext4_group_desc_csum_set(sb, group, gdp);
	ext4_unlock_group(sb, group);
	return ext4_handle_dirty_metadata(NULL, NULL, desc_bh);
}

/**
 * zext4_replay_mark_used() - mark an inode as used, and count it if it is a directory
 * @sb: being mounted
 * @ino: the inode
 * @raw: its contents
 *
 * Return: 0 or a negative errno.
 */
int zext4_replay_mark_used(struct super_block *sb, int ino,
			   const struct ext4_inode *raw)
{
	ext4_group_t group = (ino - 1) / EXT4_INODES_PER_GROUP(sb);
	u32 bit = (ino - 1) % EXT4_INODES_PER_GROUP(sb);
	struct ext4_group_desc *gdp = ext4_get_group_desc(sb, group, NULL);
	u32 nr_free;
	bool is_new;
	int err;

	if (!gdp)
		return -EFSCORRUPTED;
	nr_free = ext4_free_inodes_count(sb, gdp);
	err = ext4_mark_inode_used(sb, ino);
	if (err)
		return err;
	is_new = nr_free != ext4_free_inodes_count(sb, gdp);
	return describe_inode(sb, group, bit,
			      is_new && S_ISDIR(le16_to_cpu(raw->i_mode)));
}

/**
 * zext4_replay_count_free() - set a group's number of free blocks to what its bitmap says
 * @sb: being mounted
 * @group: blocks of it were marked
 */
void zext4_replay_count_free(struct super_block *sb, ext4_group_t group)
{
	struct buffer_head *desc_bh, *bitmap_bh;
	struct ext4_group_desc *gdp;
	u32 nr_free;

	/* ext4 has found both, just before. */
	gdp = ext4_get_group_desc(sb, group, &desc_bh);
	if (!gdp)
		return;
	bitmap_bh = ext4_read_block_bitmap(sb, group);
	if (IS_ERR(bitmap_bh))
		return;
	nr_free = ext4_count_free(bitmap_bh->b_data,
				  EXT4_CLUSTERS_PER_GROUP(sb) / 8);
	if (nr_free != ext4_free_group_clusters(sb, gdp)) {
		ext4_lock_group(sb, group);
		ext4_free_group_clusters_set(sb, gdp, nr_free);
		ext4_group_desc_csum_set(sb, group, gdp);
		ext4_unlock_group(sb, group);
		/* An error is found when recovery flushes the cache. */
		ext4_handle_dirty_metadata(NULL, NULL, desc_bh);
	}
	brelse(bitmap_bh);
}

/**
 * zext4_replay_count_blocks() - set i_blocks
 * @inode: was changed by the replay, whose allocations are not counted
 *
 * ext4 counts what is in the tree of extents.  The block of attributes is not.
 */
void zext4_replay_count_blocks(struct inode *inode)
{
	if (!ext4_test_inode_flag(inode, EXT4_INODE_EXTENTS))
		return;
	ext4_ext_replay_set_iblocks(inode);
	if (EXT4_I(inode)->i_file_acl) {
		inode->i_blocks += i_blocksize(inode) >> SECTOR_SHIFT;
		ext4_mark_inode_dirty(NULL, inode);
	}
}

/* ---- directories ---- */

/**
 * zext4_replay_empty_dir() - begin a new directory without blocks
 * @inode: a directory that was created in this fast commit
 *
 * All its entries are in the tags that follow.  Its inode may say that it has an index,
 * which is not there yet, and a replay that was cut off may have left blocks, which are
 * marked as free already.
 */
void zext4_replay_empty_dir(struct inode *inode)
{
	if (!ext4_test_inode_flag(inode, EXT4_INODE_EXTENTS))
		return;
	ext4_clear_inode_flag(inode, EXT4_INODE_INDEX);
	inode->i_blocks = 0;
	ext4_ext_tree_init(NULL, inode);
}

/**
 * zext4_replay_created() - set the link count of a file that has its first name
 * @inode: a file, or a directory that is still empty
 */
void zext4_replay_created(struct inode *inode)
{
	bool is_dir = S_ISDIR(inode->i_mode);

	set_nlink(inode, is_dir ? 2 : 1);
	if (is_dir)
		zext4_replay_count_blocks(inode);
}

/*
 * Blocks of directories that one replay counts links in. They are in memory after the first
 * time, so these are seconds. Beyond it links are added, which is wrong only if an earlier
 * replay was cut off.
 */
#define ZEXT4_REPLAY_BLOCKS	(1U << 20)

/*
 * Adds to @nr the entries of a block that name directories, "." and ".." too. Returns false
 * for a block that ext4 cannot have written.
 */
static bool dirs_in_block(struct inode *dir, const struct buffer_head *bh,
			  unsigned int *nr)
{
	unsigned int size = i_blocksize(dir), at, len;
	const struct ext4_dir_entry_2 *de;

	for (at = 0; at + EXT4_BASE_DIR_LEN <= size; at += len) {
		de = (const void *)bh->b_data + at;
		len = ext4_rec_len_from_disk(de->rec_len, size);
		if (len < EXT4_BASE_DIR_LEN)
			return false;
		*nr += de->inode && de->file_type == EXT4_FT_DIR;
	}
	return at == size;
}

/*
 * Each directory entry is a link: the directory's own ".", its subdirectories by their "..",
 * and ".." stands for the entry in the parent. Returns 1; 0 if the directory cannot be
 * counted, because it has a hole, is damaged, or is too large; or a negative errno.
 */
static int count_links(struct inode *dir, unsigned int *nr)
{
	u32 *seen = &EXT4_SB(dir->i_sb)->s_zj_replay_blocks;
	ext4_lblk_t block, end = dir->i_size >> dir->i_blkbits;
	struct buffer_head *bh;
	bool sound;
	int err;

	*nr = 0;
	for (block = 0; block < end; block++) {
		err = replay_yield();
		if (err)
			return err;
		if (++*seen > ZEXT4_REPLAY_BLOCKS)
			return 0;
		bh = ext4_bread(NULL, dir, block, 0);
		if (IS_ERR(bh))
			return PTR_ERR(bh);
		sound = bh && dirs_in_block(dir, bh, nr);
		brelse(bh);
		if (!sound)
			return 0;
	}
	return 1;
}

/*
 * Without types in the entries, or with entries in the inode, @by is all that is known. A
 * link count of 1 says that there are too many to count.
 */
static int set_links(struct inode *dir, int by)
{
	unsigned int nr;
	int counted = 0;

	if (dir->i_nlink == 1)
		return 0;
	if (ext4_has_feature_filetype(dir->i_sb) && !ext4_has_inline_data(dir))
		counted = count_links(dir, &nr);
	if (counted < 0)
		return counted;
	if (!counted)
		nr = dir->i_nlink + by;
	set_nlink(dir, nr < EXT4_LINK_MAX ? max(nr, 2U) : 1);
	ext4_mark_inode_dirty(NULL, dir);
	return 0;
}

/**
 * zext4_replay_linked() - correct a directory after a name was added
 * @dir: may have grown
 * @inode: what the name stands for
 *
 * Return: 0 or a negative errno.
 */
int zext4_replay_linked(struct inode *dir, struct inode *inode)
{
	int err = 0;

	if (S_ISDIR(inode->i_mode))
		err = set_links(dir, 1);
	zext4_replay_count_blocks(dir);
	return err;
}

static int remove_dir(struct inode *dir, struct inode *inode)
{
	/* It is removed when it is empty, so its own links are of no account. */
	clear_nlink(inode);
	inode->i_size = 0;
	ext4_mark_inode_dirty(NULL, inode);
	return set_links(dir, -1);
}

/**
 * zext4_replay_unlinked() - complete the removal of a name
 * @dir: the parent, without the name
 * @inode: what the name stood for
 *
 * A file without names is deleted when the caller releases it. If it is among the orphans
 * that the mount will look at, it is left to the mount, which would miss it. On the disk it
 * has no links already; a bad inode is not deleted.
 *
 * Return: 0 or a negative errno.
 */
int zext4_replay_unlinked(struct inode *dir, struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	int orphan = 0;

	if (S_ISDIR(inode->i_mode))
		orphan = remove_dir(dir, inode);
	if (!orphan && !inode->i_nlink)
		orphan = in_orphan_list(sb, inode->i_ino) ?:
			 in_orphan_file(sb, inode->i_ino);
	/* Nor is it deleted if nobody knows. */
	if (orphan)
		make_bad_inode(inode);
	return min(orphan, 0);
}
