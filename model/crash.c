// SPDX-License-Identifier: GPL-2.0-only
/*
 * A crash and recovery, after which the run continues: records that the old generation
 * has left in the log must not be taken for records of the new one (L2).
 */
#include <string.h>
#include "model.h"

static void leave_over(struct state *s, const struct state *before, int records)
{
	for (int t = 0; t < nr_txns(); t++) {
		const struct txn *txn = &before->txn[t];
		struct leftover *old = &s->old[t];

		if (!(records & BIT(t)))
			continue;
		old->there = 1;
		old->stamp = txn->stamp;
		old->comp = txn->comp;
		old->deps = txn->deps;
		memcpy(old->part, txn->part, sizeof(old->part));
	}
	s->old_reclaimed = before->reclaimed;
}

static void sort_out_handles(struct state *s, const struct state *before,
			     int present)
{
	for (int h = 0; h < cfg->handles; h++) {
		const struct handle *was = &before->handle[h];
		struct handle *handle = &s->handle[h];

		if (was->state == H_IDLE)
			continue;
		handle->writes = was->writes;
		handle->after = was->after;
		handle->state = present & BIT(h) ? H_SURVIVED : H_DEAD;
		/* Any handle may have seen it now. */
		if (present & BIT(h))
			s->reported |= BIT(h);
	}
}

/* @extra: which of the records in flight have reached the disk. */
bool move_crash(struct state *s, u8 extra, u8 cached)
{
	struct state before = *s;
	u8 out[MAX_BLOCKS];
	struct disk disk;
	int may;

	disk_now(s, &disk, &may);
	if (!cfg->crash || s->crashed || extra & ~may)
		return false;
	disk.records |= extra;
	for (int b = 0; b < cfg->blocks && cached; b++)
		if (s->block[b].cached != C_NONE)
			disk.home[b] = s->block[b].cached;
	recover(s, &disk, out);
	state_init(s);
	s->crashed = 1;
	leave_over(s, &before, disk.records);
	sort_out_handles(s, &before, present_handles(&before, out));
	for (int b = 0; b < cfg->blocks; b++)
		s->block[b].live = s->block[b].home = out[b];
	say("the power fails (records in flight that reached the disk: %#x); recovery",
	    extra);
	return true;
}
