// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles: start, extend, restart, stop, and reservations.
 *
 * A start picks the lane that the caller names, or that of the CPU it runs on, and
 * is counted in the lane's running transaction under the lane's own lock. Only a start
 * waits: until a locked transaction of the lane is sealed, for log space, for other
 * reservations to end, or for the barrier (N11). A reserved handle waits for none of these.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/list.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

static int revoke_blocks(const struct zj_journal *zj, int revokes)
{
	if (!revokes)
		return 0;
	/* This is the usual case, and spares each handle a division. */
	if (likely(revokes <= zj->revokes_per_block))
		return 1;
	return DIV_ROUND_UP(revokes, zj->revokes_per_block);
}

/*
 * Clears all but the room for claims, which are rare. ext4 has fields of its own there (h_invalid),
 * so none may keep what the memory's former user has left.
 */
static handle_t *handle_alloc(int credits)
{
	handle_t *handle = kmem_cache_alloc(zj_handle_cache,
					    GFP_NOFS | __GFP_NOFAIL);

	memset(handle, 0, offsetof(handle_t, h_claims));
	handle->h_total_credits = credits;
	handle->h_ref = 1;
	return handle;
}

static void handle_free(handle_t *handle)
{
	kmem_cache_free(zj_handle_cache, handle);
}

/* ---- joining the running transaction ---- */

enum join { JOINED, JOIN_NEED_TXN, JOIN_LOCKED, JOIN_SPACE, JOIN_TOO_BIG,
	    JOIN_BARRIER, JOIN_RESERVED, JOIN_SEALING, JOIN_ABORTED };

/*
 * Starts that reserve little would otherwise take each credit that comes back before one that
 * reserves much has enough of them. Who has the lane waits for nobody, since nobody can pass.
 */
static bool others_came_first(const struct zj_lane *lane)
{
	return !list_empty(&lane->rsv_queue) && !zj_lane_is_mine(lane) &&
	       list_first_entry(&lane->rsv_queue, struct zj_start_place, reserve)->task != current;
}

/*
 * ext4's write-back reserves credits for each I/O, and may have thousands in flight on a
 * slow device. If these took the whole log, running transactions would be closed to make
 * room, and the same blocks be logged again. So, as in stock, a new reservation waits if
 * all of the lane would exceed half of what its transaction may have.
 */
static bool too_much_reserved(const struct zj_lane *lane, int rsv)
{
	if (!rsv)
		return false;
	return others_came_first(lane) ||
	       (lane->rsv_credits &&
		lane->rsv_credits + rsv > zj_space_share(lane->journal) / 2);
}

/*
 * Takes a reference, so that the caller closes this transaction and not a later one of the
 * lane.
 */
static enum join full_txn(struct zj_txn *txn)
{
	refcount_inc(&txn->refs);
	return JOIN_TOO_BIG;
}

/*
 * Checks and promises log space in one section. A transaction that was published without
 * the space of its first handle could be sealed with no segment to write it to (N6). With
 * JOIN_TOO_BIG the caller gets a reference to the running transaction.
 */
static __always_inline enum join join_locked(struct zj_lane *lane, int credits,
					     int rsv, struct zj_txn **spare)
{
	struct zj_journal *zj = lane->journal;
	struct zj_txn *txn = lane->running;

	if (zj_aborted(zj) || READ_ONCE(zj->public.j_errno))
		return JOIN_ABORTED;
	/* Pairs with zj_journal_unlock_updates(): what was changed under the barrier is seen. */
	if (smp_load_acquire(&zj->barrier))
		return JOIN_BARRIER;
	if ((txn && txn->stage != ZJ_RUNNING) || unlikely(zj_lane_is_kept(lane)))
		return JOIN_LOCKED;
	if (too_much_reserved(lane, rsv))
		return JOIN_RESERVED;
	if (txn && zj->log_ops->counts_images && zj->log_ops->full(txn)) {
		txn->full = true;
		return full_txn(txn);
	}
	while (txn && txn->credits &&
	       txn->credits + credits > txn->granted)
		if (!zj_space_grow(txn))
			return full_txn(txn);
	if (!txn && !*spare)
		return JOIN_NEED_TXN;
	if (!zj_space_get(lane, credits, rsv))
		return JOIN_SPACE;
	if (!txn) {
		txn = *spare;
		*spare = NULL;
		zj_txn_publish(txn);
	}
	txn->updates++;
	txn->handles++;
	txn->credits += credits;
	if (rsv) {
		lane->promised += zj_log_blocks(zj, rsv);
		lane->rsv_credits += rsv;
		lane->limit = 0;
	}
	return JOINED;
}

