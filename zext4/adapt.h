/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions that the semantic patches make ext4 call; included at the end of its ext4.h.
 */
#ifndef ZEXT4_ADAPT_H
#define ZEXT4_ADAPT_H

#include <linux/fs_parser.h>
#include <zjournal/compat.h>
#include <zjournal/jbd2.h>
#include "compat.h"

/*
 * Stock ext4 has caches of the same structs, so ours need other names. They are not
 * merged with other caches, so that a leak shows when the module is unloaded.
 */
#define ZEXT4_CACHE(type, flags)					\
	kmem_cache_create("zext4_" #type, sizeof(struct type),		\
			  __alignof__(struct type),			\
			  (flags) | SLAB_NO_MERGE, NULL)

/* Mount. */
int zext4_check_mount(struct super_block *sb);
int zext4_set_up_journal(struct super_block *sb, journal_t *journal);
bool zext4_needs_recovery(struct super_block *sb, journal_t *journal);
bool zext4_must_recover(struct super_block *sb);

/* A remount by force leaves them there (E34), a mount does not. */
static inline bool zext4_orphans_may_stay(struct super_block *sb)
{
	return sb->s_flags & SB_BORN;
}

bool zext4_journal_dev_is_live(struct super_block *sb);
void zext4_no_journal_dev(struct super_block *sb, dev_t dev);
bool zext4_one_head(struct block_device *bdev, u64 blocks, unsigned int bits,
		    struct zext4_reads *took);

/* Replay of fast commits (E25). */
bool zext4_replay_nameless(const u8 *val);
bool zext4_replay_removed(struct super_block *sb, int ino);
int zext4_replay_mark_used(struct super_block *sb, int ino,
			   const struct ext4_inode *raw);
void zext4_replay_count_free(struct super_block *sb, ext4_group_t group);
int zext4_replay_keep_orphan(struct super_block *sb, int ino,
			     const struct ext4_inode *raw,
			     struct ext4_inode *wanted);
void zext4_replay_count_blocks(struct inode *inode);
void zext4_replay_empty_dir(struct inode *inode);
void zext4_replay_created(struct inode *inode);
int zext4_replay_linked(struct inode *dir, struct inode *inode);
int zext4_replay_unlinked(struct inode *dir, struct inode *inode);

/* The name of the type. */
const char *zext4_type_name(void);
const char *zext4_proc_dir(void);
bool zext4_serves_ext4(void);
int zext4_name_type(struct file_system_type *type);
void zext4_hold_name(void);
void zext4_release_name(void);

/* Options. */
bool zext4_parse_option(struct fs_parameter *param,
			struct zext4_options *options, int *err);
int zext4_check_options(struct super_block *sb, bool has_log);
int zext4_check_remount(struct fs_context *fc, struct zext4_options *options);
void zext4_journal_options(struct super_block *sb, struct zj_options *wanted);
void zext4_note_idle_options(struct super_block *sb, journal_t *journal, u32 given);
void zext4_apply_options(struct super_block *sb,
			 const struct zext4_options *options);
void zext4_restore_options(struct super_block *sb,
			   const struct zext4_options *options);
int zext4_check_image_options(struct super_block *sb,
			      const struct zext4_options *options);
void zext4_show_options(struct seq_file *seq, char sep, struct super_block *sb);

/* What is in force. */
u32 zext4_in_force(struct super_block *sb, int option);
bool zext4_always_shown(struct super_block *sb, int option);
void zext4_say_in_force(struct super_block *sb);

/* The lane of a handle (lane_by=). */
#define ZEXT4_BY_CPU	(-1)

int zext4_find_lane(struct super_block *sb, struct inode *inode);
void zext4_remember_lane(handle_t *handle, struct inode *inode);
void zext4_entered(struct inode *dir, struct inode *inode);
void zext4_looked_up(struct inode *dir, struct inode *inode);

/* Type of a handle that does not change the inode it is started for; no EXT4_HT_ has it. */
#define ZEXT4_HT_TMPFILE	32

/* Handles and inodes in core (R10). */
void zext4_claim(handle_t *handle, struct inode *inode);
void zext4_claim_keep(handle_t *handle, struct inode *inode);
bool zext4_claim_late(handle_t *handle, struct inode *inode);
int zext4_show_claim(handle_t *handle, struct inode *inode);
void zext4_check_unclaimed(struct inode *inode, struct ext4_iloc *iloc);
void zext4_claim_move(handle_t *handle, struct super_block *sb);

