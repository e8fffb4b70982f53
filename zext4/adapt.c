// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions that the semantic patches make ext4 call: mount checks, claims of inodes
 * in core, declared reads.  They are compiled into zext4.ko beside the adapted files.
 */
#include <linux/rmap.h>
#include "ext4.h"
#include "ext4_jbd2.h"
#include "ext4_release.h"

/* kernel/Makefile writes ext4_release.h. */
MODULE_VERSION(ZEXT4_VERSION);
/* The kernel release whose ext4 this is. */
MODULE_INFO(ext4_source, ZEXT4_SOURCE);

/* ---- mount ---- */

/*
 * The features whose code the patches have been checked against. Unknown compatible
 * features are refused, too, though stock ext4 ignores them: fast_commit and orphan_file
 * were such features, and the journal has to know of them.
 */
#define ZEXT4_COMPAT							\
	(EXT4_FEATURE_COMPAT_DIR_PREALLOC |				\
	 EXT4_FEATURE_COMPAT_IMAGIC_INODES |				\
	 EXT4_FEATURE_COMPAT_HAS_JOURNAL | EXT4_FEATURE_COMPAT_EXT_ATTR | \
	 EXT4_FEATURE_COMPAT_RESIZE_INODE | EXT4_FEATURE_COMPAT_DIR_INDEX | \
	 EXT4_FEATURE_COMPAT_SPARSE_SUPER2 |				\
	 EXT4_FEATURE_COMPAT_FAST_COMMIT |				\
	 EXT4_FEATURE_COMPAT_STABLE_INODES |				\
	 EXT4_FEATURE_COMPAT_ORPHAN_FILE)

#define ZEXT4_INCOMPAT							\
	(EXT4_FEATURE_INCOMPAT_FILETYPE | EXT4_FEATURE_INCOMPAT_RECOVER | \
	 EXT4_FEATURE_INCOMPAT_META_BG | EXT4_FEATURE_INCOMPAT_EXTENTS | \
	 EXT4_FEATURE_INCOMPAT_64BIT | EXT4_FEATURE_INCOMPAT_FLEX_BG |	\
	 EXT4_FEATURE_INCOMPAT_EA_INODE | EXT4_FEATURE_INCOMPAT_MMP |	\
	 EXT4_FEATURE_INCOMPAT_INLINE_DATA |				\
	 EXT4_FEATURE_INCOMPAT_ENCRYPT | EXT4_FEATURE_INCOMPAT_CASEFOLD | \
	 EXT4_FEATURE_INCOMPAT_CSUM_SEED | EXT4_FEATURE_INCOMPAT_LARGEDIR)

#define ZEXT4_RO_COMPAT							\
	(EXT4_FEATURE_RO_COMPAT_SPARSE_SUPER |				\
	 EXT4_FEATURE_RO_COMPAT_LARGE_FILE |				\
	 EXT4_FEATURE_RO_COMPAT_BTREE_DIR |				\
	 EXT4_FEATURE_RO_COMPAT_HUGE_FILE |				\
	 EXT4_FEATURE_RO_COMPAT_GDT_CSUM |				\
	 EXT4_FEATURE_RO_COMPAT_DIR_NLINK |				\
	 EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE |				\
	 EXT4_FEATURE_RO_COMPAT_BIGALLOC |				\
	 EXT4_FEATURE_RO_COMPAT_METADATA_CSUM |				\
	 EXT4_FEATURE_RO_COMPAT_QUOTA | EXT4_FEATURE_RO_COMPAT_PROJECT | \
	 EXT4_FEATURE_RO_COMPAT_VERITY |				\
	 EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT |			\
	 EXT4_FEATURE_RO_COMPAT_READONLY)

static int zext4_check_bits(struct super_block *sb, const char *kind,
			    __le32 word, u32 covered)
{
	u32 unknown = le32_to_cpu(word) & ~covered;

	if (!unknown)
		return 0;
	ext4_msg(sb, KERN_ERR,
		 "zext4 does not support the file system's %s feature(s) %#x; mount it as ext4",
		 kind, unknown);
	return -EINVAL;
}

