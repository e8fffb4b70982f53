// SPDX-License-Identifier: GPL-2.0-only
// Fields that the other patches use. These fields of an inode start as 0: its claim (R10), the
// transaction that wrote it to its block last (zext4_show_claim()), the size that its block gets
// early (zext4_size_to_show()), the note of data that was written (zj_journal_inode_written()),
// its top-level directory and last lane (lane_by=), of a directory the task that made it, whether
// that has made a file in it, its last subdirectory, and whether lanes delete each other's files
// in it, or did when this file was made (alloc=core); 0 means unknown; and fsyncs with nothing to
// commit (in_place.c). The lists of freed extents become 64, by tid (E7).
//
// expect: ext4.h: -=26
// expect: super.c: ext4_alloc_inode=13 -=1

@@
@@
struct ext4_inode_info {
 ...
 tid_t i_datasync_tid;
+ tid_t i_zj_claim;
+ tid_t i_zj_shown;
+ loff_t i_zj_shown_size;
+ loff_t i_zj_early_size;
+ u64 i_zj_written;
+ u32 i_zj_top;
+ u32 i_zj_near;
+ pid_t i_zj_maker;
+ u16 i_zj_lane;
+ bool i_zj_pinned;
+ bool i_zj_mapped;
+ bool i_zj_filled;
+ bool i_zj_mixed;
+ u8 i_zj_spared;
 ...
};

@@
@@
struct ext4_sb_info {
 ...
- struct list_head s_freed_data_list[2];
+ struct list_head s_freed_data_list[64];
 ...
};

@@
@@
struct ext4_sb_info {
 ...
 struct journal_s *s_journal;
+ struct zext4_options s_zj;
+ struct zext4_reads s_zj_reads;
+ bool s_zj_one_head;
+ bool s_zj_was_live;
+ bool s_zj_delalloc;
+ u32 s_zj_replay_blocks;
+ struct zext4_quota *s_zj_quota;
+ tid_t s_zj_move_claim;
+ tid_t s_zj_resize_claim;
+ tid_t s_zj_feature_tid;
+ tid_t s_zj_exposed_tid;
 ...
};

@@
@@
struct ext4_fs_context {
 ...
 ext4_fsblk_t s_sb_block;
+ struct zext4_options zj;
};

@@
expression ei;
@@
ext4_alloc_inode(...)
{
 ...
 ei->i_datasync_tid = 0;
+ ei->i_zj_claim = 0;
+ ei->i_zj_shown = 0;
+ ei->i_zj_early_size = 0;
+ ei->i_zj_written = 0;
+ ei->i_zj_top = 0;
+ ei->i_zj_near = 0;
+ ei->i_zj_maker = 0;
+ ei->i_zj_lane = 0;
+ ei->i_zj_pinned = false;
+ ei->i_zj_mapped = false;
+ ei->i_zj_filled = false;
+ ei->i_zj_mixed = false;
+ ei->i_zj_spared = 0;
 ...
}
