// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commit: a component is committed when all its members are durable and all components
 * that it depends on are committed (V1). Both are counted down in one counter, so a
 * dependency costs O(1). Components that become committed are appended to a list, so a
 * chain of any length needs no recursion.
 *
 * Then the component is finished in two phases (V3). The first drops the parts of blocks
 * that its members have forgotten; zj_journal_forget() has already waited for their home
 * writes. The second makes buffers dirty for write-back, runs ext4's callbacks, and
 * wakes waiters. Several threads may do this at a time, each with its own components.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

/* ---- counting ---- */

/*
 * Files a component that has journaled file data, or has to wait for that of older ones,
 * which is what it depends on (wait_files()). Caller holds comp_lock.
 */
static void await_files(struct zj_component *comp)
{
	struct zj_journal *zj = comp->journal;

	if (!comp->jdata && !zj->undirty)
		return;
	comp->waits_files = true;
	list_add_tail(&comp->finish_link, &zj->finishing);
	WRITE_ONCE(zj->undirty, zj->undirty + comp->jdata);
}

/*
 * Counts one arrival; the last one makes the component committed. Caller holds comp_lock.
 */
static void count_arrival(struct zj_component *comp, struct list_head *ready)
{
	lockdep_assert_held(&comp->journal->comp_lock);
	ZJ_ASSERT(comp->journal, comp->missing > 0);
	zj_comp_stats_of(comp)->arrivals++;
	if (--comp->missing || comp->stage != ZJ_SEALED)
		return;
	/* All members have submitted their data and written their records (V1). */
	ZJ_ASSERT(comp->journal, !atomic_read(&comp->unlogged));
	ZJ_ASSERT(comp->journal, !atomic_read(&comp->unsubmitted));
	zj_component_advance(comp, ZJ_COMMITTED);
	list_move_tail(&comp->ready_link, ready);
	await_files(comp);
}

static void push_dependants(struct zj_component *comp, struct list_head *ready)
{
	struct zj_dep *dep, *tmp;

	list_for_each_entry_safe(dep, tmp, &comp->dependants, on_link) {
		ZJ_ASSERT(comp->journal, dep->comp->stage < ZJ_COMMITTED);
		list_del_init(&dep->on_link);
		dep->on = NULL;
		zj_comp_stats_of(comp)->resolved++;
		count_arrival(dep->comp, ready);
	}
}

/*
 * Makes room in the members' lanes for other sealed components (N7), and seals those that
 * have waited for it. Caller holds comp_lock.
 */
static void leave_lanes(struct zj_component *comp, struct zj_sealed *sealed)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link) {
		ZJ_ASSERT(comp->journal, txn->lane->nr_sealed > 0);
		ZJ_ASSERT(comp->journal, txn->lane->sealed_credits >= max(txn->credits, 0));
		txn->lane->nr_sealed--;
		txn->lane->sealed_credits -= max(txn->credits, 0);
	}
	list_for_each_entry(txn, &comp->members, comp_link)
		zj_try_seal_lane(txn->lane, comp->stamp, sealed);
}

/*
 * Advances the committed stamp to just before the oldest component that is not committed;
 * records name it from now on (D5). Caller holds comp_lock.
 */
static void note_committed_stamp(struct zj_journal *zj)
{
	const struct zj_component *oldest;

	lockdep_assert_held(&zj->comp_lock);
	oldest = list_first_entry_or_null(&zj->pending, struct zj_component,
					  ready_link);
	ZJ_ASSERT(zj, !oldest || oldest->stamp > zj->committed_stamp);
	/* Pairs with committed_stamp() in the log writers. */
	smp_store_release(&zj->committed_stamp,
			  oldest ? oldest->stamp - 1 : zj->stamp);
}

/* ---- the two phases ---- */

static struct zj_part *part_of(struct journal_head *jh, struct zj_txn *txn)
{
	struct zj_part *part;

	list_for_each_entry(part, &jh->parts, jh_link)
		if (part->txn == txn)
			return part;
	return NULL;
}

