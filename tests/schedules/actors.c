// SPDX-License-Identifier: GPL-2.0-only
/*
 * Actors, and the gates that hold the journal's own threads and the disk back.
 *
 * The linker puts our __wrap_ functions between the journal and the simulator
 * (see the Makefile), so neither knows about gates.
 */
#include <string.h>
#include <klayer/bug.h>
#include <linux/bio.h>
#include "stage.h"

/**
 * struct actor - a task that does what the schedule says
 */
struct actor {
	struct sim_task	*task;
	enum op		op;		/* to do; OP_NONE: done */
	u32		arg;
	handle_t	*handle;	/* open, or NULL */
	handle_t	*reserved;	/* not started, or NULL */
	int		unit;		/* its last one; -1: none */
	bool		slow;		/* counts points */
	u32		points;		/* passed in this step */
	bool		paused;
	bool		end;
	wait_queue_head_t wait;
};

static struct actor actors[MAX_ACTORS];
static const char *const op_names[] = {
	"nothing", "start", "stop", "access", "modify", "write", "read", "free",
	"create", "data", "change of X", "change of X without a claim",
	"write-out of X", "sync tid", "start of a reserved handle", "start with a reservation",
	"sync", "sync of X", "lock", "checkpoint", "whole handle",
	"claim on X", "restart", "forced commit", "barrier", "end of the barrier",
	"log of file data", "revoke of file data", "write in place",
};

/* ---- units ---- */

u32 unit_of(u32 actor)
{
	return actors[actor].unit;
}

void unit_must(u32 unit)
{
	if (play.unit[unit].must == NEVER)
		play.unit[unit].must = now();
}

static void unit_begin(struct actor *a)
{
	struct zj_txn *txn = handle_txn(a->handle);

	if (play.nr_units == MAX_UNITS)
		kl_fail("too many handles in a schedule");
	a->unit = play.nr_units++;
	play.unit[a->unit] = (struct unit){
		.actor = a - actors,
		.epoch = play.epoch,
		.lane = txn->lane->index,
		.tid = txn->public.t_tid,
		.stopped = NEVER,
		.must = NEVER,
	};
}

static void add_deed(u32 unit, u32 block)
{
	struct unit *u = &play.unit[unit];

	for (u32 i = 0; i < u->nr_deeds; i++) {
		if (u->deed[i].block != block)
			continue;
		u->deed[i].times++;
		return;
	}
	if (u->nr_deeds == MAX_WRITES)
		kl_fail("too many blocks in a handle");
	u->deed[u->nr_deeds++] = (struct deed){ block, play.block[block].gen, 1 };
}

/* ---- what handles do ---- */

static void check(int err, const struct actor *a)
{
	if (err)
		kl_fail("h%d: %s fails with error %d", (int)(a - actors),
			op_names[a->op], err);
}

static void do_start(struct actor *a, int rsv)
{
	handle_t *handle;

	a->task->cpu = a->arg;
	handle = zj_journal_start(play.journal_public, 6, rsv, 1, GFP_NOFS, 0, 0);
	if (IS_ERR(handle))
		kl_fail("start: error %ld", PTR_ERR(handle));
	a->handle = handle;
	a->reserved = handle->h_rsv_handle;
	handle->h_rsv_handle = NULL;
	unit_begin(a);
}

static void do_use_reserved(struct actor *a)
{
	handle_t *handle = actors[a->arg].reserved;

	actors[a->arg].reserved = NULL;
	check(zj_journal_start_reserved(handle, 0, 0), a);
	a->handle = handle;
	unit_begin(a);
}

static void do_stop(struct actor *a)
{
	handle_t *handle = a->handle;

	play.unit[a->unit].stopped = now();
	a->handle = NULL;
	check(zj_journal_stop(handle), a);
}

static void seal(struct content *c)
{
	c->sum = content_sum(c);
}

static void do_access(struct actor *a, u32 block)
{
	struct buffer_head *bh = read_home(block);

	check(zj_journal_get_write_access(a->handle, bh), a);
	brelse(bh);
}

static void do_modify(struct actor *a, u32 block)
{
	struct buffer_head *bh = read_home(block);
	struct content *c = (void *)bh->b_data;

	add_deed(a->unit, block);
	c->mark[a->unit]++;
	seal(c);
	check(zj_journal_dirty_metadata(a->handle, bh), a);
	brelse(bh);
}

static void do_write(struct actor *a, u32 block)
{
	do_access(a, block);
	do_modify(a, block);
}

static void do_read(struct actor *a)
{
	struct buffer_head *bh = read_home(a->arg);
	const struct content *c = (const void *)bh->b_data;

	check(zj_journal_read_dependency(a->handle, bh), a);
	for (u32 u = 0; u < play.nr_units; u++)
		if (c->mark[u])
			play.unit[a->unit].causes |= 1ULL << u;
	brelse(bh);
}

