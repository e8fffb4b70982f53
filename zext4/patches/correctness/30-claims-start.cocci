// SPDX-License-Identifier: GPL-2.0-only
// Rules: R10, E1.
//
// R10 (E1): ext4 copies the whole inode in core whenever a handle marks it dirty,
// half-done changes of other handles included.  So a handle claims the inode where it
// starts, before the first change.  ext4_reserve_inode_write is the safety net: it warns of
// an inode that was changed unclaimed.  It also makes the claim for ea_inodes, quota inodes,
// the resize inode and neighbours on the orphan list, since it is called before they are
// changed.  An inode that is read in again gets its claim from its block, so this block
// changes along with the tree of extents, and when the entry in the orphan file is removed.
//
// expect: ext4_jbd2.c: __ext4_journal_start_sb=1
// expect: ialloc.c: __ext4_new_inode=1
// expect: extents.c: ext4_convert_unwritten_io_end_vec=1 __ext4_ext_dirty=2
// expect: inode.c: ext4_reserve_inode_write=5
// expect: namei.c: ext4_tmpfile=3
// expect: orphan.c: ext4_orphan_file_del=2

@@
expression journal, blocks, rsv, revoke, type, line;
@@
__ext4_journal_start_sb(...)
{
<...
- return jbd2__journal_start(journal, blocks, rsv, revoke, GFP_NOFS, type, line);
+ return zext4_start(inode, sb, blocks, rsv, revoke, type, line);
...>
}

// The handle of a create is started for the parent directory.
@@
@@
__ext4_new_inode(...)
{
<...
 handle = __ext4_journal_start_sb(
- NULL,
+ dir,
 ...);
...>
}

// The handle that creates a file without a name is started for a directory that it only reads.
@@
@@
ext4_tmpfile(...)
{
<...
 inode = ext4_new_inode_start_handle(...,
- EXT4_HT_DIR,
+ ZEXT4_HT_TMPFILE,
 ...);
 handle = ext4_journal_current_handle();
+ if (!IS_ERR(inode))
+	zext4_inherited(handle, dir);
...>
}

@@
@@
ext4_convert_unwritten_io_end_vec(...)
{
<...
 handle = ext4_journal_start_reserved(...);
 if (IS_ERR(handle))
	return PTR_ERR(handle);
+ zext4_claim_keep(handle, io_end->inode);
...>
}

@@
identifier err;
@@
ext4_reserve_inode_write(...)
{
 int err;
+ bool unclaimed;
 ...
+ unclaimed = zext4_claim_late(handle, inode);
 err = ext4_get_inode_loc(inode, iloc);
 ...
}

@@
identifier err;
@@
ext4_reserve_inode_write(...)
{
<...
 err = ext4_journal_get_write_access(...);
 if (err) {
 ...
 }
+ else if (unclaimed)
+	zext4_check_unclaimed(inode, iloc);
...>
}

@@
identifier handle, inode, path, err;
typedef handle_t;
@@
__ext4_ext_dirty(const char *where, unsigned int line, handle_t *handle,
		 struct inode *inode, struct ext4_ext_path *path)
{
<...
 if (!err)
	set_buffer_verified(path->p_bh);
+ if (!err)
+	err = zext4_show_claim(handle, inode);
...>
}

@@
identifier handle, inode, ret;
typedef handle_t;
@@
ext4_orphan_file_del(handle_t *handle, struct inode *inode)
{
<...
 ret = ext4_handle_dirty_metadata(...);
+ if (!ret)
+	ret = zext4_show_claim(handle, inode);
...>
}
