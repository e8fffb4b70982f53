// SPDX-License-Identifier: GPL-2.0-only
/*
 * Components: transactions of several lanes that share something close and
 * commit together (Z-Journal's bidirectional dependency, closed at
 * one point instead of one by one).
 *
 * Everything here is linearised by comp_lock, which is taken once for a
 * transaction that is united, locked or sealed, never for a handle that stays
 * within its lane or its component.
 *
 * Invariants (docs/rules.md, N1):
 *   - only unsealed transactions are united; the caller's is pinned unsealed by
 *     its open handle;
 *   - at the seal point no member has an open handle, and none can start;
 *   - dependencies go to components with a lower stamp only.
 */
#include "core/journal.h"
#include "core/space.h"
#include "txn/component.h"
#include "txn/jhead.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

/* Where a transaction points to that outlives its component. */
static struct zj_component reclaimed_component = {
	.state = ZJ_C_COMMITTED,
	.members = LIST_HEAD_INIT(reclaimed_component.members),
};

struct zj_component *zj_component_alloc(void)
{
	struct zj_component *comp;

	comp = kzalloc(sizeof(*comp), GFP_NOFS | __GFP_NOFAIL);
	comp->state = ZJ_C_RUNNING;
	INIT_LIST_HEAD(&comp->members);
	INIT_LIST_HEAD(&comp->deps);
	INIT_LIST_HEAD(&comp->dependants);
	INIT_LIST_HEAD(&comp->ckpt_link);
	INIT_LIST_HEAD(&comp->ready_link);
	INIT_LIST_HEAD(&comp->finish_link);
	return comp;
}

/* For a component that nobody else sees yet. */
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
		dep->comp->journal->comp_stats.awaited--;
		dep->on = NULL;
	}
}

