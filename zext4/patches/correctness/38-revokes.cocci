// SPDX-License-Identifier: GPL-2.0-only
// Rules: E30.
//
// data=journal: stock ext4 writes no revokes, as all data is in the log anyway.  But the
// data of encrypted files is written in place, and recovery would put older images of its
// blocks over it.  So revokes are left out only where all data goes through the journal
// (zext4_all_journaled()), which is not so with the encrypt feature. If that was switched on
// since the mount, nothing can be encrypted before the next mount.
//
// expect: ext4_jbd2.c: __ext4_forget=1
// expect: ext4_jbd2.h: ext4_free_data_revoke_credits=1
// expect: crypto.c: ext4_set_context=3

@@
identifier f = {__ext4_forget, ext4_free_data_revoke_credits};
expression opts;
@@
f(...)
{
<...
- test_opt(inode->i_sb, opts) == EXT4_MOUNT_JOURNAL_DATA
+ zext4_all_journaled(inode->i_sb)
...>
}

@@
@@
ext4_set_context(...)
{
 ...
+ res = zext4_check_encryption(inode->i_sb);
+ if (res)
+	return res;
 res = ext4_convert_inline_data(inode);
 ...
}
