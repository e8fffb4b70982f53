// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoint and trim: valid images go home, then their log space is free
 * (H1-H4).
 *
 * A valid part whose buffer nobody owns anew is written from the live buffer,
 * which holds just that image; the dirty bit, taken away under the buffer lock by
 * any new owner, is the check of ownership (jhead.c, J1). A part that a newer
 * transaction covers waits until that one is valid.
 *
 * Trim goes in stamp order over all lanes: home writes durable, then S durable,
 * then reuse.
 */
#include "core/zj.h"
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/pagemap.h>
#include <linux/sort.h>

/**
 * struct zj_pass - one walk over what is valid; ckpt_lock, unless said otherwise
 *
 * It begins with a walk that finds buffers, the oldest transactions' first. Sorted by
 * block they are brought home, slice by slice, by the checkpoint's thread and by lanes
 * that help. It ends when the last slice is home.
 */
struct zj_pass {
	struct zj_journal *zj;		/* immutable */
	struct buffer_head **bh;	/* what was found, each with a reference; immutable
					 * once it is sorted
					 */
	u32		nr;		/* of them, as above */
	u32		taken;		/* pool_lock; how many somebody brings home */
	bool		close;		/* close newer owners, so that S can move */
	tid_t		blocker;	/* a newer owner that keeps a part, 0: none */
	atomic_t	flying;		/* slices not home, and one for the walk */
	bool		failed;		/* set by anybody; a block did not get home */
	struct completion done;		/* no slice is left */
};

/**
 * struct slice - buffers of a pass that one thread brings home
 */
struct slice {
	struct zj_pass	*pass;
	struct buffer_head **bh;
	u32		nr;
};

/**
 * zj_checkpoint_init() - memory for what a pass finds
 * @zj: the journal, budget known
 *
 * A pass makes room for half a budget of what runs.
 *
 * Return: 0 or -ENOMEM.
 */
int zj_checkpoint_init(struct zj_journal *zj)
{
	zj->max_found = min_t(u32, zj->budget / 2, ZJ_MAX_PASS);
	zj->found = kvmalloc_array(zj->max_found, sizeof(zj->found[0]), GFP_KERNEL);
	return zj->found ? 0 : -ENOMEM;
}

void zj_checkpoint_exit(struct zj_journal *zj)
{
	kvfree(zj->found);
	zj->found = NULL;
}

/* ---- writing home ---- */

static int by_block(const void *a, const void *b)
{
	const struct buffer_head *x = *(struct buffer_head *const *)a;
	const struct buffer_head *y = *(struct buffer_head *const *)b;

	if (x->b_blocknr == y->b_blocknr)
		return 0;
	return x->b_blocknr < y->b_blocknr ? -1 : 1;
}

static bool buffer_home(struct buffer_head *bh)
{
	struct journal_head *jh;
	bool ok;

	wait_on_buffer(bh);
	if (zj_bh_is_file(bh))
		folio_wait_writeback(bh->b_folio);
	ok = !buffer_write_io_error(bh);
	jh = zj_jh_get(bh);
	if (jh) {
		spin_lock(&jh->lock);
		zj_part_retire(jh, false);
		spin_unlock(&jh->lock);
		zj_jh_put(jh);
	}
	return ok;
}

static void pass_put(struct zj_pass *pass)
{
	if (atomic_dec_and_test(&pass->flying))
		complete(&pass->done);
}

static bool slice_take(struct zj_journal *zj, struct slice *slice)
{
	struct zj_pass *pass;

	*slice = (struct slice){ };
	spin_lock(&zj->pool_lock);
	pass = zj->pass;
	if (pass && pass->taken < pass->nr) {
		slice->pass = pass;
		slice->bh = pass->bh + pass->taken;
		slice->nr = min(zj->batch_size, pass->nr - pass->taken);
		pass->taken += slice->nr;
		atomic_inc(&pass->flying);
		WRITE_ONCE(zj->homeward, pass->nr - pass->taken);
	}
	spin_unlock(&zj->pool_lock);
	return slice->nr;
}

