// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery's I/O inside a mount.
 *
 * Home blocks go through the block device's buffer cache: ext4 has read the super
 * block and the group descriptors before the journal is loaded, and relies on
 * seeing them change in memory (E23). The log is read past the cache.
 */
#include "core/core.h"
#include "format/codec.h"
#include "journal/journal.h"
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

/* Bytes written home after which they are sent to the device. */
#define LOAD_BATCH_BYTES	(4U << 20)

/**
 * struct zj_load - one recovery at mount; used by its task only
 */
struct zj_load {
	struct zj_journal *zj;
	struct zj_dev_reads reads[ZJ_READ_SLOTS]; /* reads of the log in flight */
	u32	dirty;		/* bytes written home since write-back was last started */
	ktime_t	told;		/* when progress was last told, or recovery began */
	errseq_t wb_err;	/* of the file system's device, before anything was written */
};

static u64 load_log_home(void *ctx, u32 block)
{
	struct zj_load *load = ctx;

	return zj_map_block(&load->zj->map, block);
}

static int load_read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct zj_load *load = ctx;

	return zj_dev_rw(load->zj, block, nr, buf, REQ_OP_READ);
}

static void load_start_read(void *ctx, u32 slot, u32 block, u32 nr, void *buf)
{
	struct zj_load *load = ctx;

	zj_dev_read_start(load->zj, &load->reads[slot], block, nr, buf);
}

static int load_end_read(void *ctx, u32 slot)
{
	struct zj_load *load = ctx;

	return zj_dev_read_end(&load->reads[slot]);
}

/*
 * Returns a quarter of the available memory, because other mounts may run at
 * the same time.
 */
static u64 load_room(void *ctx)
{
	return (u64)max(si_mem_available(), 0L) / 4 * PAGE_SIZE;
}

static int load_write_log(void *ctx, u32 block, const void *buf)
{
	struct zj_load *load = ctx;

	return zj_dev_rw(load->zj, block, 1, (void *)buf,
			 REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA);
}

/*
 * Starts write-back after each batch. Blocks come in order, so the device
 * writes one batch while the next one is collected.
 */
static int load_send_home(struct zj_load *load, u32 bytes)
{
	load->dirty += bytes;
	if (load->dirty < LOAD_BATCH_BYTES)
		return 0;
	load->dirty = 0;
	return sync_blockdev_nowait(load->zj->public.j_fs_dev);
}

static int load_write_home(void *ctx, u64 block, const void *buf)
{
	struct zj_load *load = ctx;
	struct zj_journal *zj = load->zj;
	struct buffer_head *bh;

	bh = __getblk(zj->public.j_fs_dev, block, zj->public.j_blocksize);
	if (!bh)
		return -ENOMEM;
	lock_buffer(bh);
	memcpy(bh->b_data, buf, bh->b_size);
	set_buffer_uptodate(bh);
	unlock_buffer(bh);
	mark_buffer_dirty(bh);
	brelse(bh);
	return load_send_home(load, zj->public.j_blocksize);
}

static void load_ahead_home(void *ctx, u64 block)
{
	struct zj_load *load = ctx;
	struct zj_journal *zj = load->zj;

	__breadahead(zj->public.j_fs_dev, block, zj->public.j_blocksize);
}

static int load_read_home(void *ctx, u64 block, void *buf)
{
	struct zj_load *load = ctx;
	struct zj_journal *zj = load->zj;
	struct buffer_head *bh;

	bh = __bread(zj->public.j_fs_dev, block, zj->public.j_blocksize);
	if (!bh)
		return -EIO;
	memcpy(buf, bh->b_data, bh->b_size);
	brelse(bh);
	return 0;
}

/*
 * ext4 reads nothing of the buffer but its contents and its place. The block is
 * not left in the buffer cache, because the log is written past it.
 */
static int load_fast_commit(void *ctx, bool replay, u32 index, void *block,
			    u32 tid)
{
	struct zj_load *load = ctx;
	journal_t *journal = &load->zj->public;
	struct buffer_head bh = {
		.b_data = block,
		.b_size = journal->j_blocksize,
	};
	int err;

	err = journal->j_fc_replay_callback(journal, &bh,
					    replay ? PASS_REPLAY : PASS_SCAN,
					    index, tid);
	/* So ext4 calls contents that cannot be, if no whole one precedes them. */
	return !replay && err == -ECANCELED ? -EBADMSG : err;
}

static int load_flush_home(void *ctx)
{
	struct zj_load *load = ctx;
	struct block_device *fs = load->zj->public.j_fs_dev;
	int err = sync_blockdev(fs);

	/*
	 * Another task that syncs the device may have been told of an error
	 * instead of us.
	 */
	err = err ?: errseq_check(&fs->bd_mapping->wb_err, load->wb_err);
	return err ?: blkdev_issue_flush(fs);
}

/* Interval at which a mount that takes long says what it is doing. */
#define LOAD_TELL_MS	5000

static void load_progress(void *ctx, const char *what, u32 done, u32 total)
{
	struct zj_load *load = ctx;
	ktime_t now = ktime_get();

	if (ktime_ms_delta(now, load->told) < LOAD_TELL_MS)
		return;
	load->told = now;
	zj_notice(load->zj, "recovery: %s, %llu %% done\n", what,
		  div64_u64(100ULL * done, total));
}

