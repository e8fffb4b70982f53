/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tasks of a run do.
 *
 *   work.c   handles and the tasks that open them    steps.c  what a handle changes
 *   data.c   ordered data, in place or in the log
 *   file.c   journaled data: writes, mappings, truncation
 *   sync.c   syncs, and tasks in the background
 *
 * What a handle does follows from the seed, its task and its number alone, so that
 * it stays the same when others are left out.
 */
#ifndef ZJ_TESTS_SIM_WORK_H
#define ZJ_TESTS_SIM_WORK_H

#include "world.h"

/**
 * struct job - a worker and its handle
 */
struct job {
	struct sim_rand	rand;
	u32		task;		/* which worker */
	u32		number;		/* of its handle */
	handle_t	*handle;
	u32		unit;		/* of the handle */
	u32		before;		/* first unit of the handle */
	u32		dirty_inodes;	/* changed in core, not written out yet */
	u32		used_inodes;	/* held in core until the handle stops */
	u32		kept_inodes;	/* claimed until the handle stops */
	bool		file;		/* may write to the file until it stops */
	bool		dead;		/* the journal was aborted */
};

/* True in one of n cases, for actions that make other tasks wait. */
static inline bool long_one_in(struct job *job, u32 n)
{
	return sim_one_in(&job->rand, n) && !(world->p.off & OFF_LONG);
}

/* ---- work.c ---- */
/* True if @err; fails if there is no reason for an error. */
bool dead(struct job *job, int err);
void pause_a_while(struct job *job);
/* False if aborted. */
bool begin(struct job *job, int credits, int rsv, int revokes);
void end(struct job *job, bool sync);
int worker(void *arg);

/* ---- steps.c ---- */
struct buffer_head *read_block(u32 block);
void change(struct job *job, struct buffer_head *bh, u32 object);
bool write_in(struct job *job, struct buffer_head *bh, u32 object, u32 times);
bool touch_only(struct job *job, struct buffer_head *bh);
void step_meta(struct job *job);
/* Makes one or several changes of a random kind. */
void step(struct job *job);
/* Returns the inode's new version; 0 if aborted. */
u32 claim_inode(struct job *job, u32 i);
void write_inodes(struct job *job);
/* Changes that take no credits. */
void look_around(struct job *job);
/* A change of many blocks, with credits for as many. */
#define SWEEP_BLOCKS	15
void sweep(struct job *job);
void drop_inodes(struct job *job);
/* Writes the inode's data, then evicts it. */
void release_inode(struct toy_inode *ino);
void evict(struct job *job);
struct alloc *pick_alloc(struct job *job, enum use use);
bool write_map(struct job *job, struct alloc *a);
void commit_callback(journal_t *journal, transaction_t *txn);
/* The inode in core for the rest of the handle; NULL while it is evicted. */
struct toy_inode *use_inode(struct job *job, u32 i);

/* ---- data.c ---- */
void step_alloc_data(struct job *job);
void step_free_data(struct job *job);
void step_zero_data(struct job *job);
void overwrite_data(struct job *job);
/* Sends it in place, unless it is clean, on its way, or in the log. */
void write_data(struct alloc *a);
void wait_data(struct alloc *a);
/* Logs it instead, if it is dirty and no commit will write it. Without a handle. */
void log_data(struct job *job, struct alloc *a);
void write_back_data(struct job *job, struct alloc *a);
bool data_is_held(const struct alloc *a);
void reclaim_data(const struct alloc *a);
/* The journal's callbacks. */
int submit_data(struct jbd2_inode *jinode);
int finish_data(struct jbd2_inode *jinode);

/* ---- file.c ---- */
void step_file(struct job *job);
void file_done(struct job *job);
void file_store(struct job *job);
void file_truncate(struct job *job);
/* No task is in the middle of a change, so a store belongs to a known transaction. */
void file_settle(void);
/* Write-protect before a commit copies. */
void file_protect(struct jbd2_inode *range);
void file_write_back(u32 page);
void file_reclaim(u32 page);
void file_unmount(void);

/* ---- sync.c ---- */
/* What write-back has written is home, unless a write may fail; an abort leaves dirty bits out. */
static inline bool clean_is_home(void)
{
	return !world->p.fail_write && !is_journal_aborted(world->journal);
}

void sync_something(struct job *job);
/* Within a handle: what is sealed becomes committed. */
void sync_sealed(struct job *job);
/* Reclaims some memory; called where memory is allocated. */
void reclaim_something(void);
int flusher(void *arg);
int mapper(void *arg);
int barrier_task(void *arg);
int remount_task(void *arg);
int abort_task(void *arg);
int look_task(void *arg);
int home_task(void *arg);
int hold_task(void *arg);
int closer(void *arg);
int checkpoint_task(void *arg);

#endif
