// SPDX-License-Identifier: GPL-2.0-only
/*
 * Journaled quota with lanes: each dquot is claimed by the handles that charge it (R12), and
 * usage is committed before user space sees it (E28). A new dquot's entry in the quota file
 * gets a block of its own, so that the block does not tie what the claims leave apart.
 */
#include <linux/dqblk_qtree.h>
#include <linux/hash.h>
#include <linux/quota.h>
#include <linux/quotaops.h>
#include "ext4.h"
#include "ext4_jbd2.h"

#ifdef CONFIG_QUOTA

/* Dquots whose ids have one hash value share a claim, which only ties more than it must. */
#define CLAIM_BITS	10

/* A quota file that has grown to this size, or to this part of the disk, is packed (E26). */
#define APART_BYTES	(16 << 20)
#define APART_SHIFT	10

/**
 * struct zext4_quota - journaled quota of a mounted file system
 * @claims: of dquots, by type and the hash of the id; exchanged without a lock. They outlive
 *	the dquots: one that is released and read in again is still claimed
 * @removed: claim of the last handle that removed an entry, by type; within layout
 * @layout: held while an entry is inserted or removed; within dq_lock, around dqio_sem
 * @ops: the format's methods with two of ours; written while quota is switched on
 * @format: the format's own methods; written while quota is switched on
 * @calls: the methods of quotactl(); constant after the mount
 */
struct zext4_quota {
	tid_t claims[EXT4_MAXQUOTAS][1 << CLAIM_BITS];
	tid_t removed[EXT4_MAXQUOTAS];
	struct mutex layout;
	struct quota_format_ops ops[EXT4_MAXQUOTAS];
	const struct quota_format_ops *format[EXT4_MAXQUOTAS];
	struct quotactl_ops calls;
};

/* ---- claims ---- */

static tid_t *claim_of(struct super_block *sb, struct kqid id)
{
	u32 number = from_kqid(&init_user_ns, id);

	return &EXT4_SB(sb)->s_zj_quota->claims[id.type][hash_32(number, CLAIM_BITS)];
}

static bool has_claims(handle_t *handle, struct super_block *sb)
{
	return handle && ext4_handle_valid(handle) &&
	       !is_handle_aborted(handle) && ext4_is_quota_journalled(sb);
}

static void claim(handle_t *handle, struct super_block *sb, struct kqid id)
{
	zj_journal_claim(handle, claim_of(sb, id), ZJ_KIND_QUOTA);
}

/* May usage of this type be counted now, or be switched on while a handle is open? */
static bool may_be_on(struct super_block *sb, int type)
{
	struct ext4_super_block *es = EXT4_SB(sb)->s_es;

	if (!ext4_has_feature_quota(sb))
		return type != PRJQUOTA;
	if (type == USRQUOTA)
		return es->s_usr_quota_inum;
	return type == GRPQUOTA ? es->s_grp_quota_inum : es->s_prj_quota_inum;
}

/**
 * zext4_charge() - claim the dquots of an inode before its usage changes (R12)
 * @inode: blocks or inodes are about to be charged to its owners, or given back
 *
 * The dquots are found by the inode's ids, not by its pointers to dquots: quota may be
 * switched on between the claim and the charge (decision 39). Without a handle it does
 * nothing, since then only reservations change, which are not on the disk.
 *
 * Context: sleeps, never waits for another handle.
 * Return: @inode.
 */
struct inode *zext4_charge(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	handle_t *handle = ext4_journal_current_handle();

	if (!has_claims(handle, sb))
		return inode;
	if (may_be_on(sb, USRQUOTA))
		claim(handle, sb, make_kqid_uid(inode->i_uid));
	if (may_be_on(sb, GRPQUOTA))
		claim(handle, sb, make_kqid_gid(inode->i_gid));
	if (may_be_on(sb, PRJQUOTA))
		claim(handle, sb, make_kqid_projid(EXT4_I(inode)->i_projid));
	return inode;
}

