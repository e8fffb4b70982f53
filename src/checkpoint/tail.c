// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log's tail: log space of what is home is given back (H1-H4).
 *
 * The tail advances in stamp order over all lanes: first the home writes are
 * made durable, then the checkpoint stamp, and only then the space is used
 * again. The checkpoint thread tries to do this before anybody has to wait for
 * space.
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "txn/txn.h"
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

/*
 * Age at which logged file data goes home. The kernel leaves dirty pages in memory for as long
 * (vm.dirty_expire_centisecs).
 */
#define ZJ_FILE_DATA_AGE	(30UL * HZ)

/* A pass takes half a budget, and a budget is a third of the log at most: these take all of it. */
#define ZJ_AGED_PASSES		6

/* ---- progress ---- */

static int progress(struct zj_journal *zj)
{
	/* Pairs with zj_progress(): what is counted is seen. */
	return atomic_read_acquire(&zj->progress);
}

/*
 * Waits until a component has made progress. What stands in the way is being
 * committed.
 */
static void wait_progress(struct zj_journal *zj, int seen)
{
	struct zj_wait wait;

	zj_wait_begin(&wait, &zj->lanes[0], ZJ_WAIT_PROGRESS, NULL);
	wait_event_timeout(zj->wait_progress,
			   progress(zj) != seen || zj_aborted(zj), HZ / 10);
	zj_wait_end(&wait);
}

/* ---- the tail ---- */

/* The component is finished, so it gets no more members and parts. */
static bool is_home(struct zj_component *comp)
{
	struct zj_txn *txn;
	bool home = true;

	list_for_each_entry(txn, &comp->members, comp_link) {
		spin_lock(&txn->list_lock);
		home &= list_empty(&txn->parts);
		spin_unlock(&txn->list_lock);
	}
	return home;
}

/*
 * Takes the components that are home and can leave the log off the list, from the
 * oldest on, and returns the stamp of the newest; 0: there are none. What recovery
 * may replay stays known (F1). They may be many, so comp_lock is not held during
 * the search.
 */
static u64 take_dead(struct zj_journal *zj, struct list_head *dead)
{
	struct zj_component *comp = NULL, *last = NULL;
	u64 home = zj->home_stamp;

	while ((comp = zj_comp_next_finished(zj, comp)) && is_home(comp)) {
		ZJ_ASSERT(zj, comp->finished);
		home = comp->stamp;
		if (!zj->log_ops->can_leave || zj->log_ops->can_leave(comp))
			last = comp;
		cond_resched();
	}
	ZJ_ASSERT(zj, home >= zj->home_stamp);
	WRITE_ONCE(zj->home_stamp, home);
	if (!last)
		return 0;
	spin_lock(&zj->comp_lock);
	list_cut_position(dead, &zj->ckpt_list, &last->ckpt_link);
	spin_unlock(&zj->comp_lock);
	return last->stamp;
}

static int wb_failed(struct zj_journal *zj)
{
	struct address_space *mapping = zj->public.j_fs_dev->bd_mapping;

	return errseq_check(&mapping->wb_err, zj->wb_err);
}

static int move_tail(struct zj_journal *zj, const struct zj_component *last)
{
	struct zj_wait wait;
	int err;

	zj_wait_begin(&wait, &zj->lanes[0], ZJ_WAIT_CKPT, NULL);
	err = zj->log_ops->advance_tail(zj, last);
	zj_wait_end(&wait);
	return err;
}

/**
 * advance_tail() - advance the tail over what is home, and give its space back
 * @zj: the journal
 *
 * Context: caller holds ckpt_lock; sleeps.
 * Return: 0 or a negative error, which aborts the journal.
 */
static int advance_tail(struct zj_journal *zj)
{
	struct zj_component *comp, *tmp;
	LIST_HEAD(dead);
	u64 stamp;
	int err;

	lockdep_assert_held(&zj->ckpt_lock);
	if (zj_aborted(zj))
		return -EIO;
	stamp = take_dead(zj, &dead);
	if (!stamp)
		return 0;
	/* H2, H3: a wrong stamp must not reach the device. */
	err = ZJ_ASSERT(zj, stamp > zj->ckpt_stamp) &&
	      ZJ_ASSERT(zj, stamp <= READ_ONCE(zj->committed_stamp)) ? wb_failed(zj) : -EIO;
	/*
	 * The log's format makes the home writes durable before the checkpoint
	 * stamp (H4).
	 */
	if (!err)
		err = move_tail(zj, list_last_entry(&dead, struct zj_component,
						    ckpt_link));
	if (err) {
		zj_err(zj, "checkpoint failed: error %d; the log is kept\n", err);
		zj_abort(zj, err);
		spin_lock(&zj->comp_lock);
		list_splice(&dead, &zj->ckpt_list);
		spin_unlock(&zj->comp_lock);
		return err;
	}
	WRITE_ONCE(zj->ckpt_stamp, stamp);
	trace_zj_tail_moved(zj, stamp);
	list_for_each_entry_safe(comp, tmp, &dead, ckpt_link) {
		list_del_init(&comp->ckpt_link);
		zj_component_free(zj, comp);
		cond_resched();
	}
	zj_space_reclaim(zj, stamp);
	zj_progress(zj);
	return 0;
}

