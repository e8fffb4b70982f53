// SPDX-License-Identifier: GPL-2.0-only
/*
 * For whom a flush waits. A lane that misses a flush has to wait until that has ended,
 * and then for the next one. So before a flush is issued, the thread that leads it waits
 * a little for lanes that are expected to call for one soon (docs/decisions/0045):
 *
 *   - lanes in which an fsync has announced itself, because its data is in flight. An
 *     announcement is a mark in the lane. It is valid for the time of one flush, so
 *     that a mark that is never taken back costs no more than that;
 *   - lanes that the last flush served, if they usually come back soon. Lanes that run
 *     side by side would otherwise settle in two groups, each of which waits for the
 *     flush of the other.
 *
 * All that lanes note here are hints. They are read and written without a lock, and a
 * wrong one costs time only.
 */
#include "core/core.h"
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/wait.h>

/*
 * Limits how long a leader waits. On a device whose flushes take longer than
 * this, waiting for other threads would not pay.
 */
#define ZJ_GATHER_MAX_NS	(100 * NSEC_PER_MSEC)

/* The time of a flush is divided into at least this many steps, and fewer than twice as many. */
#define ZJ_GATHER_STEPS		16

/* Steps that are added to a wait, because a lane's turnaround varies. */
#define ZJ_GATHER_SLACK		4

/*
 * Lanes that one flush has served stay together, even if it costs this part of what is
 * done without a wait. Otherwise they would part whenever one of them is a little late.
 * To bring lanes together that have parted has to gain this part.
 */
#define ZJ_GATHER_GAIN		16

/*
 * It has to gain this part more for each lane that has missed the last flush, in
 * proportion to all lanes, because each of these would wait once more.
 */
#define ZJ_GATHER_MISSED	4

/*
 * Returns how long a mark is valid and how long a leader waits: the time of one
 * flush. A thread that misses a flush waits for its end anyway. A thread that
 * takes longer to come, such as an fsync with much data, or one whose mark was
 * left behind, is not worth the others' time.
 */
static u64 gather_patience(const struct zj_flush *flush)
{
	return min_t(u64, READ_ONCE(flush->mean_ns), ZJ_GATHER_MAX_NS);
}

/* ---- announced flushes ---- */

/* A mark later than @now does not count: the leader was here before. */
static bool is_announced(const struct zj_lane *lane, u64 now)
{
	u64 since = READ_ONCE(lane->flush_expected_since);

	return since && since < now &&
	       now - since < gather_patience(&lane->journal->flush);
}

/**
 * zj_flush_expected() - announce that this lane will soon call for a flush
 * @lane: the lane; the mark goes with its next call, or after the time of a
 *	flush
 */
void zj_flush_expected(struct zj_lane *lane)
{
	u64 now = ktime_get();

	if (!is_announced(lane, now) && zj_needs_flush(lane->journal, &lane->journal->flush))
		WRITE_ONCE(lane->flush_expected_since, now | 1);
}

/**
 * zj_txn_expects_flush() - announce a flush because a transaction is about to
 * be committed
 * @txn: referenced by the caller
 *
 * Return: false if the transaction is sealed: then its lane has called for the
 * flush already, or the task that closed the transaction has set the mark.
 */
bool zj_txn_expects_flush(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	bool open;

	/*
	 * The mark has to be set before the seal, so that the lane's call for a
	 * flush comes after it.
	 */
	spin_lock(&lane->lock);
	open = lane->running == txn;
	if (open)
		zj_flush_expected(lane);
	spin_unlock(&lane->lock);
	return open;
}

/* Wakes the leader if this is the lane that it waits for. */
static void wake_leader(struct zj_lane *lane)
{
	struct zj_flush *flush = &lane->journal->flush;

	/* wq_has_sleeper() has a barrier that pairs with the one in all_here(). */
	if (wq_has_sleeper(&flush->gather) &&
	    READ_ONCE(flush->awaited) == lane->index)
		wake_up(&flush->gather);
}

/**
 * zj_flush_not_expected() - take back the mark of zj_flush_expected()
 * @lane: its flush has come, or will not come
 */
void zj_flush_not_expected(struct zj_lane *lane)
{
	if (!READ_ONCE(lane->flush_expected_since))
		return;
	WRITE_ONCE(lane->flush_expected_since, 0);
	wake_leader(lane);
}

/* ---- lanes that come back ---- */

/**
 * zj_gather_join() - note that a lane calls for a flush
 * @lane: the lane
 * @need: number of the flush that will serve it
 *
 * Notes its turnaround, which is the time since the end of the flush that served it last.
 * If another one has ended since, that time is unknown, and too long to be waited for.
 */
void zj_gather_join(struct zj_lane *lane, u64 need)
{
	struct zj_flush *flush = &lane->journal->flush;
	u64 turnaround = U64_MAX;

	if (READ_ONCE(lane->flush_need) == READ_ONCE(flush->done))
		turnaround = ktime_get() - READ_ONCE(flush->ended);
	WRITE_ONCE(lane->turnaround_ns[READ_ONCE(lane->records_follow)], turnaround);
	WRITE_ONCE(lane->records_follow, READ_ONCE(lane->records_next));
	WRITE_ONCE(lane->missed_one, need > READ_ONCE(flush->done) + 1);
	WRITE_ONCE(lane->flush_need, need);
	wake_leader(lane);
}

/* Returns how long the lane took the last time that it did what it does now. */
static u64 turnaround_of(const struct zj_lane *lane)
{
	return READ_ONCE(lane->turnaround_ns[READ_ONCE(lane->records_follow)]);
}