/* Returns true also if the waiter has to take a place, or to find out that all is aborted. */
static bool lane_is_open(struct zj_lane *lane, const struct zj_start_place *place)
{
	bool open;

	spin_lock(&lane->lock);
	open = !(lane->running && lane->running->stage != ZJ_RUNNING) && !zj_lane_is_kept(lane);
	spin_unlock(&lane->lock);
	return open || zj_place_has_lost(lane, place) || zj_aborted(lane->journal);
}

/* Returns true also if the journal is aborted, as the waiter has to find out. */
static bool may_reserve(struct zj_lane *lane, int rsv)
{
	bool may;

	spin_lock(&lane->lock);
	may = !too_much_reserved(lane, rsv);
	spin_unlock(&lane->lock);
	return may || zj_aborted(lane->journal);
}

static void queue_reserve(struct zj_lane *lane, struct zj_start_place *place)
{
	lockdep_assert_held(&lane->lock);
	if (place->reserves)
		return;
	zj_count(&lane->stats.wait_reserved, 1);
	place->reserves = true;
	list_add_tail(&place->reserve, &lane->rsv_queue);
}

static void wait_reserved(struct zj_lane *lane, int rsv, struct zj_start_place *place)
{
	struct zj_wait wait;

	spin_lock(&lane->lock);
	queue_reserve(lane, place);
	zj_wait_begin(&wait, lane, ZJ_WAIT_RESERVED, lane->running);
	spin_unlock(&lane->lock);
	wait_event(lane->wait_start, may_reserve(lane, rsv));
	zj_wait_end(&wait);
}

/* The next barrier waits until it has gone on; otherwise barriers in a row would starve it. */
static void wait_barrier(struct zj_lane *lane, struct zj_start_place *place)
{
	struct zj_journal *zj = lane->journal;
	struct zj_wait wait;

	if (!place->held_up)
		atomic_inc(&zj->held_up);
	place->held_up = true;

	zj_wait_begin(&wait, lane, ZJ_WAIT_BARRIER, NULL);
	wait_event(zj->wait_barrier, !READ_ONCE(zj->barrier) || zj_aborted(zj));
	zj_wait_end(&wait);
}

static void wait_open(struct zj_lane *lane, struct zj_start_place *place)
{
	struct zj_wait wait;

	spin_lock(&lane->lock);
	if (!place->waits)
		place->since = lane->opened;
	place->waits = true;
	zj_wait_begin(&wait, lane, ZJ_WAIT_LOCKED, lane->running);
	spin_unlock(&lane->lock);
	wait_event(lane->wait_start, lane_is_open(lane, place));
	zj_wait_end(&wait);
}

/*
 * Waits until a start may succeed; @txn is the transaction that is full. Returns false if
 * there is no use in trying again.
 */
static bool join_wait(struct zj_lane *lane, enum join why, struct zj_txn *txn,
		      int credits, int rsv, struct zj_space_waiter *waiter,
		      struct zj_start_place *place)
{
	struct zj_journal *zj = lane->journal;

	switch (why) {
	case JOIN_TOO_BIG:
		zj_commit_now(zj, txn);
		zj_txn_put(txn);
		fallthrough;
	case JOIN_LOCKED:
		zj_count(&lane->stats.wait_locked, 1);
		zj_space_away(zj, waiter, true);
		wait_open(lane, place);
		zj_space_away(zj, waiter, false);
		return true;
	case JOIN_RESERVED:
		zj_space_away(zj, waiter, true);
		wait_reserved(lane, rsv, place);
		zj_space_away(zj, waiter, false);
		return true;
	case JOIN_SPACE:
		return !zj_space_wait(lane, credits, rsv, waiter);
	case JOIN_BARRIER:
		/* A barrier may last, so no space should be freed for us meanwhile. */
		zj_space_leave(zj, waiter);
		wait_barrier(lane, place);
		return true;
	default:
		return false;
	}
}

/* Do others wait from now on until this start has joined: of its lane, or a barrier? */
static bool holds_up(enum join how, bool takes)
{
	return takes || how == JOIN_SPACE || how == JOIN_RESERVED || how == JOIN_BARRIER;
}

/* Asked once a round: a later answer may be another one, as the lane goes on meanwhile. */
static bool takes_place(const struct zj_lane *lane, enum join how,
			const struct zj_start_place *place)
{
	return how == JOIN_TOO_BIG || (how == JOIN_LOCKED && zj_place_has_lost(lane, place));
}

