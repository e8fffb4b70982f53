// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoint and trim: valid images go home, then their log space is free
 * (design §6).
 *
 * A valid part whose buffer nobody owns anew is written from the live buffer,
 * which holds just that image; the dirty bit, taken away under the buffer lock by
 * any new owner, is the check of ownership (jhead.c, J1). A part that a newer
 * transaction covers waits until that one is valid.
 *
 * Trim goes in stamp order over all lanes: home writes durable, then S durable,
 * then reuse.
 */
#include "zj.h"
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/pagemap.h>
#include <linux/sort.h>

/* A pass that has sent out so many trims: some space soon beats all of it late. */
#define ZJ_PASS_BUFFERS	2048

/**
 * struct zj_pass - one walk over what is valid; ckpt_lock, unless said otherwise
 */
struct zj_pass {
	struct zj_journal *zj;		/* immutable */
	struct zj_batch	*batch;		/* being filled, or NULL */
	bool		close;		/* close newer owners, so that S can move */
	int		sent;		/* buffers handed on */
	unsigned int	offers;		/* batches offered to the lanes */
	int		left;		/* parts that a newer owner keeps */
	atomic_t	flying;		/* batches not home, and one for the walk */
	bool		failed;		/* set by anybody; a block did not get home */
	struct completion done;		/* no batch is left */
};

/**
 * struct zj_batch - buffers on their way home; one thread at a time has it
 */
struct zj_batch {
	struct zj_pass	*pass;			/* immutable */
	struct list_head link;			/* pool_lock; in zj->batches */
	int		nr;			/* in use */
	struct buffer_head *bh[ZJ_BATCH_SIZE];	/* each with a reference */
};

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
		zj_part_retire(jh);
		spin_unlock(&jh->lock);
		zj_jh_put(jh);
	}
	return ok;
}

static struct zj_batch *batch_alloc(struct zj_pass *pass)
{
	struct zj_batch *batch = kmalloc(sizeof(*batch),
					 GFP_NOFS | __GFP_NOFAIL);

	batch->pass = pass;
	batch->nr = 0;
	return batch;
}

static void pass_put(struct zj_pass *pass)
{
	if (atomic_dec_and_test(&pass->flying))
		complete(&pass->done);
}

static void batch_write(struct zj_batch *batch)
{
	struct zj_pass *pass = batch->pass;
	struct blk_plug plug;
	int i;

	sort(batch->bh, batch->nr, sizeof(batch->bh[0]), by_block, NULL);
	blk_start_plug(&plug);
	for (i = 0; i < batch->nr; i++)
		write_dirty_buffer(batch->bh[i], REQ_SYNC);
	blk_finish_plug(&plug);
	for (i = 0; i < batch->nr; i++) {
		if (!buffer_home(batch->bh[i]))
			WRITE_ONCE(pass->failed, true);
		put_bh(batch->bh[i]);
	}
	kfree(batch);
	cond_resched();
	pass_put(pass);
}

static struct zj_batch *next_batch(struct zj_journal *zj)
{
	struct zj_batch *batch = NULL;

	spin_lock(&zj->pool_lock);
	if (zj->nr_batches) {
		batch = list_first_entry(&zj->batches, struct zj_batch, link);
		list_del(&batch->link);
		WRITE_ONCE(zj->nr_batches, zj->nr_batches - 1);
	}
	spin_unlock(&zj->pool_lock);
	return batch;
}

/**
 * zj_checkpoint_owe() - note what a lane has logged
 * @lane: the lane
 * @blocks: of one transaction
 *
 * It is to bring home twice that, so that space grows. While there is space what it has
 * not come to is forgiven: small transactions, whose fsyncs somebody waits for, bring
 * nothing home before the last quarter.
 *
 * Context: the lane's thread.
 */
void zj_checkpoint_owe(struct zj_lane *lane, u32 blocks)
{
	if (!zj_space_scarce(lane->journal))
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

	if (!READ_ONCE(zj->nr_batches) || !zj_space_short(zj))
		return false;
	return lane->owes >= zj->batch_size ||
	       time_after_eq(jiffies, lane->committed + HZ);
}

/**
 * zj_checkpoint_help() - bring home a batch of what a checkpoint has found
 * @lane: the lane
 *
 * One thread cannot write home as fast as all lanes log: while space is short each
 * lane's does a share of what it owes, and all of it in the last quarter. A lane
 * without work helps at once.
 *
 * Context: sleeps for I/O; the lane's thread between two transactions.
 */
void zj_checkpoint_help(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	struct zj_batch *batch;

	do {
		batch = zj_checkpoint_offers(lane) ? next_batch(zj) : NULL;
		if (!batch)
			break;
		lane->owes -= min_t(u32, lane->owes, batch->nr);
		batch_write(batch);
	} while (zj_space_scarce(zj));
}

/* A full batch is anybody's. */
static void pass_offer(struct zj_pass *pass)
{
	struct zj_journal *zj = pass->zj;

	pass->sent += pass->batch->nr;
	atomic_inc(&pass->flying);
	spin_lock(&zj->pool_lock);
	list_add_tail(&pass->batch->link, &zj->batches);
	WRITE_ONCE(zj->nr_batches, zj->nr_batches + 1);
	spin_unlock(&zj->pool_lock);
	pass->batch = NULL;
	/* A lane that is busy looks for it by itself. */
	wake_up(&zj->lanes[pass->offers++ % zj->nr_lanes].wait_work);
}

static void pass_add(struct zj_pass *pass, struct buffer_head *bh)
{
	struct zj_batch *batch = pass->batch;

	batch->bh[batch->nr++] = bh;
	if (batch->nr == pass->zj->batch_size)
		pass_offer(pass);
}