static void do_free(struct actor *a)
{
	struct block *b = &play.block[a->arg];
	struct buffer_head *bh = read_home(a->arg);

	b->freed_by = a->unit;
	b->freed_gen = b->gen;
	check(zj_journal_revoke(a->handle, FIRST_HOME + a->arg, bh), a);
}

static void do_create(struct actor *a)
{
	struct block *b = &play.block[a->arg];
	struct buffer_head *bh = __getblk(&play.disk->bdev, FIRST_HOME + a->arg,
					  DISK_BLOCK);
	struct content *c = (void *)bh->b_data;

	b->gen++;
	lock_buffer(bh);
	check(zj_journal_get_create_access(a->handle, bh), a);
	memset(c, 0, sizeof(*c));
	c->kind = KIND_META;
	c->block = a->arg;
	c->gen = b->gen;
	c->mark[a->unit] = 1;
	seal(c);
	set_buffer_uptodate(bh);
	unlock_buffer(bh);
	check(zj_journal_dirty_metadata(a->handle, bh), a);
	add_deed(a->unit, a->arg);
	brelse(bh);
}

static void do_data(struct actor *a)
{
	struct block *b = &play.block[a->arg];
	struct content *c = aligned_alloc(DISK_BLOCK, DISK_BLOCK);

	b->gen++;
	b->kind = KIND_DATA;
	b->data_of = a->unit;
	b->page = c;
	memset(c, 0, sizeof(*c));
	c->kind = KIND_DATA;
	c->block = a->arg;
	c->gen = b->gen;
	seal(c);
	b->page_dirty = true;
	check(zj_journal_inode_ranged_write(a->handle, &play.jinode, 0,
					    DISK_BLOCK), a);
	do_write(a, b0);
}

/* ---- file data that an fsync logs (F1) ---- */

static void do_log_data(struct actor *a, u32 block)
{
	struct buffer_head *bh = read_home(block);
	struct content *c = (void *)bh->b_data;

	do_access(a, block);
	add_deed(a->unit, block);
	c->mark[a->unit]++;
	seal(c);
	check(zj_journal_dirty_file_block(a->handle, bh, false), a);
	brelse(bh);
}

/* What is not home, or is logged meanwhile, is not revoked. */
static void do_settle(struct actor *a, u32 block)
{
	struct buffer_head *bh = __getblk(&play.disk->bdev, FIRST_HOME + block, DISK_BLOCK);
	int err = zj_journal_revoke_home(a->handle, bh);

	if (err != -EBUSY)
		check(err, a);
	brelse(bh);
}

/* As write-back or a direct write, which leave out what is in the log. */
static void do_in_place(u32 block)
{
	if (!zj_journal_file_blocks_logged(play.journal_public, FIRST_HOME + block, 1))
		data_new(block);
}

/* ---- inode X ---- */

static void do_change_inode(struct actor *a)
{
	if (a->op == OP_CHANGE_INODE)
		zj_journal_claim(a->handle, &play.claim, ZJ_KIND_INODE);
	play.core[a->unit]++;
	play.unit[a->unit].inode = true;
	add_deed(a->unit, bX);
}

/* Writes all of the in-core inode, with other handles' changes, as ext4 does. */
static void do_write_inode(struct actor *a)
{
	struct buffer_head *bh = read_home(bX);
	struct content *c = (void *)bh->b_data;

	check(zj_journal_get_write_access(a->handle, bh), a);
	memcpy(c->mark, play.core, sizeof(c->mark));
	seal(c);
	check(zj_journal_dirty_metadata(a->handle, bh), a);
	zj_journal_sync_tid(a->handle, &play.sync_tid);
	brelse(bh);
}

/* The handle's second part is a unit of its own. */
static void do_restart(struct actor *a)
{
	play.unit[a->unit].stopped = now();
	check(zj_journal_restart(a->handle, 6, 1, GFP_NOFS), a);
	unit_begin(a);
}

static void do_take_tid(struct actor *a)
{
	zj_journal_sync_tid(a->handle, &play.sync_tid);
	play.unit[a->unit].inode = true;
}

static void do_sync_inode(struct actor *a)
{
	u64 done = 0;

	for (u32 u = 0; u < play.nr_units; u++)
		if (play.unit[u].inode && play.unit[u].stopped != NEVER)
			done |= 1ULL << u;
	check(zj_complete_transaction(play.journal_public, play.sync_tid), a);
	for (u32 u = 0; u < play.nr_units; u++)
		if (done & 1ULL << u)
			unit_must(u);
}

static void do_sync(struct actor *a)
{
	check(zj_complete_transaction(play.journal_public, play.unit[a->unit].tid),
	      a);
	unit_must(a->unit);
}

