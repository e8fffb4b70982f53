// SPDX-License-Identifier: GPL-2.0-only
/*
 * The journal as a whole: options, features, init, load, destroy.
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "format/codec.h"
#include "journal/journal.h"
#include "log/log.h"
#include "nvm/nvm.h"
#include "txn/txn.h"
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>

/* ---- options: checked, completed with the defaults, and kept ---- */

static const struct zj_log_ops *const log_formats[ZJ_NR_LOG_FORMATS] = {
	[ZJ_LOG_LANES] = &zj_log_lanes,
	[ZJ_LOG_JBD2] = &zj_log_jbd2,
	[ZJ_LOG_NVM] = &zj_log_nvm,
};

/* Copies word by word, because commits read the options meanwhile. */
static void keep_live(struct zj_live_options *now, struct zj_live_options live)
{
	const u32 *from = (const u32 *)&live;
	u32 *to = (u32 *)now;
	int i;

	live.flush_batch = live.flush_batch ?: ZJ_FLUSH_BATCH;
	live.versions = live.versions ?: ZJ_VERSIONS;
	for (i = 0; i < sizeof(live) / sizeof(u32); i++)
		WRITE_ONCE(to[i], from[i]);
}

static void keep_options(struct zj_journal *zj, const struct zj_options *options)
{
	struct zj_options *now = &zj->options;

	*now = *options;
	keep_live(&now->live, options->live);
	if (now->log == ZJ_LOG_JBD2)
		now->lanes = 1;
	zj->log_ops = log_formats[now->log];
	zj->nvm.path = now->nvm_path;
	zj->nvm.info_max = now->txninfo_max ?: ZJ_TXNINFO_BYTES;
	zj->nvm.one_info = now->txninfo_max;
}

/* Sets the options that hold until the journal is configured. */
static void zj_options_default(struct zj_journal *zj)
{
	keep_options(zj, &(struct zj_options){ 0 });
}

static const char *what_is_wrong(const struct zj_journal *zj,
				 const struct zj_options *options)
{
	bool memory = options->log == ZJ_LOG_NVM;
	u32 info_max = options->txninfo_max;

	if (options->log >= ZJ_NR_LOG_FORMATS)
		return "unknown log format";
	if (options->log == ZJ_LOG_JBD2 && options->lanes > 1)
		return "a log in stock ext4's format can have only one lane";
	if (memory != !!options->nvm_path)
		return "a log in persistent memory needs a memory device, and no other log may have one";
	if (memory && zj_log_apart(zj))
		return "a log in persistent memory needs a journal in the file system, not on a device of its own";
	if (!memory && info_max)
		return "options for persistent memory are given, but the log is not there";
	if (info_max && (info_max < ZJ_TXNINFO_MAX_MIN || info_max > ZJ_TXNINFO_MAX_MAX ||
			 !is_power_of_2(info_max)))
		return "this size of TxnInfo is not possible";
	return NULL;
}

/**
 * zj_journal_configure() - set the options that the file system wants
 * @journal: the journal, not loaded
 * @options: copied; a string that it points to must stay as long as the journal
 *	exists
 *
 * Without a call the defaults hold: all fields zero. A second call replaces
 * everything that the first one has set.
 *
 * Return: 0, or -EINVAL after a message if options contradict each other;
 * nothing has changed then.
 */
