// SPDX-License-Identifier: GPL-2.0-only
// Rules: E21.
//
// The journal's super block decides whether the log is recovered, kept or refused,
// not needs_recovery alone (E21). Features that zext4 does not cover are refused by
// name. A dirty stock journal (-EUCLEAN from the journal) fails the mount without
// any write.
//
// A journal on a device of its own that cannot be used is refused with the UUID that was
// expected.
//
// expect: super.c: __ext4_fill_super=6 ext4_load_journal=7 __ext4_remount=3
// expect: super.c: ext4_open_dev_journal=1

@@
@@
__ext4_fill_super(...)
{
 ...
 ext4_apply_options(fc, sb);
+ err = zext4_check_mount(sb);
+ if (err)
+	goto failed_mount;
 ...
}

@@
identifier err;
@@
__ext4_fill_super(...)
{
<...
 err = ext4_load_and_init_journal(...);
 if (err) goto failed_mount3a;
+ if (sbi->s_zj_was_live)
+	needs_recovery = 1;
...>
}

@@
@@
__ext4_fill_super(...)
{
<...
 test_opt(sb, NOLOAD) && !sb_rdonly(sb) &&
- ext4_has_feature_journal_needs_recovery(sb)
+ zext4_must_recover(sb)
...>
}

@@
@@
ext4_load_journal(...)
{
<...
- ext4_has_feature_journal_needs_recovery(sb)
+ zext4_needs_recovery(sb, journal)
...>
}

@@
@@
ext4_load_journal(...)
{
<...
- err = jbd2_journal_load(journal);
+ err = zext4_set_up_journal(sb, journal);
+ if (!err)
+	err = jbd2_journal_load(journal);
+ if (err)
+	ext4_fc_replay_cleanup(sb);
...>
}

@@
@@
ext4_load_journal(...)
{
<...
- if (changed && !really_read_only)
+ if (changed && !really_read_only && err != -EUCLEAN)
 {...}
...>
}

// After a mount with ro,noload a remount to rw is refused if the log must be recovered: the
// next recovery would replay it over later writes.
@@
identifier err;
@@
__ext4_remount(...)
{
<...
+ if (!sbi->s_journal && zext4_must_recover(sb)) {
+	err = -EROFS;
+	goto restore_opts;
+ }
 err = ext4_setup_super(sb, es, 0);
...>
}

@@
identifier dev, file;
@@
ext4_open_dev_journal(..., dev_t dev)
{
<...
- if (IS_ERR(file))
+ if (IS_ERR(file)) {
+	zext4_no_journal_dev(sb, dev);
	return ERR_CAST(file);
+ }
...>
}
