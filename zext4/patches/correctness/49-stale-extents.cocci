// SPDX-License-Identifier: GPL-2.0-only
// Rules: E33.
//
// A truncation or a shift of extents that goes on with a new handle lets go of i_data_sem in
// between.  What others have learnt of the extents meanwhile is out of date when it has ended, so
// it is forgotten once more.
//
// And a readahead that has waited while the file became shorter finds pages behind the end.  They
// have no blocks; they must not get those that were mapped for the page before.
//
// expect: extents.c: ext4_collapse_range=3 ext4_insert_range=1
// expect: inode.c: ext4_truncate=1
// expect: readpage.c: ext4_mpage_readpages=2

@@
@@
ext4_truncate(struct inode *inode)
{
<...
+ zext4_forget_extents(inode, EXT4_B_TO_LBLK(inode, inode->i_size));
 up_write(&ei->i_data_sem);
...>
}

@@
@@
ext4_collapse_range(...)
{
<...
+ zext4_forget_extents(inode, start_lblk);
 up_write(&EXT4_I(inode)->i_data_sem);
...>
}

@@
@@
ext4_insert_range(...)
{
 ...
 ret = ext4_ext_shift_extents(...);
+ zext4_forget_extents(inode, start_lblk);
 ...
}

@@
statement S;
@@
ext4_mpage_readpages(...)
{
<...
 if (block_in_file < last_block) S
+ else
+	map.m_flags &= ~EXT4_MAP_MAPPED;
...>
}