/**
 * struct zj_turnarounds - how soon lanes come back after a flush
 * @shift: a step has 1 << @shift ns
 * @flush: steps that a flush takes
 * @lanes: number of lanes that the last flush served, or that wait for the next one
 * @missed: of these, how many called for a flush when the last one had begun
 * @back: of these, how many come back within each step
 *
 * A leader builds one on its stack.
 */
struct zj_turnarounds {
	u32	shift;
	u32	flush;
	u32	lanes;
	u32	missed;
	u16	back[2 * ZJ_GATHER_STEPS];
};

static void count_turnarounds(struct zj_journal *zj, struct zj_turnarounds *t)
{
	unsigned int i;
	u64 step;

	for (i = 0; i < zj->nr_lanes; i++) {
		const struct zj_lane *lane = &zj->lanes[i];

		if (READ_ONCE(lane->flush_need) < zj->flush.done)
			continue;
		t->lanes++;
		if (READ_ONCE(lane->flush_need) > zj->flush.done)
			t->missed += READ_ONCE(lane->missed_one);
		step = turnaround_of(lane) >> t->shift;
		if (step < t->flush)
			t->back[step]++;
	}
}

/*
 * Returns what is done without a wait, plus what a wait has to gain or may cost. Each lane
 * counts as ZJ_GATHER_GAIN, so that nothing is lost by rounding if there are few of them.
 */
static u32 done_without(const struct zj_turnarounds *t)
{
	if (!t->missed)
		return t->lanes * (ZJ_GATHER_GAIN - 1);
	return t->lanes * (ZJ_GATHER_GAIN + 1) +
	       t->missed * ZJ_GATHER_GAIN / ZJ_GATHER_MISSED;
}

/*
 * Returns how many steps after the end of the last flush the next one is best issued. If
 * each flush is issued this much later, lanes that are back by then are served by each one.
 * Those that come later miss every second one. So if b of n lanes are back in time, n + b
 * is a measure of the fsyncs done in the time of a flush and the wait.
 */
static u32 best_wait(const struct zj_turnarounds *t)
{
	u32 best = 0, most = done_without(t);
	u32 done = t->lanes * ZJ_GATHER_GAIN, wait;

	for (wait = 1; wait <= t->flush; wait++) {
		if (!t->back[wait - 1])
			continue;
		done += t->back[wait - 1] * ZJ_GATHER_GAIN;
		if (done * (t->flush + best) > most * (t->flush + wait)) {
			best = wait;
			most = done;
		}
	}
	return best;
}

/* ---- the leader ---- */

/**
 * struct zj_gathering - for whom a leader waits
 * @leader: its own lane, which it does not wait for, since a later transaction may have
 *	set the mark there again
 * @since: when it began to wait; later marks do not count
 * @until: lanes that the last flush served are waited for until then
 * @turnaround: a lane that usually takes this long, or longer, is not waited for
 *
 * It lives on the leader's stack.
 */
struct zj_gathering {
	const struct zj_lane *leader;
	u64	since;
	u64	until;
	u64	turnaround;
};

static void choose_wait(struct zj_journal *zj, struct zj_gathering *g)
{
	u64 flush = gather_patience(&zj->flush);
	struct zj_turnarounds t = {};
	u32 wait;

	if (flush < ZJ_GATHER_STEPS || !zj->flush.done)
		return;
	t.shift = ilog2(flush / ZJ_GATHER_STEPS);
	t.flush = flush >> t.shift;
	count_turnarounds(zj, &t);
	wait = best_wait(&t);
	if (!wait)
		return;
	g->turnaround = (u64)wait << t.shift;
	g->until = zj->flush.ended + ((u64)(wait + ZJ_GATHER_SLACK) << t.shift);
}

static bool is_expected(const struct zj_lane *lane, const struct zj_gathering *g, u64 now)
{
	const struct zj_flush *flush = &lane->journal->flush;

	if (lane == g->leader)
		return false;
	if (now < g->until && READ_ONCE(lane->flush_need) == flush->done &&
	    turnaround_of(lane) < g->turnaround)
		return true;
	return is_announced(lane, g->since);
}

/*
 * Tells whether nobody is expected any more. A lane that is not expected will not be
 * later, so each wake-up begins with the lane that was awaited, and only that lane wakes
 * the leader.
 */
static bool all_here(struct zj_journal *zj, const struct zj_gathering *g)
{
	u64 now = ktime_get();
	unsigned int i;

	for (i = zj->flush.awaited; i < zj->nr_lanes; i++) {
		WRITE_ONCE(zj->flush.awaited, i);
		/* Pairs with wake_leader(): it sees @awaited, or we see that it is here. */
		smp_mb();
		if (is_expected(&zj->lanes[i], g, now))
			return false;
	}
	return true;
}

static bool any_announced(struct zj_journal *zj, const struct zj_gathering *g)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		if (&zj->lanes[i] != g->leader && is_announced(&zj->lanes[i], g->since))
			return true;
	return false;
}

/**
 * zj_gather() - wait for lanes that will soon call for a flush
 * @zj: the journal
 * @leader: the lane of the thread that is about to issue a flush
 *
 * It waits no longer than a flush takes, and not if nobody is expected.
 *
 * Context: sleeps; the caller leads, so no other thread is in here.
 */
void zj_gather(struct zj_journal *zj, struct zj_lane *leader)
{
	struct zj_gathering g = { .leader = leader, .since = ktime_get() };
	u64 end;

	choose_wait(zj, &g);
	end = min(g.until, g.since + gather_patience(&zj->flush));
	if (any_announced(zj, &g))
		end = g.since + gather_patience(&zj->flush);
	if (end <= g.since)
		return;
	WRITE_ONCE(zj->flush.awaited, 0);
	wait_event_hrtimeout(zj->flush.gather, all_here(zj, &g),
			     ns_to_ktime(end - g.since));
}
