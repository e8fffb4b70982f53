// SPDX-License-Identifier: GPL-2.0-only
/*
 * Components: transactions of several lanes that touched the same things are sealed
 * and committed together. This is the bidirectional dependency of Z-Journal's paper,
 * but its transactions are sealed at one point instead of one by one.
 *
 * comp_lock puts all operations of this file in one order. It is taken when a
 * transaction is united, locked or sealed, but never by a handle that stays within
 * its lane or its component, as it would not scale there.
 *
 * Invariants (N1):
 *   - Only unsealed transactions are united. The caller's own transaction cannot be
 *     sealed, because the caller has a handle open in it.
 *   - At the seal point no member has an open handle, and none can start.
 *   - A component depends only on components with a lower stamp.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

/* Transactions that outlive their component point to this one. */
static struct zj_component reclaimed_component = {
	.stage = ZJ_COMMITTED,
	.members = LIST_HEAD_INIT(reclaimed_component.members),
};

struct zj_component *zj_component_alloc(void)
{
	struct zj_component *comp;

	comp = kzalloc(sizeof(*comp), GFP_NOFS | __GFP_NOFAIL);
	comp->stage = ZJ_RUNNING;
	INIT_LIST_HEAD(&comp->members);
	INIT_LIST_HEAD(&comp->deps);
	INIT_LIST_HEAD(&comp->dependants);
	INIT_LIST_HEAD(&comp->ckpt_link);
	INIT_LIST_HEAD(&comp->ready_link);
	INIT_LIST_HEAD(&comp->finish_link);
	return comp;
}

/* The component is not visible to other threads yet, so no lock is needed. */
void zj_component_add(struct zj_component *comp, struct zj_txn *txn)
{
	comp->journal = txn_zj(txn);
	ZJ_ASSERT(comp->journal, !txn->comp);
	list_add_tail(&txn->comp_link, &comp->members);
	comp->nr_members++;
	txn->comp = comp;
}

/* ---- dependencies ---- */

static void dep_unlink(struct zj_dep *dep)
{
	if (dep->on) {
		ZJ_ASSERT(dep->comp->journal, dep->comp->missing > 0);
		list_del_init(&dep->on_link);
		dep->comp->missing--;
		zj_comp_stats_of(dep->comp)->awaited--;
		dep->on = NULL;
	}
}

static void dep_link(struct zj_dep *dep, struct zj_component *comp,
		     struct zj_component *on, u32 lane)
{
	/* Only a component with a lower stamp may be depended on (N1). */
	ZJ_ASSERT(comp->journal, on->stage >= ZJ_SEALED);
	ZJ_ASSERT(comp->journal, !comp->stamp);
	dep->comp = comp;
	dep->on = on;
	dep->stamp = on->stamp;
	dep->lane = lane;
	list_add_tail(&dep->on_link, &on->dependants);
	comp->missing++;
	zj_comp_stats_of(comp)->awaited++;
}

static struct zj_dep *dep_of_lane(struct zj_component *comp, u32 lane)
{
	struct zj_dep *dep;

	if (!test_bit(lane, comp->dep_lanes))
		return NULL;
	list_for_each_entry(dep, &comp->deps, comp_link)
		if (dep->lane == lane)
			return dep;
	return NULL;
}

static void dep_free(struct zj_dep *dep)
{
	list_del_init(&dep->comp_link);
	if (!dep->embedded)
		kfree(dep);
}

static void dep_file(struct zj_component *comp, struct zj_dep *dep, u32 lane)
{
	ZJ_ASSERT(comp->journal, !test_bit(lane, comp->dep_lanes));
	__set_bit(lane, comp->dep_lanes);
	list_add_tail(&dep->comp_link, &comp->deps);
}

static bool depends_on(struct zj_component *comp, u64 stamp)
{
	struct zj_dep *dep;

	list_for_each_entry(dep, &comp->deps, comp_link)
		if (dep->stamp == stamp)
			return true;
	return false;
}

