// SPDX-License-Identifier: GPL-2.0-only
/*
 * What belongs to inodes: ordered data (R6), sync tids (R8), in-core changes (R10),
 * the tree of directories (R11).
 * In the journal: src/txn/ordered.c, zj_journal_hand_over() in src/txn/claim.c.
 */
#include "model.h"

/* ---- R6: one inode; its entry is in the transaction that commits its data ---- */

static int newest_entry(const struct state *s)
{
	int best = -1, at = 0;

	for (int t = 0; t < nr_txns(); t++) {
		int order = s->txn[t].sealed ?: 99;

		if (s->txn[t].entry && order >= at) {
			best = t;
			at = order;
		}
	}
	return best;
}

void file_data(struct state *s, int h)
{
	struct handle *handle = &s->handle[h];
	int entry = newest_entry(s), txn = handle->txn;

	say("has ordered data");
	if (entry >= 0 && entry != txn && on(R6)) {
		if (is_open(s, entry))
			unite(s, txn, entry);
		else
			depend(s, txn, entry);
	}
	if (entry < 0 || (!is_open(s, entry) && on(R6)))
		entry = txn;
	s->txn[entry].entry = 1;
	handle->data = 1;
	handle->data_txn = entry;
}

/* ---- R8: one file ---- */

/* The handle takes the place of the last one that did so (sync tid, claim). */
void take_over(struct state *s, int h, u8 *slot)
{
	s->handle[h].old = *slot;
	*slot = s->handle[h].txn + 1;
}

void tie_old(struct state *s, int h)
{
	struct handle *handle = &s->handle[h];

	if (handle->old)
		tie(s, handle->txn, handle->old - 1);
}

bool sync_step(struct state *s, int h)
{
	if (!s->handle[h].step) {
		say("takes over the sync tid (xchg)");
		if (on(R8_XCHG))
			take_over(s, h, &s->slot);
		else
			s->handle[h].old = s->slot;
		return true;
	}
	say("ties itself to the former holder");
	s->slot = on(R8_XCHG) ? s->slot : s->handle[h].txn + 1;
	if (on(R8))
		tie_old(s, h);
	s->synced |= BIT(h);
	return true;
}

/* fsync needs one tid. */
bool move_fsync(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!s->slot || s->fsync)
		return false;
	s->fsync = 1;
	s->fsync_txn = s->slot - 1;
	for (int h = 0; h < cfg->handles; h++)
		if (s->synced & BIT(h) && s->handle[h].state == H_STOPPED)
			s->fsync_for |= BIT(h);
	say("fsync of the file waits for %s", tname(s->fsync_txn));
	request(s, s->fsync_txn);
	return true;
}

bool move_fsync_done(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (s->fsync != 1 || s->txn[s->fsync_txn].state < T_FINISHED)
		return false;
	s->fsync = 2;
	s->reported |= s->fsync_for;
	s->fsync_for = 0;
	say("fsync returns");
	return true;
}

/* ---- R10: one in-core inode; block 0 is in its table block ---- */

bool core_step(struct state *s, int h)
{
	struct handle *handle = &s->handle[h];

	if (!handle->step) {
		say("claims the inode");
		take_over(s, h, &s->claim);
		if (on(R10))
			tie_old(s, h);
		return true;
	}
	say("changes the in-core inode");
	s->core |= BIT(h);
	handle->writes |= BIT(0);
	return true;
}

/* ---- R11: the tree of directories, which is in no block ---- */

/* The VFS has checked this move in the tree in memory, after all earlier moves. */
bool move_dir_step(struct state *s, int h)
{
	struct handle *handle = &s->handle[h];

	if (!handle->step) {
		say("claims the tree");
		take_over(s, h, &s->moves);
		if (on(R11))
			tie_old(s, h);
		return true;
	}
	say("moves a directory");
	handle->after |= s->moved & ~BIT(h);
	s->moved |= BIT(h);
	return true;
}

bool out_step(struct state *s, int h, int block)
{
	if (!s->handle[h].step)
		return touch(s, h, block);
	say("(the whole in-core inode) ");
	change(s, h, block, s->core);
	return true;
}
