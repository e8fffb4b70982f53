// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of tasks that wait, and of the longest waits; wake-ups of checkpoints.
 *
 * A task that is about to wait files a record, which is on its own stack, in
 * the lane where it waits, and takes it out again afterwards. So a reader of
 * the debug files sees each wait in a journal that hangs, its reason, and the
 * transaction that it is about. Handles that do not wait pay nothing for it.
 */
#include "core/core.h"
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

/* Users and zjctl read these names (docs/operations.md). */
const char *const zj_wait_names[ZJ_NR_WAITS] = {
	[ZJ_WAIT_SPACE] = "space",
	[ZJ_WAIT_LOCKED] = "locked",
	[ZJ_WAIT_RESERVED] = "reserved",
	[ZJ_WAIT_BARRIER] = "barrier",
	[ZJ_WAIT_DRAIN] = "drain",
	[ZJ_WAIT_IMAGE] = "image",
	[ZJ_WAIT_TURN] = "turn",
	[ZJ_WAIT_COMMITTED] = "committed",
	[ZJ_WAIT_SUBMIT] = "submit",
	[ZJ_WAIT_MEMBERS] = "members",
	[ZJ_WAIT_DATA] = "data",
	[ZJ_WAIT_LOG] = "log",
	[ZJ_WAIT_FLUSH] = "flush",
	[ZJ_WAIT_RECORD] = "record",
	[ZJ_WAIT_FILES] = "files",
	[ZJ_WAIT_HOME] = "home",
	[ZJ_WAIT_CKPT] = "checkpoint",
	[ZJ_WAIT_PROGRESS] = "progress",
};

const char *const zj_stage_names[ZJ_NR_STAGES] = {
	[ZJ_RUNNING] = "running",
	[ZJ_LOCKED] = "locked",
	[ZJ_SEALED] = "sealed",
	[ZJ_COPYING] = "copying",
	[ZJ_ISSUED] = "issued",
	[ZJ_FLUSHING] = "flushing",
	[ZJ_RECORDED] = "recorded",
	[ZJ_COMMITTED] = "committed",
	[ZJ_FINISHED] = "finished",
};

void zj_waits_init(struct zj_waits *waits)
{
	spin_lock_init(&waits->lock);
	INIT_LIST_HEAD(&waits->now);
}

/**
 * zj_stage_now() - return where a transaction stands, for users
 * @txn: the transaction; the caller makes sure that it stays
 *
 * That is the later one of its component's stage and its own, because a stage that the component
 * has reached may be noted in the members a little later.
 */
enum zj_txn_stage zj_stage_now(const struct zj_txn *txn)
{
	enum zj_txn_stage stage;

	rcu_read_lock();
	stage = READ_ONCE(READ_ONCE(txn->comp)->stage);
	rcu_read_unlock();
	return max(stage, READ_ONCE(txn->stage));
}

/**
 * zj_wait_begin() - file a record that the current task is about to wait
 * @wait: memory for the record, until zj_wait_end()
 * @lane: where it is filed; checkpoints, which belong to no lane, use lane 0
 * @why: the reason
 * @txn: the transaction that the task waits or works for, or NULL; the caller
 *	makes sure that it stays until this returns
 *
 * Context: takes waits.lock, which is the innermost of all.
 */
void zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane,
		   enum zj_wait_reason why, const struct zj_txn *txn)
{
	struct zj_waits *waits = &lane->waits;

	*wait = (struct zj_wait){
		.lane = lane,
		.why = why,
		.pid = current->pid,
		.since = ktime_get(),
	};
	strscpy(wait->comm, current->comm, sizeof(wait->comm));
	if (txn) {
		wait->tid = txn->public.t_tid;
		wait->tid_lane = txn->lane->index;
		wait->stage = zj_stage_now(txn);
	}
	spin_lock(&waits->lock);
	list_add_tail(&wait->link, &waits->now);
	spin_unlock(&waits->lock);
}

/*
 * Replaces the shortest wait that is kept, if that is shorter than this one.
 * Caller holds waits->lock.
 */