/* Refuses what zext4 cannot do, when all options are known; writes nothing. */
int zext4_check_mount(struct super_block *sb)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	struct ext4_super_block *es = sbi->s_es;
	bool has_log;

	/* The journal copies blocks of up to a page. */
	if (sb->s_blocksize > PAGE_SIZE) {
		ext4_msg(sb, KERN_ERR,
			 "zext4 does not support the file system's blocks of %lu bytes; mount it as ext4",
			 sb->s_blocksize);
		return -EINVAL;
	}
	if (zext4_check_bits(sb, "compat", es->s_feature_compat, ZEXT4_COMPAT) ||
	    zext4_check_bits(sb, "incompat", es->s_feature_incompat,
			     ZEXT4_INCOMPAT) ||
	    zext4_check_bits(sb, "ro_compat", es->s_feature_ro_compat,
			     ZEXT4_RO_COMPAT))
		return -EINVAL;
	has_log = ext4_has_feature_journal(sb) && !test_opt(sb, NOLOAD);
	if (zext4_check_options(sb, has_log))
		return -EINVAL;
	if (has_log && !es->s_journal_inum &&
	    EXT4_SB(sb)->s_zj.given & BIT(ZEXT4_JOURNAL_NVM)) {
		ext4_msg(sb, KERN_ERR,
			 "journal_nvm= needs a journal in the file system, and this one is on a device of its own; to change that: tune2fs -O ^has_journal, then tune2fs -j");
		return -EINVAL;
	}
	return 0;
}

/*
 * Does the log's disk decide on the number of lanes? With lane_by=cgroup|dir the user wants
 * lanes apart from each other in any case, and a log in memory is not on a disk.
 */
static bool zext4_log_disk_decides(const struct zext4_options *options)
{
	return !options->value[ZEXT4_LANES] &&
	       options->value[ZEXT4_LOG] != ZEXT4_LOG_JBD2 &&
	       options->value[ZEXT4_LANE_BY] == ZEXT4_LANE_BY_CPU &&
	       !(options->given & BIT(ZEXT4_JOURNAL_NVM));
}

/*
 * One lane is best where commits side by side would only move the head of the log's disk to and
 * fro. Where there are several lanes, alloc=auto asks the same of the file system's disk, at each
 * mount, because a remount may choose it. For home writes alone it is not asked; what it says of
 * itself then counts.
 */
static void zext4_ask_disks(struct super_block *sb, journal_t *journal, struct zj_options *wanted)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	u64 blocks = ext4_blocks_count(sbi->s_es);
	struct zext4_reads took;
	bool known = false;

	wanted->one_head = bdev_rot(sb->s_bdev);
	if (zext4_log_disk_decides(&sbi->s_zj)) {
		known = journal->j_inode;
		if (zext4_one_head(journal->j_dev, known ? blocks : journal->j_total_len,
				   sb->s_blocksize_bits, &sbi->s_zj_reads))
			wanted->lanes = 1;
		if (known)
			wanted->one_head = wanted->lanes == 1;
	}
	if (wanted->lanes != 1 && !known) {
		sbi->s_zj_one_head = zext4_one_head(sb->s_bdev, blocks, sb->s_blocksize_bits,
						    &took);
		wanted->one_head = sbi->s_zj_one_head;
	}
}

/* Is the log in stock's format: by log=jbd2, or by log=auto with lanes=1 or as ext4? */
static enum zj_log_format log_format(const struct zext4_options *options)
{
	if (options->given & BIT(ZEXT4_JOURNAL_NVM))
		return ZJ_LOG_NVM;
	if (options->value[ZEXT4_LOG] == ZEXT4_LOG_JBD2)
		return ZJ_LOG_JBD2;
	if (options->value[ZEXT4_LOG] == ZEXT4_LOG_AUTO &&
	    (options->value[ZEXT4_LANES] == 1 ||
	     (zext4_serves_ext4() && !options->value[ZEXT4_LANES])))
		return ZJ_LOG_JBD2;
	return ZJ_LOG_LANES;
}