/**
 * zext4_dquot_transfer() - dquot_transfer() with claims of all dquots that it charges (R12)
 * @idmap: of the mount
 * @inode: gets other owners
 * @attr: the new owners
 *
 * Return: as dquot_transfer().
 */
int zext4_dquot_transfer(struct mnt_idmap *idmap, struct inode *inode,
			 struct iattr *attr)
{
	struct super_block *sb = inode->i_sb;
	handle_t *handle = ext4_journal_current_handle();

	zext4_charge(inode);
	if (has_claims(handle, sb) && i_uid_needs_update(idmap, attr, inode))
		claim(handle, sb,
		      make_kqid_uid(from_vfsuid(idmap, i_user_ns(inode),
						attr->ia_vfsuid)));
	if (has_claims(handle, sb) && i_gid_needs_update(idmap, attr, inode))
		claim(handle, sb,
		      make_kqid_gid(from_vfsgid(idmap, i_user_ns(inode),
						attr->ia_vfsgid)));
	return dquot_transfer(idmap, inode, attr);
}

/**
 * zext4_project_transfer() - __dquot_transfer() with the same claims (R12)
 * @inode: gets another project
 * @to: the dquots that its usage is moved to
 *
 * Return: as __dquot_transfer().
 */
int zext4_project_transfer(struct inode *inode, struct dquot **to)
{
	handle_t *handle = ext4_journal_current_handle();

	zext4_charge(inode);
	if (to[PRJQUOTA] && has_claims(handle, inode->i_sb))
		claim(handle, inode->i_sb, to[PRJQUOTA]->dq_id);
	return __dquot_transfer(inode, to);
}

/**
 * zext4_claim_tree() - claim a quota file before its header is written
 * @handle: open
 * @sb: mounted
 * @type: of the quota
 *
 * The kernel keeps the number of the file's blocks and the heads of its free lists in memory,
 * so a handle may write to the header what another handle has changed there. These belong to
 * the file, so the claim of its inode stands for them. ext4_journal_start() makes that claim
 * where an entry may be inserted or removed.
 */
void zext4_claim_tree(handle_t *handle, struct super_block *sb, int type)
{
	struct inode *file = sb_dqopt(sb)->files[type];

	if (file && has_claims(handle, sb))
		zext4_claim(handle, file);
}

/**
 * zext4_claim_charged() - claim a dquot that is about to be written to the quota file
 * @handle: open
 * @dquot: its usage or its limits were changed in core
 *
 * The safety net: usage is only changed by a handle that has claimed the dquot, and the
 * write is nested in that handle. Limits are changed without one; nothing follows from them.
 */
void zext4_claim_charged(handle_t *handle, struct dquot *dquot)
{
	struct super_block *sb = dquot->dq_sb;
	journal_t *journal = EXT4_SB(sb)->s_journal;
	tid_t tid;

	if (!has_claims(handle, sb))
		return;
	tid = READ_ONCE(*claim_of(sb, dquot->dq_id));
	WARN_ONCE(handle->h_ref > 1 && zj_transaction_committed(journal, tid),
		  "zext4: quota of type %d was charged before a handle claimed it",
		  dquot->dq_id.type);
	claim(handle, sb, dquot->dq_id);
}

/* ---- entries of the quota file ---- */

static struct qtree_mem_dqinfo *tree_of(struct super_block *sb, int type)
{
	return sb_dqinfo(sb, type)->dqi_priv;
}

/* An entry of 72 bytes takes a block only while the quota file is small. */
static bool is_small(struct super_block *sb, const struct qtree_mem_dqinfo *tree)
{
	u64 disk = ext4_blocks_count(EXT4_SB(sb)->s_es) << sb->s_blocksize_bits;
	u64 bytes = (u64)tree->dqi_blocks << tree->dqi_blocksize_bits;

	return bytes < min_t(u64, APART_BYTES, disk >> APART_SHIFT);
}