static void keep_wait(struct zj_past_wait *kept, const struct zj_wait *wait, s64 took)
{
	struct zj_past_wait *shortest = kept;
	int i;

	for (i = 1; i < ZJ_KEPT_WAITS; i++)
		if (kept[i].took < shortest->took)
			shortest = &kept[i];
	if (took <= shortest->took)
		return;
	shortest->wait = *wait;
	shortest->took = took;
}

/**
 * zj_wait_end() - take the record out, because the wait is over
 * @wait: from zj_wait_begin()
 *
 * Context: takes waits.lock.
 */
void zj_wait_end(struct zj_wait *wait)
{
	struct zj_waits *waits = &wait->lane->waits;
	s64 took = ktime_get() - wait->since;

	trace_zj_wait(wait, took);
	spin_lock(&waits->lock);
	list_del(&wait->link);
	keep_wait(waits->longest[wait->why], wait, took);
	spin_unlock(&waits->lock);
}

/* ---- fsyncs ---- */

static void keep_fsync(struct zj_past_fsync *kept, const struct zj_past_fsync *fsync)
{
	struct zj_past_fsync *shortest = kept;
	int i;

	for (i = 1; i < ZJ_KEPT_WAITS; i++)
		if (kept[i].took < shortest->took)
			shortest = &kept[i];
	if (fsync->took > shortest->took)
		*shortest = *fsync;
}

/**
 * zj_fsync_ended() - note in which phases an fsync has spent its time
 * @txn: the transaction, finished, referenced by the caller
 * @begin: when the fsync began to wait
 * @turn: when the lane's thread had time for it
 *
 * A phase that was over when the fsync began counts as 0.
 *
 * Context: takes waits.lock.
 */
void zj_fsync_ended(const struct zj_txn *txn, ktime_t begin, ktime_t turn)
{
	struct zj_waits *waits = &txn->lane->waits;
	const ktime_t ends[ZJ_NR_FSYNC_PHASES] = {
		turn, txn->sealed_at, txn->issued_at, txn->recorded_at, ktime_get(),
	};
	struct zj_past_fsync fsync = {
		.tid = txn->public.t_tid,
		.pid = current->pid,
		.took = ends[ZJ_FSYNC_COMMITTED] - begin,
	};
	int i;

	strscpy(fsync.comm, current->comm, sizeof(fsync.comm));
	for (i = 0; i < ZJ_NR_FSYNC_PHASES; i++) {
		fsync.phase[i] = max_t(s64, ends[i] - begin, 0);
		begin += fsync.phase[i];
	}
	spin_lock(&waits->lock);
	waits->fsyncs++;
	for (i = 0; i < ZJ_NR_FSYNC_PHASES; i++)
		waits->phase_ns[i] += fsync.phase[i];
	keep_fsync(waits->slowest, &fsync);
	spin_unlock(&waits->lock);
}

/* ---- wake-ups of checkpoints ---- */

/**
 * zj_progress() - tell checkpoints that a component was finished or reclaimed
 * @zj: the journal
 *
 * Every commit calls it, so it writes nothing unless a checkpoint watches.
 */
void zj_progress(struct zj_journal *zj)
{
	/*
	 * Pairs with zj_watch_progress(): either we see that it watches, or it sees what
	 * the component has become.
	 */
	smp_mb();
	if (!atomic_read(&zj->watchers))
		return;
	atomic_inc(&zj->progress);
	wake_up_all(&zj->wait_progress);
}

/**
 * zj_watch_progress() - have progress counted
 * @zj: the journal
 *
 * Components that are finished from now on change zj_journal.progress, and the caller sees
 * the others as finished. zj_unwatch_progress() ends it.
 */
void zj_watch_progress(struct zj_journal *zj)
{
	atomic_inc(&zj->watchers);
	/* Pairs with zj_progress(). */
	smp_mb();
}

void zj_unwatch_progress(struct zj_journal *zj)
{
	ZJ_ASSERT(zj, atomic_read(&zj->watchers) > 0);
	atomic_dec(&zj->watchers);
}

void zj_checkpoint_kick(struct zj_journal *zj)
{
	WRITE_ONCE(zj->ckpt_wanted, true);
	wake_up(&zj->wait_ckpt);
}