/* Journaled quota (R12). */
#ifdef CONFIG_QUOTA
int zext4_quota_init(struct super_block *sb);
void zext4_quota_exit(struct ext4_sb_info *sbi);
struct inode *zext4_charge(struct inode *inode);
int zext4_dquot_transfer(struct mnt_idmap *idmap, struct inode *inode,
			 struct iattr *attr);
int zext4_project_transfer(struct inode *inode, struct dquot **to);
void zext4_claim_charged(handle_t *handle, struct dquot *dquot);
void zext4_claim_dquot(handle_t *handle, struct dquot *dquot);
void zext4_claim_tree(handle_t *handle, struct super_block *sb, int type);
#else
static inline int zext4_quota_init(struct super_block *sb) { return 0; }
static inline void zext4_quota_exit(struct ext4_sb_info *sbi) {}
static inline struct inode *zext4_charge(struct inode *inode) { return inode; }
#define zext4_dquot_transfer		dquot_transfer
#endif
void zext4_claim_resize(handle_t *handle, struct super_block *sb);
void zext4_inherited(handle_t *handle, struct inode *dir);

/* What a handle changes of a block (ranges.c). */
struct ext4_iloc;
struct ext4_filename;
struct ext4_dir_entry_2;
int zext4_get_part_access(handle_t *handle, struct super_block *sb, struct buffer_head *bh);
int zext4_dirty_bits(handle_t *handle, struct buffer_head *bh, u32 first, u32 nr);
int zext4_dirty_desc(handle_t *handle, struct super_block *sb, struct buffer_head *bh,
		     const struct ext4_group_desc *gdp);
int zext4_get_inode_access(handle_t *handle, struct inode *inode,
			   struct buffer_head *bh);
int zext4_dirty_inode(handle_t *handle, struct inode *inode,
		      struct ext4_iloc *iloc, bool others);
bool zext4_size_is_shown(handle_t *handle, struct inode *inode);
loff_t zext4_size_to_show(struct inode *inode);
int zext4_get_insert_access(handle_t *handle, struct inode *dir,
			    const struct ext4_dir_entry_2 *de,
			    const struct ext4_filename *name, struct buffer_head *bh);
int zext4_get_delete_access(handle_t *handle, struct inode *dir,
			    const struct ext4_dir_entry_2 *de, struct buffer_head *bh);
int zext4_get_replace_access(handle_t *handle, struct inode *dir,
			     const struct ext4_dir_entry_2 *de, struct buffer_head *bh,
			     bool inlined);
int zext4_dirty_dirblock(handle_t *handle, struct inode *dir, struct buffer_head *bh);
int zext4_get_orphan_access(handle_t *handle, struct super_block *sb, struct buffer_head *bh);
int zext4_dirty_orphan(handle_t *handle, struct buffer_head *bh, u32 entry);

/* Reads that a handle relies on (R9). */
void zext4_feature_set(handle_t *handle, struct super_block *sb);
void zext4_feature_relied_on(handle_t *handle, struct super_block *sb);
void zext4_read_backup_source(handle_t *handle, struct super_block *sb,
			      const char *data);

/* Values of the super block that user space can see (E28). */
bool zext4_salt_is_unset(struct super_block *sb);
void zext4_note_exposed(handle_t *handle, struct super_block *sb);
int zext4_wait_exposed(struct super_block *sb);

/* Journaled data, and data that is never journaled. */
int zext4_check_encryption(struct super_block *sb);
void zext4_quieten(struct folio *folio);
int zext4_empty_log(struct super_block *sb);

/* Inline data. */
int ext4_convert_inline_data_to_extent(struct address_space *mapping,
				       struct inode *inode);
int zext4_inline_to_block(handle_t *handle, struct inode *inode,
			  struct folio *folio);

/* Before a wait for I/O that may not be the journal's own: that is not done under a handle (N10). */
static inline void zext4_may_wait(void)
{
	WARN_ON_ONCE(journal_current_handle());
}

/* File data in the log with data=ordered. */

/* Has the block of a dirty buffer to be allocated, or its extent to be converted? */
static inline bool zext4_needs_mapping(const struct buffer_head *bh)
{
	return buffer_delay(bh) || buffer_unwritten(bh) || !buffer_mapped(bh);
}