/*
 * A committed part makes the older ones superfluous, whether they are home or not. If only
 * lines of it were logged, the oldest image stays, because recovery puts the lines over
 * it (J2). The checkpoint stamp cannot pass the oldest image before the block is
 * home, so the transactions between the two stay in the log as well. A part that is older
 * still, of a forgotten block, would not stay: the thread that finishes it may come later.
 */
static void drop_older(struct journal_head *jh, struct zj_part *part)
{
	bool keep = zj_part_test(part, ZJ_PART_LINES);
	struct zj_part *older, *tmp;

	list_for_each_entry_safe(older, tmp, &jh->parts, jh_link) {
		if (older == part)
			return;
		if (keep && !zj_part_test(older, ZJ_PART_FORGET))
			keep = false;
		else
			zj_part_drop(older);
	}
}

static void unmap_freed(struct buffer_head *bh)
{
	clear_buffer_jbddirty(bh);
	if (!buffer_freed(bh))
		return;
	clear_buffer_freed(bh);
	if (!zj_bh_is_file(bh))
		return;
	clear_buffer_mapped(bh);
	clear_buffer_new(bh);
	clear_buffer_req(bh);
	bh->b_bdev = NULL;
}

static void finish_forget(struct journal_head *jh, struct zj_part *part)
{
	bool newest = jh->newest == part;

	drop_older(jh, part);
	zj_part_drop(part);
	if (newest)
		unmap_freed(jh->bh);
}

static void go_home(struct journal_head *jh, struct zj_part *part)
{
	struct buffer_head *bh = jh->bh;

	/* Only committed images may go home (H1). */
	ZJ_ASSERT(txn_zj(part->txn), part->txn->comp->stage == ZJ_COMMITTED);
	ZJ_ASSERT(txn_zj(part->txn), zj_part_test(part, ZJ_PART_LOGGED));
	drop_older(jh, part);
	if (jh->newest == part && buffer_freed(bh)) {
		/* The block was truncated in the same component, so its image is void. */
		zj_part_drop(part);
		unmap_freed(bh);
		return;
	}
	zj_part_set(part, BIT(ZJ_PART_HOMEWARD));
	if (zj_part_test(part, ZJ_PART_ELSEWHERE))
		return;
	if (jh->newest == part) {
		zj_part_make_dirty(part);
		clear_buffer_jbddirty(bh);
		return;
	}
	/*
	 * A newer part owns the buffer, which becomes dirty if that part is dropped.
	 * Until then jbddirty keeps ext4 from taking a file's folio for clean (E13).
	 */
	zj_part_set(part, BIT(ZJ_PART_NEEDS_DIRTY));
}

static void process_forget(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	struct zj_part *part;

	spin_lock(&jh->lock);
	part = part_of(jh, txn);
	if (part && zj_part_test(part, ZJ_PART_FORGET))
		finish_forget(jh, part);
	spin_unlock(&jh->lock);
}

static void process_image(struct zj_txn *txn, struct journal_head *jh, void *arg)
{
	struct zj_part *part;

	spin_lock(&jh->lock);
	part = part_of(jh, txn);
	if (part)
		go_home(jh, part);
	spin_unlock(&jh->lock);
}

/* From here on zj_part_file_late() adds no forgotten block to this transaction. */
static void close_forgets(struct zj_txn *txn)
{
	spin_lock(&txn->list_lock);
	txn->forgets |= !list_empty(&txn->late);
	list_splice_tail_init(&txn->late, &txn->parts);
	zj_txn_advance(txn, ZJ_COMMITTED);
	spin_unlock(&txn->list_lock);
}

static void call_back(struct zj_journal *zj, struct zj_txn *txn)
{
	void (*callback)(journal_t *journal, transaction_t *t);

	ZJ_ASSERT(zj, txn->public.t_state == T_COMMIT);
	callback = READ_ONCE(zj->public.j_commit_callback);
	if (callback)
		callback(&zj->public, &txn->public);
	txn->public.t_state = T_FINISHED;
}

