/* SPDX-License-Identifier: GPL-2.0-only */
/* A lane's commit, and what the formats of the log share. */
#ifndef ZJ_LOG_H
#define ZJ_LOG_H

#include "core/core.h"
#include "log/log_types.h"
#include "txn/part_types.h"

/* commit.c */
int zj_lane_thread(void *arg);
bool zj_commits_here(const struct zj_lane *lane);
void zj_commit_here(struct zj_lane *lane);
void zj_txn_logged(struct zj_txn *txn);

/* group_commit.c */

/*
 * After this many runs in a row with no other one behind them the flush thread
 * stops expecting a follower, and pays for FUA instead of leaving the records
 * to the next run's flush.
 */
#define ZJ_LONE_RUNS		4
/*
 * The next run stays open for 1/ZJ_PATIENCE of the time that writing a record
 * takes, so that threads woken by the previous run can join it. 8 is good for
 * both kinds of devices; eight threads that append and fsync with lanes=1
 * (bench/fsync.py CASES=eight) reach, in fsyncs a second:
 *
 *	ZJ_PATIENCE		  2	  4	  8	 32	no wait
 *	device with FUA		132	152	164-175	191	133
 *	cache without FUA	 78	 84	89-91	 74	 66
 */
#define ZJ_PATIENCE		8
#define ZJ_PATIENCE_MIN_NS	(100 * NSEC_PER_USEC)
#define ZJ_PATIENCE_MAX_NS	(10 * NSEC_PER_MSEC)
/*
 * A transaction with more log blocks than these writes them without FUA, and
 * leaves them to one flush.
 */
#define ZJ_FUA_BLOCKS		64

int zj_flush_thread(void *arg);
void zj_run_close(struct zj_lane *lane);
void zj_run_join(struct zj_txn *txn);
bool zj_flush_run(struct zj_lane *lane);
bool zj_log_wants_fua(struct zj_lane *lane, u32 blocks);
bool zj_run_cached(const struct zj_run *run);
void zj_run_ahead(struct zj_lane *lane, bool fua, struct completion *done);

/* log_io.c */

/**
 * struct zj_cursor - how far a member has been written to the log
 *
 * It belongs to the thread that writes, and is part of that thread's state for
 * the member. A copy goes on from the same place by itself, so a copy made
 * earlier can take the same pieces again.
 */
struct zj_cursor {
	struct zj_dep	*dep;		/* taken last */
	struct zj_block_entry *revoke;	/* whose blocks are taken */
	u32		revoked;	/* bits of its blocks that are not taken yet */
	struct zj_part	*part;		/* taken last */
	u32		nr_deps;	/* dependencies not taken yet */
	u32		nr_revokes;	/* revokes not taken yet */
	u32		nr_images;	/* images not taken yet */
};

void zj_cursor_init(struct zj_cursor *cursor, struct zj_txn *txn);
u64 zj_cursor_dep(struct zj_cursor *cursor);
u64 zj_cursor_revoke(struct zj_cursor *cursor);
struct zj_part *zj_cursor_peek(const struct zj_cursor *cursor);
struct zj_part *zj_cursor_image(struct zj_cursor *cursor);
bool zj_settle_images(struct zj_txn *txn);
void zj_log_io_begin(struct zj_log_io *io, struct zj_lane *lane, blk_opf_t flags, u32 blocks);
void zj_log_io_add(struct zj_log_io *io, u32 log_block, void *data);
void zj_log_io_send(struct zj_log_io *io);
int zj_log_io_wait(struct zj_log_io *io);

/* log_jbd2.c */
extern const struct zj_log_ops zj_log_jbd2;

/* log_lanes.c */
extern const struct zj_log_ops zj_log_lanes;

#endif /* ZJ_LOG_H */