static void slice_submit(const struct slice *slice)
{
	struct blk_plug plug;
	u32 i;

	blk_start_plug(&plug);
	for (i = 0; i < slice->nr; i++)
		write_dirty_buffer(slice->bh[i], REQ_SYNC);
	blk_finish_plug(&plug);
}

static void slice_wait(const struct slice *slice)
{
	u32 i;

	for (i = 0; i < slice->nr; i++) {
		if (!buffer_home(slice->bh[i]))
			WRITE_ONCE(slice->pass->failed, true);
		put_bh(slice->bh[i]);
	}
	cond_resched();
	pass_put(slice->pass);
}

/**
 * zj_checkpoint_owe() - note what a lane has logged
 * @lane: the lane
 * @blocks: of one transaction
 *
 * While starts wait for space it is to bring home twice that, so that space grows. What
 * it has not come to is forgiven when nobody waits: small transactions, whose fsyncs
 * somebody waits for, bring hardly anything home.
 *
 * Context: the lane's thread.
 */
void zj_checkpoint_owe(struct zj_lane *lane, u32 blocks)
{
	if (!zj_space_awaited(lane->journal))
		lane->owes = 0;
	lane->owes += 2 * blocks;
	lane->committed = jiffies;
}

/**
 * zj_checkpoint_offers() - should a lane bring home what the checkpoint has found?
 * @lane: the lane
 *
 * Context: the lane's thread.
 */
bool zj_checkpoint_offers(const struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;

	if (!READ_ONCE(zj->homeward) || !zj_space_awaited(zj))
		return false;
	return lane->owes >= zj->batch_size ||
	       time_after_eq(jiffies, lane->committed + HZ);
}

/**
 * zj_checkpoint_help() - bring home slices of what a checkpoint has found
 * @lane: the lane
 *
 * One thread cannot write home as fast as all lanes log: while somebody waits for space
 * each lane's does what it owes. A lane without work helps at once.
 *
 * Context: sleeps for I/O; the lane's thread between two transactions.
 */
void zj_checkpoint_help(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	struct slice slice;

	while (zj_checkpoint_offers(lane) && slice_take(zj, &slice)) {
		lane->owes -= min(lane->owes, slice.nr);
		slice_submit(&slice);
		slice_wait(&slice);
	}
}

/* As many as there are slices; a lane that is busy looks for one by itself. */
static void wake_helpers(struct zj_pass *pass)
{
	struct zj_journal *zj = pass->zj;
	u32 i, nr = DIV_ROUND_UP(pass->nr, zj->batch_size);

	for (i = 0; i < min(nr, zj->nr_lanes); i++)
		wake_up(&zj->lanes[zj->helper++ % zj->nr_lanes].wait_work);
}

/*
 * Two parts lead to one buffer where only lines are logged (J2): its second write would
 * wait for the first, with the rest of the slice behind it. Sorted, they are neighbours.
 */
static void drop_doubles(struct zj_pass *pass)
{
	u32 i, nr = 0;

	for (i = 0; i < pass->nr; i++) {
		if (nr && pass->bh[nr - 1] == pass->bh[i])
			put_bh(pass->bh[i]);
		else
			pass->bh[nr++] = pass->bh[i];
	}
	pass->nr = nr;
}

/* From here on it is anybody's. */
static void pass_offer(struct zj_pass *pass)
{
	struct zj_journal *zj = pass->zj;

	sort(pass->bh, pass->nr, sizeof(pass->bh[0]), by_block, NULL);
	drop_doubles(pass);
	spin_lock(&zj->pool_lock);
	zj->pass = pass;
	WRITE_ONCE(zj->homeward, pass->nr);
	spin_unlock(&zj->pool_lock);
	if (zj_space_awaited(zj))
		wake_helpers(pass);
}

