// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a handle changes of a block (patch 34, docs/decisions/0017): a log of lines then
 * needs no copy of the block that it could compare. ext4 takes access to a part of the
 * block, and declares what it changes, before or after it does so. After any other access
 * nothing is declared, and the block is compared or logged as a whole.
 */
#include "ext4.h"
#include "ext4_jbd2.h"

/* ---- access, bitmaps and group descriptors ---- */

/* Takes write access for a part of a block, which the handle declares when it has changed it. */
int zext4_get_part_access(handle_t *handle, struct super_block *sb, struct buffer_head *bh)
{
	if (ext4_handle_valid(handle) && !zj_journal_get_range_access(handle, bh))
		return 0;
	/* ext4 reports the error. */
	return ext4_journal_get_write_access(handle, sb, bh, EXT4_JTR_NONE);
}

/* @inode is that of ext4_handle_dirty_metadata(), for a file system without a journal. */
static int dirty_part(handle_t *handle, struct inode *inode, struct buffer_head *bh,
		      u32 offset, u32 len)
{
	if (ext4_handle_valid(handle)) {
		set_buffer_meta(bh);
		set_buffer_prio(bh);
		set_buffer_uptodate(bh);
		if (!zj_journal_dirty_range(handle, bh, offset, len))
			return 0;
	}
	return ext4_handle_dirty_metadata(handle, inode, bh);
}

/* Declares that @nr bits of a bitmap were changed. */
int zext4_dirty_bits(handle_t *handle, struct buffer_head *bh, u32 first, u32 nr)
{
	u32 offset = first / 8;

	return dirty_part(handle, NULL, bh, offset, (first + nr - 1) / 8 - offset + 1);
}

/* Declares that a group descriptor was changed. */
int zext4_dirty_desc(handle_t *handle, struct super_block *sb, struct buffer_head *bh,
		     const struct ext4_group_desc *gdp)
{
	return dirty_part(handle, NULL, bh, (const char *)gdp - bh->b_data, EXT4_DESC_SIZE(sb));
}

/* ---- inodes ---- */

/*
 * Takes write access for one inode of a block. With lazytime the times of other inodes
 * in the block change along with it, so there the whole block is compared.
 */
int zext4_get_inode_access(handle_t *handle, struct inode *inode,
			   struct buffer_head *bh)
{
	struct super_block *sb = inode->i_sb;

	if (!(sb->s_flags & SB_LAZYTIME))
		return zext4_get_part_access(handle, sb, bh);
	return ext4_journal_get_write_access(handle, sb, bh, EXT4_JTR_NONE);
}

/*
 * Declares that the inode's place in the block was changed, up to its end, which belongs
 * to extended attributes. Nothing else in the block was changed, unless @others.
 */
int zext4_dirty_inode(handle_t *handle, struct inode *inode,
		      struct ext4_iloc *iloc, bool others)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	if (ext4_handle_valid(handle) && !is_handle_aborted(handle)) {
		ei->i_zj_shown = handle->h_transaction->t_tid;
		WRITE_ONCE(ei->i_zj_shown_size,
			   ext4_isize(inode->i_sb, ext4_raw_inode(iloc)));
	}
	if (others)
		return ext4_handle_dirty_metadata(handle, NULL, iloc->bh);
	return dirty_part(handle, NULL, iloc->bh, iloc->offset, EXT4_INODE_SIZE(inode->i_sb));
}

/* Tells whether the handle's transaction has changed the inode's block, which has its size. */
bool zext4_size_is_shown(handle_t *handle, struct inode *inode)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	return ext4_handle_valid(handle) && !is_handle_aborted(handle) &&
	       ei->i_zj_shown == handle->h_transaction->t_tid &&
	       READ_ONCE(ei->i_zj_shown_size) == READ_ONCE(ei->i_disksize);
}

/*
 * The size that an inode's block gets. An fsync has it show the new one before the data is logged
 * by the same handle (log_data.c). The caller holds i_raw_lock.
 */
loff_t zext4_size_to_show(struct inode *inode)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	return max(READ_ONCE(ei->i_disksize), READ_ONCE(ei->i_zj_early_size));
}

/* ---- directories ---- */

/*
 * Takes access for a change of @len bytes of a directory's block from @first on, and of the
 * head of the entry at @before, if that is another one. Both are declared here, before they
 * change, because no commit looks at the block before the handle has ended.
 */