static void dep_link(struct zj_dep *dep, struct zj_component *comp,
		     struct zj_component *on, u32 lane)
{
	/* To what has a lower stamp only (N1). */
	ZJ_ASSERT(comp->journal, on->state >= ZJ_C_SEALED);
	ZJ_ASSERT(comp->journal, !comp->stamp);
	dep->comp = comp;
	dep->on = on;
	dep->stamp = on->stamp;
	dep->lane = lane;
	list_add_tail(&dep->on_link, &on->dependants);
	comp->missing++;
	comp->journal->comp_stats.awaited++;
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

/* Only one that has several members is met through several lanes. */
static bool depends_on(struct zj_component *comp, u64 stamp)
{
	struct zj_dep *dep;

	list_for_each_entry(dep, &comp->deps, comp_link)
		if (dep->stamp == stamp)
			return true;
	return false;
}

/*
 * One dependency a lane: the newest stands for the older ones (R7, N9). And one a
 * component, through whichever of its lanes: by R7 it stands for what is older in all
 * of them. False if there is such a one already.
 */
static bool dep_add(struct zj_component *comp, struct zj_component *on,
		    u32 lane, struct zj_dep **spare)
{
	struct zj_dep *dep = dep_of_lane(comp, lane);

	if (dep && dep->stamp >= on->stamp)
		return false;
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
 * What the two meet at. Asked where they are tied anew, never on the handle path;
 * before comp_lock, perhaps with the buffer's head locked.
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
 * zj_depend() - a transaction builds on a sealed one (R3, R4)
 * @txn: pinned unsealed by the caller's handle
 * @on: sealed, of another lane (the own lane's is implied by R7)
 * @at: where they meet
 * @spare: memory; NULL afterwards if it was used
 *
 * Context: takes comp_lock.
 * Return: false if @spare is missing: allocate and call again.
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
	if (on->comp->state != ZJ_C_COMMITTED) {
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

static void lock_members(struct zj_component *comp, bool locked)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link) {
		spin_lock(&txn->lane->lock);
		txn->locked = locked;
		spin_unlock(&txn->lane->lock);
		if (!locked)
			wake_up_all(&txn->lane->wait_start);
	}
}

static void merge(struct zj_component *to, struct zj_component *from)
{
	struct zj_txn *txn;
	bool lock = to->state != from->state;

	/* R2, N1: what is sealed has its members, and is on lists. */
	if (!ZJ_ASSERT(to->journal, to->state < ZJ_C_SEALED && from->state < ZJ_C_SEALED))
		return;
	/* Pairs with the reads under RCU: @to may be new to who gets there. */
	list_for_each_entry(txn, &from->members, comp_link)
		smp_store_release(&txn->comp, to);
	list_splice_tail_init(&from->members, &to->members);
	to->nr_members += from->nr_members;
	merge_deps(to, from);
	ZJ_ASSERT(to->journal, !from->missing && list_empty(&from->deps));
	if (from->deferred && !(to->deferred && time_before(to->deferred_until,
							    from->deferred_until)))
		to->deferred_until = from->deferred_until;
	to->deferred |= from->deferred;
	to->no_delay |= from->no_delay;
	if (lock) {
		/* LOCKED is passed on to all members. */
		if (from->state == ZJ_C_LOCKED)
			to->locked_at = from->locked_at;
		WRITE_ONCE(to->state, ZJ_C_LOCKED);
		lock_members(to, true);
	}
	kfree_rcu(from, rcu);
}

/**
 * zj_unite() - two transactions close together from now on (R2)
 * @txn: pinned unsealed by the caller's handle
 * @other: the owner of what both touch
 * @at: where they meet
 *
 * Context: takes comp_lock unless they are united already.
 * Return: false if @other has been sealed meanwhile: depend on it instead.
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
	if (b->state >= ZJ_C_SEALED) {
		spin_unlock(&zj->comp_lock);
		return false;
	}
	if (a != b) {
		zj_count(&txn->lane->stats.united[kind], 1);
		trace_zj_unite(txn, other, kind);
		if (a->nr_members >= b->nr_members)
			merge(a, b);
		else
			merge(b, a);
	}
	spin_unlock(&zj->comp_lock);
	return true;
}

/**
 * zj_tie() - unite with a transaction, or depend on it if it is sealed
 * @txn: pinned unsealed by the caller's handle
 * @other: any transaction, referenced by the caller
 * @kind: what ties them
 *
 * For everything that is no buffer: claims, sync tids, reads, revokes.
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

/* ---- closing ---- */

/*
 * Not too many that are not committed yet (N7), nor too much of the log: who fills one
 * transaction after another waits for the device. comp_lock held.
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
	/* What was put off is asked about while handles are open. */
	spin_lock(&lane->lock);
	credits = max(txn->credits, 0);
	spin_unlock(&lane->lock);
	return lane->sealed_credits + credits <= zj_space_share(zj);
}

/* Does nothing but open handles stand in the way of a seal? comp_lock held. */
static bool may_seal(const struct zj_component *comp)
{
	const struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link)
		if (atomic_read(&txn->crowded) ||
		    !lane_has_room(txn->lane, txn))
			return false;
	return true;
}

/* All drained, and no reserved handle slips in any more? */
static bool hold_members(struct zj_component *comp)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link) {
		bool held;

		spin_lock(&txn->lane->lock);
		held = txn->lane->running == txn && !txn->updates;
		txn->sealing = held;
		spin_unlock(&txn->lane->lock);
		if (!held)
			return false;
	}
	return true;
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

/* R7: behind whatever the lane sealed last. */
static void depend_on_previous(struct zj_component *comp, struct zj_txn *txn)
{
	struct zj_component *prev = txn->lane->last_sealed;
	struct zj_dep *spare = &txn->prev_dep;

	if (prev && prev->state != ZJ_C_COMMITTED)
		dep_add(comp, prev, txn->lane->index, &spare);
	txn->lane->last_sealed = comp;
	txn->lane->nr_sealed++;
	txn->lane->sealed_credits += max(txn->credits, 0);
}

static void seal_member(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;

	spin_lock(&lane->lock);
	ZJ_ASSERT(lane->journal, lane->running == txn);
	/* N1 */
	ZJ_ASSERT(lane->journal, txn->sealing);
	ZJ_ASSERT(lane->journal, !txn->updates);
	WRITE_ONCE(lane->running, NULL);
	zj_space_sealed(txn);
	zj_space_surplus(lane);
	list_add_tail(&txn->lane_link, &lane->to_issue);
	lane->unwritten++;
	lane->stats.handles += txn->handles;
	txn->public.t_state = T_COMMIT;
	spin_unlock(&lane->lock);
	wake_up_all(&lane->wait_start);
	wake_up(&lane->wait_work);
}

