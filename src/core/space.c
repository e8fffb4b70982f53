// SPDX-License-Identifier: GPL-2.0-only
/*
 * Log space: lanes take segments from one pool (N6, E16).
 *
 * A handle's credits are promised out of the segments in its lane's hand, so
 * that a handle start usually writes to nothing outside its lane. A lane takes
 * segments from the pool only when these run short, and gives back what it does
 * not need at the next seal. Commit itself never waits for space (N6).
 */
#include "core/core.h"
#include <linux/atomic.h>
#include <linux/slab.h>
#include <linux/wait.h>

/* Segments that are taken back at a time: under pool_lock for a few microseconds. */
#define ZJ_RECLAIM_BATCH	64

/**
 * zj_log_blocks() - return the log blocks that a transaction takes at worst
 * @zj: the journal
 * @credits: images and revoke blocks
 */
u32 zj_log_blocks(const struct zj_journal *zj, int credits)
{
	return zj->log_ops->blocks(zj, max(credits, 0));
}

static u32 lane_room(const struct zj_lane *lane)
{
	u32 seg_blocks = lane->journal->geo.seg_blocks;
	u32 room = lane->nr_in_hand * seg_blocks;

	if (lane->cur)
		room += seg_blocks - lane->cur_off;
	return room;
}

static u32 lane_need(const struct zj_lane *lane, int credits, int rsv)
{
	const struct zj_journal *zj = lane->journal;
	u32 need = lane->promised;

	if (lane->running)
		credits += lane->running->credits;
	need += zj_log_blocks(zj, credits);
	if (rsv)
		need += zj_log_blocks(zj, rsv);
	return need;
}

static void take_segments(struct zj_lane *lane, u32 nr)
{
	struct zj_journal *zj = lane->journal;

	spin_lock(&zj->pool_lock);
	/*
	 * All or nothing: otherwise two lanes could each hold half of what
	 * either needs.
	 */
	if (nr <= zj->nr_pool) {
		WRITE_ONCE(zj->nr_pool, zj->nr_pool - nr);
		lane->nr_in_hand += nr;
		while (nr-- && ZJ_ASSERT(zj, !list_empty(&zj->pool)))
			list_move_tail(zj->pool.next, &lane->in_hand);
	}
	spin_unlock(&zj->pool_lock);
}

/**
 * zj_seg_room() - return the blocks that a lane may fill
 * @lane: the lane
 * @need: blocks; the lane takes segments from the pool if it has fewer
 *
 * Context: caller holds lane->lock; takes pool_lock.
 */
u32 zj_seg_room(struct zj_lane *lane, u32 need)
{
	u32 room = lane_room(lane);

	lockdep_assert_held(&lane->lock);
	if (need > room) {
		take_segments(lane, DIV_ROUND_UP(need - room,
						 lane->journal->geo.seg_blocks));
		room = lane_room(lane);
	}
	return room;
}

/* ---- the queue of waiters ---- */

/*
 * While starts wait, only the first of them may take segments from the pool. If
 * all could take what comes back piece by piece, a start that needs much would
 * wait for ever. The other starts may use what their lane has in hand.
 */
static bool my_turn(const struct zj_journal *zj)
{
	const struct task_struct *first = READ_ONCE(zj->space_first);

	return !first || first == current;
}

/* Determines who is first after a change of the queue. Caller holds pool_lock. */
static void first_changes(struct zj_journal *zj)
{
	struct task_struct *first = NULL;
	struct zj_lane *lane = NULL;
	struct zj_space_waiter *waiter;

	lockdep_assert_held(&zj->pool_lock);
	list_for_each_entry(waiter, &zj->space_queue, link) {
		if (waiter->away)
			continue;
		first = waiter->task;
		lane = waiter->lane;
		break;
	}
	WRITE_ONCE(zj->space_first, first);
	WRITE_ONCE(zj->space_first_lane, lane);
}

/*
 * Wakes the first in the queue, after the pool has grown or another start has
 * become the first. Both happen under pool_lock, and the lane is read after
 * that. So a start that becomes the first later finds what the pool has got.
 */
static void wake_first(struct zj_journal *zj)
{
	struct zj_lane *lane = READ_ONCE(zj->space_first_lane);

	if (lane)
		wake_up_all(&lane->wait_space);
}

/*
 * Wakes those who may go on when a start stands back: the first in the queue,
 * and the start's own lane, for which it may have taken more than it needs.
 */
static void wake_others(struct zj_journal *zj, struct zj_lane *lane)
{
	wake_first(zj);
	/* Pairs with be_hungry(): who is not counted yet sees the lane's room. */
	if (READ_ONCE(lane->starts_waiting))
		wake_up_all(&lane->wait_space);
}

