// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kind of a block that transactions of two lanes have touched, for the journal's
 * statistics.
 *
 * The journal asks with spinlocks held, while other tasks may change the block. So nothing
 * here takes a lock, reads from the device or relies on what it sees. A wrong answer makes
 * a counter wrong and has no other effect.
 */
#include "ext4.h"
#include "ext4_jbd2.h"
#include "ext4_extents.h"
#include "xattr.h"

/* Number of groups whose tables may be in one place: mke2fs packs the tables of 16 groups. */
#define MAX_FLEX	64

/* ---- by its place ---- */

/* Safe without a lock: a resize makes the array longer before it raises the group count. */
static bool is_descriptor(struct super_block *sb, struct buffer_head *bh,
			  ext4_group_t groups, unsigned long i)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);

	return i <= (groups - 1) >> EXT4_DESC_PER_BLOCK_BITS(sb) &&
		sbi_array_rcu_deref(sbi, s_group_desc, i) == bh;
}

/* Is the block a bitmap of this group, or in its part of the inode table? */
static enum zj_kind kind_in_group(struct super_block *sb, ext4_group_t group,
				  ext4_fsblk_t block)
{
	struct ext4_group_desc *desc = ext4_get_group_desc(sb, group, NULL);
	ext4_fsblk_t table;

	if (!desc)
		return ZJ_KIND_OTHER;
	table = ext4_inode_table(sb, desc);
	if (block >= table && block < table + EXT4_SB(sb)->s_itb_per_group)
		return ZJ_KIND_INODE_TABLE;
	if (block == ext4_block_bitmap(sb, desc))
		return ZJ_KIND_BLOCK_BITMAP;
	if (block == ext4_inode_bitmap(sb, desc))
		return ZJ_KIND_INODE_BITMAP;
	return ZJ_KIND_OTHER;
}

static enum zj_kind kind_by_place(struct super_block *sb, struct buffer_head *bh)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	ext4_group_t groups = ext4_get_groups_count(sb);
	ext4_fsblk_t block = bh->b_blocknr;
	ext4_group_t group, first, end;
	enum zj_kind kind;

	if (bh == sbi->s_sbh)
		return ZJ_KIND_SUPER;
	/* Descriptors are behind the super block, or with meta_bg in the groups they describe. */
	group = ext4_get_group_number(sb, block);
	if (is_descriptor(sb, bh, groups, block - sbi->s_sbh->b_blocknr - 1) ||
	    is_descriptor(sb, bh, groups,
			  group >> EXT4_DESC_PER_BLOCK_BITS(sb)))
		return ZJ_KIND_DESCRIPTOR;
	if (group >= groups)
		return ZJ_KIND_OTHER;
	kind = kind_in_group(sb, group, block);
	if (kind != ZJ_KIND_OTHER || !ext4_has_feature_flex_bg(sb))
		return kind;
	first = round_down(group, ext4_flex_bg_size(sbi));
	end = min(groups, first + min(ext4_flex_bg_size(sbi), MAX_FLEX));
	for (group = first; group < end && kind == ZJ_KIND_OTHER; group++)
		kind = kind_in_group(sb, group, block);
	return kind;
}

/* ---- by its contents ---- */

static bool is_orphan_block(struct super_block *sb, struct buffer_head *bh)
{
	struct ext4_orphan_block_tail *tail;

	tail = (void *)(bh->b_data + sb->s_blocksize - sizeof(*tail));
	return ext4_has_feature_orphan_file(sb) &&
		tail->ob_magic == cpu_to_le32(EXT4_ORPHAN_BLOCK_MAGIC);
}

/* Directory entries fill the block from its first byte to its last; so do hash tree nodes. */
static bool is_directory(struct super_block *sb, struct buffer_head *bh)
{
	unsigned int inodes = le32_to_cpu(EXT4_SB(sb)->s_es->s_inodes_count);
	unsigned int at = 0, len, size = sb->s_blocksize;
	struct ext4_dir_entry_2 *de;

	while (at + EXT4_BASE_DIR_LEN <= size) {
		de = (struct ext4_dir_entry_2 *)(bh->b_data + at);
		len = ext4_rec_len_from_disk(READ_ONCE(de->rec_len), size);
		if (len % EXT4_DIR_PAD || len > size - at ||
		    len < ext4_dir_rec_len(READ_ONCE(de->name_len), NULL) ||
		    le32_to_cpu(READ_ONCE(de->inode)) > inodes)
			return false;
		at += len;
	}
	return at == size;
}

static enum zj_kind kind_by_contents(struct super_block *sb,
				     struct buffer_head *bh)
{
	struct ext4_extent_header *eh = (void *)bh->b_data;
	struct ext4_xattr_header *xh = (void *)bh->b_data;

	if (eh->eh_magic == EXT4_EXT_MAGIC)
		return ZJ_KIND_TREE;
	if (xh->h_magic == cpu_to_le32(EXT4_XATTR_MAGIC))
		return ZJ_KIND_XATTR;
	if (is_orphan_block(sb, bh))
		return ZJ_KIND_ORPHAN;
	if (is_directory(sb, bh))
		return ZJ_KIND_DIRECTORY;
	/* An indirect block has no mark; in a file system without extents, guess that it is one. */
	return ext4_has_feature_extents(sb) ? ZJ_KIND_OTHER : ZJ_KIND_TREE;
}

/**
 * zext4_block_kind() - what ext4 keeps in a journaled block
 * @journal: the journal of a mounted file system
 * @bh: the block's buffer, not in a file's folio
 *
 * Context: any; takes no lock, does not sleep.
 */
enum zj_kind zext4_block_kind(journal_t *journal, struct buffer_head *bh)
{
	struct super_block *sb = journal->j_private;
	enum zj_kind kind = kind_by_place(sb, bh);

	return kind == ZJ_KIND_OTHER ? kind_by_contents(sb, bh) : kind;
}