/*
 * Files a dependency unless another one implies it, and returns whether it did. There is
 * at most one for each lane, as the newest implies the older ones (R7). There is also at
 * most one on each component, whichever of its lanes it was met through, as it implies
 * by R7 what is older in all of these lanes.
 */
static bool dep_add(struct zj_component *comp, struct zj_component *on,
		    u32 lane, struct zj_dep **spare)
{
	struct zj_dep *dep = dep_of_lane(comp, lane);

	if (dep && dep->stamp >= on->stamp)
		return false;
	/* A component with one member cannot have been met through another lane. */
	if (on->nr_members > 1 && depends_on(comp, on->stamp))
		return false;
	if (dep) {
		dep_unlink(dep);
	} else {
		dep = *spare;
		*spare = NULL;
		if (!ZJ_ASSERT(comp->journal, dep))
			return false;
		dep_file(comp, dep, lane);
	}
	dep_link(dep, comp, on, lane);
	return true;
}

/*
 * Returns the kind of block that ties two transactions, for statistics. ext4 is asked
 * only when a new tie is made, and without comp_lock, but perhaps with jh->lock held.
 */
static enum zj_kind kind_of(struct zj_journal *zj, struct zj_cause at)
{
	enum zj_kind (*ask)(journal_t *journal, struct buffer_head *bh);

	if (!at.bh)
		return at.kind;
	if (zj_bh_is_file(at.bh))
		return ZJ_KIND_FILE;
	ask = READ_ONCE(zj->public.j_block_kind);
	return ask ? ask(&zj->public, at.bh) : ZJ_KIND_OTHER;
}

/**
 * zj_depend() - make a transaction depend on a sealed one (R3, R4)
 * @txn: the transaction; the caller's open handle keeps it unsealed
 * @on: the sealed transaction; nothing is done if it is of the same lane (R7)
 * @at: what both touch
 * @spare: memory; NULL afterwards if it was used
 *
 * Context: takes comp_lock.
 * Return: false if @spare is needed and NULL; the caller allocates and calls again.
 */
bool zj_depend(struct zj_txn *txn, struct zj_txn *on, struct zj_cause at,
	       struct zj_dep **spare)
{
	struct zj_journal *zj = txn_zj(txn);
	enum zj_kind kind;
	bool done = true;
	u64 stamp;

	rcu_read_lock();
	stamp = READ_ONCE(READ_ONCE(on->comp)->stamp);
	rcu_read_unlock();
	if (on->lane == txn->lane || READ_ONCE(txn->last_dep) == stamp)
		return true;
	kind = kind_of(zj, at);
	spin_lock(&zj->comp_lock);
	if (on->comp->stage != ZJ_COMMITTED) {
		done = *spare;
		if (done) {
			if (dep_add(txn->comp, on->comp, on->lane->index, spare)) {
				zj_count(&txn->lane->stats.depends[kind], 1);
				trace_zj_depend(txn, on, kind);
			}
			WRITE_ONCE(txn->last_dep, on->comp->stamp);
		}
	}
	spin_unlock(&zj->comp_lock);
	return done;
}

/* ---- uniting ---- */

static void merge_deps(struct zj_component *to, struct zj_component *from)
{
	struct zj_dep *dep, *tmp, *mine;

	list_for_each_entry_safe(dep, tmp, &from->deps, comp_link) {
		if (depends_on(to, dep->stamp)) {
			dep_unlink(dep);
			dep_free(dep);
			continue;
		}
		mine = dep_of_lane(to, dep->lane);
		if (mine && mine->stamp < dep->stamp) {
			struct zj_component *on = dep->on;

			dep_unlink(mine);
			mine->stamp = dep->stamp;
			if (on)
				dep_link(mine, to, on, dep->lane);
		}
		if (mine) {
			dep_unlink(dep);
			dep_free(dep);
			continue;
		}
		if (dep->on) {
			from->missing--;
			to->missing++;
		}
		dep->comp = to;
		list_del(&dep->comp_link);
		dep_file(to, dep, dep->lane);
	}
}