static int change_entry(handle_t *handle, struct inode *dir, struct buffer_head *bh,
			u32 before, u32 first, u32 len)
{
	const u32 head = offsetof(struct ext4_dir_entry_2, name);
	int err = zext4_get_part_access(handle, dir->i_sb, bh);

	if (err || !ext4_handle_valid(handle))
		return err;
	err = dirty_part(handle, dir, bh, first, max(len, head));
	if (!err && before != first)
		err = dirty_part(handle, dir, bh, before, head);
	return err;
}

/*
 * Takes access for ext4_insert_dentry(): it puts the new entry behind the name of @de,
 * which keeps its place, or in place of @de if that is not in use.
 */
int zext4_get_insert_access(handle_t *handle, struct inode *dir,
			    const struct ext4_dir_entry_2 *de,
			    const struct ext4_filename *name, struct buffer_head *bh)
{
	u32 first = (const char *)de - bh->b_data;
	u32 len = ext4_dir_rec_len(fname_len(name), dir);

	if (de->inode)
		len += ext4_dir_rec_len(de->name_len, dir);
	return change_entry(handle, dir, bh, first, first, len);
}

/* Returns the entry that ends where one begins; @first itself if there is none. */
static u32 entry_before(const struct buffer_head *bh, u32 first)
{
	const struct ext4_dir_entry_2 *de;
	u32 at = 0, len;

	while (at < first) {
		de = (const void *)bh->b_data + at;
		len = ext4_rec_len_from_disk(de->rec_len, bh->b_size);
		if (at + len == first)
			return at;
		/* ext4_generic_delete_entry() refuses the block then. */
		if (len < ext4_dir_rec_len(1, NULL))
			break;
		at += len;
	}
	return first;
}

/* Returns the length of an entry without the zeros at its end. */
static u32 length_in_use(const struct ext4_dir_entry_2 *de, u32 len)
{
	const __le32 *word = (const __le32 *)de + len / sizeof(*word);

	while (word > (const __le32 *)de && !*(word - 1))
		word--;
	return (const char *)word - (const char *)de;
}

/*
 * Takes access for ext4_generic_delete_entry(): it fills the entry with zeros, and has the
 * one before it reach to its end.
 */
int zext4_get_delete_access(handle_t *handle, struct inode *dir,
			    const struct ext4_dir_entry_2 *de, struct buffer_head *bh)
{
	u32 size = bh->b_size, first = (const char *)de - bh->b_data;
	u32 len = min(ext4_rec_len_from_disk(de->rec_len, size), size - first);

	return change_entry(handle, dir, bh, entry_before(bh, first), first,
			    length_in_use(de, len));
}

/*
 * Takes access for ext4_setent(), which changes nothing of the name. The entries of an
 * inline directory are in its inode.
 */
int zext4_get_replace_access(handle_t *handle, struct inode *dir,
			     const struct ext4_dir_entry_2 *de, struct buffer_head *bh,
			     bool inlined)
{
	u32 first = (const char *)de - bh->b_data;

	if (inlined)
		return ext4_journal_get_write_access(handle, dir->i_sb, bh, EXT4_JTR_NONE);
	return change_entry(handle, dir, bh, first, first, 0);
}

/* Declares that the checksum of a directory's block was changed as well. */
int zext4_dirty_dirblock(handle_t *handle, struct inode *dir, struct buffer_head *bh)
{
	const u32 tail = sizeof(struct ext4_dir_entry_tail);

	return dirty_part(handle, dir, bh, bh->b_size - tail, tail);
}

/* ---- the orphan file ---- */

/* Takes write access for an entry of the orphan file. Its block gets a checksum when logged. */
int zext4_get_orphan_access(handle_t *handle, struct super_block *sb, struct buffer_head *bh)
{
	if (ext4_handle_valid(handle) && !zj_journal_get_range_access(handle, bh)) {
		if (ext4_has_feature_metadata_csum(sb))
			jbd2_journal_set_triggers(bh, &EXT4_SB(sb)->s_journal_triggers
						  [EXT4_JTR_ORPHAN_FILE].tr_triggers);
		return 0;
	}
	/* ext4 reports the error. */
	return ext4_journal_get_write_access(handle, sb, bh, EXT4_JTR_ORPHAN_FILE);
}

/* Declares that an entry of the orphan file was changed, and with it the block's checksum. */
int zext4_dirty_orphan(handle_t *handle, struct buffer_head *bh, u32 entry)
{
	const u32 tail = sizeof(struct ext4_orphan_block_tail);
	int err;

	err = dirty_part(handle, NULL, bh, entry * sizeof(__le32), sizeof(__le32));
	return err ?: dirty_part(handle, NULL, bh, bh->b_size - tail, tail);
}
