// SPDX-License-Identifier: GPL-2.0-only
// Rules: E28.
//
// Values of the super block that user space can see (docs/internals/exposed-values.md): a program may
// use such a value for other things that it makes durable, in lanes that do not share the
// super block. So the value is committed before user space can see it.  The salt is made once,
// when it is asked for first.
//
// expect: crypto.c: ext4_ioctl_get_encryption_pwsalt=6
// expect: ioctl.c: ext4_update_primary_sb=1 ext4_ioctl_setlabel=1 ext4_ioctl_getlabel=2 ext4_ioctl_getuuid=2 ext4_ioctl_setuuid=1
//
// Newer kernels let tune2fs change values of a mounted file system, which is the same. But it must
// not change features: a handle in another lane could rely on one that is not committed (R9).
//
// expect: ioctl.c: | ext4_ioctl_set_tune_sb=2 ext4_ioctl_get_tune_sb=5

@@
expression sbi;
@@
ext4_ioctl_get_encryption_pwsalt(...)
{
 ...
- if (uuid_is_zero(sbi->s_es->s_encrypt_pw_salt)) {
+ if (zext4_salt_is_unset(sb)) {
 ...
 lock_buffer(sbi->s_sbh);
- generate_random_uuid(sbi->s_es->s_encrypt_pw_salt);
+ if (uuid_is_zero(sbi->s_es->s_encrypt_pw_salt)) {
+	zext4_note_exposed(handle, sb);
+	generate_random_uuid(sbi->s_es->s_encrypt_pw_salt);
+ }
 ext4_superblock_csum_set(sb);
 ...
 }
+ err = zext4_wait_exposed(sb);
+ if (err)
+	return err;
 if (copy_to_user(...))
	return -EFAULT;
 ...
}

@@
expression bh;
@@
ext4_update_primary_sb(...)
{
 ...
 lock_buffer(bh);
+ zext4_note_exposed(handle, sb);
 func(...);
 ...
}

@@
identifier f = {ext4_ioctl_setlabel, ext4_ioctl_setuuid};
identifier ret;
@@
f(...)
{
 ...
 mnt_drop_write_file(...);
- return ret;
+ return ret ? ret : zext4_wait_exposed(sb);
}

@@
identifier f = {ext4_ioctl_set_tune_sb, ext4_ioctl_get_tune_sb};
@@
f(...)
{
<...
- TUNE_OPS_SUPPORTED
+ (TUNE_OPS_SUPPORTED & ~(EXT4_TUNE_FL_FEATURES | EXT4_TUNE_FL_EDIT_FEATURES))
...>
}

@@
identifier ret;
@@
ext4_ioctl_set_tune_sb(...)
{
 ...
 mnt_drop_write_file(...);
 ...
- return ret;
+ return ret ? ret : zext4_wait_exposed(sb);
}

@@
identifier sbi;
@@
ext4_ioctl_get_tune_sb(struct ext4_sb_info *sbi, ...)
{
 ...
 memset(...);
+ lock_buffer(sbi->s_sbh);
 ...
+ unlock_buffer(sbi->s_sbh);
+ if (zext4_wait_exposed(sbi->s_sb))
+	return -EIO;
 if (copy_to_user(...))
	return -EFAULT;
 ...
}

@@
identifier f = {ext4_ioctl_getlabel, ext4_ioctl_getuuid};
expression sbi;
@@
f(...)
{
 ...
 unlock_buffer(sbi->s_sbh);
+ if (zext4_wait_exposed(sbi->s_sb))
+	return -EIO;
 ...
}