/* What nobody takes is left to us: one slice is sent out while another comes home. */
static void pass_drain(struct zj_pass *pass)
{
	struct slice last = { }, next;

	while (slice_take(pass->zj, &next)) {
		slice_submit(&next);
		if (last.nr)
			slice_wait(&last);
		last = next;
	}
	if (last.nr)
		slice_wait(&last);
	pass_put(pass);
	wait_for_completion_io(&pass->done);
	spin_lock(&pass->zj->pool_lock);
	pass->zj->pass = NULL;
	spin_unlock(&pass->zj->pool_lock);
}

/*
 * What covers the buffer anew must become valid first, and be finished: before that the
 * buffer is not dirty, and a pass over it would bring nothing home, again and again.
 */
static struct zj_txn *newer_owner(struct journal_head *jh)
{
	struct zj_txn *txn = jh->newest->txn;

	if (zj_part_test(jh->newest, ZJ_PART_HOMEWARD))
		return NULL;
	refcount_inc(&txn->refs);
	return txn;
}

static void push_head(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	struct zj_pass *pass = arg;
	struct buffer_head *bh = NULL;
	struct zj_txn *newer = NULL;

	if (pass->nr == pass->zj->max_found)
		return;
	spin_lock(&jh->lock);
	if (!zj_part_retire(jh, false)) {
		newer = newer_owner(jh);
		if (!newer) {
			bh = jh->bh;
			get_bh(bh);
		}
	}
	spin_unlock(&jh->lock);
	if (bh)
		pass->bh[pass->nr++] = bh;
	if (newer) {
		pass->blocker = newer->pub.t_tid;
		if (pass->close)
			zj_commit_request(txn_zj(txn), newer);
		zj_txn_put(newer);
	}
}

/* Finished, so members and parts do not get more. */
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

/* ---- trim ---- */

/**
 * zj_progress() - a component was finished or trimmed: checkpoints go on
 */
void zj_progress(struct zj_journal *zj)
{
	spin_lock(&zj->comp_lock);
	zj->progress++;
	spin_unlock(&zj->comp_lock);
	wake_up_all(&zj->wait_trim);
}

static u64 progress(struct zj_journal *zj)
{
	u64 now;

	spin_lock(&zj->comp_lock);
	now = zj->progress;
	spin_unlock(&zj->comp_lock);
	return now;
}

/* What stands in the way is being committed: wait for news of it. */
static void wait_progress(struct zj_journal *zj, u64 seen)
{
	wait_event_timeout(zj->wait_trim,
			   progress(zj) != seen || zj_aborted(zj), HZ / 10);
}

/* ckpt_lock keeps finished components on the list. */
static struct zj_component *next_finished(struct zj_journal *zj,
					  struct zj_component *prev)
{
	struct zj_component *comp;

	spin_lock(&zj->comp_lock);
	comp = list_prepare_entry(prev, &zj->trim_list, trim_link);
	if (list_is_last(&comp->trim_link, &zj->trim_list)) {
		comp = NULL;
	} else {
		comp = list_next_entry(comp, trim_link);
		if (!comp->finished)
			comp = NULL;
	}
	spin_unlock(&zj->comp_lock);
	return comp;
}

/*
 * The dead components from the oldest on, in stamp order; 0: none. There may be any
 * number: comp_lock is not held while they are looked at.
 */
static u64 take_dead(struct zj_journal *zj, struct list_head *dead)
{
	struct zj_component *comp = NULL, *last = NULL;

	while ((comp = next_finished(zj, comp)) && is_home(comp)) {
		last = comp;
		cond_resched();
	}
	if (!last)
		return 0;
	spin_lock(&zj->comp_lock);
	list_cut_position(dead, &zj->trim_list, &last->trim_link);
	spin_unlock(&zj->comp_lock);
	return last->stamp;
}

static int wb_failed(struct zj_journal *zj)
{
	struct address_space *mapping = zj->front.j_fs_dev->bd_mapping;

	return errseq_check(&mapping->wb_err, zj->wb_err);
}