static __printf(3, 4) void load_msg(void *ctx, int level, const char *fmt, ...)
{
	struct zj_load *load = ctx;
	struct zj_journal *zj = load->zj;
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	if (level)
		zj_notice(zj, "recovery: %pV\n", &vaf);
	else
		zj_err(zj, "recovery: %pV\n", &vaf);
	va_end(args);
}

#define LOAD_OPS					\
	.read_log	= load_read_log,		\
	.start_read	= load_start_read,		\
	.end_read	= load_end_read,		\
	.write_log	= load_write_log,		\
	.write_home	= load_write_home,		\
	.flush_home	= load_flush_home,		\
	.read_home	= load_read_home,		\
	.ahead_home	= load_ahead_home,		\
	.fast_commit	= load_fast_commit,		\
	.room		= load_room,			\
	.progress	= load_progress,		\
	.msg		= load_msg

static const struct zj_io_ops load_ops = { LOAD_OPS, .log_home = load_log_home };
static const struct zj_io_ops load_ops_apart = { LOAD_OPS };

static const struct zj_io_ops *ops_of(const struct zj_load *load)
{
	return zj_log_apart(load->zj) ? &load_ops_apart : &load_ops;
}

/*
 * Replays stock's log. The next transaction gets a sequence number that is not
 * in that log.
 */
static int recover_stock(struct zj_journal *zj, const struct zj_recovery_args *args)
{
	struct zj_jbd2_super *sb = zj->public.j_superblock;
	struct zj_recovery_args stock = *args;
	struct zj_io_ops ops = *args->ops;
	u32 sequence;
	int err;

	if (!zj->public.j_fc_replay_callback)
		ops.fast_commit = NULL;
	stock.ops = &ops;
	err = zj_recover_jbd2(&stock, sb, &sequence);
	if (!err) {
		mutex_lock(&zj->super_lock);
		sb->s_sequence = cpu_to_be32(sequence);
		mutex_unlock(&zj->super_lock);
	}
	return err;
}

/*
 * The format's open operation has checked that this is the memory that block 0
 * names.
 */
static int recover_nvm(struct zj_journal *zj, const struct zj_recovery_args *args)
{
	struct zj_nvm_mark *mark = zj_nvm_mark_of(zj->public.j_superblock);
	struct zj_nvm_area area = {
		.base = zj->nvm.map.base,
		.size = zj->nvm.map.size,
		.generation = be64_to_cpu(mark->generation),
	};
	int id, err;

	err = zj_nvm_begin(&zj->nvm.map, &id);
	if (err)
		return err;
	err = zj_recover_nvm(args, &area);
	zj_nvm_end(id);
	return err;
}

static int recover_log(struct zj_journal *zj, u64 blocks)
{
	struct zj_load *load = kzalloc(sizeof(*load), GFP_KERNEL);
	struct zj_recovery_args args;
	int err;

	if (!load)
		return -ENOMEM;
	load->zj = zj;
	args = (struct zj_recovery_args) {
		.ops = ops_of(load),
		.ctx = load,
		.block_size = zj->public.j_blocksize,
		.journal_blocks = zj->public.j_total_len,
		.fs_blocks = blocks,
		.stats = &zj->recovered,
	};
	load->told = ktime_get();
	errseq_check_and_advance(&zj->public.j_fs_dev->bd_mapping->wb_err,
				 &load->wb_err);
	if (zj_is_nvm_log(zj->public.j_superblock))
		err = recover_nvm(zj, &args);
	else if (zj_journal_is_live(&zj->public))
		err = zj_recover(&args, zj->geo.uuid);
	else
		err = recover_stock(zj, &args);
	kfree(load);
	return err;
}

/**
 * zj_recover_device() - replay a live log at mount, of lanes or in stock's
 * format
 * @zj: the journal, mapped; its block 0 says that the log is live
 *
 * Return: 0 if everything is home and the log may be marked as empty, or a
 * negative error. After an error a second try can do everything again.
 */
int zj_recover_device(struct zj_journal *zj)
{
	struct block_device *fs = zj->public.j_fs_dev;
	u64 blocks = bdev_nr_bytes(fs) / zj->public.j_blocksize;
	struct zj_recovery_stats *st = &zj->recovered;
	ktime_t start = ktime_get();
	int err;

	if (bdev_read_only(fs) || bdev_read_only(zj->public.j_dev)) {
		zj_err(zj, "the log must be recovered, but the device is read-only; make it writable and mount again\n");
		return -EROFS;
	}
	err = recover_log(zj, blocks);
	if (err) {
		zj_err(zj, "recovery failed: error %d; nothing is lost, because the log is kept\n",
		       err);
		return err;
	}
	/* File data is written past the cache, which would still show what was replayed. */
	invalidate_bdev(fs);
	zj_notice(zj, "recovered %u transactions in %u components, %u blocks written home, %u revoked, %u transactions incomplete and discarded, in %lld ms\n",
		  st->transactions, st->committed_components, st->replayed,
		  st->revoked, st->discarded,
		  ktime_ms_delta(ktime_get(), start));
	return 0;
}
