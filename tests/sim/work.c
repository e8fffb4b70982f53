// SPDX-License-Identifier: GPL-2.0-only
/* Handles, and the tasks that open them. */
#include "work.h"

bool dead(struct job *job, int err)
{
	if (!err)
		return false;
	/* The error is set before the flag. */
	if (!is_journal_aborted(world->journal) &&
	    !READ_ONCE(world->journal->j_errno))
		kl_fail("unexpected error %d", err);
	job->dead = true;
	return true;
}

void pause_a_while(struct job *job)
{
	if (!(world->p.off & OFF_PAUSE))
		schedule_timeout_uninterruptible(1 + sim_below(&job->rand, 20));
}

/* ---- units ---- */

static void enter(struct job *job)
{
	job->unit = unit_begin(job->handle);
	progress_opened(job->handle->h_transaction->t_tid);
	trace("unit %u begins: lane %u tid %u", job->unit,
	      world->units[job->unit].lane, world->units[job->unit].tid);
}

static void take(struct job *job, handle_t *handle)
{
	if (world->frozen)
		kl_fail("a handle begins under the barrier");
	world->open_handles++;
	job->handle = handle;
	enter(job);
	job->before = job->unit;
}

bool begin(struct job *job, int credits, int rsv, int revokes)
{
	handle_t *handle = zj_journal_start(world->journal, credits, rsv, revokes,
					    GFP_NOFS, 0, 0);

	if (IS_ERR(handle)) {
		dead(job, PTR_ERR(handle));
		return false;
	}
	take(job, handle);
	return true;
}

/* An h_sync stop promises the handle, and what its lane did before. */
static void promise(struct job *job)
{
	for (u32 i = job->before; i <= job->unit; i++)
		if (i == job->unit ||
		    (world->units[i].acked && world->units[i].lane ==
		     world->units[job->unit].lane))
			unit_must(i);
}

void end(struct job *job, bool sync)
{
	handle_t *handle = job->handle;
	int err;

	handle->h_sync = sync;
	if (handle->h_transaction && !job->dead)
		unit_stop(job->unit);
	if (sync && handle->h_transaction)
		progress_asked(handle->h_transaction->t_tid);
	world->open_handles--;
	err = zj_journal_stop(handle);
	job->handle = NULL;
	job->kept_inodes = 0;
	drop_inodes(job);
	file_done(job);
	if (dead(job, err))
		return;
	world->units[job->unit].acked = true;
	if (sync)
		promise(job);
}

/* 0: there is room for one more step; 1: there is not. */
static int extend(struct job *job)
{
	if (zj_handle_buffer_credits(job->handle) >= 8 &&
	    job->handle->h_revoke_credits)
		return 0;
	return zj_journal_extend(job->handle, 8, 1);
}

/* Room for one more step: extend, or restart, which ends the unit. */
static void make_room(struct job *job)
{
	int err = long_one_in(job, 16) ? 1 : extend(job);

	if (err < 0) {
		dead(job, err);
		return;
	}
	if (!err)
		return;
	write_inodes(job);
	if (job->dead)
		return;
	unit_stop(job->unit);
	world->open_handles--;
	err = zj_journal_restart(job->handle, 12, 1, GFP_NOFS);
	world->open_handles++;
	if (is_handle_aborted(job->handle))
		err = -EROFS;
	if (dead(job, err))
		return;
	world->units[job->unit].acked = true;
	enter(job);
}

/* ---- steps that shrinking leaves out ---- */

static void reseed(struct job *job, u32 step)
{
	job->rand.state = world->p.seed * 0x9e3779b97f4a7c15ULL +
			  job->task * 0x100000001b3ULL +
			  job->number * 0x10001ULL + step * 0x51ULL;
	sim_rand(&job->rand);
}

static bool skipped(const struct job *job, u32 step)
{
	return world->p.skip && job->number < SKIP_HANDLES &&
	       world->p.skip[job->number][job->task] & (1U << step);
}

/* ---- handles ---- */

static void work_in_handle(struct job *job)
{
	u32 n = 1 + sim_below(&job->rand, 5);

	for (u32 i = 0; i < n && !job->dead; i++) {
		reseed(job, i);
		if (skipped(job, i))
			continue;
		make_room(job);
		if (!job->dead)
			step(job);
		/* A handle that keeps claims takes long, so it pauses more often. */
		if (sim_one_in(&job->rand, job->kept_inodes ? 8 : 32))
			pause_a_while(job);
	}
	/* Also after an abort: what is in core stays consistent. */
	write_inodes(job);
}

