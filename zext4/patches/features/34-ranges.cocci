// SPDX-License-Identifier: GPL-2.0-only
// This declares to the journal which part of a block was changed, so that a log of lines needs
// no copy of the block: of the inode table one inode, except with lazytime, which writes the times
// of its neighbours, too; of a bitmap the bits, and of the group descriptors one. After any other
// access nothing is declared, and the block is compared or logged as a whole.
//
// expect: inode.c: ext4_reserve_inode_write=1 ext4_do_update_inode=3
// expect: mballoc.c: ext4_mb_mark_context=4
// expect: ialloc.c: ext4_free_inode=4 __ext4_new_inode=4
// expect: namei.c: add_dirent_to_buf=3 ext4_delete_entry=3 ext4_setent=3
// expect: orphan.c: ext4_orphan_file_add=2 ext4_orphan_file_del=2

@@
expression err, handle, inode, iloc;
@@
ext4_reserve_inode_write(...)
{
<...
- err = ext4_journal_get_write_access(handle, inode->i_sb, iloc->bh, EXT4_JTR_NONE);
+ err = zext4_get_inode_access(handle, inode, iloc->bh);
...>
}

@@
identifier bh, err;
@@
ext4_do_update_inode(...)
{
 ...
 struct buffer_head *bh = iloc->bh;
+ bool others = false;
 ...
 if (inode->i_sb->s_flags & SB_LAZYTIME)
-	ext4_update_other_inodes_time(inode->i_sb, inode->i_ino, bh->b_data);
+ {
+	ext4_update_other_inodes_time(inode->i_sb, inode->i_ino, bh->b_data);
+	others = true;
+ }
 ...
- err = ext4_handle_dirty_metadata(handle, NULL, bh);
+ err = zext4_dirty_inode(handle, inode, iloc, others);
 ...
}

@@
expression err, handle, sb, bh;
@@
ext4_mb_mark_context(...)
{
<...
- err = ext4_journal_get_write_access(handle, sb, bh, EXT4_JTR_NONE);
+ err = zext4_get_part_access(handle, sb, bh);
...>
}

@@
symbol err, handle, sb, bitmap_bh, gdp_bh, gdp, blkoff, len;
@@
ext4_mb_mark_context(...)
{
<...
(
- err = ext4_handle_dirty_metadata(handle, NULL, bitmap_bh);
+ err = zext4_dirty_bits(handle, bitmap_bh, blkoff, len);
|
- err = ext4_handle_dirty_metadata(handle, NULL, gdp_bh);
+ err = zext4_dirty_desc(handle, sb, gdp_bh, gdp);
)
...>
}

@@
expression err, handle, sb, bh;
@@
ext4_free_inode(...)
{
<...
- err = ext4_journal_get_write_access(handle, sb, bh, EXT4_JTR_NONE);
+ err = zext4_get_part_access(handle, sb, bh);
...>
}

@@
symbol err, fatal, handle, sb, bitmap_bh, bh2, gdp, bit;
@@
ext4_free_inode(...)
{
<...
(
- err = ext4_handle_dirty_metadata(handle, NULL, bitmap_bh);
+ err = zext4_dirty_bits(handle, bitmap_bh, bit, 1);
|
- fatal = ext4_handle_dirty_metadata(handle, NULL, bh2);
+ fatal = zext4_dirty_desc(handle, sb, bh2, gdp);
)
...>
}

@@
symbol err, handle, sb, inode_bitmap_bh, group_desc_bh, gdp, ino;
@@
__ext4_new_inode(...)
{
<...
(
- err = ext4_journal_get_write_access(handle, sb, inode_bitmap_bh, EXT4_JTR_NONE);
+ err = zext4_get_part_access(handle, sb, inode_bitmap_bh);
|
- err = ext4_journal_get_write_access(handle, sb, group_desc_bh, EXT4_JTR_NONE);
+ err = zext4_get_part_access(handle, sb, group_desc_bh);
|
- err = ext4_handle_dirty_metadata(handle, NULL, inode_bitmap_bh);
+ err = zext4_dirty_bits(handle, inode_bitmap_bh, ino - 1, 1);
|
- err = ext4_handle_dirty_metadata(handle, NULL, group_desc_bh);
+ err = zext4_dirty_desc(handle, sb, group_desc_bh, gdp);
)
...>
}

@@
symbol err, handle, dir, de, fname, bh;
@@
add_dirent_to_buf(...)
{
<...
(
- err = ext4_journal_get_write_access(handle, dir->i_sb, bh, EXT4_JTR_NONE);
+ err = zext4_get_insert_access(handle, dir, de, fname, bh);
|
- err = ext4_handle_dirty_dirblock(handle, dir, bh);
+ ext4_dirblock_csum_set(dir, bh);
+ err = zext4_dirty_dirblock(handle, dir, bh);
)
...>
}

@@
symbol err, handle, dir, de_del, bh;
@@
ext4_delete_entry(...)
{
<...
(
- err = ext4_journal_get_write_access(handle, dir->i_sb, bh, EXT4_JTR_NONE);
+ err = zext4_get_delete_access(handle, dir, de_del, bh);
|
- err = ext4_handle_dirty_dirblock(handle, dir, bh);
+ ext4_dirblock_csum_set(dir, bh);
+ err = zext4_dirty_dirblock(handle, dir, bh);
)
...>
}

@@
symbol retval, retval2, handle, ent;
@@
ext4_setent(...)
{
<...
(
- retval = ext4_journal_get_write_access(handle, ent->dir->i_sb, ent->bh, EXT4_JTR_NONE);
+ retval = zext4_get_replace_access(handle, ent->dir, ent->de, ent->bh, ent->inlined);
|
- retval2 = ext4_handle_dirty_dirblock(handle, ent->dir, ent->bh);
+ ext4_dirblock_csum_set(ent->dir, ent->bh);
+ retval2 = zext4_dirty_dirblock(handle, ent->dir, ent->bh);
)
...>
}

@@
symbol ret, handle, inode, oi, i, j;
@@
ext4_orphan_file_add(...)
{
<...
(
- ret = ext4_journal_get_write_access(handle, inode->i_sb, oi->of_binfo[i].ob_bh,
-				      EXT4_JTR_ORPHAN_FILE);
+ ret = zext4_get_orphan_access(handle, inode->i_sb, oi->of_binfo[i].ob_bh);
|
- return ext4_handle_dirty_metadata(handle, NULL, oi->of_binfo[i].ob_bh);
+ return zext4_dirty_orphan(handle, oi->of_binfo[i].ob_bh, j);
)
...>
}

@@
symbol ret, handle, inode, oi, blk, off;
@@
ext4_orphan_file_del(...)
{
<...
(
- ret = ext4_journal_get_write_access(handle, inode->i_sb, oi->of_binfo[blk].ob_bh,
-				      EXT4_JTR_ORPHAN_FILE);
+ ret = zext4_get_orphan_access(handle, inode->i_sb, oi->of_binfo[blk].ob_bh);
|
- ret = ext4_handle_dirty_metadata(handle, NULL, oi->of_binfo[blk].ob_bh);
+ ret = zext4_dirty_orphan(handle, oi->of_binfo[blk].ob_bh, off);
)
...>
}
