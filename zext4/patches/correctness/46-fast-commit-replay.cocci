// SPDX-License-Identifier: GPL-2.0-only
// Rules: E25.
//
// ext4's replay of fast commits leaves directories and inodes without a name in a state that
// e2fsck reports, or fails at them so that nobody can mount the file system (decision 46).
// zext4/replay.c completes it.
//
// As long as the state of a replay lasts, ext4 forgets no extents of an inode that leaves memory.  So
// a replay that fails has to end that state as well (12-mount), which may then end twice.
//
// expect: fast_commit.c: ext4_fc_replay_unlink=2 ext4_fc_replay_link_internal=1 ext4_fc_replay_inode=7 ext4_fc_replay_create=4
// expect: fast_commit.c: ext4_fc_replay_cleanup=2
// expect: mballoc.c: ext4_mb_mark_bb=1

@@
identifier inode, old_parent;
@@
ext4_fc_replay_unlink(...)
{
 ...
 ret = __ext4_unlink(old_parent, &entry, inode, NULL);
+ if (!ret)
+	ret = zext4_replay_unlinked(old_parent, inode);
 ...
}

@@
identifier dir, inode;
@@
ext4_fc_replay_link_internal(...)
{
 ...
 ret = __ext4_link(dir, inode, ...);
 if (ret && ret != -EEXIST) {...}
- ret = 0;
+ ret = zext4_replay_linked(dir, inode);
 ...
}

@@
identifier sb, ino;
@@
ext4_fc_replay_inode(...)
{
 ...
 trace_ext4_fc_replay(sb, ...);
+ if (zext4_replay_nameless(val))
+	return 0;
 ...
 raw_inode = ext4_raw_inode(&iloc);
+ ret = zext4_replay_keep_orphan(sb, ino, raw_inode, raw_fc_inode);
+ if (ret)
+	goto out_brelse;
 ...
- ret = ext4_mark_inode_used(sb, ino);
+ ret = zext4_replay_mark_used(sb, ino, raw_inode);
 ...
}

@@
identifier inode;
@@
ext4_fc_replay_inode(...)
{
<...
- ext4_ext_replay_set_iblocks(inode);
+ zext4_replay_count_blocks(inode);
...>
}

@@
identifier sb, inode, darg;
@@
ext4_fc_replay_create(...)
{
 ...
+ if (zext4_replay_removed(sb, darg.ino))
+	return 0;
 ret = ext4_mark_inode_used(sb, darg.ino);
 ...
 if (S_ISDIR(inode->i_mode)) {
+	zext4_replay_empty_dir(inode);
	...
 }
 ...
- set_nlink(inode, 1);
+ zext4_replay_created(inode);
 ...
}

@@
identifier sb, group;
@@
ext4_mb_mark_bb(...)
{
<...
 err = ext4_mb_mark_context(NULL, sb, state, group, ...);
 if (err)
	break;
+ zext4_replay_count_free(sb, group);
...>
}

@@
identifier sbi;
@@
ext4_fc_replay_cleanup(...)
{
 ...
 kfree(sbi->s_fc_replay_state.fc_modified_inodes);
+ sbi->s_fc_replay_state.fc_regions = NULL;
+ sbi->s_fc_replay_state.fc_modified_inodes = NULL;
}