/*
 * Notes that the component's buffers are dirty. Returns whether those of all components
 * that were committed before it are dirty, too; what it depends on is among these.
 */
static bool files_are_dirty(struct zj_journal *zj, struct zj_component *comp)
{
	struct zj_component *older = comp;
	bool dirty = true;

	spin_lock(&zj->comp_lock);
	ZJ_ASSERT(zj, zj->undirty >= comp->jdata);
	/* Pairs with wait_files(): a thread that sees 0 also sees all buffers dirty. */
	smp_store_release(&zj->undirty, zj->undirty - comp->jdata);
	comp->jdata = false;
	list_for_each_entry_continue_reverse(older, &zj->finishing, finish_link) {
		dirty = !older->jdata;
		if (!dirty)
			break;
	}
	spin_unlock(&zj->comp_lock);
	return dirty;
}

/*
 * Before ext4 drops pages of journaled data it waits for the newest transaction of the
 * file and writes the pages home (E13). So the buffers of the components that this
 * transaction depends on must be dirty by then as well, but the thread of another lane
 * may still be busy with them. Threads cannot wait for each other in a circle, because each
 * takes components in the order in which they became committed and waits only for older
 * ones.
 */
static void wait_files(struct zj_journal *zj, struct zj_component *comp)
{
	bool jdata = READ_ONCE(comp->jdata);
	struct zj_txn *first;
	struct zj_wait wait;
	bool dirty;

	/* Pairs with files_are_dirty(): a thread that sees 0 also sees all buffers dirty. */
	if (!comp->waits_files || !smp_load_acquire(&zj->undirty))
		return;
	dirty = files_are_dirty(zj, comp);
	if (jdata)
		wake_up_all(&zj->wait_progress);
	if (dirty)
		return;
	first = list_first_entry(&comp->members, struct zj_txn, comp_link);
	zj_wait_begin(&wait, first->lane, ZJ_WAIT_FILES, first);
	wait_event(zj->wait_progress, files_are_dirty(zj, comp));
	zj_wait_end(&wait);
}

/* After this the component may be reclaimed and freed. */
static void set_finished(struct zj_journal *zj, struct zj_component *comp)
{
	if (comp->waits_files) {
		spin_lock(&zj->comp_lock);
		list_del_init(&comp->finish_link);
		spin_unlock(&zj->comp_lock);
	}
	/* Pairs with zj_comp_next_finished(): a checkpoint sees the buffers as they are now. */
	smp_store_release(&comp->finished, true);
}

static void finish_component(struct zj_journal *zj, struct zj_component *comp)
{
	u64 us = ktime_us_delta(ktime_get(), comp->sealed_at);
	struct zj_txn *txn;

	ZJ_ASSERT(zj, list_empty(&comp->dependants));
	/* This walks the members without a lock, since they are fixed after the seal. */
	list_for_each_entry(txn, &comp->members, comp_link) {
		close_forgets(txn);
		/* Few transactions have forgotten blocks, and a walk looks at each part. */
		if (txn->forgets)
			zj_txn_walk(txn, process_forget, NULL);
		zj_revoke_retire(txn);
	}
	list_for_each_entry(txn, &comp->members, comp_link)
		zj_txn_walk(txn, process_image, NULL);
	wait_files(zj, comp);
	list_for_each_entry(txn, &comp->members, comp_link)
		call_back(zj, txn);
	list_for_each_entry(txn, &comp->members, comp_link) {
		zj_count(&txn->lane->stats.commit_us, us);
		trace_zj_committed(txn);
		zj_txn_set_finished(txn);
	}
	set_finished(zj, comp);
}

/*
 * Makes components committed that depend on a committed one; these are appended to the
 * list. Caller holds comp_lock, which is released.
 */