/**
 * zext4_set_up_journal() - configure the journal by the mount options and ext4's modes
 * @sb: being mounted, its options checked
 * @journal: not loaded
 *
 * Return: as zj_journal_configure(), -EINVAL for a journal that is too short, or -ENOMEM.
 */
int zext4_set_up_journal(struct super_block *sb, journal_t *journal)
{
	const struct zext4_options *options = &EXT4_SB(sb)->s_zj;
	u32 pipeline = options->value[ZEXT4_PIPELINE];
	struct zj_options wanted = {
		.lanes = options->value[ZEXT4_LANES],
		.log = log_format(options),
		/* DAX writes data without a bio that could report the write. */
		.data_reported = !EXT4_SB(sb)->s_daxdev,
		/* An encrypted file's data is never in the journal. */
		.data_journaled = test_opt(sb, DATA_FLAGS) == EXT4_MOUNT_JOURNAL_DATA &&
				  !ext4_has_feature_encrypt(sb),
	};
	int err;

	if (zj_journal_too_short(journal)) {
		ext4_msg(sb, KERN_ERR,
			 "the journal claims %u blocks, fewer than any ext4 can use; nothing was written: make a new one, tune2fs -O ^has_journal and tune2fs -j",
			 journal->j_total_len);
		return -EINVAL;
	}
	zext4_journal_options(sb, &wanted);
	if (wanted.log == ZJ_LOG_NVM)
		wanted.nvm_path = options->nvm_path;
	if (wanted.log == ZJ_LOG_JBD2)
		wanted.lanes = 1;
	zext4_ask_disks(sb, journal, &wanted);
	/* Only in stock's format has a commit anything to wait for between two writes. */
	wanted.pipeline = pipeline == ZEXT4_PIPELINE_ON ||
			  (pipeline == ZEXT4_PIPELINE_AUTO && wanted.log == ZJ_LOG_JBD2);
	/* A remount must not change whether a file's data is journaled (E29). */
	EXT4_SB(sb)->s_zj_delalloc = test_opt(sb, DELALLOC);
	err = zext4_quota_init(sb);
	if (!err)
		err = zj_journal_configure(journal, &wanted);
	if (!err)
		zext4_note_idle_options(sb, journal, options->given);
	return err;
}

/* The journal's super block decides; the flag may be clear though lanes are live (E21). */
bool zext4_needs_recovery(struct super_block *sb, journal_t *journal)
{
	if (zj_journal_is_live(journal))
		EXT4_SB(sb)->s_zj_was_live = true;
	return EXT4_SB(sb)->s_zj_was_live ||
		ext4_has_feature_journal_needs_recovery(sb);
}

/* Block 0 of the journal in the file system; true if it is not known to be without lanes. */
static bool inode_may_be_live(struct super_block *sb, u32 ino)
{
	struct inode *inode = ext4_iget(sb, ino, EXT4_IGET_SPECIAL);
	journal_t *journal;
	bool live;

	if (IS_ERR(inode))
		return true;
	journal = zj_journal_init_inode(inode);
	if (IS_ERR(journal)) {
		iput(inode);
		return true;
	}
	journal->j_private = sb;
	live = zj_journal_is_live(journal);
	zj_journal_destroy(journal);
	return live;
}

/**
 * zext4_must_recover() - must the log be recovered before the file system is changed?
 * @sb: mounted, or being mounted, without its journal (noload)
 *
 * The next recovery would replay the log over later changes. A journal that cannot be looked
 * at may hold one. Stock ext4 looks at the flag alone, and at a remount not even at that.
 *
 * Context: sleeps.
 * Return: true after a message.
 */