/* ---- checkpoint ---- */

/*
 * Runs one pass. Sets @moved if it has written anything home, or has found that
 * more is home: the next pass goes further then, even if the tail has to stay.
 */
static int one_pass(struct zj_journal *zj, bool all, bool *moved)
{
	u64 home = zj->home_stamp;
	struct zj_pass pass;
	int err;

	zj_pass_begin(&pass, zj, all);
	zj_pass_end(&pass);
	err = advance_tail(zj);
	*moved = pass.nr || zj->home_stamp != home;
	return err;
}

static bool nothing_sealed(struct zj_journal *zj)
{
	bool empty;

	lockdep_assert_held(&zj->ckpt_lock);
	spin_lock(&zj->comp_lock);
	empty = list_empty(&zj->ckpt_list);
	spin_unlock(&zj->comp_lock);
	return empty;
}

static int run_passes(struct zj_journal *zj, bool all)
{
	bool empty, moved;
	int seen, err;

	do {
		seen = progress(zj);
		mutex_lock(&zj->ckpt_lock);
		err = one_pass(zj, all, &moved);
		/*
		 * The mutex is held, because advance_tail() takes components
		 * off the list before the checkpoint stamp covers them.
		 */
		empty = nothing_sealed(zj);
		mutex_unlock(&zj->ckpt_lock);
		if (err || !all || empty)
			return err;
		if (!moved)
			wait_progress(zj, seen);
	} while (!zj_aborted(zj));
	return -EIO;
}

/**
 * zj_checkpoint() - write committed images home and advance the tail
 * @zj: the journal
 * @all: go on until nothing is left in the log
 *
 * Context: sleeps; no handle open.
 * Return: 0 or a negative error.
 */
int zj_checkpoint(struct zj_journal *zj, bool all)
{
	int err;

	zj_watch_progress(zj);
	err = run_passes(zj, all);
	zj_unwatch_progress(zj);
	return err;
}

/**
 * zj_checkpoint_up_to() - write home what is committed, as far as that is possible now
 * @zj: the journal
 * @stamp: go on up to this one
 *
 * Blocks that newer transactions are changing stay; nobody is made to commit them.
 *
 * Context: sleeps; no handle open.
 */
void zj_checkpoint_up_to(struct zj_journal *zj, u64 stamp)
{
	bool moved = true;
	int err = 0;

	while (!err && moved && READ_ONCE(zj->ckpt_stamp) < stamp) {
		mutex_lock(&zj->ckpt_lock);
		err = one_pass(zj, false, &moved);
		mutex_unlock(&zj->ckpt_lock);
	}
}

/* Returns the oldest finished component that is not known to be home, or NULL. */
static struct zj_component *oldest_away(struct zj_journal *zj)
{
	struct zj_component *comp = NULL;

	do
		comp = zj_comp_next_finished(zj, comp);
	while (comp && comp->stamp <= zj->home_stamp);
	return comp;
}

/*
 * Tells whether a pass is of use. While the oldest component that is not home is
 * blocked, the checkpoint stamp cannot advance. If the last pass has found nothing,
 * another one would only look at the same components again, at each commit.
 */
static bool may_work(struct zj_journal *zj)
{
	struct zj_component *oldest;

	if (zj_aborted(zj) || !zj_space_low(zj))
		return false;
	if (!zj->found_none || zj_space_awaited(zj))
		return true;
	oldest = oldest_away(zj);
	return oldest && !zj_comp_blocked(zj, oldest);
}

/*
 * Runs passes as long as they are of use; the next commit wakes this thread
 * again. The checkpoint stamp is written for one pass while the blocks of the
 * next one go home.
 */
static void work_ahead(struct zj_journal *zj)
{
	struct zj_pass pass;
	u64 home;

	mutex_lock(&zj->ckpt_lock);
	while (may_work(zj)) {
		zj_pass_begin(&pass, zj, false);
		home = zj->home_stamp;
		advance_tail(zj);
		zj_pass_end(&pass);
		if (!pass.nr && zj->home_stamp == home)
			break;
	}
	advance_tail(zj);
	mutex_unlock(&zj->ckpt_lock);
}