int zj_journal_configure(journal_t *journal, const struct zj_options *options)
{
	struct zj_journal *zj = to_zj(journal);
	const char *wrong = what_is_wrong(zj, options);
	unsigned long flags = (options->data_reported ? ZJ_DATA_REPORTED : 0) |
			      (options->data_journaled ? ZJ_DATA_JOURNALED : 0);

	if (wrong) {
		zj_err(zj, "these options contradict each other: %s\n", wrong);
		return -EINVAL;
	}
	keep_options(zj, options);
	write_lock(&journal->j_state_lock);
	WRITE_ONCE(journal->j_flags, flags |
		   (journal->j_flags & ~(ZJ_DATA_REPORTED | ZJ_DATA_JOURNALED)));
	write_unlock(&journal->j_state_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_configure);

/**
 * zj_journal_options() - return the options in force
 * @journal: the journal, configured
 *
 * Return: valid as long as the journal exists; zj_journal_reconfigure() changes
 * those that are live.
 */
const struct zj_options *zj_journal_options(journal_t *journal)
{
	return &to_zj(journal)->options;
}
EXPORT_SYMBOL_GPL(zj_journal_options);

/**
 * zj_journal_reconfigure() - change the options that may change at any time
 * @journal: the journal, loaded or not
 * @live: the new values of all of these
 *
 * Context: sleeps; one caller at a time.
 */
void zj_journal_reconfigure(journal_t *journal, const struct zj_live_options *live)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_live_options *now = &zj->options.live;
	bool moves = now->unpinned != live->unpinned;

	keep_live(now, *live);
	if (moves)
		zj_lanes_place(zj);
}
EXPORT_SYMBOL_GPL(zj_journal_reconfigure);

/* ---- features, which ext4 sets at every mount ---- */

static const u32 can_incompat = ZJ_JBD2_INCOMPAT_REVOKE | ZJ_JBD2_INCOMPAT_64BIT |
				ZJ_JBD2_INCOMPAT_ASYNC_COMMIT |
				ZJ_JBD2_INCOMPAT_CSUM_V2 |
				ZJ_JBD2_INCOMPAT_CSUM_V3;

int zj_journal_check_available_features(journal_t *journal,
					unsigned long compat, unsigned long ro,
					unsigned long incompat)
{
	return !(compat & ~(unsigned long)ZJ_JBD2_COMPAT_CHECKSUM) && !ro &&
	       !(incompat & ~(unsigned long)can_incompat);
}
EXPORT_SYMBOL_GPL(zj_journal_check_available_features);

/*
 * The features must not change while a log in stock's format is live, because
 * block 0 says with them how all of the log is to be read.
 */
static bool features_fixed(struct zj_journal *zj)
{
	return WARN_ON_ONCE(zj->log_ops->obeys_features && zj->live);
}

/**
 * zj_journal_set_features() - set the features that stock would use on this
 * journal
 * @journal: the journal
 * @compat: compatible ones
 * @ro: read-only compatible ones
 * @incompat: incompatible ones
 *
 * They have no meaning for lanes, which always have 64-bit blocks, checksums
 * and revokes; block 0 keeps them for the next stock mount. A log in stock's
 * format is written as they say.
 *
 * Return: 1 if all are known; otherwise 0, and nothing is set.
 */
int zj_journal_set_features(journal_t *journal, unsigned long compat,
			    unsigned long ro, unsigned long incompat)
{
	struct zj_jbd2_super *sb = journal->j_superblock;

	if (!zj_journal_check_available_features(journal, compat, ro, incompat))
		return 0;
	if (features_fixed(to_zj(journal)))
		return 0;
	mutex_lock(&to_zj(journal)->super_lock);
	if (incompat & (ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3)) {
		/* Only one kind of checksum may be set. */
		sb->s_feature_incompat &= ~cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V2 |
						       ZJ_JBD2_INCOMPAT_CSUM_V3);
		sb->s_feature_compat &= ~cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
		sb->s_checksum_type = ZJ_JBD2_CRC32C;
	}
	sb->s_feature_compat |= cpu_to_be32(compat);
	sb->s_feature_incompat |= cpu_to_be32(incompat);
	mutex_unlock(&to_zj(journal)->super_lock);
	return 1;
}
EXPORT_SYMBOL_GPL(zj_journal_set_features);

void zj_journal_clear_features(journal_t *journal, unsigned long compat,
			       unsigned long ro, unsigned long incompat)
{
	struct zj_jbd2_super *sb = journal->j_superblock;

	if (features_fixed(to_zj(journal)))
		return;
	mutex_lock(&to_zj(journal)->super_lock);
	sb->s_feature_compat &= ~cpu_to_be32(compat);
	sb->s_feature_incompat &= ~cpu_to_be32(incompat);
	mutex_unlock(&to_zj(journal)->super_lock);
}
EXPORT_SYMBOL_GPL(zj_journal_clear_features);

/* ---- init, load, destroy ---- */