/* Locks the members, and counts those that have open handles. */
static void lock_members(struct zj_component *comp)
{
	struct zj_txn *txn;

	comp->undrained = 0;
	list_for_each_entry(txn, &comp->members, comp_link) {
		spin_lock(&txn->lane->lock);
		zj_txn_advance(txn, ZJ_LOCKED);
		txn->drained = !txn->updates;
		spin_unlock(&txn->lane->lock);
		comp->undrained += !txn->drained;
	}
}

/*
 * Lets a locked component take handles again. No other stage is ever taken back. Caller holds
 * comp_lock.
 */
static void unlock_component(struct zj_component *comp)
{
	struct zj_txn *txn;

	WRITE_ONCE(comp->stage, ZJ_RUNNING);
	list_for_each_entry(txn, &comp->members, comp_link) {
		spin_lock(&txn->lane->lock);
		ZJ_ASSERT(comp->journal, txn->stage == ZJ_LOCKED);
		WRITE_ONCE(txn->stage, ZJ_RUNNING);
		WRITE_ONCE(txn->lane->opened, txn->lane->opened + 1);
		spin_unlock(&txn->lane->lock);
		wake_up_all(&txn->lane->wait_start);
	}
}

/*
 * Makes two components of the same stage. If one is locked, all members have to be (N1). Those
 * of the locked one are already, so that each member is locked once, however many unions there are.
 */
static void pass_lock_on(struct zj_component *a, struct zj_component *b)
{
	struct zj_component *locked = a->stage == ZJ_LOCKED ? a : b;
	struct zj_component *other = locked == a ? b : a;

	if (a->stage == b->stage)
		return;
	other->locked_at = locked->locked_at;
	zj_component_advance(other, ZJ_LOCKED);
	lock_members(other);
}

static void merge_components(struct zj_component *to, struct zj_component *from)
{
	struct zj_txn *txn;

	/* The members of a sealed component are fixed, and it is on lists (R2, N1). */
	if (!ZJ_ASSERT(to->journal, to->stage < ZJ_SEALED && from->stage < ZJ_SEALED))
		return;
	pass_lock_on(to, from);
	merge_deps(to, from);
	/* Pairs with the reads of txn->comp under RCU: they see @to initialised. */
	list_for_each_entry(txn, &from->members, comp_link)
		smp_store_release(&txn->comp, to);
	list_splice_tail_init(&from->members, &to->members);
	to->nr_members += from->nr_members;
	to->undrained += from->undrained;
	ZJ_ASSERT(to->journal, !from->missing && list_empty(&from->deps));
	if (from->deferred && !(to->deferred && time_before(to->deferred_until,
							    from->deferred_until)))
		to->deferred_until = from->deferred_until;
	to->deferred |= from->deferred;
	to->no_delay |= from->no_delay;
	kfree_rcu(from, rcu);
}

/**
 * zj_unite() - make one component of those of two transactions (R2)
 * @txn: the caller's transaction; its open handle keeps it unsealed
 * @other: the owner of what both touch
 * @at: what both touch
 *
 * Context: takes comp_lock unless they are united already.
 * Return: false if @other is sealed; the caller has to depend on it instead.
 */
bool zj_unite(struct zj_txn *txn, struct zj_txn *other, struct zj_cause at)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_component *a, *b;
	enum zj_kind kind;
	bool same;

	rcu_read_lock();
	same = READ_ONCE(txn->comp) == READ_ONCE(other->comp);
	rcu_read_unlock();
	if (same)
		return true;

	kind = kind_of(zj, at);
	spin_lock(&zj->comp_lock);
	a = txn->comp;
	b = other->comp;
	if (b->stage >= ZJ_SEALED) {
		spin_unlock(&zj->comp_lock);
		return false;
	}
	if (a != b) {
		zj_count(&txn->lane->stats.united[kind], 1);
		trace_zj_unite(txn, other, kind);
		if (a->nr_members >= b->nr_members)
			merge_components(a, b);
		else
			merge_components(b, a);
	}
	spin_unlock(&zj->comp_lock);
	return true;
}