/*
 * Makes space for handle starts that wait. If there is nothing to write home,
 * what stands in the way is being committed. Once the checkpoint stamp covers
 * everything that was sealed when the wait began, running transactions must
 * hold the space, so they are committed. An empty log cannot be the sign for
 * that, because other lanes always commit something.
 */
static void serve_waiters(struct zj_journal *zj)
{
	u64 sealed = READ_ONCE(zj->stamp);
	int seen;

	zj_watch_progress(zj);
	while (zj_space_awaited(zj) && !zj_aborted(zj)) {
		seen = progress(zj);
		work_ahead(zj);
		if (READ_ONCE(zj->ckpt_stamp) >= sealed) {
			zj_commit_request_all(zj);
			sealed = READ_ONCE(zj->stamp);
		}
		/* This makes lanes give back idle segments. */
		zj_space_reclaim(zj, READ_ONCE(zj->ckpt_stamp));
		if (zj_space_awaited(zj))
			wait_progress(zj, seen);
	}
	zj_unwatch_progress(zj);
}

/*
 * Frees the journal heads of buffers that write-back has written home, to save
 * memory.
 */
static void retire_head(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	spin_lock(&jh->lock);
	zj_part_retire(jh, false);
	spin_unlock(&jh->lock);
}

static void retire_home(struct zj_journal *zj)
{
	struct zj_component *comp = NULL;
	struct zj_txn *txn;

	mutex_lock(&zj->ckpt_lock);
	while ((comp = zj_comp_next_finished(zj, comp)))
		list_for_each_entry(txn, &comp->members, comp_link)
			zj_txn_walk(txn, retire_head, NULL);
	mutex_unlock(&zj->ckpt_lock);
}

/* Returns the shortest time that something in the log may stay there; 0: none is limited. */
static unsigned long max_age(struct zj_journal *zj)
{
	unsigned long file_data = atomic_read(&zj->max_file_blocks) ? ZJ_FILE_DATA_AGE : 0;

	return min_not_zero(zj->log_ops->max_age, file_data);
}

/*
 * Brings home what nobody else writes back. A log in memory limits how long recovery takes. File
 * data must not stay away for long, because a boot loader looks only there, and finds the file's
 * metadata, which the kernel has written back. Blocks that are being logged again may stay.
 */
static void checkpoint_aged(struct zj_journal *zj, unsigned long *last)
{
	unsigned long most = max_age(zj);
	int passes = ZJ_AGED_PASSES;
	bool moved = true;

	if (!most)
		*last = jiffies;
	if (!most || !time_after_eq(jiffies, *last + most))
		return;
	*last = jiffies;
	mutex_lock(&zj->ckpt_lock);
	while (moved && passes--)
		one_pass(zj, false, &moved);
	mutex_unlock(&zj->ckpt_lock);
}

/*
 * Returns how long to sleep. An age that is due wakes the thread, whatever the commit interval,
 * which laptops set to many minutes. The first block of file data may be logged while the thread
 * sleeps, so it never sleeps for longer than such a block may stay. Nor does it look less often
 * for what write-back has brought home: that was dirty for as long, so its journal heads are kept
 * for at most twice the time.
 */
static unsigned long until_next_look(struct zj_journal *zj, unsigned long last)
{
	unsigned long most = max_age(zj) ?: ZJ_FILE_DATA_AGE;
	long left = last + most - jiffies;

	return min3(READ_ONCE(zj->public.j_commit_interval), ZJ_FILE_DATA_AGE,
		    (unsigned long)max(left, 1L));
}

/**
 * zj_checkpoint_thread() - keep log space ahead of demand
 * @arg: the journal
 *
 * It is not freezable, as zj_lane_thread() is not.
 */
int zj_checkpoint_thread(void *arg)
{
	struct zj_journal *zj = arg;
	unsigned int nofs = memalloc_nofs_save();
	unsigned long last = jiffies;

	while (!kthread_should_stop()) {
		wait_event_interruptible_timeout(zj->wait_ckpt,
				READ_ONCE(zj->ckpt_wanted) ||
				kthread_should_stop(),
				until_next_look(zj, last));
		WRITE_ONCE(zj->ckpt_wanted, false);
		if (zj_aborted(zj)) {
			zj_abort_finish(zj);
			/* Nothing will be due, so until_next_look() is to find no age. */
			last = jiffies;
			continue;
		}
		/*
		 * This looks at all that is committed, while the passes below
		 * look at the oldest only.
		 */
		if (!zj_space_low(zj))
			retire_home(zj);
		work_ahead(zj);
		serve_waiters(zj);
		checkpoint_aged(zj, &last);
	}
	memalloc_nofs_restore(nofs);
	return 0;
}