static void spread_and_unlock(struct zj_component *comp, struct list_head *ready)
	__releases(&comp->journal->comp_lock)
{
	struct zj_journal *zj = comp->journal;
	struct zj_sealed sealed = {};

	push_dependants(comp, ready);
	leave_lanes(comp, &sealed);
	note_committed_stamp(zj);
	spin_unlock(&zj->comp_lock);
	zj_wake_sealed(zj, &sealed);
}

/*
 * Notes that a member of a component is durable, and lists the components that become
 * committed by this. A chain of them may be long, so comp_lock is dropped after each one.
 * This is safe, because no component starts to depend on a committed one, and the tail does
 * not advance over one that is not finished. The first one, which usually is the only one,
 * needs no section of its own.
 */
static void arrive_and_spread(struct zj_component *comp, struct list_head *ready)
{
	struct zj_journal *zj = comp->journal;

	spin_lock(&zj->comp_lock);
	count_arrival(comp, ready);
	if (list_empty(ready)) {
		spin_unlock(&zj->comp_lock);
		return;
	}
	spread_and_unlock(comp, ready);
	list_for_each_entry_continue(comp, ready, ready_link) {
		cond_resched();
		spin_lock(&zj->comp_lock);
		spread_and_unlock(comp, ready);
	}
}

/**
 * zj_member_durable() - note that the record of a component's member is durable
 * @txn: the member
 *
 * Finishes every component that becomes committed by this.
 *
 * Context: sleeps.
 */
void zj_member_durable(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_component *comp, *tmp;
	LIST_HEAD(ready);

	trace_zj_record_durable(txn);
	arrive_and_spread(txn->comp, &ready);
	if (list_empty(&ready))
		return;
	list_for_each_entry_safe(comp, tmp, &ready, ready_link) {
		list_del_init(&comp->ready_link);
		finish_component(zj, comp);
	}
	zj_progress(zj);
	if (zj_space_low(zj))
		zj_checkpoint_kick(zj);
}

/* ---- statistics of components ---- */

/* Each lane has counters of its own, since they would be shared by all commits otherwise. */

/*
 * Returns the counters of the component's first member's lane. A union may change which
 * one that is, so only sums over all lanes mean something. Caller holds comp_lock.
 */
struct zj_comp_stats *zj_comp_stats_of(const struct zj_component *comp)
{
	return &list_first_entry(&comp->members, struct zj_txn, comp_link)->lane->comp_stats;
}

/**
 * zj_comp_stats() - sum up the statistics of components over all lanes
 * @zj: the journal, loaded
 * @sum: the result
 *
 * Context: takes comp_lock.
 */
void zj_comp_stats(struct zj_journal *zj, struct zj_comp_stats *sum)
{
	unsigned int i, size;

	*sum = (struct zj_comp_stats){};
	spin_lock(&zj->comp_lock);
	for (i = 0; zj->lanes && i < zj->nr_lanes; i++) {
		const struct zj_comp_stats *st = &zj->lanes[i].comp_stats;

		sum->closed += st->closed;
		sum->members += st->members;
		for (size = 0; size < ZJ_NR_SIZES; size++)
			sum->sizes[size] += st->sizes[size];
		sum->deps += st->deps;
		sum->awaited += st->awaited;
		sum->resolved += st->resolved;
		sum->arrivals += st->arrivals;
		sum->max_members = max(sum->max_members, st->max_members);
		sum->max_deps = max(sum->max_deps, st->max_deps);
	}
	spin_unlock(&zj->comp_lock);
}

/* Counts a component that is being sealed. Caller holds comp_lock. */
void zj_comp_count_closed(struct zj_component *comp)
{
	u32 members = comp->nr_members;
	u32 deps = bitmap_weight(comp->dep_lanes, ZJ_MAX_LANES);
	struct zj_comp_stats *st = zj_comp_stats_of(comp);

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

/* Counts for how long handles could not start because the component was locked. */
void zj_comp_count_locked(struct zj_component *comp, ktime_t now)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link)
		zj_count(&txn->lane->stats.locked_us,
			 ktime_us_delta(now, comp->locked_at));
}
