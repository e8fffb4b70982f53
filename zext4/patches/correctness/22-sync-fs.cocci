// SPDX-License-Identifier: GPL-2.0-only
// Rules: E3.
//
// syncfs means every lane (E3): the first call starts a commit of all lanes, the second
// waits for all of them, not for one transaction.  Data that is noted in an inode is flushed
// only by commits that change the inode, so before that it is made to count for every commit.
//
// expect: super.c: ext4_sync_fs=5

@@
expression J;
@@
ext4_sync_fs(...)
{
<...
+ zext4_sync_data(sb);
 target = jbd2_get_latest_transaction(J);
...>
}

@@
identifier target, wait, ret;
expression J;
@@
ext4_sync_fs(...)
{
<...
- if (jbd2_journal_start_commit(J, &target)) {
-	if (wait)
-		ret = jbd2_log_wait_commit(J, target);
- }
+ if (wait)
+	ret = jbd2_journal_force_commit(J);
+ else
+	jbd2_journal_start_commit(J, &target);
...>
}