/*
 * Inserts an entry into a block of the file system where no other entry is: the lists of
 * free entries and free blocks are hidden from the insertion, which then appends a block,
 * the first one of a block of the file system. Up to three blocks of the tree may come
 * before it there; these change only when an entry is inserted or removed.
 */
static int insert_apart(struct dquot *dquot,
			const struct quota_format_ops *format)
{
	struct super_block *sb = dquot->dq_sb;
	struct qtree_mem_dqinfo *tree = tree_of(sb, dquot->dq_id.type);
	unsigned int end = tree->dqi_blocks;
	unsigned int free_block = tree->dqi_free_blk;
	unsigned int free_entry = tree->dqi_free_entry;
	unsigned int begin = round_up(end, 1U << (sb->s_blocksize_bits -
						  tree->dqi_blocksize_bits));
	int err;

	tree->dqi_blocks = begin;
	tree->dqi_free_blk = 0;
	tree->dqi_free_entry = 0;
	err = format->commit_dqblk(dquot);
	if (tree->dqi_blocks == begin)
		tree->dqi_blocks = end; /* the file has not grown: an error */
	tree->dqi_free_blk = free_block;
	tree->dqi_free_entry = free_entry;
	mark_info_dirty(sb, dquot->dq_id.type);
	return err;
}

/* Claims a dquot whose entry is inserted or removed; dq_lock is held. */
static void claim_changed(struct dquot *dquot)
{
	handle_t *handle = ext4_journal_current_handle();

	if (has_claims(handle, dquot->dq_sb))
		claim(handle, dquot->dq_sb, dquot->dq_id);
}

/* The format's commit_dqblk(); dq_lock is held, and a handle that has claimed the file. */
static int commit_dqblk(struct dquot *dquot)
{
	struct super_block *sb = dquot->dq_sb;
	int type = dquot->dq_id.type;
	struct zext4_quota *quota = EXT4_SB(sb)->s_zj_quota;
	const struct quota_format_ops *format = quota->format[type];
	int err;

	if (dquot->dq_off)
		return format->commit_dqblk(dquot);
	claim_changed(dquot);
	mutex_lock(&quota->layout);
	err = is_small(sb, tree_of(sb, type)) ? insert_apart(dquot, format) : -ENOSPC;
	if (err == -ENOSPC) /* a block that has other entries may have room */
		err = format->commit_dqblk(dquot);
	mutex_unlock(&quota->layout);
	return err;
}

/*
 * The format's release_dqblk(). It takes a block that becomes empty from the list of blocks
 * with free entries. A block of insert_apart() is on no list and looks like the list's only
 * one, so the head is lost, and put back here.
 */
static int release_dqblk(struct dquot *dquot)
{
	struct super_block *sb = dquot->dq_sb;
	int type = dquot->dq_id.type;
	struct zext4_quota *quota = EXT4_SB(sb)->s_zj_quota;
	struct qtree_mem_dqinfo *tree = tree_of(sb, type);
	handle_t *handle = ext4_journal_current_handle();
	unsigned int block, head;
	int err;

	mutex_lock(&quota->layout);
	head = tree->dqi_free_entry;
	block = dquot->dq_off >> tree->dqi_blocksize_bits;
	err = quota->format[type]->release_dqblk(dquot);
	if (!dquot->dq_off && has_claims(handle, sb)) {
		claim_changed(dquot);
		zj_journal_claim(handle, &quota->removed[type], ZJ_KIND_QUOTA);
	}
	if (head && head != block && !tree->dqi_free_entry) {
		tree->dqi_free_entry = head;
		mark_info_dirty(sb, type);
	}
	mutex_unlock(&quota->layout);
	return err;
}

/*
 * Puts our two methods in front of the format's. Each time that quota is on, stock is back.
 * False: the format has no tree, so neither do entries come and go in one.
 */