static struct zj_journal *journal_alloc(void)
{
	struct zj_journal *zj = kzalloc(sizeof(*zj), GFP_KERNEL);

	if (!zj || zj_tids_init(zj)) {
		kfree(zj);
		return NULL;
	}
	zj_options_default(zj);
	zj->credit_units = 1;
	/*
	 * Data written before the mount may be in the cache, so the first flush
	 * has to cover it.
	 */
	zj->flush.data = 1;
	rwlock_init(&zj->public.j_state_lock);
	zj->public.j_commit_interval = JBD2_DEFAULT_MAX_COMMIT_AGE * HZ;
	mutex_init(&zj->super_lock);
	mutex_init(&zj->ckpt_lock);
	mutex_init(&zj->barrier_lock);
	mutex_init(&zj->abort_lock);
	spin_lock_init(&zj->comp_lock);
	spin_lock_init(&zj->pool_lock);
	INIT_LIST_HEAD(&zj->ckpt_list);
	INIT_LIST_HEAD(&zj->pending);
	INIT_LIST_HEAD(&zj->finishing);
	INIT_LIST_HEAD(&zj->pool);
	zj->batch_size = ZJ_BATCH_SIZE;
	init_waitqueue_head(&zj->wait_submit);
	init_waitqueue_head(&zj->wait_progress);
	INIT_LIST_HEAD(&zj->space_queue);
	init_waitqueue_head(&zj->wait_ckpt);
	init_waitqueue_head(&zj->wait_barrier);
	return zj;
}

static void journal_free(struct zj_journal *zj)
{
	zj_proc_remove(zj);
	zj_lanes_stop(zj);
	zj_drop_everything(zj);
	if (zj->log_ops->release)
		zj->log_ops->release(zj);
	zj_lanes_free(zj);
	zj_tenants_exit(zj);
	zj_checkpoint_exit(zj);
	zj_space_exit(zj);
	zj_block_index_exit(&zj->file_blocks);
	zj_block_index_exit(&zj->revokes);
	/* An assertion that has failed since the checkpoint's thread looked last. */
	zj_abort_finish(zj);
	zj_map_clear(&zj->map);
	zj_super_put(zj);
	zj_tids_exit(zj);
	iput(zj->public.j_inode);
	kfree(zj);
}

/* ---- init ---- */

static void set_devices(struct zj_journal *zj, struct block_device *bdev,
			struct block_device *fs_dev)
{
	zj->public.j_dev = bdev;
	zj->public.j_fs_dev = fs_dev;
	zj_flush_init(&zj->flush, fs_dev);
	zj_flush_init(&zj->log_flush, bdev);
}

/*
 * Block 0 says how many blocks the journal has. A corrupt inode may claim any
 * size, but not more than the device has.
 */
static int map_first(struct zj_journal *zj, sector_t first)
{
	u32 blocks = zj->public.j_total_len;

	if (blocks > bdev_nr_bytes(zj->public.j_dev) / zj->public.j_blocksize) {
		zj_err(zj, "the journal of %u blocks is longer than the device; run e2fsck -f\n",
		       blocks);
		return -EUCLEAN;
	}
	return zj_map_add(&zj->map, first, 1);
}

/**
 * zj_journal_init_inode() - allocate a journal that lives in an inode
 * @inode: the journal inode; its reference is taken over on success
 *
 * Reads and checks block 0 only.
 *
 * Return: the journal, or ERR_PTR.
 */
