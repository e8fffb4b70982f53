// SPDX-License-Identifier: GPL-2.0-only
// zext4's own mount options (zext4/options.c) are parsed, kept and shown. fast_commit, which
// lanes do not support, is switched off, no matter how it was asked for (E25). A remount that
// fails restores the options. Options in an image cannot name a device. A mount says what is in
// force.
//
// expect: super.c: -=1 ext4_parse_param=1 ext4_check_opt_consistency=1 ext4_apply_options=1 _ext4_show_options=1
// expect: super.c: __ext4_remount=2 parse_apply_sb_mount_options=1 ext4_fill_super=1

@@
identifier token;
@@
ext4_parse_param(...)
{
 ...
+ if (zext4_parse_option(param, &ctx->zj, &token))
+	return token;
 token = fs_parse(...);
 ...
}

@@
identifier err;
@@
ext4_check_opt_consistency(...)
{
 ...
 err = ext4_check_test_dummy_encryption(...);
 if (err)
	return err;
+ if (is_remount) {
+	err = zext4_check_remount(fc, &ctx->zj);
+	if (err)
+		return err;
+ }
 ...
}

@@
@@
ext4_apply_options(...)
{
 ...
+ zext4_apply_options(sb, &ctx->zj);
 ext4_apply_quota_options(fc, sb);
 ...
}

@@
@@
_ext4_show_options(...)
{
 ...
+ zext4_show_options(seq, sep, sb);
 ext4_show_quota_options(seq, sb);
 ...
}

@@
@@
struct ext4_mount_options {
 ...
 unsigned long s_commit_interval;
+ struct zext4_options s_zj;
 ...
};

@@
identifier sbi, old;
@@
__ext4_remount(...)
{
<...
 old.s_commit_interval = sbi->s_commit_interval;
+ old.s_zj = sbi->s_zj;
...>
}

@@
identifier sbi, old;
@@
__ext4_remount(...)
{
<...
 sbi->s_commit_interval = old.s_commit_interval;
+ zext4_restore_options(sb, &old.s_zj);
...>
}

@@
identifier ctx;
@@
parse_apply_sb_mount_options(...)
{
<...
+ ret = zext4_check_image_options(sb, &ctx->zj);
+ if (ret)
+	goto out_free;
 if (ctx->spec & EXT4_SPEC_JOURNAL_DEV)
	m_ctx->journal_devnum = ctx->journal_devnum;
...>
}

@@
@@
ext4_fill_super(...)
{
<...
+ zext4_say_in_force(sb);
 ext4_update_overhead(sb, false);
...>
}