/* Its members and dependencies are fixed now. */
static void count_closed(struct zj_component *comp)
{
	u32 members = comp->nr_members;
	u32 deps = bitmap_weight(comp->dep_lanes, ZJ_MAX_LANES);
	struct zj_comp_stats *st = &comp->journal->comp_stats;

	static_assert(ZJ_MAX_LANES == 1 << (ZJ_NR_SIZES - 1));
	if (!ZJ_ASSERT(comp->journal, members && members <= ZJ_MAX_LANES))
		return;
	st->closed++;
	st->members += members;
	st->sizes[ilog2(members)]++;
	st->deps += deps;
	st->max_members = max(st->max_members, members);
	st->max_deps = max(st->max_deps, deps);
}

/* For how long starts have been held up. */
static void count_locked(struct zj_component *comp, ktime_t now)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link)
		zj_count(&txn->lane->stats.locked_us,
			 ktime_us_delta(now, comp->locked_at));
}

/* The seal point of the whole component (N1). */
static void seal(struct zj_journal *zj, struct zj_component *comp)
{
	struct zj_txn *txn;

	lockdep_assert_held(&zj->comp_lock);
	ZJ_ASSERT(zj, comp->state == ZJ_C_LOCKED);
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
	count_locked(comp, comp->sealed_at);
	comp->missing += comp->nr_members;
	comp->unsubmitted = comp->nr_members;
	comp->unlogged = comp->nr_members;
	count_closed(comp);
	ZJ_ASSERT(zj, list_empty(&zj->ckpt_list) ||
		      list_last_entry(&zj->ckpt_list, struct zj_component,
				      ckpt_link)->stamp < comp->stamp);
	list_add_tail(&comp->ckpt_link, &zj->ckpt_list);
	list_add_tail(&comp->ready_link, &zj->pending);
	/* Pairs with zj_txn_state(): who sees it sealed sees its stamp. */
	smp_store_release(&comp->state, ZJ_C_SEALED);
	list_for_each_entry(txn, &comp->members, comp_link)
		seal_member(txn);
}

/* ---- putting off ---- */

/*
 * CJFS's opportunistic coalescing: what cannot be sealed yet, though it has no open
 * handle, goes on meanwhile, with a bound that CJFS does not have.
 */
static bool may_defer(struct zj_journal *zj, const struct zj_component *comp)
{
	return zj->options.pipeline &&
	       !READ_ONCE(zj->options.live.no_coalesce) && !may_seal(comp) &&
	       !(comp->deferred && time_after_eq(jiffies, comp->deferred_until));
}

/*
 * Whatever happens, the lanes' timers lock it in time. Members may have come since it
 * was put off first: no lane's thread is to ask for an expired one all the while.
 */
static void defer(struct zj_component *comp)
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

static void try_seal(struct zj_journal *zj, struct zj_component *comp)
{
	lockdep_assert_held(&zj->comp_lock);
	if (comp->state != ZJ_C_LOCKED || zj_aborted(zj))
		return;
	if (!hold_members(comp)) {
		release_members(comp);
	} else if (may_seal(comp)) {
		seal(zj, comp);
	} else {
		release_members(comp);
		if (!comp->no_delay && may_defer(zj, comp)) {
			defer(comp);
			count_locked(comp, ktime_get());
			WRITE_ONCE(comp->state, ZJ_C_RUNNING);
			lock_members(comp, false);
		}
	}
}

static void lock_component(struct zj_journal *zj, struct zj_component *comp)
{
	ZJ_ASSERT(zj, comp->state == ZJ_C_RUNNING);
	WRITE_ONCE(comp->state, ZJ_C_LOCKED);
	comp->locked_at = ktime_get();
	lock_members(comp, true);
	try_seal(zj, comp);
}

/* What was put off is closed when it can be; comp_lock held. */
static void go_on(struct zj_journal *zj, struct zj_component *comp)
{
	if (comp->state == ZJ_C_RUNNING && comp->deferred && may_seal(comp) &&
	    !zj_aborted(zj))
		lock_component(zj, comp);
	else
		try_seal(zj, comp);
}