bool zext4_must_recover(struct super_block *sb)
{
	u32 ino = le32_to_cpu(EXT4_SB(sb)->s_es->s_journal_inum);
	bool due;

	if (!ext4_has_feature_journal(sb))
		return false;
	due = ext4_has_feature_journal_needs_recovery(sb);
	if (!due && !ino)
		return zext4_journal_dev_is_live(sb);
	if (!due)
		due = inode_may_be_live(sb, ino);
	if (due)
		ext4_msg(sb, KERN_ERR,
			 "the journal must be recovered, or cannot be read: mount without noload; if it is the root, boot without noload in rootflags=");
	return due;
}

/* ---- journaled data ---- */

/**
 * zext4_check_encryption() - may a file be encrypted?
 * @sb: with the encrypt feature
 *
 * It may not if tune2fs has set the feature since the mount, with data=journal: until
 * the next mount blocks are freed without revokes, and commits flush no data.
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int zext4_check_encryption(struct super_block *sb)
{
	if (!zext4_all_journaled(sb))
		return 0;
	ext4_msg(sb, KERN_ERR,
		 "the encrypt feature was set after the mount with data=journal; unmount and mount again to use encryption");
	return -EOPNOTSUPP;
}

/* The part of zext4_before_access() for a folio that is mapped or under write-back. */
void zext4_quieten(struct folio *folio)
{
	folio_wait_writeback(folio);
	if (folio_mapped(folio) && folio_mkclean(folio))
		folio_mark_dirty(folio);
}

/**
 * zext4_empty_log() - empty the log, so that recovery writes none of its images again
 * @sb: mounted
 *
 * This is for blocks that were journaled as metadata and are file data from now on.
 *
 * Context: sleeps until all components are home; no handle open. Others wait at the barrier for
 * what is changed during the home writes, not for these.
 * Return: 0, or a negative error.
 */
int zext4_empty_log(struct super_block *sb)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;
	int err;

	if (!journal)
		return 0;
	zext4_may_wait();
	zj_journal_write_home(journal);
	zj_journal_lock_updates(journal);
	err = zj_journal_flush(journal, 0);
	zj_journal_unlock_updates(journal);
	return err;
}

/* ---- handles and in-core inodes ---- */

/* Claims come before any access to blocks, so a shared directory is counted by its claim. */
static enum zj_kind inode_kind(const struct inode *inode)
{
	return S_ISDIR(inode->i_mode) ? ZJ_KIND_DIRECTORY : ZJ_KIND_INODE;
}

static bool claimed(const handle_t *handle, struct inode *inode)
{
	return handle->h_transaction &&
	       READ_ONCE(EXT4_I(inode)->i_zj_claim) ==
	       handle->h_transaction->t_tid;
}

/* A transaction stays in one lane, so the lane is remembered with its first claim only. */
static noinline void claim_anew(handle_t *handle, struct inode *inode)
{
	zext4_remember_lane(handle, inode);
	zj_journal_claim(handle, &EXT4_I(inode)->i_zj_claim, inode_kind(inode));
}

/* Takes the inode's data that was written since the transaction claimed it first, too. */
static inline void claim(handle_t *handle, struct inode *inode)
{
	zj_journal_take_written(handle, &EXT4_I(inode)->i_zj_written);
	if (!claimed(handle, inode))
		claim_anew(handle, inode);
}

void zext4_claim(handle_t *handle, struct inode *inode)
{
	if (!ext4_handle_valid(handle) || is_handle_aborted(handle))
		return;
	claim(handle, inode);
}

/* Claims, and claims again when the handle is restarted. */
void zext4_claim_keep(handle_t *handle, struct inode *inode)
{
	if (!ext4_handle_valid(handle) || is_handle_aborted(handle))
		return;
	claim(handle, inode);
	zj_journal_keep_claim(handle, &EXT4_I(inode)->i_zj_claim,
			      inode_kind(inode));
}

/*
 * Claims the tree of directories for a directory that gets another parent (R11).  The VFS
 * has checked that the move makes no ring, in a tree that earlier moves have made. If a
 * crash took those back but not this one, directories could be below each other and below
 * no root. So each move is tied to the one before.  s_vfs_rename_mutex is held, so moves
 * claim in the order in which they were checked.  A rename never restarts its handle.
 */