/* What nobody has taken is left to us. */
static void pass_drain(struct zj_pass *pass)
{
	struct zj_batch *batch = pass->batch;

	if (batch) {
		pass->sent += batch->nr;
		atomic_inc(&pass->flying);
		batch_write(batch);
	}
	while ((batch = next_batch(pass->zj)))
		batch_write(batch);
	pass_put(pass);
	wait_for_completion_io(&pass->done);
}

/* What covers the buffer anew must become valid first. */
static struct zj_txn *newer_owner(struct journal_head *jh)
{
	struct zj_txn *txn = jh->newest->txn;

	if (zj_part_test(jh->newest, ZJ_PART_HOMEWARD) || zj_txn_is_valid(txn))
		return NULL;
	refcount_inc(&txn->refs);
	return txn;
}

static void push_head(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	struct zj_pass *pass = arg;
	struct buffer_head *bh = NULL;
	struct zj_txn *newer = NULL;

	if (!pass->batch)
		pass->batch = batch_alloc(pass);
	spin_lock(&jh->lock);
	if (!zj_part_retire(jh)) {
		newer = newer_owner(jh);
		if (!newer) {
			bh = jh->bh;
			get_bh(bh);
		}
	}
	spin_unlock(&jh->lock);
	if (bh)
		pass_add(pass, bh);
	if (newer) {
		pass->left++;
		if (pass->close)
			zj_commit_request(txn_zj(txn), newer);
		zj_txn_put(newer);
	}
}

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

/* The dead components from the oldest on, in stamp order; NULL: none. */
static u64 take_dead(struct zj_journal *zj, struct list_head *dead)
{
	struct zj_component *comp, *tmp;
	u64 stamp = 0;

	spin_lock(&zj->comp_lock);
	list_for_each_entry_safe(comp, tmp, &zj->trim_list, trim_link) {
		if (!comp->finished || !is_home(comp))
			break;
		stamp = comp->stamp;
		list_move_tail(&comp->trim_link, dead);
	}
	spin_unlock(&zj->comp_lock);
	return stamp;
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
	zj->trimmed = stamp;
	list_for_each_entry_safe(comp, tmp, &dead, trim_link) {
		list_del_init(&comp->trim_link);
		zj_component_free(zj, comp);
	}
	zj_space_trim(zj, stamp);
	zj_progress(zj);
	return 0;
}

/* ---- passes ---- */

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

static void pass_begin(struct zj_pass *pass, struct zj_journal *zj, bool all)
{
	struct zj_component *comp = NULL;
	struct zj_txn *txn;

	*pass = (struct zj_pass){ .zj = zj, .close = all || zj_space_short(zj) };
	atomic_set(&pass->flying, 1);
	init_completion(&pass->done);
	while ((comp = next_finished(zj, comp)) && !zj_aborted(zj)) {
		list_for_each_entry(txn, &comp->members, comp_link)
			zj_txn_walk(txn, push_head, pass);
		if (all)
			continue;
		/* The oldest one that is held up keeps S back, not the others. */
		if (pass->left)
			pass->close = false;
		if (pass->sent >= ZJ_PASS_BUFFERS)
			break;
	}
}

static void pass_end(struct zj_pass *pass)
{
	pass_drain(pass);
	if (pass->failed && !zj_aborted(pass->zj)) {
		zj_err(pass->zj, "a block could not be written home; the log is kept\n");
		zj_abort(pass->zj, -EIO);
	}
}

static int one_pass(struct zj_journal *zj, bool all)
{
	struct zj_pass pass;

	pass_begin(&pass, zj, all);
	pass_end(&pass);
	return trim(zj);
}

static bool nothing_frozen(struct zj_journal *zj)
{
	bool empty;

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
	u64 seen, trimmed;
	int err;

	do {
		seen = progress(zj);
		mutex_lock(&zj->ckpt_lock);
		trimmed = zj->trimmed;
		err = one_pass(zj, all);
		trimmed = zj->trimmed - trimmed;
		mutex_unlock(&zj->ckpt_lock);
		if (err || !all || nothing_frozen(zj))
			return err;
		if (!trimmed)
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
 * Passes as long as they are of use; the next component that is valid wakes us
 * again. S is written for one pass while the next one's blocks go home.
 */
static void work_ahead(struct zj_journal *zj)
{
	struct zj_pass pass;
	u64 trimmed;

	mutex_lock(&zj->ckpt_lock);
	while (zj_space_low(zj) && !zj_aborted(zj)) {
		pass_begin(&pass, zj, false);
		trimmed = zj->trimmed;
		trim(zj);
		pass_end(&pass);
		if (!pass.sent && zj->trimmed == trimmed)
			break;
	}
	trim(zj);
	mutex_unlock(&zj->ckpt_lock);
}

/* A waiter for space needs what runs to be closed, and what is frozen valid. */
static void serve_waiters(struct zj_journal *zj)
{
	u64 seen, trimmed;

	while (atomic_read(&zj->space_waiters) && !zj_aborted(zj)) {
		seen = progress(zj);
		trimmed = READ_ONCE(zj->trimmed);
		zj_commit_request_all(zj);
		zj_checkpoint(zj, false);
		/* Lanes that hold idle segments give them back as well. */
		zj_space_trim(zj, READ_ONCE(zj->trimmed));
		if (READ_ONCE(zj->trimmed) == trimmed &&
		    atomic_read(&zj->space_waiters))
			wait_progress(zj, seen);
	}
}

/* What write-back has brought home needs no journal head: let memory go. */
static void retire_head(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	spin_lock(&jh->lock);
	zj_part_retire(jh);
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
		retire_home(zj);
		work_ahead(zj);
		serve_waiters(zj);
		checkpoint_aged(zj, &last);
	}
	memalloc_nofs_restore(nofs);
	return 0;
}