journal_t *zext4_ordered_journal(struct inode *inode);
bool zext4_block_logged(struct inode *inode, const struct buffer_head *bh);
bool zext4_must_leave(struct ext4_io_submit *io, struct inode *inode,
		      const struct buffer_head *bh);
int zext4_settle(struct inode *inode, const struct ext4_map_blocks *map, unsigned int flags);
int zext4_settle_overwrite(struct inode *inode, const struct iomap *iomap, unsigned int flags,
			   int err);
void zext4_wont_poll(struct kiocb *iocb);
void zext4_before_direct_write(struct kiocb *iocb, const struct iov_iter *from);
ssize_t zext4_read_cached(struct kiocb *iocb, struct iov_iter *to, ssize_t read);
int zext4_settle_read(struct inode *inode, loff_t start, loff_t end);
int zext4_settle_dropped(struct inode *inode, loff_t start, loff_t end);
int zext4_settle_write(struct inode *inode, loff_t start, loff_t end);
int zext4_settle_fiemap(struct inode *inode, const struct fiemap_extent_info *info, u64 start,
			u64 len);
int zext4_settle_swap(struct file *file);
int zext4_settle_open(struct inode *inode);
int zext4_check_move(struct inode *inode, ext4_lblk_t lblk, struct inode *donor,
		     ext4_lblk_t donor_lblk, unsigned int count);
bool zext4_move_again_at(struct inode *inode, loff_t from, struct inode *donor,
			 loff_t donor_from, loff_t bytes);
bool zext4_move_again(struct inode *inode, pgoff_t index, struct inode *donor,
		      pgoff_t donor_index);
void zext4_moved(struct folio *folio);
void zext4_keep_cached(struct inode *inode);

/*
 * A page that is busy whenever its turn comes is sent again and again, and each time this waits
 * for one write. To have its blocks go home and be revoked takes some six writes and flushes, one
 * after the other. So after six tries that is not the dearer way.
 */
#define ZEXT4_LOG_TRIES		6

int zext4_log_block(handle_t *handle, struct inode *inode, struct folio *folio,
		    struct buffer_head *bh);
int zext4_order_tail(struct inode *inode, loff_t from, loff_t length);
int zext4_order_zeroed(handle_t *handle, struct inode *inode, struct buffer_head *bh,
		       loff_t from, loff_t length);
int zext4_logged_revoke_credits(struct inode *inode, int blocks);
void zext4_revoke_logged(handle_t *handle, struct inode *inode, ext4_fsblk_t block,
			 unsigned long count);
enum zext4_way { ZEXT4_WAY_IN_PLACE, ZEXT4_WAY_LOG, ZEXT4_WAY_LEAVE };

bool zext4_log_data(struct inode *inode, loff_t start, loff_t end, int datasync);
enum zext4_way zext4_way_of(struct inode *inode, struct folio_batch *folios, int lane,
			    int datasync);
bool zext4_is_overwritten(struct inode *inode, int lane, int datasync);
void zext4_not_overwritten(struct inode *inode);
void zext4_note_overwritten(struct inode *inode, int datasync);
int zext4_write_logged(struct address_space *mapping, struct writeback_control *wbc,
		       const struct ext4_io_submit *io);
int zext4_error_remove_folio(struct address_space *mapping, struct folio *folio);
void zext4_give_up(struct inode *inode, struct folio *folio);
bool zext4_holds_folio(struct inode *inode, struct folio *folio);
void zext4_keep_rest(struct folio *folio, size_t length);
bool zext4_may_release(struct inode *inode, struct folio *folio, gfp_t gfp);

/* fsync and file data. */
int zext4_write_and_wait(struct file *file, loff_t start, loff_t end,
			 int datasync);
bool zext4_map_written(const struct ext4_io_submit *io,
		       const struct ext4_map_blocks *map);
void zext4_page_mkwrite(struct inode *inode);
tid_t zext4_fsync_tid(struct inode *inode, bool datasync);
int zext4_fsync_commit(struct inode *inode, tid_t tid);
bool zext4_commit_flushes(struct inode *inode, tid_t tid);
int zext4_flush_file(struct inode *inode);
int zext4_flush_data(struct super_block *sb);
blk_opf_t zext4_data_flags(struct ext4_io_submit *io);
void zext4_data_written(struct super_block *sb, const struct bio *bio);
void zext4_inode_written(struct inode *inode, const struct bio *bio);
void zext4_forget_inode(struct inode *inode);
void zext4_sync_data(struct super_block *sb);

