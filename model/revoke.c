// SPDX-License-Identifier: GPL-2.0-only
/*
 * Freed blocks and their revokes (R5, V3).
 * In the journal: src/txn/revoke.c, zj_journal_forget() in src/txn/access.c.
 */
#include "model.h"

/*
 * A revoke is in the index until its owner's commit has been processed. A touch finds the
 * newest one.
 */
int holder_of(const struct state *s, int block)
{
	int best = -1, at = 0;

	for (int t = 0; t < nr_txns(); t++) {
		int order = s->txn[t].sealed ?: 99;

		if (s->txn[t].revokes & BIT(block) && s->txn[t].state < T_FINISHED &&
		    s->txn[t].state != T_NONE && order >= at) {
			best = t;
			at = order;
		}
	}
	return best;
}

/* The transaction with a block's revoke owns it; journaling the block again cancels the revoke. */
void revoke_touch(struct state *s, int txn, int block)
{
	int owner = holder_of(s, block);

	if (owner < 0)
		return;
	if (on(R5) && on(OWNED_REVOKE))
		tie(s, txn, owner);
	if (is_open(s, owner) && s->txn[txn].comp & BIT(owner) &&
	    on(REVOKE_CANCEL)) {
		s->txn[owner].revokes &= ~BIT(block);
		say("; the revoke in %s is cancelled", tname(owner));
	}
}

static bool has_older(const struct state *s, int block, int owner)
{
	for (int t = 0; t < nr_txns(); t++)
		if (t != owner && s->txn[t].part[block].bits & PART_KIND)
			return true;
	return false;
}

/* Drops the component's image. Older ones can be replayed until it is committed. */
static void forget(struct state *s, int txn, int block)
{
	int owner = newest_owner(s, block);
	struct part *part;

	if (owner < 0 || !(s->txn[txn].comp & BIT(owner)))
		return;
	part = &s->txn[owner].part[block];
	part->bits &= ~PART_KIND;
	if (has_older(s, block, owner))
		part->bits |= PART_FORGET;
}

static bool foreign(const struct state *s, int txn, int block)
{
	int owner = newest_owner(s, block);

	return owner >= 0 && is_open(s, owner) &&
	       !(s->txn[txn].comp & BIT(owner));
}

static bool forget_touch(struct state *s, int h, int block)
{
	bool io = s->block[block].home_io, ok;

	/* A home write in flight must not reach the disk later. */
	if (!on(FORGET_WAITS))
		s->block[block].home_io = 0;
	ok = touch(s, h, block);
	s->block[block].home_io = io;
	return ok;
}

static void give_back(struct state *s, int h, int block)
{
	struct block *b = &s->block[block];

	b->free = B_FREED;
	b->freer = h;
	for (int g = 0; g < cfg->handles; g++)
		if (s->handle[g].writes & BIT(block))
			b->before |= BIT(g);
}

bool free_block(struct state *s, int h, int block)
{
	struct handle *handle = &s->handle[h];

	say("frees b%d: ", block);
	if (cfg->file && !on(F3)) {
		say("not revoked");
		give_back(s, h, block);
		return true;
	}
	if ((!on(R5) || !on(FOREIGN_REVOKE)) && foreign(s, handle->txn, block)) {
		say("revoked in its own transaction only");
	} else {
		if (!forget_touch(s, h, block))
			return false;
		forget(s, handle->txn, block);
	}
	s->txn[handle->txn].revokes |= BIT(block);
	handle->after |= s->block[block].live & C_HANDLES & ~BIT(h);
	give_back(s, h, block);
	return true;
}

/* The callback gives freed blocks back to the allocator. */
void call_back(struct state *s, int handles)
{
	for (int b = 0; b < cfg->blocks; b++)
		if (s->block[b].free == B_FREED &&
		    handles & BIT(s->block[b].freer))
			s->block[b].free = B_REUSABLE;
}

/* File data is written to the block outside the log, and synced. */
bool move_reuse(struct state *s, u8 block, u8 unused)
{
	struct block *b = &s->block[block];

	(void)unused;
	if (b->free != B_REUSABLE || in_use(s, block))
		return false;
	say("b%d is reused: file data is written to it, and flushed", block);
	b->free = B_DATA;
	b->home = C_DATA;
	b->cached = C_NONE;
	return true;
}
