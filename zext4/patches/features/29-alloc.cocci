// SPDX-License-Identifier: GPL-2.0-only
// alloc=core (zext4/alloc.c): searches for inodes and blocks begin in the region of the
// handle's lane. Small files take the blocks that were preallocated for the lane, large ones go
// on where the lane's last large allocation ended. In directories where lanes delete each other's
// files, searches begin where those of stock ext4 do.
//
// expect: mballoc.c: ext4_mb_initialize_context=1 ext4_mb_group_or_file=1
// expect: mballoc.c: ext4_mb_regular_allocator=1 ext4_mb_use_best_found=1 ext4_mb_scan_groups=3
// expect: ialloc.c: __ext4_new_inode=5
// expect: namei.c: __ext4_unlink=1

@@
identifier ac, ar;
@@
ext4_mb_initialize_context(struct ext4_allocation_context *ac,
			   struct ext4_allocation_request *ar)
{
 ...
 ext4_mb_group_or_file(ac);
+ zext4_place(ac, ar);
 ...
}

@@
expression ac, sbi;
@@
ext4_mb_group_or_file(...)
{
<...
- ac->ac_lg = raw_cpu_ptr(sbi->s_locality_groups);
+ ac->ac_lg = zext4_locality_group(ac->ac_inode);
...>
}

@@
expression ac;
@@
ext4_mb_regular_allocator(...)
{
 ...
- if (ac->ac_flags & EXT4_MB_STREAM_ALLOC)
+ if (ac->ac_flags & EXT4_MB_STREAM_ALLOC && !zext4_stream_goal(ac))
 {...}
 ...
}

@@
identifier ac, sbi;
@@
ext4_mb_scan_groups(struct ext4_allocation_context *ac)
{
 ...
- struct ext4_sb_info *sbi = EXT4_SB(ac->ac_sb);
 ...
- if (sbi->s_mb_max_linear_groups)
+ if (zext4_linear_groups(ac))
	ret = ext4_mb_scan_groups_linear(...,
-	sbi->s_mb_max_linear_groups
+	zext4_linear_groups(ac)
	);
 ...
}

@@
expression ac;
@@
ext4_mb_use_best_found(...)
{
 ...
- if (ac->ac_flags & EXT4_MB_STREAM_ALLOC)
+ if (ac->ac_flags & EXT4_MB_STREAM_ALLOC && !zext4_stream_found(ac))
 {...}
 ...
}

@@
expression mode;
expression ret2;
@@
__ext4_new_inode(...)
{
<...
+ if (zext4_find_group(dir, mode, &group)) {
+	ret2 = 0;
+	goto got_group;
+ }
 if (S_ISDIR(mode))
	ret2 = find_group_orlov(...);
 else
	ret2 = find_group_other(...);
...>
}

@@
expression sb, group, bitmap, ino;
expression ret2;
statement S;
@@
__ext4_new_inode(...)
{
<...
+ zext4_spread_dirs(dir, mode, group, bitmap, &ino);
 ret2 = find_inode_bit(sb, group, bitmap, &ino);
 if (!ret2)
	S
...>
}

@@
expression inode;
@@
__ext4_new_inode(...)
{
<...
 simple_inode_init_ts(inode);
+ zext4_placed(dir, inode);
...>
}

@@
@@
__ext4_unlink(...)
{
<...
+ zext4_removing(handle, dir, inode);
 if (IS_DIRSYNC(dir))
	ext4_handle_sync(handle);
...>
}
