// SPDX-License-Identifier: GPL-2.0-only
/*
 * Home writes: committed images are written to their place in the file system
 * (H1-H4).
 *
 * A committed part that no newer transaction covers is written from the live
 * buffer, which holds exactly that image. The buffer's dirty bit tells whether
 * this is so: a new owner takes it away under the buffer lock (part.c, J1). A
 * part that a newer transaction covers stays until that one is committed.
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/wait.h>

/**
 * struct slice - buffers of a pass that one thread writes home; on its stack
 */
struct slice {
	struct zj_pass	*pass;
	struct buffer_head **bh;
	u32		nr;
	u32		neighbours;	/* sent beside them */
};

/**
 * struct walk - buffers that one thread has found and not delivered yet; on its stack
 *
 * Delivering takes a lock that other threads take as well, and is done for 32 buffers
 * at a time, which hold 256 bytes of the stack.
 */
struct walk {
	struct zj_pass	*pass;
	u32		nr;
	struct buffer_head *bh[32];
};

/**
 * zj_checkpoint_init() - allocate memory for the buffers that a pass finds
 * @zj: the journal, budget known
 *
 * It is enough for the images that half a budget of running transactions may
 * have.
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

/*
 * Wakes lanes for @nr pieces of work. A busy lane looks for work itself when it has
 * issued its transaction.
 */
static void wake_helpers(struct zj_journal *zj, u32 nr)
{
	u32 i;

	for (i = 0; i < min(nr, zj->nr_lanes); i++)
		wake_up(&zj->lanes[zj->helper++ % zj->nr_lanes].wait_work);
}

/* ---- slices ---- */

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
	/* Pairs with the end of write-back, as in is_written(). */
	smp_rmb();
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
	ZJ_ASSERT(pass->zj, atomic_read(&pass->flying) > 0);
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
		ZJ_ASSERT(zj, pass->taken <= pass->nr);
		atomic_inc(&pass->flying);
		WRITE_ONCE(zj->pass_left, pass->nr - pass->taken);
	}
	spin_unlock(&zj->pool_lock);
	return slice->nr;
}

/*
 * Tells whether a block's newest image is committed and, if the disk has more than one head, among
 * the older half of what is in the log. A block that is logged more often than that never is, so it
 * does not go home each time that one beside it does, and handles that want it need not wait for
 * the device (decision 63).
 */
static bool is_old(const struct zj_pass *pass, struct buffer_head *bh)
{
	struct journal_head *jh = zj_jh_get(bh);
	bool old = false;

	if (!jh)
		return false;
	spin_lock(&jh->lock);
	/* A part that is still filed keeps its transaction's component. */
	if (jh->newest && zj_part_test(jh->newest, ZJ_PART_HOMEWARD))
		old = jh->newest->txn->comp->stamp <= pass->old_stamp;
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	return old;
}

/*
 * Sends a block home before its turn if it is due, so that it needs no request of its own later: it
 * is dirty, so its newest image is committed (J1). It is not waited for, as in write-back. What is
 * dirty without the journal is left to those who made it so.
 */
static bool send_neighbour(const struct zj_pass *pass, struct block_device *bdev, sector_t block,
			   unsigned int size)
{
	struct buffer_head *bh = __find_get_block(bdev, block, size);
	bool due;

	if (!bh)
		return false;
	due = buffer_dirty(bh) && !buffer_locked(bh) && is_old(pass, bh);
	if (due)
		write_dirty_buffer(bh, REQ_SYNC);
	put_bh(bh);
	return due;
}

/*
 * Sends a block home, and with it those that are due on either side of it. Returns how many these
 * are.
 */