/**
 * zj_tie() - unite with a transaction, or depend on it if it is sealed
 * @txn: the caller's transaction; its open handle keeps it unsealed
 * @other: a transaction in any stage; the caller holds a reference
 * @kind: what ties them
 *
 * It serves ties that do not come from filing a buffer: claims, sync tids, declared
 * reads and revokes.
 *
 * Context: sleeps for memory; no spinlock held.
 */
void zj_tie(struct zj_txn *txn, struct zj_txn *other, enum zj_kind kind)
{
	struct zj_cause at = zj_at(kind);
	struct zj_dep *spare = NULL;

	if (txn == other)
		return;
	while (!zj_txn_is_committed(other)) {
		if (zj_unite(txn, other, at))
			break;
		if (zj_depend(txn, other, at, &spare))
			break;
		spare = kzalloc(sizeof(*spare), GFP_NOFS | __GFP_NOFAIL);
	}
	kfree(spare);
}

/* ---- sealing ---- */

/*
 * Returns whether a lane may have one more sealed component that is not committed. Their
 * number is limited (N7). From ZJ_MAX_SEALED on, and if a member is full, their log space
 * is limited as well, so that a task that fills one transaction after another waits for
 * the device (docs/decisions/0041). Caller holds comp_lock.
 */
static bool lane_has_room(struct zj_lane *lane, const struct zj_txn *txn)
{
	struct zj_journal *zj = lane->journal;
	int most = zj->options.pipeline ? ZJ_MAX_FLIGHT : ZJ_MAX_SEALED;
	u32 credits;

	if (!lane->nr_sealed)
		return true;
	if (lane->nr_sealed >= most)
		return false;
	if (lane->nr_sealed < ZJ_MAX_SEALED && !txn->comp->no_delay)
		return true;
	/* If the commit was deferred, handles are open and may change credits. */
	spin_lock(&lane->lock);
	credits = max(txn->credits, 0);
	spin_unlock(&lane->lock);
	return lane->sealed_credits + credits <= zj_space_share(zj);
}

/* Returns whether only open handles prevent a seal. Caller holds comp_lock. */
static bool may_seal(const struct zj_component *comp)
{
	const struct zj_txn *txn;

	lockdep_assert_held(&comp->journal->comp_lock);
	list_for_each_entry(txn, &comp->members, comp_link)
		if (atomic_read(&txn->crowded) ||
		    !lane_has_room(txn->lane, txn))
			return false;
	return true;
}

/*
 * Counts a locked transaction whose last handle has stopped. If a reserved handle has joined it
 * since, hold_members() takes that back.
 */
static void note_drained(struct zj_txn *txn)
{
	if (txn->comp->stage != ZJ_LOCKED || txn->drained)
		return;
	ZJ_ASSERT(txn_zj(txn), txn->comp->undrained > 0);
	txn->drained = true;
	txn->comp->undrained--;
}

/*
 * Returns whether no member has an open handle, and keeps reserved handles from
 * joining meanwhile, as these may join a locked transaction. Members that have been joined
 * count as not drained again. Otherwise each stop of a reserved handle would come here.
 */
static bool hold_members(struct zj_component *comp)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link) {
		bool held;

		spin_lock(&txn->lane->lock);
		held = txn->lane->running == txn && !txn->updates;
		txn->sealing = held;
		txn->drained = held;
		spin_unlock(&txn->lane->lock);
		comp->undrained += !held;
	}
	return !comp->undrained;
}

static void release_members(struct zj_component *comp)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link) {
		spin_lock(&txn->lane->lock);
		txn->sealing = false;
		spin_unlock(&txn->lane->lock);
	}
}