static void queue_up(struct zj_lane *lane, struct zj_space_waiter *waiter)
{
	struct zj_journal *zj = lane->journal;

	waiter->task = current;
	waiter->lane = lane;
	atomic_inc(&zj->space_waiters);
	spin_lock(&zj->pool_lock);
	list_add_tail(&waiter->link, &zj->space_queue);
	first_changes(zj);
	spin_unlock(&zj->pool_lock);
}

/**
 * zj_space_away() - let others pass a waiter while its lane is closed
 * @zj: the journal
 * @waiter: its place in the queue, which it keeps, if it has one
 * @away: false when it is back
 *
 * The handles that its lane waits for are no business of other lanes, so their
 * starts are served meanwhile. As an away waiter could not go on, no
 * transaction is closed and nothing is written home for it.
 */
void zj_space_away(struct zj_journal *zj, struct zj_space_waiter *waiter, bool away)
{
	if (!waiter->task)
		return;
	atomic_add(away ? -1 : 1, &zj->space_waiters);
	spin_lock(&zj->pool_lock);
	ZJ_ASSERT(zj, waiter->away != away);
	waiter->away = away;
	first_changes(zj);
	spin_unlock(&zj->pool_lock);
	if (away)
		wake_others(zj, waiter->lane);
}

/**
 * zj_space_leave() - take a start out of the queue
 * @zj: the journal
 * @waiter: its place in the queue, if it has one
 */
void zj_space_leave(struct zj_journal *zj, struct zj_space_waiter *waiter)
{
	if (!waiter->task)
		return;
	ZJ_ASSERT(zj, !waiter->away);
	ZJ_ASSERT(zj, atomic_read(&zj->space_waiters) > 0);
	atomic_dec(&zj->space_waiters);
	spin_lock(&zj->pool_lock);
	/* Not before, or others would see a queue whose first is nobody, and take their turn. */
	waiter->task = NULL;
	list_del(&waiter->link);
	first_changes(zj);
	spin_unlock(&zj->pool_lock);
	wake_others(zj, waiter->lane);
}

/* ---- promises ---- */

/*
 * The slow path of zj_space_get(), for when the lane's limit does not decide.
 */
bool zj_space_take(struct zj_lane *lane, int credits, int rsv)
{
	int running = lane->running ? lane->running->credits : 0;
	u32 need, room, more;

	need = lane_need(lane, credits, rsv);
	room = lane->journal->log_ops->room(lane, my_turn(lane->journal) ? need : 0);
	if (need > room)
		return false;
	/*
	 * One more credit costs less than 17/16 of an image, plus a few images
	 * once.
	 */
	more = (room - need) / lane->journal->credit_units;
	lane->limit = rsv ? 0 : running + credits +
			    max_t(int, more - more / 8 - 8, 0);
	return true;
}

/**
 * zj_space_share() - return a lane's share of the common budget
 * @zj: the journal
 *
 * Only lanes with a running transaction count, so that the others' share does
 * not lie idle.
 */
u32 zj_space_share(struct zj_journal *zj)
{
	return zj->budget / max(atomic_read(&zj->nr_running), 1);
}

/**
 * zj_space_sealed() - promise log space to a transaction that is being sealed
 * @txn: the transaction
 *
 * From now on it needs only what its credits take. What it was granted beyond
 * that is for others.
 *
 * Context: caller holds lane->lock.
 */
void zj_space_sealed(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);

	lockdep_assert_held(&txn->lane->lock);
	txn->lane->promised += zj_log_blocks(zj, txn->credits);
	ZJ_ASSERT(zj, atomic_read(&zj->granted) >= (int)txn->granted);
	atomic_sub(txn->granted, &zj->granted);
	ZJ_ASSERT(zj, atomic_read(&zj->nr_running) > 0);
	atomic_dec(&zj->nr_running);
}

/**
 * zj_space_grow() - grant more credits to a running transaction
 * @txn: the transaction
 *
 * It begins with its lane's share. Lanes at work may also use what idle lanes
 * do not use, because one large transaction logs a block once that several
 * small ones would log each.
 *
 * Context: caller holds lane->lock.
 * Return: true if it has got more.
 */
bool zj_space_grow(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	u32 more = txn->granted + zj->grant;

	lockdep_assert_held(&txn->lane->lock);
	if (more > zj->max_txn)
		return false;
	if (atomic_add_return(zj->grant, &zj->granted) > zj->budget &&
	    more > zj_space_share(zj)) {
		atomic_sub(zj->grant, &zj->granted);
		return false;
	}
	txn->granted = more;
	return true;
}

