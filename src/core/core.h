/* SPDX-License-Identifier: GPL-2.0-only */
/* Small accessors of the journal, and what other folders may call of this one. */
#ifndef ZJ_CORE_H
#define ZJ_CORE_H

#include <linux/kernel.h>
#include "core/assert.h"
#include "core/journal_types.h"
#include "core/lane_types.h"

static inline struct zj_journal *txn_zj(const struct zj_txn *txn)
{
	return txn->lane->journal;
}

static inline struct zj_txn *handle_txn(const handle_t *handle)
{
	return to_txn(handle->h_transaction);
}

/*
 * Reads with READ_ONCE(), because ext4 changes some flags while the journal is
 * in use.
 */
static inline bool zj_flag(const struct zj_journal *zj, unsigned long flag)
{
	return READ_ONCE(zj->public.j_flags) & flag;
}

/*
 * The log takes only the lines of a block that changed, as its format can and
 * tune=log_unit says.
 */
static inline bool zj_logs_lines(const struct zj_journal *zj)
{
	return zj->log_ops->logs_lines && !zj->options.log_blocks;
}

static inline bool zj_aborted(const struct zj_journal *zj)
{
	return zj_flag(zj, JBD2_ABORT);
}

/*
 * Several tasks may count in one lane at once without a lock, so that a count
 * may get lost.
 */
static inline void zj_count(u64 *counter, u64 n)
{
	WRITE_ONCE(*counter, READ_ONCE(*counter) + n);
}

/* Returns a running mean of times or sizes with one more in it; 0: there was none so far. */
static inline s64 zj_mean(s64 mean, s64 value)
{
	return mean ? (3 * mean + value) / 4 : value;
}

/* Tells whether the log has a device of its own (C6). */
static inline bool zj_log_apart(const struct zj_journal *zj)
{
	return zj->public.j_dev != zj->public.j_fs_dev;
}

/* Walks all live transactions; caller holds the RCU read lock. */
#define zj_for_each_live(zj, chain, txn)				\
	for (chain = (zj)->tids; chain < (zj)->tids + ZJ_TID_CHAINS; chain++)	\
		hlist_for_each_entry_rcu(txn, &chain->head, tid_link)

