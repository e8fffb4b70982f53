// SPDX-License-Identifier: GPL-2.0-only
// Rules: E34.
//
// E34: SysRq u remounts read-only whatever is open. A file that was deleted and is still open
// then is an orphan that stays in the orphan file; the next mount finishes it. That is no error,
// unless the mount itself has left it there. Its last close changes nothing any more.
//
// expect: super.c: ext4_mark_recovery_complete=2
// expect: inode.c: ext4_evict_inode=3

@@
@@
ext4_mark_recovery_complete(...)
{
<...
- !ext4_orphan_file_empty(sb)
+ !ext4_orphan_file_empty(sb) && !zext4_orphans_may_stay(sb)
...>
}

@@
@@
ext4_mark_recovery_complete(...)
{
<...
+ if (ext4_orphan_file_empty(sb))
 ext4_clear_feature_orphan_present(sb);
...>
}

@@
identifier inode;
@@
ext4_evict_inode(struct inode *inode)
{
 ...
+ if (sb_rdonly(inode->i_sb)) {
+	ext4_orphan_del(NULL, inode);
+	goto no_delete;
+ }
 if (!ext4_journal_current_handle()) { ... }
 ...
}