/**
 * zj_space_surplus() - give back segments out of which nothing is promised
 * @lane: the lane, after a seal or a commit
 *
 * Context: caller holds lane->lock; takes pool_lock.
 */
void zj_space_surplus(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	u32 room = lane_room(lane), seg_blocks = zj->geo.seg_blocks;
	u32 owed = lane_need(lane, 0, 0);
	bool gave = false;

	lockdep_assert_held(&lane->lock);
	/*
	 * One segment stays, so that small transactions need not go to the
	 * pool.
	 */
	lane->limit = 0;
	while (lane->nr_in_hand > 1 && room >= owed + seg_blocks) {
		if (!ZJ_ASSERT(zj, !list_empty(&lane->in_hand)))
			break;
		spin_lock(&zj->pool_lock);
		list_move(lane->in_hand.prev, &zj->pool);
		WRITE_ONCE(zj->nr_pool, zj->nr_pool + 1);
		spin_unlock(&zj->pool_lock);
		lane->nr_in_hand--;
		room -= seg_blocks;
		gave = true;
	}
	if (gave)
		wake_first(zj);
}

/**
 * zj_space_next() - begin the lane's next segment
 * @lane: the lane
 *
 * Context: the lane's thread or its flush thread; holds lane->lock.
 * Return: false if the lane has none in hand, which breaks N6.
 */
bool zj_space_next(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	struct zj_seg *seg;

	lockdep_assert_held(&lane->lock);
	if (list_empty(&lane->in_hand))
		return false;
	seg = list_first_entry(&lane->in_hand, struct zj_seg, link);
	list_del_init(&seg->link);
	ZJ_ASSERT(zj, lane->nr_in_hand);
	lane->nr_in_hand--;
	spin_lock(&zj->pool_lock);
	if (lane->cur) {
		/* H2: reclaim_some() ends with the first one that stays. */
		ZJ_ASSERT(zj, list_empty(&lane->full) ||
			      list_last_entry(&lane->full, struct zj_seg, link)->max_stamp <=
				      lane->cur->max_stamp);
		list_add_tail(&lane->cur->link, &lane->full);
	}
	seg->seq = ++zj->seg_seq;
	ZJ_ASSERT(zj, !lane->cur || lane->cur->index != seg->index);
	spin_unlock(&zj->pool_lock);
	lane->cur = seg;
	lane->cur_off = 0;
	return true;
}

/*
 * The count is in the lane, so that a handle that stops need not read memory
 * that all lanes write.
 */
static void be_hungry(struct zj_lane *lane, int nr)
{
	spin_lock(&lane->lock);
	WRITE_ONCE(lane->starts_waiting, lane->starts_waiting + nr);
	ZJ_ASSERT(lane->journal, lane->starts_waiting >= 0);
	spin_unlock(&lane->lock);
}

static bool pool_may_serve(struct zj_lane *lane, int credits, int rsv)
{
	bool ok;

	spin_lock(&lane->lock);
	ok = zj_space_get(lane, credits, rsv);
	spin_unlock(&lane->lock);
	return ok || zj_aborted(lane->journal);
}

/**
 * zj_space_wait() - wait until a lane may have room
 * @lane: the lane
 * @credits: as for zj_space_get()
 * @rsv: as for zj_space_get()
 * @waiter: the caller's place in the queue; zeroed before the first call
 *
 * The checkpoint thread closes running transactions for it, and writes the
 * oldest components home. First come, first served (docs/decisions/0026): the
 * caller keeps its place until it calls zj_space_leave(), because only the
 * first in the queue may take the room that has come back.
 *
 * Context: sleeps; no handle open.
 * Return: 0, or -EROFS if the journal is aborted.
 */
int zj_space_wait(struct zj_lane *lane, int credits, int rsv,
		  struct zj_space_waiter *waiter)
{
	struct zj_journal *zj = lane->journal;
	struct zj_wait wait;

	if (!waiter->task) {
		zj_count(&lane->stats.wait_space, 1);
		queue_up(lane, waiter);
	}
	zj_checkpoint_kick(zj);
	be_hungry(lane, 1);
	zj_wait_begin(&wait, lane, ZJ_WAIT_SPACE, NULL);
	wait_event(lane->wait_space, pool_may_serve(lane, credits, rsv));
	zj_wait_end(&wait);
	be_hungry(lane, -1);
	return zj_aborted(zj) ? -EROFS : 0;
}

/*
 * Takes back the lane's oldest full segments. A lane fills its segments in the order of stamps, so
 * none behind the first one that stays is looked at. They may be many after a large pass, and
 * starts of all lanes want the lock, so it is dropped now and then. Returns true if there may be
 * more of them.
 */