void zext4_claim_move(handle_t *handle, struct super_block *sb)
{
	if (ext4_handle_valid(handle) && !is_handle_aborted(handle))
		zj_journal_claim(handle, &EXT4_SB(sb)->s_zj_move_claim,
				 ZJ_KIND_MOVE);
}

/**
 * zext4_claim_resize() - a handle takes one step of a resize
 * @handle: the handle that has been started for it
 * @sb: mounted
 *
 * A step relies on the ones before it: the descriptors of new groups name bitmaps that an
 * earlier handle has set up, perhaps in another lane, and the two share no block. Only
 * one task at a time resizes, so each step claims after the one before it, and again
 * when its handle is restarted.
 */
void zext4_claim_resize(handle_t *handle, struct super_block *sb)
{
	if (ext4_handle_valid(handle) && !is_handle_aborted(handle))
		zj_journal_claim_keep(handle, &EXT4_SB(sb)->s_zj_resize_claim,
				      ZJ_KIND_RESIZE);
}

/*
 * A new inode inherits its group, flags, project, ACL and encryption policy from a
 * directory that the handle neither changes nor has locked. So the handle is tied to the
 * last one that changed the directory.
 */
void zext4_inherited(handle_t *handle, struct inode *dir)
{
	static_assert(ZEXT4_HT_TMPFILE > EXT4_HT_MAX);
	if (ext4_handle_valid(handle) && !is_handle_aborted(handle))
		zj_journal_read_claimed(handle, &EXT4_I(dir)->i_zj_claim,
					ZJ_KIND_DIRECTORY);
}

static noinline bool claim_unclaimed(handle_t *handle, struct inode *inode)
{
	tid_t tid = READ_ONCE(EXT4_I(inode)->i_zj_claim);
	bool unclaimed;

	if (is_handle_aborted(handle))
		return false;
	unclaimed = !ext4_test_inode_state(inode, EXT4_STATE_NEW) &&
		    zj_transaction_committed(EXT4_JOURNAL(inode), tid);
	claim(handle, inode);
	return unclaimed;
}

/*
 * The safety net, for an inode that is about to be marked dirty. Claims the inode, and
 * returns true if no uncommitted transaction had claimed it: then the inode must still
 * equal its place in the inode table. As a rule the handle has claimed it.
 */
bool zext4_claim_late(handle_t *handle, struct inode *inode)
{
	if (!ext4_handle_valid(handle))
		return false;
	zj_journal_take_written(handle, &EXT4_I(inode)->i_zj_written);
	return !claimed(handle, inode) && claim_unclaimed(handle, inode);
}

/**
 * zext4_show_claim() - change an inode's block because another block of it was changed
 * @handle: a handle that has claimed the inode
 * @inode: a block of its tree of extents was changed, with i_data_sem held for writing,
 *	or its entry in the orphan file was removed
 *
 * When an inode is read in again, the newest transaction of its block in the inode table
 * counts as its last claimer. So such a handle changes that block, too, even if it has
 * nothing to change there. Otherwise an fsync could miss a new mapping and lose the data
 * behind it, and the inode could be removed while its entry is still on the disk.
 *
 * Return: 0 or a negative errno.
 */
int zext4_show_claim(handle_t *handle, struct inode *inode)
{
	if (!ext4_handle_valid(handle) || is_handle_aborted(handle) ||
	    EXT4_I(inode)->i_zj_shown == handle->h_transaction->t_tid)
		return 0;
	return ext4_mark_inode_dirty(handle, inode);
}

/*
 * Warns of an inode that was changed before it was claimed. After an error the inode may
 * differ from its block for another reason: a claimed change could not be put into it.
 */
