// SPDX-License-Identifier: GPL-2.0-only
/*
 * A journal and what is in it as text, for the files in debugfs, and for the simulator when
 * a test fails. There is one printer for each object.
 *
 * Nothing here sleeps or takes a mutex that a hanging thread may hold. At most
 * ZJ_TEXT_MOST entries of a list are printed, so that locks are not held for long on a busy
 * journal. No lock is held from one lane, or one component, to the next, so parts of the
 * text may be of different moments.
 */
#include "core/core.h"
#include "show/show.h"
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/string.h>

/* ---- transactions, components and lanes ---- */

/**
 * zj_txn_to_text() - print a transaction in one line
 * @out: where it is printed
 * @txn: the transaction
 *
 * Context: comp_lock and the lock of its lane held.
 */
void zj_txn_to_text(struct seq_buf *out, const struct zj_txn *txn)
{
	seq_buf_printf(out, "  transaction %u: lane %d, %s, %d open handles, %u handles, %d credits",
		       txn->public.t_tid, txn->lane->index,
		       zj_stage_names[zj_stage_now(txn)], txn->updates,
		       txn->handles, txn->credits);
	if (atomic_read(&txn->crowded))
		seq_buf_printf(out, ", %d crowded parts", atomic_read(&txn->crowded));
	seq_buf_printf(out, "\n");
}

static void members_to_text(struct seq_buf *out, const struct zj_component *comp)
{
	const struct zj_txn *txn;
	int left = ZJ_TEXT_MOST;

	list_for_each_entry(txn, &comp->members, comp_link) {
		if (!left--) {
			seq_buf_printf(out, "  more\n");
			break;
		}
		spin_lock(&txn->lane->lock);
		zj_txn_to_text(out, txn);
		spin_unlock(&txn->lane->lock);
	}
}

static void deps_to_text(struct seq_buf *out, const struct zj_component *comp)
{
	const struct zj_dep *dep;
	int left = ZJ_TEXT_MOST;

	list_for_each_entry(dep, &comp->deps, comp_link) {
		if (!dep->on)
			continue;
		if (!left--) {
			seq_buf_printf(out, "  more\n");
			break;
		}
		seq_buf_printf(out, "  waits for stamp %llu through lane %u\n",
			       dep->stamp, dep->lane);
	}
}

/**
 * zj_component_to_text() - print a component, its members, and what it waits for
 * @out: where it is printed
 * @comp: the component
 *
 * Context: comp_lock held; takes the locks of the members' lanes.
 */
void zj_component_to_text(struct seq_buf *out, const struct zj_component *comp)
{
	ktime_t now = ktime_get();

	lockdep_assert_held(&comp->journal->comp_lock);
	seq_buf_printf(out, "component %llu: %s, %d members", comp->stamp,
		       zj_stage_names[comp->stage], comp->nr_members);
	if (comp->stage == ZJ_LOCKED)
		seq_buf_printf(out, ", locked for %lld us",
			       (s64)ktime_us_delta(now, comp->locked_at));
	if (comp->stage == ZJ_SEALED)
		seq_buf_printf(out, ", sealed for %lld us, %d with data to submit, %d without a record",
			       (s64)ktime_us_delta(now, comp->sealed_at),
			       atomic_read(&comp->unsubmitted), atomic_read(&comp->unlogged));
	if (comp->stage < ZJ_COMMITTED)
		seq_buf_printf(out, ", %d missing", comp->missing);
	if (comp->deferred)
		seq_buf_printf(out, ", deferred");
	if (comp->stage == ZJ_COMMITTED)
		seq_buf_printf(out, READ_ONCE(comp->finished) ? ", to be written home" :
			       ", being finished");
	seq_buf_printf(out, "\n");
	members_to_text(out, comp);
	deps_to_text(out, comp);
}

/* Caller holds lane->lock. */
static void lane_state_to_text(struct seq_buf *out, const struct zj_lane *lane)
{
	seq_buf_printf(out, "lane %d: %d not written yet, %u being written, %d sealed with %u credits",
		       lane->index, lane->unwritten, lane->depth, lane->nr_sealed,
		       lane->sealed_credits);
	seq_buf_printf(out, ", %u blocks promised, %u segments in hand",
		       lane->promised, lane->nr_in_hand);
	if (lane->rsv_credits)
		seq_buf_printf(out, ", %d credits reserved", lane->rsv_credits);
	if (lane->starts_waiting)
		seq_buf_printf(out, ", %d handle starts wait for space", lane->starts_waiting);
	seq_buf_printf(out, "\n");
}

/**
 * zj_lane_to_text() - print a lane and its transactions that are running or being written
 * @out: where it is printed
 * @lane: the lane
 *
 * Context: takes comp_lock and lane->lock.
 */