#define zj_err(zj, fmt, ...) \
	pr_err("zjournal %s: " fmt, (zj)->public.j_devname, ##__VA_ARGS__)
/* For what may happen again and again: ten times in five seconds at most. */
#define zj_err_ratelimited(zj, fmt, ...) \
	pr_err_ratelimited("zjournal %s: " fmt, (zj)->public.j_devname, ##__VA_ARGS__)
#define zj_notice(zj, fmt, ...) \
	pr_notice("zjournal %s: " fmt, (zj)->public.j_devname, ##__VA_ARGS__)

/* Returns the lane of the current CPU. */
static inline struct zj_lane *zj_lane_pick(struct zj_journal *zj)
{
	unsigned int cpu = raw_smp_processor_id();

	/* Usually each CPU has a lane; this saves the division then. */
	return &zj->lanes[cpu < zj->nr_lanes ? cpu : cpu % zj->nr_lanes];
}

/*
 * Returns the lane that the caller names, or that of the current CPU if @lane
 * is negative.
 */
static inline struct zj_lane *zj_lane_at(struct zj_journal *zj, int lane)
{
	return lane < 0 ? zj_lane_pick(zj) : &zj->lanes[lane % zj->nr_lanes];
}

/* abort.c */
extern bool zj_panic_on_assert;

void zj_abort(struct zj_journal *zj, int err);
void zj_abort_finish(struct zj_journal *zj);

/* dev_io.c */
void zj_bio_of_all(struct zj_journal *zj, struct bio *bio);
int zj_issue_flush(struct zj_journal *zj, struct block_device *bdev);
int zj_dev_rw(struct zj_journal *zj, u32 block, u32 nr, void *buf,
	      blk_opf_t opf);
void zj_dev_read_start(struct zj_journal *zj, struct zj_dev_reads *reads,
		       u32 block, u32 nr, void *buf);
int zj_dev_read_end(struct zj_dev_reads *reads);
void zj_writes_hold(void);
void zj_writes_release(void);
void zj_writes_wait(void);

/* flush.c */

/* Returns the flushes of the device that the log is on. */
static inline struct zj_flush *zj_log_cache(struct zj_journal *zj)
{
	return zj_log_apart(zj) ? &zj->log_flush : &zj->flush;
}

void zj_flush_init(struct zj_flush *flush, struct block_device *bdev);
bool zj_needs_flush(struct zj_journal *zj, const struct zj_flush *flush);
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_log_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_home_flush(struct zj_journal *zj);
void zj_log_unflushed(struct zj_journal *zj);
int zj_log_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written,
		  bool log);

/* gather.c: for which lanes a flush waits before it is issued */
void zj_flush_expected(struct zj_lane *lane);
void zj_flush_not_expected(struct zj_lane *lane);
bool zj_txn_expects_flush(struct zj_txn *txn);
void zj_gather_join(struct zj_lane *lane, u64 need);
void zj_gather(struct zj_journal *zj, struct zj_lane *leader);

/* space.c */
u32 zj_log_blocks(const struct zj_journal *zj, int credits);
bool zj_space_take(struct zj_lane *lane, int credits, int rsv);

/**
 * zj_space_get() - check whether the lane has room for more credits
 * @lane: the lane
 * @credits: images to add to its running transaction
 * @rsv: images of a reserved handle in addition, or 0
 *
 * Context: caller holds lane->lock; takes pool_lock when the lane's own space
 * is short.
 * Return: true if there is room; the caller accounts for it.
 */
static inline bool zj_space_get(struct zj_lane *lane, int credits, int rsv)
{
	int running = lane->running ? lane->running->credits : 0;

	lockdep_assert_held(&lane->lock);
	/* Even a handle without credits needs room for a header. */
	if (likely(lane->limit && !rsv && running + credits <= lane->limit))
		return true;
	return zj_space_take(lane, credits, rsv);
}

static inline bool zj_space_awaited(struct zj_journal *zj)
{
	return atomic_read(&zj->space_waiters);
}

int zj_space_wait(struct zj_lane *lane, int credits, int rsv,
		  struct zj_space_waiter *waiter);
void zj_space_leave(struct zj_journal *zj, struct zj_space_waiter *waiter);
void zj_space_away(struct zj_journal *zj, struct zj_space_waiter *waiter, bool away);
bool zj_space_grow(struct zj_txn *txn);
bool zj_space_next(struct zj_lane *lane);
void zj_space_reclaim(struct zj_journal *zj, u64 ckpt_stamp);
void zj_space_surplus(struct zj_lane *lane);
u32 zj_seg_room(struct zj_lane *lane, u32 need);
int zj_seg_init(struct zj_journal *zj);
void zj_space_exit(struct zj_journal *zj);
u32 zj_space_share(struct zj_journal *zj);
void zj_space_sealed(struct zj_txn *txn);
bool zj_space_low(struct zj_journal *zj);

/* super.c */
int zj_super_read(struct zj_journal *zj, sector_t block);
void zj_super_put(struct zj_journal *zj);
int zj_super_write(struct zj_journal *zj);
int zj_super_note_errno(struct zj_journal *zj);
int zj_make_live(struct zj_journal *zj);
int zj_lanes_go_live(struct zj_journal *zj);
void zj_new_generation(struct zj_journal *zj);
int zj_make_clean(struct zj_journal *zj);
int zj_ckpt_write(struct zj_journal *zj, u64 ckpt_stamp);

/* waits.c */
extern const char *const zj_wait_names[ZJ_NR_WAITS];
extern const char *const zj_stage_names[ZJ_NR_STAGES];

enum zj_txn_stage zj_stage_now(const struct zj_txn *txn);
void zj_waits_init(struct zj_waits *waits);
void zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane,
		   enum zj_wait_reason why, const struct zj_txn *txn);
void zj_wait_end(struct zj_wait *wait);
void zj_fsync_ended(const struct zj_txn *txn, ktime_t begin, ktime_t turn);
void zj_checkpoint_kick(struct zj_journal *zj);
void zj_progress(struct zj_journal *zj);
void zj_watch_progress(struct zj_journal *zj);
void zj_unwatch_progress(struct zj_journal *zj);

#endif /* ZJ_CORE_H */