static noinline struct zj_txn *join_slowly(struct zj_lane *lane, int credits,
					   int rsv, enum join how,
					   struct zj_txn *txn)
{
	struct zj_space_waiter waiter = { };
	struct zj_start_place place = { .task = current };
	struct zj_txn *spare = NULL;
	bool takes;

	while (how != JOINED) {
		takes = takes_place(lane, how, &place);
		/* E17: whoever waits for it must not wait for memory, too. */
		if (how == JOIN_NEED_TXN || (!spare && holds_up(how, takes))) {
			ZJ_ASSERT(lane->journal,
				  !place.queued && !place.reserves && !place.held_up);
			spare = zj_txn_alloc(lane);
		}
		if (takes)
			zj_place_take(lane, &place);
		if (how != JOIN_NEED_TXN &&
		    !join_wait(lane, how, txn, credits, rsv, &waiter, &place))
			break;
		spin_lock(&lane->lock);
		how = join_locked(lane, credits, rsv, &spare);
		txn = lane->running;
		spin_unlock(&lane->lock);
	}
	zj_space_leave(lane->journal, &waiter);
	zj_place_leave(lane, &place);
	if (spare)
		zj_txn_free_unused(spare);
	return how == JOINED ? txn : NULL;
}

static __always_inline struct zj_txn *join_txn(struct zj_lane *lane, int credits,
					       int rsv)
{
	struct zj_txn *none = NULL, *txn;
	enum join how;

	spin_lock(&lane->lock);
	how = join_locked(lane, credits, rsv, &none);
	txn = lane->running;
	spin_unlock(&lane->lock);
	return likely(how == JOINED) ? txn :
				       join_slowly(lane, credits, rsv, how, txn);
}

static void handle_enter(handle_t *handle, struct zj_txn *txn)
{
	ZJ_ASSERT(txn_zj(txn), !current->journal_info);
	handle->h_transaction = &txn->public;
	handle->h_start_jiffies = jiffies;
	current->journal_info = handle;
	handle->saved_alloc_context = memalloc_nofs_save();
	trace_zj_handle_start(handle);
}

static void handle_leave(handle_t *handle)
{
	current->journal_info = NULL;
	memalloc_nofs_restore(handle->saved_alloc_context);
}

static handle_t *alloc_reserved(struct zj_journal *zj, struct zj_lane *lane, int rsv)
{
	handle_t *handle = handle_alloc(rsv);

	handle->h_journal = &zj->public;
	handle->h_reserved = 1;
	handle->h_rsv_lane = lane->index;
	return handle;
}

static inline bool too_big(const struct zj_journal *zj, int credits, int rsv)
{
	return credits + rsv > zj->max_credits || rsv > zj->max_credits / 2;
}

/* No warning of a bug: an image can have a journal for which ext4's handles are too large. */
static noinline int refuse_handle(const struct zj_journal *zj, int credits, int rsv)
{
	zj_err_ratelimited(zj, "a handle asks for %d+%d blocks, but at most %u fit in a transaction\n",
			   credits, rsv, zj->max_credits);
	return -ENOSPC;
}

/**
 * zj_journal_start_in() - open a handle in a lane of the caller's choice
 * @journal: the journal
 * @in: the lane, modulo the number of lanes; negative: that of this CPU
 * @blocks: images that the handle may log
 * @rsv_blocks: images of a reserved handle to go with it, or 0
 * @revoke_records: blocks that it may revoke
 * @gfp: ignored; allocation never fails here
 * @type: ext4's type of the handle, for statistics
 * @line: line of ext4's source, for statistics
 *
 * Every lane gives a correct result; the choice is a matter of speed. If the task has a
 * handle open already, it gets another reference to that one.
 *
 * Context: sleeps without bound; the caller holds no lock that it takes inside handles.
 * Return: the handle; ERR_PTR(-EROFS) if aborted, ERR_PTR(-ENOSPC) if no
 * transaction can hold so much.
 */
