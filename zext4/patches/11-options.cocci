// SPDX-License-Identifier: GPL-2.0-only
// Mount options lanes=N|auto, not changed by a remount, and fsync=own|all: parsed,
// kept, shown; and fast_commit, which lanes cannot do, switched off (contract 2.4) however it
// was asked for.  Both belong to design section 11.
//
// expect: super.c: ext4_parse_param=1 ext4_check_opt_consistency=1 ext4_apply_options=1 _ext4_show_options=1

@@
identifier token;
@@
ext4_parse_param(...)
{
 ...
+ if (!strcmp(param->key, "lanes"))
+	return zext4_parse_lanes(param, &ctx->zj_lanes, &ctx->zj_lanes_set);
+ if (!strcmp(param->key, "fsync"))
+	return zext4_parse_fsync(param, &ctx->zj_fsync_all, &ctx->zj_fsync_set);
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
+ if (is_remount && ctx->zj_lanes_set && ctx->zj_lanes != sbi->s_zj_lanes) {
+	ext4_msg(sb, KERN_ERR, "can't change lanes= on remount; unmount first");
+	return -EINVAL;
+ }
 ...
}

@@
@@
ext4_apply_options(...)
{
 ...
+ if (ctx->zj_lanes_set) {
+	sbi->s_zj_lanes = ctx->zj_lanes;
+	sbi->s_zj_lanes_set = true;
+ }
+ if (ctx->zj_fsync_set)
+	sbi->s_zj_fsync_all = ctx->zj_fsync_all;
+ if (test_opt2(sb, JOURNAL_FAST_COMMIT)) {
+	ext4_msg(sb, KERN_INFO, "fast_commit is switched off: zext4 has lanes instead");
+	clear_opt2(sb, JOURNAL_FAST_COMMIT);
+ }
 ext4_apply_quota_options(fc, sb);
 ...
}

@@
@@
_ext4_show_options(...)
{
 ...
+ if (sbi->s_zj_lanes_set) {
+	if (sbi->s_zj_lanes)
+		SEQ_OPTS_PRINT("lanes=%u", sbi->s_zj_lanes);
+	else
+		SEQ_OPTS_PUTS("lanes=auto");
+ }
+ if (sbi->s_zj_fsync_all)
+	SEQ_OPTS_PUTS("fsync=all");
 ext4_show_quota_options(seq, sb);
 ...
}