void zext4_check_unclaimed(struct inode *inode, struct ext4_iloc *iloc)
{
	struct ext4_inode *raw = ext4_raw_inode(iloc);
	struct ext4_inode_info *ei = EXT4_I(inode);
	bool mapped = (S_ISREG(inode->i_mode) || S_ISDIR(inode->i_mode)) &&
		!ext4_has_inline_data(inode);

	if (EXT4_SB(inode->i_sb)->s_mount_state & EXT4_ERROR_FS)
		return;
	WARN_ONCE(inode->i_nlink != le16_to_cpu(raw->i_links_count) ||
		  ei->i_dtime != le32_to_cpu(raw->i_dtime) ||
		  (mapped && memcmp(ei->i_data, raw->i_block,
				    sizeof(ei->i_data))),
		  "zext4: inode %llu was changed before a handle claimed it",
		  (unsigned long long)inode->i_ino);
}

/* ---- reads that a handle relies on ---- */

/*
 * Notes that the handle is about to set a feature bit in the super block.  Two handles
 * that do so meet in its buffer, so the later tid covers the earlier one.
 */
void zext4_feature_set(handle_t *handle, struct super_block *sb)
{
	if (ext4_handle_valid(handle) && !is_handle_aborted(handle)) {
		WRITE_ONCE(EXT4_SB(sb)->s_zj_feature_tid,
			   handle->h_transaction->t_tid);
		smp_wmb(); /* pairs with zext4_feature_relied_on() */
	}
}

/*
 * Ties a handle that needs a feature bit, and has found it set, to the one that set it.
 * Bits that were set before the mount, or by a committed transaction, need no tie.
 */
void zext4_feature_relied_on(handle_t *handle, struct super_block *sb)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	tid_t tid;

	smp_rmb(); /* after the bit: pairs with zext4_feature_set() */
	tid = READ_ONCE(sbi->s_zj_feature_tid);
	if (!tid || !ext4_handle_valid(handle) || is_handle_aborted(handle) ||
	    zj_transaction_committed(sbi->s_journal, tid))
		return;
	zj_journal_read_dependency(handle, sbi->s_sbh);
}

/* Declares the read of a super block or descriptor block that a resize copies to backups. */
void zext4_read_backup_source(handle_t *handle, struct super_block *sb,
			      const char *data)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	struct buffer_head *bh = sbi->s_sbh;
	unsigned long i;

	if (!ext4_handle_valid(handle))
		return;
	if (data != (char *)sbi->s_es) {
		for (i = 0; i < sbi->s_gdb_count; i++) {
			bh = sbi_array_rcu_deref(sbi, s_group_desc, i);
			if (bh->b_data == data)
				break;
		}
		if (WARN_ON_ONCE(i == sbi->s_gdb_count))
			return;
	}
	zj_journal_read_dependency(handle, bh);
}

/* ---- values that user space can see ---- */

/**
 * zext4_salt_is_unset() - is there no salt of passwords yet?
 * @sb: with the encrypt feature
 *
 * This looks under the buffer's lock: a task that finds a salt must also find the
 * transaction that made it (zext4_wait_exposed()).
 */
bool zext4_salt_is_unset(struct super_block *sb)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	bool unset;

	lock_buffer(sbi->s_sbh);
	unset = !memchr_inv(sbi->s_es->s_encrypt_pw_salt, 0,
			    sizeof(sbi->s_es->s_encrypt_pw_salt));
	unlock_buffer(sbi->s_sbh);
	return unset;
}

/**
 * zext4_note_exposed() - note that a handle changes a value that user space can see
 * @handle: with write access to the super block
 * @sb: its buffer is locked
 *
 * Salt, UUID and label share one word: handles that change them meet in the
 * buffer, so that the later transaction is not committed before the earlier one.
 */
void zext4_note_exposed(handle_t *handle, struct super_block *sb)
{
	/* This holds for an aborted handle, too: its value must never be returned. */
	if (ext4_handle_valid(handle) && handle->h_transaction)
		WRITE_ONCE(EXT4_SB(sb)->s_zj_exposed_tid,
			   handle->h_transaction->t_tid);
}