/* Orders the component behind the one that the member's lane sealed last (R7). */
static void depend_on_previous(struct zj_component *comp, struct zj_txn *txn)
{
	struct zj_component *prev = txn->lane->last_sealed;
	struct zj_dep *spare = &txn->prev_dep;

	if (prev && prev->stage != ZJ_COMMITTED)
		dep_add(comp, prev, txn->lane->index, &spare);
	txn->lane->last_sealed = comp;
	txn->lane->nr_sealed++;
	txn->lane->sealed_credits += max(txn->credits, 0);
}

static void seal_member(struct zj_txn *txn, struct zj_sealed *sealed)
{
	struct zj_lane *lane = txn->lane;

	spin_lock(&lane->lock);
	ZJ_ASSERT(lane->journal, lane->running == txn);
	/* No handle is open and none can join (N1). */
	ZJ_ASSERT(lane->journal, txn->sealing);
	ZJ_ASSERT(lane->journal, !txn->updates);
	zj_txn_advance(txn, ZJ_SEALED);
	WRITE_ONCE(lane->running, NULL);
	WRITE_ONCE(lane->opened, lane->opened + 1);
	zj_space_sealed(txn);
	zj_space_surplus(lane);
	list_add_tail(&txn->lane_link, &lane->to_issue);
	lane->unwritten++;
	lane->stats.handles += txn->handles;
	txn->public.t_state = T_COMMIT;
	spin_unlock(&lane->lock);
	__set_bit(lane->index, sealed->lanes);
}

/*
 * Seals a component. Its members and dependencies are fixed and it gets its stamp at one
 * point for all members (N1), which is why all of this is one section of comp_lock.
 */
static void seal_component(struct zj_journal *zj, struct zj_component *comp,
			   struct zj_sealed *sealed)
{
	struct zj_txn *txn;

	lockdep_assert_held(&zj->comp_lock);
	ZJ_ASSERT(zj, comp->stage == ZJ_LOCKED);
	list_for_each_entry(txn, &comp->members, comp_link) {
		depend_on_previous(comp, txn);
		comp->jdata |= txn->jdata;
	}
	WRITE_ONCE(zj->stamp, zj->stamp + 1);
	WRITE_ONCE(comp->stamp, zj->stamp);
	comp->sealed_at = ktime_get();
	list_for_each_entry(txn, &comp->members, comp_link) {
		txn->sealed_at = comp->sealed_at;
		trace_zj_seal(txn, comp->stamp, comp->nr_members);
	}
	zj_comp_count_locked(comp, comp->sealed_at);
	comp->missing += comp->nr_members;
	atomic_set(&comp->unsubmitted, comp->nr_members);
	atomic_set(&comp->unlogged, comp->nr_members);
	zj_comp_count_closed(comp);
	ZJ_ASSERT(zj, list_empty(&zj->ckpt_list) ||
		      list_last_entry(&zj->ckpt_list, struct zj_component,
				      ckpt_link)->stamp < comp->stamp);
	list_add_tail(&comp->ckpt_link, &zj->ckpt_list);
	list_add_tail(&comp->ready_link, &zj->pending);
	zj_component_advance(comp, ZJ_SEALED);
	list_for_each_entry(txn, &comp->members, comp_link)
		seal_member(txn, sealed);
}

/* ---- deferring ---- */

/*
 * A component that could not be sealed anyway goes on taking handles instead of blocking
 * them. This is CJFS's opportunistic coalescing, with a limit in time that CJFS
 * does not have.
 */
static bool may_defer(struct zj_journal *zj, const struct zj_component *comp)
{
	return zj->options.pipeline &&
	       !READ_ONCE(zj->options.live.no_coalesce) && !may_seal(comp) &&
	       !(comp->deferred && time_after_eq(jiffies, comp->deferred_until));
}

/*
 * The timers of the members' lanes end the deferral if nothing else does. Members that
 * were united since the first deferral get the same expiry; otherwise the thread of a
 * lane whose transaction has expired would request the commit again and again.
 */