/**
 * trim() - advance S over what is home, and take the space back
 * @zj: the journal
 *
 * Context: ckpt_lock held; sleeps.
 * Return: 0 or a negative error, which aborts the journal.
 */
static int trim(struct zj_journal *zj)
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
	err = wb_failed(zj);
	/* Its pre-flush makes the home writes durable. */
	if (!err)
		err = zj->log->trim(zj, list_last_entry(&dead, struct zj_component,
							trim_link));
	if (err) {
		zj_err(zj, "checkpoint failed: error %d; the log is kept\n", err);
		zj_abort(zj, err);
		spin_lock(&zj->comp_lock);
		list_splice(&dead, &zj->trim_list);
		spin_unlock(&zj->comp_lock);
		return err;
	}
	WRITE_ONCE(zj->trimmed, stamp);
	list_for_each_entry_safe(comp, tmp, &dead, trim_link) {
		list_del_init(&comp->trim_link);
		zj_component_free(zj, comp);
		cond_resched();
	}
	zj_space_trim(zj, stamp);
	zj_progress(zj);
	return 0;
}

/* ---- passes ---- */

/* As long as one newer owner is not valid S stays: do not look at all parts again. */
static bool is_blocked(struct zj_journal *zj, const struct zj_component *comp)
{
	struct zj_txn *txn = zj_txn_find(zj, comp->blocker);

	if (!txn)
		return false;
	zj_txn_put(txn);
	return true;
}

/* Return: log blocks that it holds, about. */
static u32 pass_walk(struct zj_pass *pass, struct zj_component *comp)
{
	bool look = pass->close || !is_blocked(pass->zj, comp);
	struct zj_txn *txn;
	u32 logged = 0;

	pass->blocker = 0;
	list_for_each_entry(txn, &comp->members, comp_link) {
		if (look)
			zj_txn_walk(txn, push_head, pass);
		logged += max(txn->credits, 0);
	}
	if (look)
		comp->blocker = pass->blocker;
	return logged;
}

/*
 * The oldest, as many as hold half a budget of what runs: their space comes back at
 * once, and what is younger may be logged again before it must go home. Who waits, waits
 * for half of what stock ext4's waiters do, which is one transaction.
 */
static void pass_begin(struct zj_pass *pass, struct zj_journal *zj, bool all)
{
	struct zj_component *comp = NULL;
	u32 logged = 0;

	*pass = (struct zj_pass){
		.zj = zj, .bh = zj->found, .close = all || zj_space_awaited(zj),
	};
	atomic_set(&pass->flying, 1);
	init_completion(&pass->done);
	while (pass->nr < zj->max_found && (all || logged < zj->budget / 2) &&
	       !zj_aborted(zj) && (comp = next_finished(zj, comp)))
		logged += pass_walk(pass, comp);
	zj->found_none = !pass->nr;
	pass_offer(pass);
}

static void pass_end(struct zj_pass *pass)
{
	pass_drain(pass);
	if (pass->failed && !zj_aborted(pass->zj)) {
		zj_err(pass->zj, "a block could not be written home; the log is kept\n");
		zj_abort(pass->zj, -EIO);
	}
}

/* @moved: something has gone home, or S has advanced. */
static int one_pass(struct zj_journal *zj, bool all, bool *moved)
{
	u64 trimmed = zj->trimmed;
	struct zj_pass pass;
	int err;

	pass_begin(&pass, zj, all);
	pass_end(&pass);
	err = trim(zj);
	*moved = pass.nr || zj->trimmed != trimmed;
	return err;
}

static bool nothing_frozen(struct zj_journal *zj)
{
	bool empty;

	lockdep_assert_held(&zj->ckpt_lock);
	spin_lock(&zj->comp_lock);
	empty = list_empty(&zj->trim_list);
	spin_unlock(&zj->comp_lock);
	return empty;
}

/**
 * zj_checkpoint() - write valid images home and trim
 * @zj: the journal
 * @all: until nothing is left in the log
 *
 * Context: sleeps; no handle open.
 * Return: 0 or a negative error.
 */