handle_t *zj_journal_start_in(journal_t *journal, int in, int blocks,
			      int rsv_blocks, int revoke_records, gfp_t gfp,
			      unsigned int type, unsigned int line)
{
	struct zj_journal *zj = to_zj(journal);
	handle_t *handle = journal_current_handle();
	int credits = blocks + revoke_blocks(zj, revoke_records);
	struct zj_lane *lane;
	struct zj_txn *txn;

	if (handle) {
		if (WARN_ON_ONCE(handle->h_transaction &&
				 handle->h_transaction->t_journal != journal))
			return ERR_PTR(-EINVAL);
		handle->h_ref++;
		return handle;
	}
	if (unlikely(too_big(zj, credits, rsv_blocks)))
		return ERR_PTR(refuse_handle(zj, credits, rsv_blocks));
	lane = zj_lane_at(zj, in);
	/* Allocate first: a task that sleeps in reclaim must not hold up a commit (E17). */
	handle = handle_alloc(credits);
	handle->h_requested_credits = blocks;
	handle->h_revoke_credits = revoke_records;
	handle->h_revoke_credits_requested = revoke_records;
	handle->h_type = type;
	handle->h_line_no = line;
	if (rsv_blocks)
		handle->h_rsv_handle = alloc_reserved(zj, lane, rsv_blocks);
	txn = join_txn(lane, credits, rsv_blocks);
	if (!txn) {
		if (handle->h_rsv_handle)
			handle_free(handle->h_rsv_handle);
		handle_free(handle);
		return ERR_PTR(-EROFS);
	}
	handle_enter(handle, txn);
	return handle;
}
EXPORT_SYMBOL_GPL(zj_journal_start_in);

/* ---- leaving ---- */

/* Returns the credits to give back; those for revokes that were made stay in use. */
static int unused_credits(const handle_t *handle, const struct zj_journal *zj)
{
	int used = handle->h_revoke_credits_requested - handle->h_revoke_credits;

	return max(handle->h_total_credits - revoke_blocks(zj, used), 0);
}

/* The result is negative if the handle forgot images that other handles had paid for. */
static int used_images(const handle_t *handle, const struct zj_journal *zj)
{
	return handle->h_requested_credits - handle->h_total_credits +
	       revoke_blocks(zj, handle->h_revoke_credits_requested);
}

/* Takes the handle off its transaction; the last one of a locked transaction seals it. */
static __always_inline void leave_txn(struct zj_journal *zj, const handle_t *handle)
{
	struct zj_txn *txn = handle_txn(handle);
	struct zj_lane *lane = txn->lane;
	bool last, wake_barrier, wake_starts;

	trace_zj_handle_stop(handle);
	spin_lock(&lane->lock);
	ZJ_ASSERT(zj, txn->updates > 0);
	wake_starts = lane->starts_waiting;
	txn->credits -= unused_credits(handle, zj);
	if (zj->log_ops->counts_images)
		txn->used += used_images(handle, zj);
	last = !--txn->updates && txn->stage != ZJ_RUNNING;
	wake_barrier = !txn->updates && READ_ONCE(zj->barrier);
	if (last)
		refcount_inc(&txn->refs);
	spin_unlock(&lane->lock);
	if (last) {
		zj_try_seal(zj, txn);
		zj_txn_put(txn);
	}
	if (wake_starts)
		wake_up_all(&lane->wait_space);
	if (wake_barrier)
		wake_up_all(&zj->wait_barrier);
}

static bool has_expired(const struct zj_txn *txn)
{
	return time_after_eq(jiffies, READ_ONCE(txn->expires));
}

/**
 * zj_journal_stop() - close a handle
 * @handle: the handle; if it is nested, only a reference is dropped
 *
 * A handle that is marked h_sync waits until its changes are committed.
 *
 * Context: sleeps.
 * Return: 0, or -EIO if the journal or the handle was aborted.
 */
int zj_journal_stop(handle_t *handle)
{
	struct zj_journal *zj;
	struct zj_txn *txn;
	bool sync, request;
	int err = 0;

	if (--handle->h_ref > 0)
		return is_handle_aborted(handle) ? -EIO : 0;
	if (!handle->h_transaction) {
		/* A restart has failed, which has taken it off its transaction. */
		handle_free(handle);
		return -EIO;
	}
	txn = handle_txn(handle);
	zj = txn_zj(txn);
	ZJ_ASSERT(zj, journal_current_handle() == handle);
	if (is_handle_aborted(handle))
		err = -EIO;
	if (handle->h_rsv_handle)
		zj_journal_free_reserved(handle->h_rsv_handle);
	sync = handle->h_sync && !(current->flags & PF_MEMALLOC);
	request = sync || has_expired(txn);
	if (request) {
		refcount_inc(&txn->refs);
		zj_commit_request(zj, txn);
	}
	leave_txn(zj, handle);
	handle_leave(handle);
	handle_free(handle);
	if (!request)
		return err;
	if (sync && !err)
		err = zj_txn_wait_finished(txn);
	zj_txn_put(txn);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_stop);

