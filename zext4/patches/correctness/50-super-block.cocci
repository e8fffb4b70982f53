// SPDX-License-Identifier: GPL-2.0-only
// Rules: E22.
//
// E22: the super block is written directly, from the live image, outside
// the journal: only once that image holds nothing that is not committed.  And when
// the last flush at unmount fails, the log stays live: needs_recovery must stay.
//
// expect: super.c: ext4_commit_super=1 ext4_put_super=1

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