int zj_checkpoint(struct zj_journal *zj, bool all)
{
	bool empty, moved;
	u64 seen;
	int err;

	do {
		seen = progress(zj);
		mutex_lock(&zj->ckpt_lock);
		err = one_pass(zj, all, &moved);
		/* Under the mutex: a trim takes off the list what S still covers. */
		empty = nothing_frozen(zj);
		mutex_unlock(&zj->ckpt_lock);
		if (err || !all || empty)
			return err;
		if (!moved)
			wait_progress(zj, seen);
	} while (!zj_aborted(zj));
	return -EIO;
}

void zj_checkpoint_kick(struct zj_journal *zj)
{
	WRITE_ONCE(zj->ckpt_wanted, true);
	wake_up(&zj->wait_ckpt);
}

/*
 * Is a pass of use? While the oldest component is blocked S stays, and a pass that has
 * found nothing would only look at the same components again, with each commit.
 */
static bool may_work(struct zj_journal *zj)
{
	struct zj_component *oldest;

	if (zj_aborted(zj) || !zj_space_low(zj))
		return false;
	if (!zj->found_none || zj_space_awaited(zj))
		return true;
	oldest = next_finished(zj, NULL);
	return oldest && !is_blocked(zj, oldest);
}

/*
 * Passes as long as they are of use; the next component that is valid wakes us
 * again. S is written for one pass while the next one's blocks go home.
 */
static void work_ahead(struct zj_journal *zj)
{
	struct zj_pass pass;
	u64 trimmed;

	mutex_lock(&zj->ckpt_lock);
	while (may_work(zj)) {
		pass_begin(&pass, zj, false);
		trimmed = zj->trimmed;
		trim(zj);
		pass_end(&pass);
		if (!pass.nr && zj->trimmed == trimmed)
			break;
	}
	trim(zj);
	mutex_unlock(&zj->ckpt_lock);
}

/*
 * Somebody waits, and there is nothing to bring home: what stands in the way is being
 * committed. Once S covers all that was frozen when the wait began, what runs holds the
 * space. An empty log will not do as the sign: other lanes always commit something.
 */
static void serve_waiters(struct zj_journal *zj)
{
	u64 seen, frozen = READ_ONCE(zj->stamp);

	while (zj_space_awaited(zj) && !zj_aborted(zj)) {
		seen = progress(zj);
		work_ahead(zj);
		if (READ_ONCE(zj->trimmed) >= frozen) {
			zj_commit_request_all(zj);
			frozen = READ_ONCE(zj->stamp);
		}
		/* Lanes that hold idle segments give them back. */
		zj_space_trim(zj, READ_ONCE(zj->trimmed));
		if (zj_space_awaited(zj))
			wait_progress(zj, seen);
	}
}

/* What write-back has brought home needs no journal head: let memory go. */
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
	while ((comp = next_finished(zj, comp)))
		list_for_each_entry(txn, &comp->members, comp_link)
			zj_txn_walk(txn, retire_head, NULL);
	mutex_unlock(&zj->ckpt_lock);
}

/* What nobody writes back for long makes a recovery long. */
static void checkpoint_aged(struct zj_journal *zj, unsigned long *last)
{
	if (!zj->log->max_age || !time_after_eq(jiffies, *last + zj->log->max_age))
		return;
	*last = jiffies;
	zj_checkpoint(zj, false);
}

/**
 * zj_checkpoint_thread() - keeps log space ahead of demand
 * @arg: the journal
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
				READ_ONCE(zj->front.j_commit_interval));
		WRITE_ONCE(zj->ckpt_wanted, false);
		if (zj_aborted(zj))
			continue;
		/* This looks at all that is valid, what follows at the oldest. */
		if (!zj_space_low(zj))
			retire_home(zj);
		work_ahead(zj);
		serve_waiters(zj);
		checkpoint_aged(zj, &last);
	}
	memalloc_nofs_restore(nofs);
	return 0;
}
