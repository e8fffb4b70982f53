// SPDX-License-Identifier: GPL-2.0-only
// Rules: R9.
//
// R9: where ext4 skips a write because another handle has made it already, the handle is
// tied to that one. This concerns feature bits of the super block (large_file, ext_attr) and
// backup copies made by a resize.  (Claims do it for shared dquots.)
// A resize error must not dirty the super block without the journal.
//
// expect: inode.c: ext4_do_update_inode=4
// expect: xattr.c: ext4_xattr_update_super_block=3
// expect: resize.c: update_backups=2

@@
@@
ext4_do_update_inode(...)
{
<...
 if (set_large_file) {
 ...
+ zext4_feature_set(handle, sb);
 ext4_set_feature_large_file(sb);
 ...
 }
+ else if (ei->i_disksize > 0x7fffffffULL)
+	zext4_feature_relied_on(handle, sb);
...>
}

@@
@@
ext4_xattr_update_super_block(...)
{
 ...
- if (ext4_has_feature_xattr(sb))
-	return;
+ if (ext4_has_feature_xattr(sb)) {
+	zext4_feature_relied_on(handle, sb);
+	return;
+ }
 ...
}

@@
@@
ext4_xattr_update_super_block(...)
{
<...
+ zext4_feature_set(handle, sb);
 ext4_set_feature_xattr(sb);
...>
}

@@
@@
update_backups(...)
{
 ...
 handle = ext4_journal_start_sb(...);
 if (IS_ERR(handle)) {...}
+ zext4_read_backup_source(handle, sb, data);
 ...
}

@@
expression sbi;
@@
update_backups(...)
{
<...
- mark_buffer_dirty(sbi->s_sbh);
+ schedule_work(&sbi->s_sb_upd_work);
...>
}