journal_t *zj_journal_init_inode(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	struct zj_journal *zj;
	sector_t block = 0;
	int err;

	err = bmap(inode, &block);
	if (err || !block)
		return ERR_PTR(err ?: -EINVAL);
	zj = journal_alloc();
	if (!zj)
		return ERR_PTR(-ENOMEM);
	set_devices(zj, sb->s_bdev, sb->s_bdev);
	zj->public.j_blocksize = sb->s_blocksize;
	zj->public.j_total_len = min_t(u64, inode->i_size >> sb->s_blocksize_bits,
				       U32_MAX);
	snprintf(zj->public.j_devname, sizeof(zj->public.j_devname), "%pg-%llu",
		 sb->s_bdev, (unsigned long long)inode->i_ino);
	memcpy(zj->geo.uuid, &sb->s_uuid, sizeof(zj->geo.uuid));
	err = zj_super_read(zj, block);
	if (!err)
		err = map_first(zj, block);
	if (err)
		goto out_free;
	zj->public.j_inode = inode;
	return &zj->public;

out_free:
	journal_free(zj);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(zj_journal_init_inode);

/*
 * A journal device belongs to one file system, whose uuid seeds the checksums of
 * a log of lanes. ext4 refuses shared ones as well, but only when this has
 * returned.
 */
static int take_user(struct zj_journal *zj)
{
	const struct zj_jbd2_super *sb = zj->public.j_superblock;
	u32 users = be32_to_cpu(sb->s_nr_users);

	if (users != 1) {
		zj_err(zj, "the journal device has %u file systems in its list of users, and zext4 supports only one\n",
		       users);
		return -EINVAL;
	}
	memcpy(zj->geo.uuid, sb->s_users, sizeof(zj->geo.uuid));
	return 0;
}

/**
 * zj_journal_init_dev() - allocate a journal that has a device of its own
 * @bdev: the journal's device, with the file system's block size; belongs to the
 *	caller, who closes it after zj_journal_destroy()
 * @fs_dev: the file system's device
 * @start: the block of @bdev that block 0 of the journal is
 * @len: the blocks of @bdev that its own super block claims
 * @blocksize: bytes
 *
 * Reads and checks block 0 only.
 *
 * Return: the journal, or ERR_PTR.
 */
journal_t *zj_journal_init_dev(struct block_device *bdev,
			       struct block_device *fs_dev,
			       unsigned long long start, int len, int blocksize)
{
	struct zj_journal *zj = journal_alloc();
	int err;

	if (!zj)
		return ERR_PTR(-ENOMEM);
	set_devices(zj, bdev, fs_dev);
	zj->public.j_blocksize = blocksize;
	zj->public.j_total_len = max(len, 0);
	zj->public.j_blk_offset = start;
	snprintf(zj->public.j_devname, sizeof(zj->public.j_devname), "%pg-%pg",
		 fs_dev, bdev);
	err = zj_super_read(zj, start);
	if (!err)
		err = map_first(zj, start);
	if (!err)
		err = take_user(zj);
	if (!err && zj->public.j_total_len <= start)
		err = -EUCLEAN;
	if (err) {
		journal_free(zj);
		return ERR_PTR(err);
	}
	zj->dev_blocks = zj->public.j_total_len;
	return &zj->public;
}
EXPORT_SYMBOL_GPL(zj_journal_init_dev);

/* ---- load ---- */

/*
 * Maps a journal on a device of its own. Stock numbers the blocks of its log as
 * the device does, though only block 0 lies before the log. A log of lanes has
 * its blocks behind block 0 in their order.
 */
static int map_device(struct zj_journal *zj, bool lanes)
{
	u32 start = zj->public.j_blk_offset;
	u32 len = zj->dev_blocks - (lanes ? start : 0);

	zj->public.j_total_len = len;
	zj_map_clear(&zj->map);
	return zj_map_add(&zj->map, start, 1) ?:
	       zj_map_add(&zj->map, lanes ? start + 1 : 1, len - 1);
}

/* The same if it is on such a device; one in an inode has its own numbers. */
static int map_for(struct zj_journal *zj, bool lanes)
{
	return zj_log_apart(zj) ? map_device(zj, lanes) : 0;
}

static int map_failed(struct zj_journal *zj, int err)
{
	if (err == -EFBIG)
		zj_err(zj, "the journal is in more than %u pieces; make a new one: zjctl resize-journal\n",
		       ZJ_MAP_RUNS);
	return err;
}

static int map_journal(struct zj_journal *zj)
{
	u32 i;

	/* Done already. */
	if (zj_log_apart(zj))
		return 0;
	zj_map_clear(&zj->map);
	for (i = 0; i < zj->public.j_total_len; i++) {
		sector_t block = i;
		int err;

		/*
		 * A corrupt device may present a mapping that takes for ever to
		 * walk.
		 */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		if (zj->public.j_bmap)
			err = zj->public.j_bmap(&zj->public, &block);
		else
			err = bmap(zj->public.j_inode, &block);
		if (err < 0)
			return err;
		if (!block) {
			zj_err(zj, "the journal's inode has a hole at block %u; run e2fsck -f\n",
			       i);
			return -EUCLEAN;
		}
		err = zj_map_add(&zj->map, block, 1);
		if (err)
			return map_failed(zj, err);
	}
	return 0;
}

/*
 * Returns the largest handle that a stock mount of the file system can start.
 */
static u32 largest_handle(const struct zj_journal *zj)
{
	u32 credits = zj_largest_handle(zj->public.j_total_len,
					zj->public.j_blocksize);

	/*
	 * Stock ext4 has no log in memory, so a handle need only be as large as
	 * ext4 can ask for.
	 */
	return zj->log_ops->in_memory ? min(credits, ZJ_LARGEST_HANDLE) : credits;
}

/*
 * Returns the budget of running transactions: a third of the log. The other
 * thirds are for sealed transactions and for committed ones. All that runs is
 * in memory, and journaled data a second time while it is committed. So the
 * budget is at most a sixteenth of memory, beside the fifth that the kernel
 * allows to be dirty.
 */
static u32 choose_budget(const struct zj_journal *zj, u32 images)
{
	u64 memory = (u64)totalram_pages() * PAGE_SIZE / 16;

	return min_t(u64, images / 3, memory / zj->public.j_blocksize);
}

static int choose_geometry(struct zj_journal *zj)
{
	u32 wanted = clamp_t(u32, zj->options.lanes ?: num_online_cpus(), 1,
			     zj->log_ops->max_lanes);
	u32 size = zj->public.j_blocksize, total;
	u32 lanes;

	zj->max_credits = largest_handle(zj);
	lanes = zj->log_ops->fit(zj, wanted);

	if (!lanes && zj->log_ops->in_memory) {
		zj_err(zj, "journal_nvm: a memory of %llu bytes is too small for a log\n",
		       zj->nvm.map.size);
		return -ENOSPC;
	}
	if (!lanes) {
		zj_err(zj, "the journal of %u blocks is too small, one lane needs %u; enlarge it: tune2fs -O ^has_journal, then tune2fs -J size=8\n",
		       zj->public.j_total_len, JBD2_MIN_JOURNAL_BLOCKS);
		return -ENOSPC;
	}
	if (lanes < wanted)
		zj_notice(zj, "the journal of %u blocks has room for only %u of %u lanes; to enlarge it, run zjctl resize-journal\n",
			  zj->public.j_total_len, lanes, wanted);
	zj->nr_lanes = lanes;
	total = zj->geo.nr_segs * zj->geo.seg_blocks / zj->credit_units;
	zj->budget = choose_budget(zj, total);
	zj->low_pool = zj->geo.nr_segs / 3;
	zj->max_txn = zj->budget;
	zj->max_credits = max(zj->max_credits, zj->max_txn);
	/*
	 * Small compared to the budget, so that lanes share it, and large
	 * enough to be asked for rarely.
	 */
	zj->grant = min(max(zj->budget / 64, 64U), zj->max_txn);
	/* Limits the memory for copies to an eighth of the log. */
	zj->max_copies = max(total / (8 * lanes), 64U);
	zj->revokes_per_block = zj_chunk_room(size) / sizeof(__le64);
	return 0;
}

static int recover_journal(struct zj_journal *zj)
{
	int err;

	/*
	 * The log to recover is one of lanes, or one in stock's format, by us
	 * or by stock ext4.
	 */
	if (!zj_journal_is_live(&zj->public) && !zj->public.j_superblock->s_start)
		return 0;
	/* As the log was written, whatever comes next. */
	err = map_for(zj, zj_journal_is_live(&zj->public)) ?: zj_recover_device(zj);
	if (!err)
		err = map_for(zj, !zj->log_ops->stock_numbers);
	return err ?: zj_make_clean(zj);
}

static int start_journal(struct zj_journal *zj)
{
	int err;

	zj->frozen_cache = zj_frozen_cache(zj->public.j_blocksize);
	err = zj_block_index_init(&zj->revokes, ZJ_REVOKE_HASH_BITS);
	if (!err)
		err = zj_block_index_init(&zj->file_blocks, ZJ_FILE_BLOCK_HASH_BITS);
	if (!err)
		err = zj->log_ops->init(zj);
	if (!err)
		err = zj_checkpoint_init(zj);
	if (!err)
		err = zj_tenants_init(zj);
	if (!err)
		err = zj_lanes_start(zj);
	return err;
}

/* A log in persistent memory cannot be recovered without that memory. */
static int open_log(struct zj_journal *zj)
{
	if (zj->log_ops->open)
		return zj->log_ops->open(zj);
	if (!zj_is_nvm_log(zj->public.j_superblock))
		return 0;
	zj_err(zj, "the log is in the persistent memory %pU: mount with journal_nvm=<its device>; nothing was written\n",
	       zj_nvm_mark_of(zj->public.j_superblock)->uuid);
	return -EINVAL;
}

/**
 * zj_journal_load() - recover if need be, then open the journal for handles
 * @journal: the journal, from zj_journal_init_inode() or zj_journal_init_dev()
 *
 * Nothing is written unless a log has to be recovered.
 *
 * Return: 0; -EUCLEAN for a log that is damaged; -ENOSPC for a journal that is
 * too small; or another error.
 * zj_journal_destroy() cleans up in any case.
 */
int zj_journal_load(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);
	int err;

	err = map_for(zj, !zj->log_ops->stock_numbers) ?: open_log(zj);
	if (!err)
		err = choose_geometry(zj);
	if (!err)
		err = map_journal(zj);
	if (!err)
		err = recover_journal(zj);
	if (err)
		return err;
	/*
	 * A random start, so that this log does not get the generation of an
	 * older one.
	 */
	zj->geo.generation = get_random_u64() >> 1;
	/*
	 * Takes note of errors from before this mount that nobody has seen yet,
	 * so that they do not count.
	 */
	errseq_check_and_advance(&journal->j_fs_dev->bd_mapping->wb_err,
				 &zj->wb_err);
	err = start_journal(zj);
	if (err)
		return err;
	write_lock(&journal->j_state_lock);
	WRITE_ONCE(journal->j_flags, journal->j_flags | JBD2_LOADED);
	write_unlock(&journal->j_state_lock);
	zj_proc_add(zj);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_load);