static bool is_drained(struct zj_lane *lane)
{
	bool drained;

	spin_lock(&lane->lock);
	drained = lane->running && lane->running->stage != ZJ_RUNNING &&
		  !lane->running->updates;
	spin_unlock(&lane->lock);
	return drained;
}

/* The worst moment to start a reserved handle; not for ever. */
static void await_drain(handle_t *rsv)
{
	struct zj_lane *lane = &to_zj(rsv->h_journal)->lanes[rsv->h_rsv_lane];

	for (u32 i = 0; i < 200 && !is_drained(lane); i++)
		cond_resched();
}

/* Does with a reservation what ext4 does at the end of an I/O. */
static void use_reserved(struct job *job, handle_t *rsv)
{
	if (sim_one_in(&job->rand, 4)) {
		zj_journal_free_reserved(rsv);
		return;
	}
	if (sim_one_in(&job->rand, 2))
		await_drain(rsv);
	else if (sim_one_in(&job->rand, 2))
		pause_a_while(job);
	if (dead(job, zj_journal_start_reserved(rsv, 0, 0)))
		return;
	take(job, rsv);
	step_meta(job);
	if (!job->dead)
		step_meta(job);
	end(job, sim_one_in(&job->rand, 12));
}

static void do_handle(struct job *job)
{
	bool closing = world->p.focus == FOCUS_CLOSE;
	bool members = world->p.focus == FOCUS_MEMBERS;
	int rsv = sim_one_in(&job->rand, closing ? 2 : 6) ? 2 : 0;
	/* A handle without credits cannot change anything unless it is extended later. */
	bool looks = long_one_in(job, members ? 4 : 12);
	bool sweeps = !looks && long_one_in(job, members ? 4 : 80);
	int credits = looks ? 0 : sweeps ? 8 + SWEEP_BLOCKS :
		      8 + sim_below(&job->rand, 4);
	int revokes = looks ? 0 : 1 + sim_below(&job->rand, 2);
	bool works = !looks || sim_one_in(&job->rand, 2);
	handle_t *reserved = NULL;

	sim_migrate();
	if (!begin(job, credits, rsv, revokes))
		return;
	if (looks)
		look_around(job);
	if (sweeps)
		sweep(job);
	if (works)
		work_in_handle(job);
	reseed(job, SKIP_END);
	if (rsv && !job->dead) {
		reserved = job->handle->h_rsv_handle;
		job->handle->h_rsv_handle = NULL;
	}
	end(job, sim_one_in(&job->rand, 12));
	if (reserved)
		use_reserved(job, reserved);
}

/* Between two handles: work without a handle, or with one of its own. */
static void do_other(struct job *job)
{
	static void (*const others[])(struct job *) = {
#define FIRST_OF_FILE	0
		file_store, file_store, file_truncate,
#define FIRST_SYNC	3
		sync_something, sync_something, sync_something, sync_something,
		sync_something, overwrite_data, pause_a_while, pause_a_while,
		evict,
	};
	u32 i = sim_below(&job->rand, 16);

	if (world->p.focus == FOCUS_FILE && sim_one_in(&job->rand, 2))
		i = FIRST_OF_FILE + sim_below(&job->rand, 3);
	if (world->p.focus == FOCUS_SYNC && sim_one_in(&job->rand, 2))
		i = FIRST_SYNC;
	if (i < ARRAY_SIZE(others))
		others[i](job);
}

int worker(void *arg)
{
	const struct params *p = &world->p;
	struct job job = { .task = (long)arg };
	/* The rest is shared out among the first ones. */
	u32 handles = p->handles / p->tasks + (job.task < p->handles % p->tasks);

	for (; job.number < handles && !job.dead; job.number++) {
		reseed(&job, SKIP_HANDLE);
		if (!skipped(&job, SKIP_HANDLE))
			do_handle(&job);
		reseed(&job, SKIP_OTHER);
		if (!job.dead && !skipped(&job, SKIP_OTHER))
			do_other(&job);
	}
	world->workers--;
	return 0;
}
