// SPDX-License-Identifier: GPL-2.0-only
// Rules: R10, E26, E30.
//
// Journaled quota (decision 39).  A restarted handle claims it, as a handle that starts
// does.  And when quota is switched off, the quota file is an ordinary file again, whose
// blocks are freed without revokes. So no image of them may be left in the log.
//
// expect: ext4_jbd2.h: ext4_journal_restart=1
// expect: super.c: ext4_quota_off=1

@@
expression handle, blocks, revokes;
@@
ext4_journal_restart(...)
{
<...
- return jbd2__journal_restart(handle, blocks, revokes, GFP_NOFS);
+ return zext4_restart(handle, blocks, revokes);
...>
}

@@
@@
ext4_quota_off(...)
{
<...
 if (sb_rdonly(sb))
	goto out_put;
+ err = zext4_empty_log(sb);
+ if (err)
+	goto out_put;
 inode_lock(inode);
...>
}