void zj_lane_to_text(struct seq_buf *out, struct zj_lane *lane)
{
	const struct zj_txn *txn;

	/* Of what is sealed a lane has few enough to show all (N7). */
	static_assert(ZJ_MAX_FLIGHT <= ZJ_TEXT_MOST);
	spin_lock(&lane->journal->comp_lock);
	spin_lock(&lane->lock);
	lane_state_to_text(out, lane);
	if (lane->running)
		zj_txn_to_text(out, lane->running);
	list_for_each_entry(txn, &lane->to_issue, lane_link)
		zj_txn_to_text(out, txn);
	list_for_each_entry(txn, &lane->flight, lane_link)
		zj_txn_to_text(out, txn);
	spin_unlock(&lane->lock);
	spin_unlock(&lane->journal->comp_lock);
}

/* ---- the log's space: which lane has which segments ---- */

/* Caller holds pool_lock. */
static void full_to_text(struct seq_buf *out, const struct zj_lane *lane)
{
	const struct zj_seg *seg;
	int left = ZJ_TEXT_MOST;

	list_for_each_entry(seg, &lane->full, link) {
		if (!left--) {
			seq_buf_printf(out, "  more\n");
			break;
		}
		seq_buf_printf(out, "  segment %u: full, tenure %llu, newest stamp %llu\n",
			       seg->index, seg->seq, seg->max_stamp);
	}
}

static void lane_space_to_text(struct seq_buf *out, struct zj_lane *lane)
{
	const struct zj_seg *cur, *seg;
	int left = ZJ_TEXT_MOST;

	spin_lock(&lane->lock);
	cur = lane->cur;
	seq_buf_printf(out, "lane %d: %u blocks promised, %u segments in hand\n", lane->index,
		       lane->promised, lane->nr_in_hand);
	if (cur)
		seq_buf_printf(out, "  segment %u: being filled, %u of %u blocks, newest stamp %llu\n",
			       cur->index, lane->cur_off,
			       lane->journal->geo.seg_blocks, cur->max_stamp);
	list_for_each_entry(seg, &lane->in_hand, link)
		if (left-- > 0)
			seq_buf_printf(out, "  segment %u: empty\n", seg->index);
	spin_lock(&lane->journal->pool_lock);
	full_to_text(out, lane);
	spin_unlock(&lane->journal->pool_lock);
	spin_unlock(&lane->lock);
}

/**
 * zj_log_map_to_text() - print who has the log's segments, and where the tail
 * is
 * @out: where it is printed
 * @zj: the journal
 *
 * A log in stock's format has no segments, because it is a ring.
 *
 * Context: takes the locks of lanes, one after the other, and pool_lock inside.
 */
void zj_log_map_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	seq_buf_printf(out, "log %s: %u segments of %u blocks, stamp %llu, reclaimed %llu\n",
		       zj->log_ops->name, zj->geo.nr_segs, zj->geo.seg_blocks,
		       READ_ONCE(zj->stamp), READ_ONCE(zj->ckpt_stamp));
	for (i = 0; i < zj->nr_lanes; i++)
		lane_space_to_text(out, &zj->lanes[i]);
	seq_buf_printf(out, "pool: %u free, %d handle starts wait\n", READ_ONCE(zj->nr_pool),
		       atomic_read(&zj->space_waiters));
	if (!strcmp(zj->log_ops->name, "jbd2"))
		seq_buf_printf(out, "ring: next block %u\n", READ_ONCE(zj->ring.head));
}

/* ---- who waits ---- */

static const char *const phase_names[ZJ_NR_FSYNC_PHASES] = {
	[ZJ_FSYNC_TURN] = "turn",
	[ZJ_FSYNC_DRAIN] = "drain",
	[ZJ_FSYNC_ISSUE] = "issue",
	[ZJ_FSYNC_RECORD] = "record",
	[ZJ_FSYNC_COMMITTED] = "committed",
};

static u64 us(s64 ns)
{
	return ktime_us_delta(max_t(s64, ns, 0), 0);
}

/*
 * The task's name comes last, because it may contain spaces. Every user chooses the names of
 * their own tasks, so a newline in one must not look like another entry of the file.
 */
