// SPDX-License-Identifier: GPL-2.0-only
/* The log's space as text: which lane has which segments. */
#include "core/journal.h"
#include "core/space.h"
#include "core/waits.h"
#include <linux/list.h>
#include <linux/seq_buf.h>
#include <linux/string.h>

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
