// SPDX-License-Identifier: GPL-2.0-only
// An fsync's few new blocks are allocated as written, as with nodioread_nolock: they are
// ordered data of the transaction, and no conversion follows (decision 19). This is not done
// for files that were mapped for writing, as a direct read could overtake their stores.
//
// expect: inode.c: ext4_page_mkwrite=1 mpage_map_one_extent=1

@@
identifier inode, mpd, handle;
typedef handle_t;
@@
mpage_map_one_extent(handle_t *handle, struct mpage_da_data *mpd)
{
 ...
- dioread_nolock = ext4_should_dioread_nolock(inode);
+ dioread_nolock = ext4_should_dioread_nolock(inode) &&
+		   !zext4_map_written(&mpd->io_submit, map);
 ...
}

@@
identifier inode;
@@
ext4_page_mkwrite(...)
{
 ...
 sb_start_pagefault(inode->i_sb);
+ zext4_page_mkwrite(inode);
 ...
}