static void task_to_text(struct seq_buf *out, pid_t pid, const char *comm)
{
	char name[TASK_COMM_LEN];
	char *c;

	strscpy(name, comm, sizeof(name));
	for (c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	seq_buf_printf(out, " pid=%d comm=%s\n", pid, name);
}

static void wait_to_text(struct seq_buf *out, const char *when,
			 const struct zj_wait *wait, s64 ns)
{
	seq_buf_printf(out, "%s lane=%d reason=%s us=%llu", when, wait->lane->index,
		       zj_wait_names[wait->why], us(ns));
	if (wait->tid)
		seq_buf_printf(out, " for=%u for_lane=%u phase=%s", wait->tid,
			       wait->tid_lane, zj_stage_names[wait->stage]);
	task_to_text(out, wait->pid, wait->comm);
}

/**
 * zj_waits_to_text() - print who waits in a lane now, and the longest waits
 * there were
 * @out: where it is printed
 * @lane: the lane
 *
 * Context: takes waits.lock; no other lock is needed.
 */
void zj_waits_to_text(struct seq_buf *out, struct zj_lane *lane)
{
	struct zj_waits *waits = &lane->waits;
	ktime_t now = ktime_get();
	struct zj_wait *wait;
	int i, k, left = ZJ_TEXT_MOST;

	spin_lock(&waits->lock);
	list_for_each_entry(wait, &waits->now, link) {
		if (!left--) {
			seq_buf_printf(out, "more lane=%d\n", lane->index);
			break;
		}
		wait_to_text(out, "now", wait, now - wait->since);
	}
	for (i = 0; i < ZJ_NR_WAITS; i++)
		for (k = 0; k < ZJ_KEPT_WAITS; k++)
			if (waits->longest[i][k].took)
				wait_to_text(out, "past", &waits->longest[i][k].wait,
					     waits->longest[i][k].took);
	spin_unlock(&waits->lock);
}

static void phases_to_text(struct seq_buf *out, const s64 *ns)
{
	int i;

	for (i = 0; i < ZJ_NR_FSYNC_PHASES; i++)
		seq_buf_printf(out, " %s=%llu", phase_names[i], us(ns[i]));
}

/**
 * zj_fsyncs_to_text() - print how long a lane's fsyncs took, by phase
 * @out: where it is printed
 * @lane: the lane
 *
 * Context: takes waits.lock; no other lock is needed.
 */
void zj_fsyncs_to_text(struct seq_buf *out, struct zj_lane *lane)
{
	struct zj_waits *waits = &lane->waits;
	const struct zj_past_fsync *fsync;
	int i;

	spin_lock(&waits->lock);
	seq_buf_printf(out, "sum lane=%d fsyncs=%llu", lane->index, waits->fsyncs);
	phases_to_text(out, waits->phase_ns);
	seq_buf_printf(out, "\n");
	for (i = 0; i < ZJ_KEPT_WAITS; i++) {
		fsync = &waits->slowest[i];
		if (!fsync->took)
			continue;
		seq_buf_printf(out, "slow lane=%d us=%llu", lane->index, us(fsync->took));
		phases_to_text(out, fsync->phase);
		seq_buf_printf(out, " tid=%u", fsync->tid);
		task_to_text(out, fsync->pid, fsync->comm);
	}
	spin_unlock(&waits->lock);
}

/* ---- the whole journal ---- */

/**
 * zj_lanes_to_text() - print all lanes with their transactions
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_lanes_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_lane_to_text(out, &zj->lanes[i]);
}

/* Prints components that are not sealed, each one where its first member is. */
static void open_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	const struct zj_txn *txn;
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++) {
		spin_lock(&zj->comp_lock);
		/*
		 * Only a seal takes the transaction away, and it needs
		 * comp_lock, which is held.
		 */
		txn = READ_ONCE(zj->lanes[i].running);
		if (txn && list_is_first(&txn->comp_link, &txn->comp->members))
			zj_component_to_text(out, txn->comp);
		spin_unlock(&zj->comp_lock);
	}
}

/* Prints sealed components, the oldest first. */
static void sealed_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	const struct zj_component *comp;
	int left = ZJ_TEXT_MOST;

	spin_lock(&zj->comp_lock);
	list_for_each_entry(comp, &zj->pending, ready_link) {
		if (!left--) {
			seq_buf_printf(out, "more are sealed\n");
			break;
		}
		zj_component_to_text(out, comp);
	}
	spin_unlock(&zj->comp_lock);
}

/* Prints the component that the tail cannot advance past. */
static void oldest_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	const struct zj_component *comp;

	spin_lock(&zj->comp_lock);
	list_for_each_entry(comp, &zj->ckpt_list, ckpt_link) {
		/* It stays for one that is not home. */
		if (comp->stamp <= READ_ONCE(zj->home_stamp))
			continue;
		if (comp->stage == ZJ_COMMITTED) {
			seq_buf_printf(out, "oldest in the log:\n");
			zj_component_to_text(out, comp);
		}
		break;
	}
	spin_unlock(&zj->comp_lock);
}

/**
 * zj_components_to_text() - print sealed and open components, then the oldest in
 * the log
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_components_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	sealed_to_text(out, zj);
	open_to_text(out, zj);
	oldest_to_text(out, zj);
}

/**
 * zj_all_waits_to_text() - print who waits now, and the longest waits since the
 * mount
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_all_waits_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_waits_to_text(out, &zj->lanes[i]);
}

/**
 * zj_all_fsyncs_to_text() - print the phases of fsyncs, by lane
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_all_fsyncs_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_fsyncs_to_text(out, &zj->lanes[i]);
}

/**
 * zj_journal_to_text() - print all of the above
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_journal_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	zj_lanes_to_text(out, zj);
	zj_components_to_text(out, zj);
	zj_all_waits_to_text(out, zj);
	zj_log_map_to_text(out, zj);
	zj_all_fsyncs_to_text(out, zj);
}
