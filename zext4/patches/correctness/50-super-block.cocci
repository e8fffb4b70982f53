// SPDX-License-Identifier: GPL-2.0-only
// Rules: E22.
//
// E22: the super block is written directly, from the live buffer, outside the journal. So
// this must wait until the buffer holds only committed changes; who meets an error may be what
// these wait for, so a worker writes it.  And when the last flush at unmount fails, the log stays
// live, so needs_recovery must stay set.
//
// Newer kernels abort the journal with the error's number, which not all errors have. Block 0 says
// that there was one also if the super block cannot be written.
//
// expect: super.c: ext4_handle_error=1 ext4_commit_super=1 ext4_put_super=1 | ext4_handle_error=2 ext4_commit_super=1 ext4_put_super=1

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
identifier error;
expression journal;
@@
ext4_handle_error(struct super_block *sb, bool force_ro, int error, ...)
{
<...
- jbd2_journal_abort(journal, -error);
+ jbd2_journal_abort(journal, error ? -error : -EFSCORRUPTED);
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