/**
 * zj_commit_again() - what a transaction had to wait for is over
 * @txn: not sealed, or being freed
 *
 * Context: takes comp_lock.
 */
void zj_commit_again(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);

	spin_lock(&zj->comp_lock);
	go_on(zj, txn->comp);
	spin_unlock(&zj->comp_lock);
}

/**
 * zj_try_seal() - seal the component of a transaction if it has drained
 * @zj: the journal
 * @txn: referenced by the caller
 */
void zj_try_seal(struct zj_journal *zj, struct zj_txn *txn)
{
	spin_lock(&zj->comp_lock);
	try_seal(zj, txn->comp);
	spin_unlock(&zj->comp_lock);
}

/**
 * zj_try_seal_lane() - the same for a lane's locked transaction
 * @lane: a lane that has room for another sealed component now
 *
 * Context: comp_lock held.
 */
void zj_try_seal_lane(struct zj_lane *lane)
{
	struct zj_txn *txn;

	lockdep_assert_held(&lane->journal->comp_lock);
	/* Only a seal takes the running transaction away: pinned. */
	txn = READ_ONCE(lane->running);
	if (txn)
		go_on(lane->journal, txn->comp);
}

static void request(struct zj_journal *zj, struct zj_txn *txn, bool now)
{
	struct zj_component *comp;

	spin_lock(&zj->comp_lock);
	comp = txn->comp;
	/* A sealed one may be reclaimed: what it points to is shared then. */
	if (comp->state < ZJ_C_SEALED)
		comp->no_delay |= now;
	if (comp->state == ZJ_C_RUNNING) {
		if (!comp->no_delay && may_defer(zj, comp))
			defer(comp);
		else
			lock_component(zj, comp);
	}
	spin_unlock(&zj->comp_lock);
}

/**
 * zj_commit_request() - close a transaction's component
 * @zj: the journal
 * @txn: referenced by the caller; any state
 *
 * Does not wait. Handles that are open go on, none starts on the members' lanes
 * until the component is sealed. While it could not be sealed anyway, the request is
 * kept instead, for a short time.
 */
void zj_commit_request(struct zj_journal *zj, struct zj_txn *txn)
{
	request(zj, txn, false);
}

/**
 * zj_commit_now() - the same, without delay: it takes no more
 */
void zj_commit_now(struct zj_journal *zj, struct zj_txn *txn)
{
	request(zj, txn, true);
}

/**
 * zj_commit_request_lane() - close what runs in a lane, if anything does
 * @lane: the lane
 */
void zj_commit_request_lane(struct zj_lane *lane)
{
	struct zj_txn *txn;

	spin_lock(&lane->lock);
	txn = lane->running;
	if (txn)
		refcount_inc(&txn->refs);
	spin_unlock(&lane->lock);
	if (!txn)
		return;
	zj_commit_request(lane->journal, txn);
	zj_txn_put(txn);
}

/**
 * zj_commit_request_all() - close everything that runs
 * @zj: the journal
 */
void zj_commit_request_all(struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_commit_request_lane(&zj->lanes[i]);
}

static bool is_on_no_list(struct zj_journal *zj, struct zj_component *comp)
{
	bool ok = ZJ_ASSERT(zj, list_empty(&comp->ckpt_link));

	ok &= ZJ_ASSERT(zj, list_empty(&comp->ready_link));
	ok &= ZJ_ASSERT(zj, list_empty(&comp->finish_link));
	return ok;
}

/**
 * zj_component_free() - a reclaimed component, with its members
 * @zj: the journal
 * @comp: on no list, nobody's dependency
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
		ZJ_ASSERT(zj, txn->committed);
		if (txn->lane->last_sealed == comp)
			txn->lane->last_sealed = NULL;
		WRITE_ONCE(txn->comp, &reclaimed_component);
	}
	spin_unlock(&zj->comp_lock);
	list_for_each_entry_safe(txn, next, &comp->members, comp_link)
		zj_txn_put(txn);
	kfree_rcu(comp, rcu);
}
