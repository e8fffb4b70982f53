// SPDX-License-Identifier: GPL-2.0-only
// Rules: R9, R10.
//
// The handles of a resize are steps that rely on each other, but have no block in common
// that ties them. So each claims the resize (decision 38).  Blocks that they zero past the
// journal are flushed before the groups are visible (patch 28).
//
// expect: resize.c: setup_new_flex_group_blocks=1 update_backups=1 ext4_flex_group_add=1 ext4_group_extend_no_check=1 ext4_convert_meta_bg=1

@@
identifier f, handle;
expression sb;
statement S;
@@
f(...)
{
<...
 handle = ext4_journal_start_sb(sb, EXT4_HT_RESIZE, ...);
 if (IS_ERR(handle)) S
+ zext4_claim_resize(handle, sb);
...>
}