/* Waiting for the owner of one buffer. */
struct buffer_head *zext4_tail_buffer(struct folio *folio, size_t offset);
int zext4_wait_buffer(journal_t *journal, struct buffer_head *bh);
bool zext4_put_off_super(struct super_block *sb, bool continue_fs);
void zext4_lock_super(struct super_block *sb);
void zext4_forget_extents(struct inode *inode, ext4_lblk_t from);

/* Regions in which a lane looks for blocks and inodes (alloc=core). */
struct ext4_allocation_context;
bool zext4_has_regions(struct super_block *sb);
struct ext4_locality_group;
void zext4_place(struct ext4_allocation_context *ac,
		 const struct ext4_allocation_request *ar);
struct ext4_locality_group *zext4_locality_group(struct inode *inode);
bool zext4_stream_goal(struct ext4_allocation_context *ac);
bool zext4_stream_found(struct ext4_allocation_context *ac);
unsigned int zext4_linear_groups(struct ext4_allocation_context *ac);
bool zext4_find_group(struct inode *dir, umode_t mode, ext4_group_t *group);
void zext4_placed(struct inode *dir, struct inode *inode);
void zext4_removing(handle_t *handle, struct inode *dir, struct inode *inode);
void zext4_spread_dirs(struct inode *dir, umode_t mode, ext4_group_t group,
		       const struct buffer_head *bitmap, unsigned long *ino);

/* The kind of block that transactions of two lanes have touched, for statistics. */
enum zj_kind zext4_block_kind(journal_t *journal, struct buffer_head *bh);

/* In mballoc.c: at unmount, forget frees that were never committed. */
void zext4_drop_freed(struct super_block *sb);

/* Freed extents wait in one of these lists until their tid is committed; s_md_lock. */
#define zext4_freed_list(sbi, tid)					\
	(&(sbi)->s_freed_data_list[(tid) % ARRAY_SIZE((sbi)->s_freed_data_list)])

/* Replaces the tid of "the" transaction where fast commit looks for it, which is never on. */
static inline tid_t zext4_no_fast_commit(void)
{
	return 0;
}

/* Does the data of all files go through the log? Without a journal it does not. */
static inline bool zext4_all_journaled(struct super_block *sb)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	return journal && READ_ONCE(journal->j_flags) & ZJ_DATA_JOURNALED;
}

static inline u32 zext4_lane_by(struct super_block *sb)
{
	return READ_ONCE(EXT4_SB(sb)->s_zj.value[ZEXT4_LANE_BY]);
}

/**
 * zext4_lane() - the lane to start a handle in
 * @sb: mounted
 * @inode: the inode that the handle is started for, or NULL
 *
 * Return: a lane, or ZEXT4_BY_CPU, for zj_journal_start_in().
 */
static inline int zext4_lane(struct super_block *sb, struct inode *inode)
{
	if (likely(zext4_lane_by(sb) == ZEXT4_LANE_BY_CPU &&
		   !(current->flags & PF_KTHREAD)))
		return ZEXT4_BY_CPU;
	return zext4_find_lane(sb, inode);
}

/**
 * zext4_before_access() - prepare a file's folio for write access to a block of it
 * @folio: locked
 *
 * The access may copy the image of a sealed owner before the owner's commit has
 * write-protected the page in its mappings. A store through a mapping after the copy
 * would be in no transaction. So the page is write-protected here; the next store
 * faults, and is journaled again.
 */
static inline void zext4_before_access(struct folio *folio)
{
	if (unlikely(folio_test_writeback(folio) || folio_mapped(folio)))
		zext4_quieten(folio);
}

/* Each handle claims the inode that it is started for, before it can change that inode. */
static inline handle_t *zext4_start(struct inode *inode, struct super_block *sb,
				    int blocks, int rsv_blocks, int revoke_creds,
				    unsigned int type, unsigned int line)
{
	bool nested = journal_current_handle();
	handle_t *handle;

	handle = zj_journal_start_in(EXT4_SB(sb)->s_journal,
				     nested ? -1 : zext4_lane(sb, inode),
				     blocks, rsv_blocks, revoke_creds, GFP_NOFS,
				     type, line);
	if (IS_ERR(handle))
		return handle;
	if (!inode || type == ZEXT4_HT_TMPFILE)
		return handle;
	if (nested)
		zext4_claim(handle, inode);
	else
		zext4_claim_keep(handle, inode);
	return handle;
}

#endif /* ZEXT4_ADAPT_H */