static void defer_component(struct zj_component *comp)
{
	bool first = !comp->deferred;
	struct zj_txn *txn;

	if (first)
		comp->deferred_until = jiffies + ZJ_MAX_DEFER;
	comp->deferred = true;
	list_for_each_entry(txn, &comp->members, comp_link) {
		if (first)
			zj_count(&txn->lane->stats.deferred, 1);
		if (txn->expires == comp->deferred_until)
			continue;
		WRITE_ONCE(txn->expires, comp->deferred_until);
		mod_timer(&txn->lane->timer, txn->expires);
	}
}

static void defer_locked(struct zj_journal *zj, struct zj_component *comp)
{
	if (comp->no_delay || !may_defer(zj, comp))
		return;
	defer_component(comp);
	zj_comp_count_locked(comp, ktime_get());
	unlock_component(comp);
}

/*
 * All members' lanes are locked only if the seal is likely to succeed. If each stop of a handle
 * and each commit in one of the lanes did so, a component would cost the square of its members.
 */
static void try_seal(struct zj_journal *zj, struct zj_component *comp,
		     struct zj_sealed *sealed)
{
	lockdep_assert_held(&zj->comp_lock);
	if (comp->stage != ZJ_LOCKED || comp->undrained || zj_aborted(zj))
		return;
	if (!may_seal(comp)) {
		defer_locked(zj, comp);
		return;
	}
	/* What may_seal() looks at can have been changed by a reserved handle since. */
	if (hold_members(comp) && may_seal(comp))
		seal_component(zj, comp, sealed);
	else
		release_members(comp);
}

static void lock_component(struct zj_journal *zj, struct zj_component *comp,
			   struct zj_sealed *sealed)
{
	ZJ_ASSERT(zj, comp->stage == ZJ_RUNNING);
	zj_component_advance(comp, ZJ_LOCKED);
	comp->locked_at = ktime_get();
	lock_members(comp);
	try_seal(zj, comp, sealed);
}

/*
 * Locks a component whose commit was deferred once it could be sealed, and seals a
 * locked one that has drained. Caller holds comp_lock.
 */
static void go_on(struct zj_journal *zj, struct zj_component *comp, struct zj_sealed *sealed)
{
	if (comp->stage == ZJ_RUNNING && comp->deferred && may_seal(comp) &&
	    !zj_aborted(zj))
		lock_component(zj, comp, sealed);
	else
		try_seal(zj, comp, sealed);
}

/**
 * zj_commit_again() - go on with a commit when a transaction has no crowded part any more
 * @txn: not sealed, or being freed
 *
 * Context: takes comp_lock.
 */
void zj_commit_again(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_sealed sealed = {};

	spin_lock(&zj->comp_lock);
	go_on(zj, txn->comp, &sealed);
	spin_unlock(&zj->comp_lock);
	zj_wake_sealed(zj, &sealed);
}

/**
 * zj_try_seal() - seal a transaction's component if it is locked and has drained
 * @zj: the journal
 * @txn: the transaction, whose last handle has stopped; the caller holds a reference
 */
void zj_try_seal(struct zj_journal *zj, struct zj_txn *txn)
{
	struct zj_sealed sealed = {};

	spin_lock(&zj->comp_lock);
	note_drained(txn);
	try_seal(zj, txn->comp, &sealed);
	spin_unlock(&zj->comp_lock);
	zj_wake_sealed(zj, &sealed);
}

/**
 * zj_try_seal_lane() - go on with a commit that may have waited for room in a lane
 * @lane: a lane that now has room for another sealed component (N7)
 * @stamp: of the component that has left it; what runs in several of that one's lanes
 *	is tried once for all of them
 * @sealed: gets the lanes that zj_wake_sealed() has to wake
 *
 * Context: comp_lock held.
 */
void zj_try_seal_lane(struct zj_lane *lane, u64 stamp, struct zj_sealed *sealed)
{
	struct zj_txn *txn;

	lockdep_assert_held(&lane->journal->comp_lock);
	/* comp_lock keeps it there, because only a seal takes it away. */
	txn = READ_ONCE(lane->running);
	if (!txn || txn->comp->tried_at == stamp)
		return;
	txn->comp->tried_at = stamp;
	go_on(lane->journal, txn->comp, sealed);
}