static void do_whole(struct actor *a)
{
	u32 what = a->arg;

	a->arg = what & 0xff;
	do_start(a, 0);
	do_write(a, what >> 8 & 0xff);
	do_write(a, what >> 16 & 0xff);
	do_stop(a);
}

static void do_step(struct actor *a)
{
	switch (a->op) {
	case OP_START:
		return do_start(a, 0);
	case OP_RESERVE:
		return do_start(a, 3);
	case OP_USE_RESERVED:
		return do_use_reserved(a);
	case OP_STOP:
		return do_stop(a);
	case OP_ACCESS:
		return do_access(a, a->arg);
	case OP_MODIFY:
		return do_modify(a, a->arg);
	case OP_WRITE:
		return do_write(a, a->arg);
	case OP_READ:
		return do_read(a);
	case OP_FREE:
		return do_free(a);
	case OP_CREATE:
		return do_create(a);
	case OP_DATA:
		return do_data(a);
	case OP_CHANGE_INODE:
	case OP_CHANGE_UNCLAIMED:
		return do_change_inode(a);
	case OP_WRITE_INODE:
		return do_write_inode(a);
	case OP_TAKE_TID:
		return do_take_tid(a);
	case OP_SYNC:
		return do_sync(a);
	case OP_SYNC_INODE:
		return do_sync_inode(a);
	case OP_LOCK:
		return zj_commit_request_lane(&the_journal()->lanes[a->arg]);
	case OP_CHECKPOINT:
		return check(zj_checkpoint(the_journal(), false), a);
	case OP_WHOLE:
		return do_whole(a);
	case OP_CLAIM_KEEP:
		return zj_journal_claim_keep(a->handle, &play.claim, ZJ_KIND_INODE);
	case OP_RESTART:
		return do_restart(a);
	case OP_FORCE_NESTED:
		zj_journal_force_commit_nested(play.journal_public);
		return;
	case OP_LOCK_UPDATES:
		return zj_journal_lock_updates(play.journal_public);
	case OP_UNLOCK_UPDATES:
		return zj_journal_unlock_updates(play.journal_public);
	case OP_LOG_DATA:
		return do_log_data(a, a->arg);
	case OP_SETTLE:
		return do_settle(a, a->arg);
	case OP_IN_PLACE:
		return do_in_place(a->arg);
	case OP_NONE:
		return;
	}
}

/* ---- actors ---- */

static int actor_main(void *arg)
{
	struct actor *a = arg;

	for (;;) {
		wait_event(a->wait, a->op || a->end);
		if (!a->op)
			return 0;
		do_step(a);
		a->slow = false;
		a->op = OP_NONE;
	}
}

/* Lets everything that is not held back go on until nothing moves. */
void settle(void)
{
	schedule_timeout_uninterruptible(2 * HZ);
}

static void hand_over(struct actor *a, enum op op, u32 arg)
{
	if (a->op)
		kl_fail("h%d is still at its %s", (int)(a - actors),
			op_names[a->op]);
	a->op = op;
	a->arg = arg;
	a->points = 0;
	wake_up(&a->wait);
	settle();
}

void begin(u32 actor, enum op op, u32 arg)
{
	hand_over(&actors[actor], op, arg);
}

void finish(u32 actor)
{
	if (actors[actor].op)
		kl_fail("h%u does not get done with its %s", actor,
			op_names[actors[actor].op]);
}

void step(u32 actor, enum op op, u32 arg)
{
	begin(actor, op, arg);
	finish(actor);
}

void blocked(u32 actor, const char *why)
{
	if (!actors[actor].op)
		kl_fail("h%u went on: %s", actor, why);
}

void slowly(u32 actor, enum op op, u32 arg)
{
	actors[actor].slow = true;
	hand_over(&actors[actor], op, arg);
	play.paused_there |= actors[actor].paused;
}

void resume(u32 actor)
{
	struct actor *a = &actors[actor];

	a->slow = false;
	if (a->paused) {
		a->paused = false;
		sim_make_runnable(a->task);
	}
	settle();
}

/* ---- gates ---- */

static bool held[8][NR_GATES];
static u32 tickets[8];
static wait_queue_head_t gate_queue;
static bool gates;			/* between actors_start() and actors_end() */

/**
 * struct stuck - a request that stays in flight
 */
static struct stuck {
	bool	hold;			/* of this block */
	void	(*fn)(void *arg, u64 number);
	void	*arg;
} stuck[MAX_BLOCKS];
static struct stuck *catching;		/* the request being submitted */

void hold(u32 lane, enum gate gate)
{
	held[lane][gate] = true;
}

void release(u32 lane)
{
	memset(held[lane], 0, sizeof(held[lane]));
	wake_up_all(&gate_queue);
	settle();
}

void release_one(u32 lane)
{
	tickets[lane]++;
	wake_up_all(&gate_queue);
	settle();
}