static bool take_layout(struct super_block *sb, int type)
{
	struct zext4_quota *quota = EXT4_SB(sb)->s_zj_quota;
	const struct quota_format_ops **now = &sb_dqopt(sb)->ops[type];
	struct quota_format_ops *ours = &quota->ops[type];

	/* Pairs with the store below: the format's own methods are seen, too. */
	if (smp_load_acquire(now) == ours)
		return true;
	if (sb_dqinfo(sb, type)->dqi_fmt_id == QFMT_VFS_OLD)
		return false;
	mutex_lock(&quota->layout);
	if (*now != ours) {
		quota->format[type] = *now;
		*ours = **now;
		ours->commit_dqblk = commit_dqblk;
		ours->release_dqblk = release_dqblk;
		/* Pairs with the load above: after what it points to. */
		smp_store_release(now, ours);
	}
	mutex_unlock(&quota->layout);
	return true;
}

/**
 * zext4_claim_dquot() - see to it that a dquot is claimed if its entry is inserted or removed
 * @handle: open; has claimed the quota file when it was started
 * @dquot: being acquired or released
 *
 * An entry that is only read is not claimed: who lists all usage would otherwise wait for a
 * commit of its own handle at every entry (E28).
 */
void zext4_claim_dquot(handle_t *handle, struct dquot *dquot)
{
	struct super_block *sb = dquot->dq_sb;

	if (has_claims(handle, sb) && !take_layout(sb, dquot->dq_id.type))
		claim(handle, sb, dquot->dq_id);
}

/* ---- values that user space can see ---- */

/* Waits until the last claimer is committed. */
static int wait_claimer(struct super_block *sb, const tid_t *claim)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;
	tid_t tid = READ_ONCE(*claim);

	if (!journal || !ext4_is_quota_journalled(sb))
		return 0;
	zext4_may_wait();
	return tid ? zj_complete_transaction(journal, tid) : 0;
}

/* Waits until all that has been charged to a dquot so far is committed (E28). */
static int wait_charged(struct super_block *sb, struct kqid id)
{
	return wait_claimer(sb, claim_of(sb, id));
}

/*
 * Waits until all entries that have been removed so far are gone for good: an id that is not
 * listed has no usage. A removal that was seen in the tree ends before the lock is free.
 */
static int wait_removed(struct super_block *sb, int type)
{
	struct zext4_quota *quota = EXT4_SB(sb)->s_zj_quota;

	mutex_lock(&quota->layout);
	mutex_unlock(&quota->layout);
	return wait_claimer(sb, &quota->removed[type]);
}

static int get_dqblk(struct super_block *sb, struct kqid id,
		     struct qc_dqblk *block)
{
	int err = dquot_get_dqblk(sb, id, block);

	return err ? err : wait_charged(sb, id);
}

static int get_next_dqblk(struct super_block *sb, struct kqid *id,
			  struct qc_dqblk *block)
{
	int type = id->type;
	int err = dquot_get_next_dqblk(sb, id, block);
	int waited = 0;

	if (!err || err == -ENOENT)
		waited = wait_removed(sb, type);
	if (!err && !waited)
		waited = wait_charged(sb, *id);
	return waited ? waited : err;
}

/* ---- mount ---- */

/**
 * zext4_quota_init() - prepare for journaled quota, whether it is ever switched on or not
 * @sb: being mounted, with a journal
 *
 * Return: 0 or -ENOMEM.
 */
int zext4_quota_init(struct super_block *sb)
{
	struct zext4_quota *quota = kvzalloc(sizeof(*quota), GFP_KERNEL);

	if (!quota)
		return -ENOMEM;
	mutex_init(&quota->layout);
	quota->calls = *sb->s_qcop;
	quota->calls.get_dqblk = get_dqblk;
	quota->calls.get_nextdqblk = get_next_dqblk;
	sb->s_qcop = &quota->calls;
	EXT4_SB(sb)->s_zj_quota = quota;
	return 0;
}

void zext4_quota_exit(struct ext4_sb_info *sbi)
{
	kvfree(sbi->s_zj_quota);
}
#endif /* CONFIG_QUOTA */