/**
 * zj_journal_extend() - get more credits for an open handle
 * @handle: the handle
 * @blocks: further images
 * @revoke_records: further revokes
 *
 * Context: does not sleep.
 * Return: 0; 1 if the transaction has no room or is locked; -EROFS if aborted.
 */
int zj_journal_extend(handle_t *handle, int blocks, int revoke_records)
{
	struct zj_journal *zj;
	struct zj_lane *lane;
	struct zj_txn *txn;
	int credits, err = 1;

	if (is_handle_aborted(handle))
		return -EROFS;
	txn = handle_txn(handle);
	lane = txn->lane;
	zj = lane->journal;
	credits = blocks + revoke_blocks(zj, handle->h_revoke_credits_requested +
					 revoke_records) -
		  revoke_blocks(zj, handle->h_revoke_credits_requested);
	spin_lock(&lane->lock);
	if (txn->stage == ZJ_RUNNING && txn->credits + credits <= zj->max_txn &&
	    zj_space_get(lane, credits, 0)) {
		txn->credits += credits;
		handle->h_total_credits += credits;
		handle->h_requested_credits += blocks;
		handle->h_revoke_credits += revoke_records;
		handle->h_revoke_credits_requested += revoke_records;
		err = 0;
	}
	spin_unlock(&lane->lock);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_extend);

/* Gives back what a reservation was promised. Caller holds lane->lock. */
static void unreserve_credits(struct zj_lane *lane, int rsv)
{
	lockdep_assert_held(&lane->lock);
	ZJ_ASSERT(lane->journal, lane->rsv_credits >= rsv);
	ZJ_ASSERT(lane->journal, lane->promised >= zj_log_blocks(lane->journal, rsv));
	lane->promised -= zj_log_blocks(lane->journal, rsv);
	lane->rsv_credits -= rsv;
	if (!list_empty(&lane->rsv_queue))
		wake_up_all(&lane->wait_start);
}

/*
 * Gives a handle's reservation back while the handle restarts. A barrier waits for all
 * reservations, so a handle that kept one while waiting for the barrier would deadlock.
 */
static int suspend_reservation(handle_t *handle)
{
	struct zj_lane *lane = handle_txn(handle)->lane;
	handle_t *rsv = handle->h_rsv_handle;

	if (!rsv)
		return 0;
	spin_lock(&lane->lock);
	unreserve_credits(lane, rsv->h_total_credits);
	spin_unlock(&lane->lock);
	return rsv->h_total_credits;
}

static int lose_reservation(handle_t *handle, int err)
{
	if (handle->h_rsv_handle)
		handle_free(handle->h_rsv_handle);
	handle->h_rsv_handle = NULL;
	return err;
}

static void renew_claims(handle_t *handle)
{
	int i, nr = handle->h_nr_claims;

	for (i = 0; i < nr; i++)
		zj_journal_claim(handle, handle->h_claims[i],
				 handle->h_claim_kinds[i]);
}

/**
 * zj_journal_restart() - end a handle's atomic change and begin another one
 * @handle: the handle; it loses its access to all buffers
 * @blocks: images of the next change
 * @revoke_records: revokes of the next change
 * @gfp: ignored
 *
 * The handle stays in its lane, so that the two transactions are ordered (R7).
 *
 * Context: sleeps without bound.
 * Return: 0, also if the handle was aborted before; -EROFS if the journal was aborted
 * meanwhile, -ENOSPC if no transaction can hold so much. After an error the handle has no
 * transaction any more and can only be stopped.
 */
int zj_journal_restart(handle_t *handle, int blocks, int revoke_records,
		       gfp_t gfp)
{
	struct zj_journal *zj;
	struct zj_lane *lane;
	struct zj_txn *txn;
	int credits, rsv = 0;

	if (is_handle_aborted(handle))
		return 0;
	txn = handle_txn(handle);
	lane = txn->lane;
	zj = lane->journal;
	credits = blocks + revoke_blocks(zj, revoke_records);
	refcount_inc(&txn->refs);
	zj_commit_request(zj, txn);
	rsv = suspend_reservation(handle);
	leave_txn(zj, handle);
	zj_txn_put(txn);
	handle_leave(handle);
	handle->h_transaction = NULL;
	if (too_big(zj, credits, rsv))
		return lose_reservation(handle, refuse_handle(zj, credits, rsv));
	txn = join_txn(lane, credits, rsv);
	if (!txn)
		return lose_reservation(handle, -EROFS);
	handle->h_total_credits = credits;
	handle->h_requested_credits = blocks;
	handle->h_revoke_credits = revoke_records;
	handle->h_revoke_credits_requested = revoke_records;
	handle_enter(handle, txn);
	renew_claims(handle);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_restart);