/**
 * zext4_wait_exposed() - wait until a value of the super block is committed
 * @sb: its buffer was locked after the value was set
 *
 * User space must not see it earlier: it may derive other things from the value, and
 * make these durable in other lanes.
 *
 * Context: sleeps for a commit; no handle open, no buffer locked.
 * Return: 0, or -EIO if the journal was aborted before.
 */
int zext4_wait_exposed(struct super_block *sb)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	tid_t tid = READ_ONCE(sbi->s_zj_exposed_tid);
	int err;

	if (!tid || !sbi->s_journal)
		return 0;
	zext4_may_wait();
	err = zj_complete_transaction(sbi->s_journal, tid);
	/* A committed value stays committed, even if the journal is aborted. */
	if (!err)
		cmpxchg(&sbi->s_zj_exposed_tid, tid, 0);
	return err;
}

/* ---- extents ---- */

/**
 * zext4_forget_extents() - forget what is known of a file's extents but not in its tree
 * @inode: the file
 * @from: first block; all behind it is looked up in the tree again
 *
 * ext4 does so before it changes the tree. A change that needs several handles lets go of
 * i_data_sem between them, and others take in what is not changed yet: blocks that are freed then
 * (E33). With file data in the log most truncations of synced files need several, because each
 * extent may need revokes.
 *
 * Context: i_rwsem and i_data_sem held for writing, the tree has its final form.
 */
void zext4_forget_extents(struct inode *inode, ext4_lblk_t from)
{
	ext4_es_remove_extent(inode, from, EXT_MAX_BLOCKS - from);
}

/* ---- waiting for the owner of one buffer ---- */

/* Returns the first journaled buffer at or after @offset of a locked folio, referenced. */
struct buffer_head *zext4_tail_buffer(struct folio *folio, size_t offset)
{
	struct buffer_head *head = folio_buffers(folio);
	struct buffer_head *bh = head;

	if (!head)
		return NULL;
	do {
		if (bh_offset(bh) >= offset && buffer_jbd(bh)) {
			get_bh(bh);
			return bh;
		}
		bh = bh->b_this_page;
	} while (bh != head);
	return NULL;
}

/* Waits for the owner of the buffer from zext4_tail_buffer(), and drops the reference. */
int zext4_wait_buffer(journal_t *journal, struct buffer_head *bh)
{
	int ret;

	if (!bh)
		return 0;
	zext4_may_wait();
	ret = zj_journal_wait_buffer(journal, bh);
	put_bh(bh);
	return ret;
}

/**
 * zext4_put_off_super() - should the worker write the super block after an error?
 * @sb: mounted
 * @continue_fs: whether it goes on to be used, which is stock ext4's reason
 *
 * A direct write waits for the transactions that have changed the super block (E22). One of these
 * may wait for the caller, who may have a handle open, or a lock that a handle waits for, or be a
 * lane's thread. ext4 has aborted the journal before it asks, which ends all waits, but not if the
 * file system is read-only, as it may have become while handles were open.
 *
 * No worker runs after a panic, so then there must be nothing to wait for.
 */
bool zext4_put_off_super(struct super_block *sb, bool continue_fs)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	if (!journal || continue_fs)
		return journal;
	if (test_opt(sb, ERRORS_PANIC))
		zj_journal_abort(journal, -EIO);
	return !is_journal_aborted(journal);
}

/*
 * Locks the super block before it is written outside the journal.  In the last commit of
 * an unmount the caller may be a lane's thread, which must not wait for itself.
 */
void zext4_lock_super(struct super_block *sb)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);

	if (sbi->s_journal && !is_journal_aborted(sbi->s_journal))
		zext4_may_wait();
	if (sbi->s_journal && !ext4_test_mount_flag(sb, EXT4_MF_JOURNAL_DESTROY))
		zj_journal_lock_committed_buffer(sbi->s_journal, sbi->s_sbh);
	else
		lock_buffer(sbi->s_sbh);
}