static u32 send_home(const struct zj_pass *pass, struct buffer_head *bh)
{
	struct block_device *bdev = bh->b_bdev;
	sector_t block = bh->b_blocknr;
	u32 before, after;

	if (zj_bh_is_file(bh)) {
		write_dirty_buffer(bh, REQ_SYNC);
		return 0;
	}
	/* If a neighbour has taken it along, who waits for it finds that out. */
	if (!buffer_dirty(bh))
		return 0;
	for (before = 0; before < ZJ_NEIGHBOURS && before < block; before++)
		if (!send_neighbour(pass, bdev, block - before - 1, bh->b_size))
			break;
	write_dirty_buffer(bh, REQ_SYNC);
	for (after = 0; after < ZJ_NEIGHBOURS; after++)
		if (!send_neighbour(pass, bdev, block + after + 1, bh->b_size))
			break;
	return before + after;
}

static void slice_submit(struct slice *slice)
{
	struct blk_plug plug;
	u32 i;

	zj_writes_wait();
	blk_start_plug(&plug);
	for (i = 0; i < slice->nr; i++)
		slice->neighbours += send_home(slice->pass, slice->bh[i]);
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

/*
 * Where only lines are logged, a buffer may have two parts (J2) and be found
 * twice. Its second write would wait for the first, and the rest of the slice
 * with it. The buffers are sorted, so doubles are neighbours.
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

/* Makes the pass known, so that any lane's thread may take slices of it. */
static void pass_offer(struct zj_pass *pass)
{
	struct zj_journal *zj = pass->zj;

	sort(pass->bh, pass->nr, sizeof(pass->bh[0]), by_block, NULL);
	drop_doubles(pass);
	spin_lock(&zj->pool_lock);
	ZJ_ASSERT(zj, !zj->pass);
	zj->pass = pass;
	WRITE_ONCE(zj->pass_left, pass->nr);
	spin_unlock(&zj->pool_lock);
	if (zj_space_awaited(zj))
		wake_helpers(zj, DIV_ROUND_UP(pass->nr, zj->batch_size));
}

/*
 * Writes home the slices that no lane takes, and waits for the others. The next
 * slice is sent before the last one is waited for, to keep the device busy.
 */
static void pass_drain(struct zj_pass *pass)
{
	struct slice last = { }, next;
	struct zj_wait wait;

	zj_wait_begin(&wait, &pass->zj->lanes[0], ZJ_WAIT_HOME, NULL);
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
	zj_wait_end(&wait);
	spin_lock(&pass->zj->pool_lock);
	ZJ_ASSERT(pass->zj, pass->taken == pass->nr);
	pass->zj->pass = NULL;
	spin_unlock(&pass->zj->pool_lock);
}

/*
 * Returns the newer transaction that covers the buffer, with a reference, or
 * NULL. It must be committed and finished first. Until then the buffer is not
 * dirty, so passes would try to write it home in vain.
 */
static struct zj_txn *newer_owner(struct journal_head *jh)
{
	struct zj_txn *txn = jh->newest->txn;

	lockdep_assert_held(&jh->lock);
	if (zj_part_test(jh->newest, ZJ_PART_HOMEWARD))
		return NULL;
	refcount_inc(&txn->refs);
	return txn;
}

/**
 * zj_journal_bring_home() - write a block home before its turn, because memory is needed
 * @bh: the block device's buffer of a block that may be in the log
 * @wait: for a write of the buffer that is on its way already
 *
 * Does what the kernel's write-back does for metadata. A write that this call sends is not
 * waited for, so that a caller with many buffers has all of them on their way. What is not
 * committed yet will be soon.
 *
 * Context: any in which memory may be freed by I/O: it waits for no lock but the buffer's,
 * and for no handle or commit.
 * Return: true if the journal does not need the buffer any more.
 */
bool zj_journal_bring_home(struct buffer_head *bh, bool wait)
{
	struct zj_txn *newer = NULL;
	struct journal_head *jh;
	bool home;

	if (buffer_dirty(bh) && !buffer_locked(bh)) {
		write_dirty_buffer(bh, 0);
		return false;
	}
	if (wait)
		wait_on_buffer(bh);
	jh = zj_jh_get(bh);
	if (!jh)
		return true;
	spin_lock(&jh->lock);
	home = zj_part_retire(jh, false);
	if (!home)
		newer = newer_owner(jh);
	spin_unlock(&jh->lock);
	if (newer) {
		zj_commit_request(txn_zj(newer), newer);
		zj_txn_put(newer);
	}
	zj_jh_put(jh);
	return home;
}
EXPORT_SYMBOL_GPL(zj_journal_bring_home);

/* Waits for the commit of the newest transaction that covers a buffer, if that is not finished. */
static int wait_newer(struct buffer_head *bh)
{
	struct journal_head *jh = zj_jh_get(bh);
	struct zj_txn *newer = NULL;
	int err = 0;

	if (!jh)
		return 0;
	spin_lock(&jh->lock);
	if (jh->newest)
		newer = newer_owner(jh);
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	if (newer) {
		zj_commit_request(txn_zj(newer), newer);
		err = zj_txn_wait_finished(newer);
		zj_txn_put(newer);
	}
	return err;
}

/**
 * zj_journal_wait_home() - commit a block and write it home, and wait for both
 * @bh: the block device's buffer of a block that may be in the log
 * @killable: let a signal that kills the task end this
 *
 * Who logs the block again meanwhile is waited for as well. So a caller either keeps others from
 * doing that more than once, or can be killed.
 *
 * Context: sleeps for a commit and I/O; no handle open, no folio lock.
 * Return: 0; -EINTR; or a negative error, after which the device may have older contents.
 */
int zj_journal_wait_home(struct buffer_head *bh, bool killable)
{
	int err;

	while (!zj_journal_bring_home(bh, true)) {
		err = wait_newer(bh);
		if (err)
			return err;
		if (buffer_write_io_error(bh) && !buffer_dirty(bh))
			return -EIO;
		if (killable && fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_wait_home);

/*
 * Moves what a walk has found to the array of the pass. What has no room there
 * is found by the next pass.
 */
static void walk_deliver(struct walk *walk)
{
	struct zj_pass *pass = walk->pass;
	struct zj_journal *zj = pass->zj;
	u32 at, nr;

	spin_lock(&zj->pool_lock);
	at = pass->nr;
	nr = min(walk->nr, zj->max_found - at);
	WRITE_ONCE(pass->nr, at + nr);
	ZJ_ASSERT(zj, pass->nr <= zj->max_found);
	spin_unlock(&zj->pool_lock);
	memcpy(pass->bh + at, walk->bh, nr * sizeof(walk->bh[0]));
	while (walk->nr > nr)
		put_bh(walk->bh[--walk->nr]);
	walk->nr = 0;
}

static void push_head(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	struct walk *walk = arg;
	struct zj_pass *pass = walk->pass;
	struct buffer_head *bh = NULL;
	struct zj_txn *newer = NULL;

	if (READ_ONCE(pass->nr) == pass->zj->max_found)
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
		walk->bh[walk->nr++] = bh;
	if (walk->nr == ARRAY_SIZE(walk->bh))
		walk_deliver(walk);
	if (newer) {
		WRITE_ONCE(txn->comp->blocker, newer->public.t_tid);
		if (pass->close)
			zj_commit_request(txn_zj(txn), newer);
		zj_txn_put(newer);
	}
}

static void walk_member(struct zj_pass *pass, struct zj_txn *txn)
{
	struct walk walk = { .pass = pass };

	zj_txn_walk(txn, push_head, &walk);
	if (walk.nr)
		walk_deliver(&walk);
}

/*
 * The next member of the components that are walked over, or NULL after the
 * last one. Finished components keep their members, and ckpt_lock keeps the
 * components before the last one where they are.
 */
static struct zj_txn *next_member(struct zj_pass *pass)
{
	struct zj_txn *txn = pass->member;

	lockdep_assert_held(&pass->zj->pool_lock);
	if (!list_is_last(&txn->comp_link, &pass->comp->members))
		return list_next_entry(txn, comp_link);
	if (pass->comp == pass->last)
		return NULL;
	pass->comp = list_next_entry(pass->comp, ckpt_link);
	return list_first_entry(&pass->comp->members, struct zj_txn, comp_link);
}

static void walks_put(struct zj_pass *pass)
{
	if (atomic_dec_and_test(&pass->walks))
		complete(&pass->all_walked);
}

/* Takes a member of the current pass and walks over it; false: there is none left. */
static bool member_walk(struct zj_journal *zj)
{
	struct zj_txn *txn = NULL;
	struct zj_pass *pass;

	spin_lock(&zj->pool_lock);
	pass = zj->walked;
	if (pass) {
		txn = pass->member;
		atomic_inc(&pass->walks);
		pass->member = next_member(pass);
		if (!pass->member)
			WRITE_ONCE(zj->walked, NULL);
	}
	spin_unlock(&zj->pool_lock);
	if (!txn)
		return false;
	walk_member(pass, txn);
	walks_put(pass);
	return true;
}

/**
 * zj_checkpoint_charge() - note what a lane has logged
 * @lane: the lane
 * @blocks: credits of one transaction
 *
 * While handle starts wait for space, a lane has to write home twice what it
 * logs, so that space grows. When nobody waits, its debt is dropped: small
 * transactions, whose fsyncs somebody waits for, should hardly ever have to
 * write anything home.
 *
 * Context: who commits in the lane.
 */
void zj_checkpoint_charge(struct zj_lane *lane, u32 blocks)
{
	u32 debt = zj_space_awaited(lane->journal) ? READ_ONCE(lane->ckpt_debt) : 0;

	WRITE_ONCE(lane->ckpt_debt, debt + 2 * blocks);
	WRITE_ONCE(lane->logged_at, jiffies);
}

/**
 * zj_checkpoint_offers() - check whether a lane should help with the current
 * pass
 * @lane: the lane
 *
 * Context: the lane's thread.
 */
bool zj_checkpoint_offers(const struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;

	if ((!READ_ONCE(zj->pass_left) && !READ_ONCE(zj->walked)) || !zj_space_awaited(zj))
		return false;
	return READ_ONCE(lane->ckpt_debt) >= zj->batch_size ||
	       time_after_eq(jiffies, READ_ONCE(lane->logged_at) + HZ);
}

/**
 * zj_checkpoint_help() - help with the current pass
 * @lane: the lane
 *
 * One thread cannot find and write home as many blocks as all lanes log. So
 * while handle starts wait for space, each lane's thread walks over members,
 * and pays its debt with slices; a lane that has logged nothing for a second
 * helps in any case.
 *
 * Context: the lane's thread between two transactions; sleeps for I/O.
 */
void zj_checkpoint_help(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	struct slice slice;
	u32 debt;

	while (zj_checkpoint_offers(lane)) {
		if (member_walk(zj))
			continue;
		if (!slice_take(zj, &slice))
			break;
		slice_submit(&slice);
		debt = READ_ONCE(lane->ckpt_debt);
		WRITE_ONCE(lane->ckpt_debt, debt - min(debt, slice.nr + slice.neighbours));
		slice_wait(&slice);
	}
}

/* ---- passes ---- */

/*
 * Returns the finished component after @prev, or the oldest if @prev is NULL;
 * NULL if that one is not finished yet. Caller holds ckpt_lock, which keeps
 * finished components on the list.
 */
struct zj_component *zj_comp_next_finished(struct zj_journal *zj,
					   struct zj_component *prev)
{
	struct zj_component *comp;

	lockdep_assert_held(&zj->ckpt_lock);
	spin_lock(&zj->comp_lock);
	comp = list_prepare_entry(prev, &zj->ckpt_list, ckpt_link);
	if (list_is_last(&comp->ckpt_link, &zj->ckpt_list)) {
		comp = NULL;
	} else {
		comp = list_next_entry(comp, ckpt_link);
		/* Pairs with set_finished(): what the component has left is seen. */
		if (!smp_load_acquire(&comp->finished))
			comp = NULL;
	}
	spin_unlock(&zj->comp_lock);
	return comp;
}

/*
 * Tells whether a newer owner that the last walk met is not committed yet. As
 * long as it is not, the checkpoint stamp cannot advance, and walking over all
 * parts again would be in vain.
 */
bool zj_comp_blocked(struct zj_journal *zj, const struct zj_component *comp)
{
	struct zj_txn *txn = zj_txn_find(zj, comp->blocker);

	if (!txn)
		return false;
	zj_txn_put(txn);
	return true;
}

/*
 * Returns roughly how many log blocks have to go home. What is home and stays for the
 * rest of its run does not count: it would end each pass before that rest.
 */
static u32 logged_by(const struct zj_component *comp)
{
	struct zj_txn *txn;
	u32 logged = 0;

	if (comp->stamp <= comp->journal->home_stamp)
		return 0;
	list_for_each_entry(txn, &comp->members, comp_link)
		logged += max(txn->credits, 0);
	return logged;
}

/* Collects the buffers of one component. */
static void pass_walk(struct zj_pass *pass, struct zj_component *comp)
{
	struct zj_txn *txn;

	if (!pass->close && zj_comp_blocked(pass->zj, comp))
		return;
	comp->blocker = 0;
	list_for_each_entry(txn, &comp->members, comp_link)
		walk_member(pass, txn);
}

static void collect_alone(struct zj_pass *pass, bool all)
{
	struct zj_journal *zj = pass->zj;
	struct zj_component *comp = NULL;
	u32 logged = 0;

	while (pass->nr < zj->max_found && (all || logged < zj->budget / 2) &&
	       !zj_aborted(zj) && (comp = zj_comp_next_finished(zj, comp))) {
		logged += logged_by(comp);
		pass_walk(pass, comp);
	}
}

/*
 * Handle starts wait for space. A walk reads memory that other CPUs have
 * written last, so the members are handed out, and the lanes' threads help.
 */
static void collect_together(struct zj_pass *pass)
{
	struct zj_journal *zj = pass->zj;
	struct zj_component *comp = NULL;
	u32 logged = 0, nr = 0;

	while (logged < zj->budget / 2 && !zj_aborted(zj) &&
	       (comp = zj_comp_next_finished(zj, comp))) {
		comp->blocker = 0;
		logged += logged_by(comp);
		nr += comp->nr_members;
		if (!pass->comp)
			pass->comp = comp;
		pass->last = comp;
	}
	if (!pass->comp)
		return;
	pass->member = list_first_entry(&pass->comp->members, struct zj_txn, comp_link);
	atomic_set(&pass->walks, 1);
	init_completion(&pass->all_walked);
	spin_lock(&zj->pool_lock);
	WRITE_ONCE(zj->walked, pass);
	spin_unlock(&zj->pool_lock);
	wake_helpers(zj, nr - 1);
	while (member_walk(zj))
		;
	walks_put(pass);
	wait_for_completion_io(&pass->all_walked);
}

/*
 * Begins a pass over the oldest components, as many as hold half a budget of
 * running transactions. Their space comes back first, and younger blocks may be
 * logged again before they have to go home. A waiting start waits for half of
 * what stock ext4 writes home at once, which is one transaction.
 */
void zj_pass_begin(struct zj_pass *pass, struct zj_journal *zj, bool all)
{
	bool awaited = zj_space_awaited(zj);

	lockdep_assert_held(&zj->ckpt_lock);
	*pass = (struct zj_pass){
		.zj = zj, .bh = zj->found, .close = all || awaited,
		.old_stamp = zj->options.one_head ? U64_MAX :
			     (zj->ckpt_stamp + READ_ONCE(zj->committed_stamp)) / 2,
	};
	atomic_set(&pass->flying, 1);
	init_completion(&pass->done);
	if (awaited && !all)
		collect_together(pass);
	else
		collect_alone(pass, all);
	zj->found_none = !pass->nr;
	pass_offer(pass);
}

void zj_pass_end(struct zj_pass *pass)
{
	lockdep_assert_held(&pass->zj->ckpt_lock);
	pass_drain(pass);
	if (pass->failed && !zj_aborted(pass->zj)) {
		zj_err(pass->zj, "a block could not be written to its place on the device; the log is kept\n");
		zj_abort(pass->zj, -EIO);
	}
}