/* ---- reservations ---- */

/* A reserved handle may join a locked transaction, but not one that is being sealed. */
static enum join join_reserved(struct zj_lane *lane, int rsv,
			       struct zj_txn **spare)
{
	struct zj_txn *txn = lane->running;

	if (zj_aborted(lane->journal))
		return JOIN_ABORTED;
	if (!txn && !*spare)
		return JOIN_NEED_TXN;
	if (txn && txn->sealing)
		return JOIN_SEALING;
	if (!txn) {
		txn = *spare;
		*spare = NULL;
		zj_txn_publish(txn);
	}
	unreserve_credits(lane, rsv);
	txn->credits += rsv;
	txn->updates++;
	txn->handles++;
	return JOINED;
}

/**
 * zj_journal_start_reserved() - open a handle that was reserved
 * @handle: from h_rsv_handle; freed on error
 * @type: ext4's type of the handle, for statistics
 * @line: line of ext4's source, for statistics
 *
 * It waits neither for a commit nor for space nor for the barrier, because write-back may
 * wait for it, and any of these may wait for write-back (E4, E17).
 *
 * Context: sleeps for memory.
 * Return: 0, -EROFS if aborted, -EIO if this task has a handle open.
 */
int zj_journal_start_reserved(handle_t *handle, unsigned int type,
			      unsigned int line)
{
	struct zj_journal *zj = to_zj(handle->h_journal);
	struct zj_lane *lane = &zj->lanes[handle->h_rsv_lane];
	struct zj_txn *txn, *spare = NULL;
	enum join how;

	if (WARN_ON_ONCE(journal_current_handle())) {
		zj_journal_free_reserved(handle);
		return -EIO;
	}
	do {
		spin_lock(&lane->lock);
		how = join_reserved(lane, handle->h_total_credits, &spare);
		txn = lane->running;
		spin_unlock(&lane->lock);
		if (how == JOIN_NEED_TXN)
			spare = zj_txn_alloc(lane);
		if (how == JOIN_SEALING) {
			/* The attempt to seal it is over when comp_lock is free. */
			spin_lock(&zj->comp_lock);
			spin_unlock(&zj->comp_lock);
		}
	} while (how == JOIN_NEED_TXN || how == JOIN_SEALING);
	if (spare)
		zj_txn_free_unused(spare);
	if (how != JOINED) {
		zj_journal_free_reserved(handle);
		return -EROFS;
	}
	if (READ_ONCE(zj->barrier))
		wake_up_all(&zj->wait_barrier);
	handle->h_reserved = 0;
	handle->h_type = type;
	handle->h_line_no = line;
	handle->h_requested_credits = handle->h_total_credits;
	handle_enter(handle, txn);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_start_reserved);

/**
 * zj_journal_free_reserved() - give back a reservation that was not started
 * @handle: from h_rsv_handle
 */
void zj_journal_free_reserved(handle_t *handle)
{
	struct zj_journal *zj = to_zj(handle->h_journal);
	struct zj_lane *lane = &zj->lanes[handle->h_rsv_lane];
	bool wake;

	ZJ_ASSERT(zj, handle->h_reserved);
	spin_lock(&lane->lock);
	unreserve_credits(lane, handle->h_total_credits);
	wake = lane->starts_waiting;
	if (zj_space_awaited(zj))
		zj_space_surplus(lane);
	spin_unlock(&lane->lock);
	if (READ_ONCE(zj->barrier))
		wake_up_all(&zj->wait_barrier);
	if (wake)
		wake_up_all(&lane->wait_space);
	handle_free(handle);
}
EXPORT_SYMBOL_GPL(zj_journal_free_reserved);

/**
 * zj_handle_buffer_credits() - returns how many images a handle may still log
 * @handle: open or reserved
 */
int zj_handle_buffer_credits(handle_t *handle)
{
	struct zj_journal *zj;

	if (handle->h_reserved)
		return handle->h_total_credits;
	if (!handle->h_transaction)
		return 0;
	zj = to_zj(handle->h_transaction->t_journal);
	return handle->h_total_credits -
	       revoke_blocks(zj, handle->h_revoke_credits_requested);
}
EXPORT_SYMBOL_GPL(zj_handle_buffer_credits);
