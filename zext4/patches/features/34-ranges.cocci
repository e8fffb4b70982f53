// SPDX-License-Identifier: GPL-2.0-only
// This declares to the journal which part of a block of the inode table was changed, so that
// a log of lines needs no copy of the block. The part is one inode, except with lazytime, which
// writes the times of its neighbours, too. After any other access nothing is declared, and the
// block is compared or logged as a whole.
//
// expect: inode.c: ext4_reserve_inode_write=1 ext4_do_update_inode=3

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