static bool reclaim_some(struct zj_lane *lane, u64 ckpt_stamp)
{
	struct zj_journal *zj = lane->journal;
	struct zj_seg *seg;
	u32 nr = 0;

	spin_lock(&zj->pool_lock);
	while (nr < ZJ_RECLAIM_BATCH) {
		seg = list_first_entry_or_null(&lane->full, struct zj_seg, link);
		if (!seg || seg->max_stamp > ckpt_stamp)
			break;
		list_move_tail(&seg->link, &zj->pool);
		nr++;
	}
	WRITE_ONCE(zj->nr_pool, zj->nr_pool + nr);
	spin_unlock(&zj->pool_lock);
	return nr == ZJ_RECLAIM_BATCH;
}

/*
 * Reuses a lane's current segment if all in it is reclaimed, and takes an idle
 * lane's empty segments back. Otherwise idle lanes could hold all segments, and
 * others would wait for ever.
 */
static void ckpt_lane(struct zj_lane *lane, u64 ckpt_stamp)
{
	struct zj_journal *zj = lane->journal;
	bool wake = false;

	spin_lock(&lane->lock);
	lane->limit = 0;
	if (lane->cur && lane->cur_off && lane->cur->max_stamp <= ckpt_stamp) {
		spin_lock(&zj->pool_lock);
		lane->cur->seq = ++zj->seg_seq;
		if (lane->promised || lane->running) {
			lane->cur_off = 0;
			wake = lane->starts_waiting;
		} else {
			list_add(&lane->cur->link, &zj->pool);
			WRITE_ONCE(zj->nr_pool, zj->nr_pool + 1);
			lane->cur = NULL;
		}
		spin_unlock(&zj->pool_lock);
	}
	if (!lane->promised && !lane->running && lane->nr_in_hand) {
		spin_lock(&zj->pool_lock);
		list_splice_init(&lane->in_hand, &zj->pool);
		WRITE_ONCE(zj->nr_pool, zj->nr_pool + lane->nr_in_hand);
		spin_unlock(&zj->pool_lock);
		lane->nr_in_hand = 0;
	}
	spin_unlock(&lane->lock);
	if (wake)
		wake_up_all(&lane->wait_space);
}

/**
 * zj_space_reclaim() - take back segments that hold reclaimed transactions only
 * @zj: the journal
 * @ckpt_stamp: the checkpoint stamp, which is durable
 */
void zj_space_reclaim(struct zj_journal *zj, u64 ckpt_stamp)
{
	unsigned int i;

	/* H4 */
	ZJ_ASSERT(zj, ckpt_stamp <= READ_ONCE(zj->ckpt_stamp));
	for (i = 0; i < zj->nr_lanes; i++) {
		while (reclaim_some(&zj->lanes[i], ckpt_stamp))
			;
		ckpt_lane(&zj->lanes[i], ckpt_stamp);
	}
	ZJ_ASSERT(zj, READ_ONCE(zj->nr_pool) <= zj->geo.nr_segs);
	wake_first(zj);
}

/**
 * zj_space_low() - check whether the checkpoint thread should work ahead
 *
 * It should as soon as the free segments would not hold another budget of
 * running transactions. Later, handle starts would have to wait; earlier,
 * blocks would be written home that are about to be logged again.
 */
bool zj_space_low(struct zj_journal *zj)
{
	return READ_ONCE(zj->nr_pool) < zj->low_pool || zj_space_awaited(zj);
}

/**
 * zj_seg_init() - allocate all segments, and put them into the pool
 * @zj: the journal, geometry known
 *
 * Return: 0 or -ENOMEM.
 */
int zj_seg_init(struct zj_journal *zj)
{
	u32 i;

	zj->segs = kvcalloc(zj->geo.nr_segs, sizeof(*zj->segs), GFP_KERNEL);
	if (!zj->segs)
		return -ENOMEM;
	for (i = 0; i < zj->geo.nr_segs; i++) {
		zj->segs[i].index = i;
		list_add_tail(&zj->segs[i].link, &zj->pool);
	}
	zj->nr_pool = zj->geo.nr_segs;
	return 0;
}

void zj_space_exit(struct zj_journal *zj)
{
	ZJ_ASSERT(zj, zj_aborted(zj) || !atomic_read(&zj->granted));
	ZJ_ASSERT(zj, zj_aborted(zj) || !atomic_read(&zj->nr_running));
	ZJ_ASSERT(zj, !atomic_read(&zj->space_waiters));
	ZJ_ASSERT(zj, list_empty(&zj->space_queue));
	kvfree(zj->segs);
	zj->segs = NULL;
}