void hold_write(u32 block)
{
	stuck[block].hold = true;
}

void release_write(u32 block)
{
	struct stuck s = stuck[block];

	stuck[block] = (struct stuck){ };
	if (s.fn)
		sim_event(0, s.fn, s.arg);
	settle();
}

void home(u32 block)
{
	buf_write_back(play.disk, FIRST_HOME + block);
	settle();
}

void disk_flush(void)
{
	blkdev_issue_flush(&play.disk->bdev);
}

static void gate(enum gate gate)
{
	struct zj_journal *zj;
	u32 lane = 0;

	if (!gates)
		return;
	zj = the_journal();
	while (lane < zj->nr_lanes && zj->lanes[lane].task != current)
		lane++;
	if (lane == zj->nr_lanes || !held[lane][gate])
		return;
	wait_event(gate_queue, !held[lane][gate] || tickets[lane]);
	if (tickets[lane])
		tickets[lane]--;
}

void actors_start(void)
{
	for (u32 i = 0; i < MAX_ACTORS; i++) {
		struct actor *a = &actors[i];
		char name[8];

		snprintf(name, sizeof(name), "h%u", i);
		*a = (struct actor){ .unit = -1 };
		init_waitqueue_head(&a->wait);
		a->task = sim_spawn(actor_main, a, name, 0);
	}
	init_waitqueue_head(&gate_queue);
	gates = true;
}

void actors_end(void)
{
	for (u32 i = 0; i < 8; i++) {
		memset(held[i], 0, sizeof(held[i]));
		tickets[i] = 0;
	}
	gates = false;
	wake_up_all(&gate_queue);
	for (u32 i = 0; i < MAX_BLOCKS; i++)
		release_write(i);
	for (u32 i = 0; i < MAX_ACTORS; i++)
		resume(i);
	for (u32 i = 0; i < MAX_ACTORS; i++) {
		struct actor *a = &actors[i];

		if (!a->op && a->handle)
			begin(i, OP_STOP, 0);
		if (a->reserved)
			zj_journal_free_reserved(a->reserved);
		a->reserved = NULL;
	}
	settle();
	for (u32 i = 0; i < MAX_ACTORS; i++) {
		finish(i);
		if (actors[i].handle)
			step(i, OP_STOP, 0);
		actors[i].end = true;
		wake_up(&actors[i].wait);
		sim_join(actors[i].task);
		actors[i].task = NULL;
	}
}

/* ---- between the journal and the simulator ---- */

/*
 * Tasks switch only where they wait; a slow one is paused at its point, even if it holds
 * locks there.
 */
void __wrap_kl_switch(void)
{
	bool point = kl_budget < 0;
	struct actor *a;

	if (!sim_running || !point) {
		__real_kl_switch();
		return;
	}
	kl_budget = 0;
	if (sim_in_irq)
		return;
	for (a = actors; a < actors + MAX_ACTORS; a++)
		if (a->task && &a->task->task == current)
			break;
	if (a == actors + MAX_ACTORS || !a->slow || a->points++ != play.point)
		return;
	a->paused = true;
	while (a->paused)
		sim_reschedule(SIM_ASLEEP);
}

void __wrap_submit_bio(struct bio *bio)
{
	u64 block = bio->bi_iter.bi_sector / (DISK_BLOCK / DISK_SECTOR);

	if (block >= FIRST_JOURNAL + ZJ_LOG_FIRST)
		gate(GATE_LOG);
	else if (bio->bi_opf & REQ_OP_WRITE && block >= FIRST_HOME &&
		 block < FIRST_HOME + MAX_BLOCKS && stuck[block - FIRST_HOME].hold)
		catching = &stuck[block - FIRST_HOME];
	__real_submit_bio(bio);
	catching = NULL;
}

u64 __wrap_sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg)
{
	if (!catching)
		return __real_sim_event(ns, fn, arg);
	catching->fn = fn;
	catching->arg = arg;
	catching = NULL;
	return 0;
}

int __wrap_zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	gate(GATE_FLUSH);
	return __real_zj_dev_flush(zj, lane);
}

/* Calls within flush.c are not wrapped. */
int __wrap_zj_log_dev_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	gate(GATE_FLUSH);
	return __real_zj_log_dev_flush(zj, lane);
}

int __wrap_zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written, bool log)
{
	gate(GATE_FLUSH);
	return __real_zj_data_flush(zj, lane, written, log);
}

int __wrap_zj_issue_flush(struct zj_journal *zj, struct block_device *bdev)
{
	int err = __real_zj_issue_flush(zj, bdev);

	gate(GATE_FLUSHED);
	return err;
}


void __wrap_zj_member_durable(struct zj_txn *txn)
{
	gate(GATE_DURABLE);
	__real_zj_member_durable(txn);
}