/**
 * zj_journal_wipe() - drop the log, because ext4 needs no recovery
 * @journal: the journal, not loaded
 * @write: false on a read-only device
 *
 * A stock log is dropped, as stock does; a live log of lanes never is.
 *
 * Return: 0; -EUCLEAN if block 0 is damaged; or the error of a write.
 */
int zj_journal_wipe(journal_t *journal, int write)
{
	struct zj_journal *zj = to_zj(journal);

	u32 start = be32_to_cpu(journal->j_superblock->s_start);

	if (zj_journal_is_live(journal) || !start)
		return 0;
	if (start >= journal->j_total_len) {
		zj_err(zj, "journal block 0 says that the log starts at block %u, which is not one of the %u that it has; nothing was written: make a new journal, tune2fs -O ^has_journal and tune2fs -j\n",
		       start, journal->j_total_len);
		return -EUCLEAN;
	}
	zj_notice(zj, "ignoring the stock journal's log: the file system is clean\n");
	if (!write) {
		zj_clean_jbd2_super(journal->j_superblock);
		return 0;
	}
	return zj_make_clean(zj);
}
EXPORT_SYMBOL_GPL(zj_journal_wipe);

/**
 * zj_journal_destroy() - write everything home, mark the log as empty, and free
 * all
 * @journal: the journal, loaded or not
 *
 * Return: 0, or a negative error: the log is kept for recovery then.
 */
int zj_journal_destroy(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);
	int err = 0;

	if (journal->j_flags & JBD2_LOADED) {
		err = zj_journal_force_commit(journal);
		if (!err)
			err = zj_checkpoint(zj, true);
		if (!err)
			err = zj_make_clean(zj);
		if (!err && zj_aborted(zj))
			err = -EIO;
	}
	journal_free(zj);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_destroy);
