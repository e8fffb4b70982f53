// SPDX-License-Identifier: GPL-2.0-only
// Rules: E22.
//
// E22: the super block is written directly, from the live buffer, outside the journal. So
// this must wait until the buffer holds only committed changes; who meets an error may be what
// these wait for, so a worker writes it.  And when the last flush at unmount fails, the log stays
// live, so needs_recovery must stay set.
//
// expect: super.c: ext4_handle_error=1 ext4_commit_super=1 ext4_put_super=1

@@
identifier sb, journal, continue_fs;
@@
ext4_handle_error(struct super_block *sb, ...)
{
<...
- continue_fs && journal
+ zext4_put_off_super(sb, continue_fs)
...>
}

@@
@@
ext4_commit_super(...)
{
<...
- lock_buffer(sbh);
+ zext4_lock_super(sb);
...>
}

@@
@@
ext4_put_super(...)
{
<...
 ext4_abort(sb, ...);
+ aborted = 1;
...>
}
