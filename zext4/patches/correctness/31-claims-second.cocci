// SPDX-License-Identifier: GPL-2.0-only
// Rules: R10, R11.
//
// R10 for the inodes that a handle changes besides the one that it was started for: they
// are claimed before the change.  Where the handle may be restarted in between, or works on
// both inodes for long, the claim is kept over restarts.  R11: a handle that gives a directory
// another parent claims the tree of directories, too (decision 22).
//
// expect: namei.c: ext4_rmdir=1 __ext4_unlink=1 __ext4_link=1 ext4_rename=6 ext4_cross_rename=6
// expect: ioctl.c: swap_inode_boot_loader=1
// expect: move_extent.c: move_extent_per_page=1 | mext_move_extent=1
// expect: migrate.c: ext4_ext_migrate=1

@@
identifier f = {ext4_rmdir, __ext4_unlink, __ext4_link};
@@
f(...)
{
<...
+ zext4_claim(handle, inode);
 if (IS_DIRSYNC(dir))
	ext4_handle_sync(handle);
...>
}

@@
identifier f = {ext4_rename, ext4_cross_rename};
@@
f(...)
{
<...
+ zext4_claim(handle, new.dir);
+ zext4_claim(handle, old.inode);
+ if (new.inode)
+	zext4_claim(handle, new.inode);
+ if (old.dir != new.dir && (S_ISDIR(old.inode->i_mode) ||
+			     (new.inode && S_ISDIR(new.inode->i_mode))))
+	zext4_claim_move(handle, old.dir->i_sb);
 if (IS_DIRSYNC(old.dir) || IS_DIRSYNC(new.dir))
	ext4_handle_sync(handle);
...>
}

// The first handle makes the temporary inode and changes nothing else.
@@
@@
ext4_ext_migrate(...)
{
<...
 handle = ext4_journal_start(inode, EXT4_HT_MIGRATE, 1);
 if (IS_ERR(handle)) {...}
+ zext4_claim_keep(handle, tmp_inode);
...>
}

@@
@@
swap_inode_boot_loader(...)
{
<...
 handle = ext4_journal_start(inode_bl, ...);
 if (IS_ERR(handle)) {...}
+ zext4_claim_keep(handle, inode);
...>
}

@@
identifier f = {move_extent_per_page, mext_move_extent};
@@
f(...)
{
<...
 handle = ext4_journal_start(orig_inode, ...);
 if (IS_ERR(handle)) {...}
+ zext4_claim_keep(handle, donor_inode);
...>
}
