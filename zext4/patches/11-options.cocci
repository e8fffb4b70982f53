// SPDX-License-Identifier: GPL-2.0-only
// zext4's own mount options (design section 11, zext4/options.c): parsed, kept,
// shown; and fast_commit, which lanes cannot do, switched off (contract 2.4)
// however it was asked for.
//
// expect: super.c: ext4_parse_param=1 ext4_check_opt_consistency=1 ext4_apply_options=1 _ext4_show_options=1

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
+	err = zext4_check_remount(sb, &ctx->zj);
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