/* Returns true if this call has sealed the transaction. */
static bool request_commit(struct zj_journal *zj, struct zj_txn *txn, bool now,
			   const struct zj_lane *here)
{
	struct zj_sealed sealed = { .here = here };
	struct zj_component *comp;

	spin_lock(&zj->comp_lock);
	comp = txn->comp;
	/*
	 * A sealed transaction may have been reclaimed. Its comp then is one that all
	 * reclaimed transactions share, so it must not be changed.
	 */
	if (comp->stage < ZJ_SEALED)
		comp->no_delay |= now;
	if (comp->stage == ZJ_RUNNING) {
		if (!comp->no_delay && may_defer(zj, comp))
			defer_component(comp);
		else
			lock_component(zj, comp, &sealed);
	}
	spin_unlock(&zj->comp_lock);
	zj_wake_sealed(zj, &sealed);
	return test_bit(txn->lane->index, sealed.lanes);
}

/**
 * zj_commit_request() - have a transaction's component committed
 * @zj: the journal
 * @txn: a transaction in any stage; the caller holds a reference
 *
 * Does not wait. Handles that are open go on, but none starts in the lanes of the
 * members until the component is sealed. If it could not be sealed now anyway, a
 * pipelined journal defers the request for a short time.
 */
void zj_commit_request(struct zj_journal *zj, struct zj_txn *txn)
{
	request_commit(zj, txn, false, NULL);
}

/**
 * zj_commit_request_here() - as zj_commit_request(), for a task that commits in the lane itself
 * @zj: the journal
 * @txn: a transaction in any stage; the caller holds a reference
 *
 * Return: true if this call has sealed the transaction. Its lane's thread was not woken then, and
 * the caller goes on with zj_commit_here().
 */
bool zj_commit_request_here(struct zj_journal *zj, struct zj_txn *txn)
{
	return request_commit(zj, txn, false, txn->lane);
}

/**
 * zj_commit_now() - request a commit that is not deferred, because a member is full
 */
void zj_commit_now(struct zj_journal *zj, struct zj_txn *txn)
{
	request_commit(zj, txn, true, NULL);
}

static bool is_on_no_list(struct zj_journal *zj, struct zj_component *comp)
{
	bool ok = ZJ_ASSERT(zj, list_empty(&comp->ckpt_link));

	ok &= ZJ_ASSERT(zj, list_empty(&comp->ready_link));
	ok &= ZJ_ASSERT(zj, list_empty(&comp->finish_link));
	return ok;
}

/**
 * zj_component_free() - free a component and drop its references to its members
 * @zj: the journal
 * @comp: reclaimed, unused or dropped; in no list, and nothing depends on it
 *
 * Context: may take comp_lock.
 */
void zj_component_free(struct zj_journal *zj, struct zj_component *comp)
{
	struct zj_txn *txn, *next;
	struct zj_dep *dep, *tmp;

	spin_lock(&zj->comp_lock);
	/* It stays as it is: lost memory does less harm than a list with a hole. */
	if (!is_on_no_list(zj, comp)) {
		spin_unlock(&zj->comp_lock);
		return;
	}
	list_for_each_entry_safe(dep, tmp, &comp->deps, comp_link) {
		dep_unlink(dep);
		dep_free(dep);
	}
	list_for_each_entry(txn, &comp->members, comp_link) {
		ZJ_ASSERT(zj, txn->stage == ZJ_FINISHED);
		if (txn->lane->last_sealed == comp)
			txn->lane->last_sealed = NULL;
		/* Pairs with zj_txn_comp_stage(): who sees it sees what came before the commit, too. */
		smp_store_release(&txn->comp, &reclaimed_component);
	}
	spin_unlock(&zj->comp_lock);
	list_for_each_entry_safe(txn, next, &comp->members, comp_link) {
		zj_file_block_retire(txn);
		zj_txn_put(txn);
	}
	kfree_rcu(comp, rcu);
}
