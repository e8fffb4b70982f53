// SPDX-License-Identifier: GPL-2.0-only
// lane_by=dir (zext4/lane_by.c): an inode gets its top-level directory when it is created,
// looked up, and renamed.
//
// expect: ialloc.c: __ext4_new_inode=1
// expect: namei.c: ext4_lookup=1 ext4_rename=1 ext4_cross_rename=2

@@
expression inode;
@@
__ext4_new_inode(...)
{
<...
 simple_inode_init_ts(inode);
+ zext4_entered(dir, inode);
...>
}

@@
@@
ext4_lookup(...)
{
<...
+ zext4_looked_up(dir, inode);
 return d_splice_alias(inode, dentry);
...>
}

@@
@@
ext4_rename(...)
{
<...
 inode_set_ctime_current(old.inode);
+ zext4_entered(new.dir, old.inode);
...>
}

@@
@@
ext4_cross_rename(...)
{
<...
 inode_set_ctime_current(new.inode);
+ zext4_entered(new.dir, old.inode);
+ zext4_entered(old.dir, new.inode);
...>
}
