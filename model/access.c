// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to buffers: R1-R4, R9 and the accessor's copy (C2, N2).
 * In the journal: src/txn/access.c.
 */
#include "model.h"

/* N2: what counts is whether the owner's component is committed (R4). */
static bool counts_as_committed(const struct state *s, int owner)
{
	if (s->txn[owner].state >= T_COMMITTED)
		return true;
	if (!on(COMP_COMMITTED) && s->txn[owner].durable)
		return true;
	if (on(R4) || s->txn[owner].state != T_SEALED)
		return false;
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[owner].comp & BIT(t) && !s->txn[t].durable)
			return false;
	return true;
}

static void file(struct state *s, int txn, int block)
{
	struct part *part = &s->txn[txn].part[block];

	part->bits = (part->bits & ~PART_KIND) | PART_CLEAN;
}

/* R1. Waits for a home write in flight, which holds the buffer lock. */
static bool touch_free(struct state *s, int txn, int block)
{
	if (s->block[block].home_io && on(HOME_IO))
		return false;
	say(" (R1)");
	/* A clean, unlocked buffer need not be home, so older parts stay. */
	if (!on(CLEAN_HOME))
		drop_parts(s, block, 99);
	if (on(R1))
		file(s, txn, block);
	return true;
}

/* R3, R4: the owner's image is copied before anything changes. */
static bool touch_sealed(struct state *s, int txn, int owner, int block)
{
	struct part *part = &s->txn[owner].part[block];

	if (part->bits & PART_LIVE && on(WAIT_LIVE))
		return false;
	if ((part->bits & PART_KIND) == PART_DIRTY &&
	    !(part->bits & PART_IMAGE) && on(COPY)) {
		part->bits |= PART_IMAGE;
		part->image = s->block[block].live;
		say(", copies it for %s", tname(owner));
	}
	depend(s, txn, owner);
	file(s, txn, block);
	return true;
}

/* Makes the component the newest owner. Returns false if it must wait for I/O. */
bool own(struct state *s, int txn, int block)
{
	int owner = newest_owner(s, block);

	if (owner < 0 || counts_as_committed(s, owner))
		return touch_free(s, txn, block);
	if (!is_open(s, owner))
		return touch_sealed(s, txn, owner, block);
	if (owner != txn)
		unite(s, txn, owner);
	/* It was forgotten in the same component, and is in use again. */
	if ((s->txn[owner].part[block].bits & PART_KIND) == PART_FORGET)
		file(s, owner, block);
	return true;
}

bool touch(struct state *s, int h, int block)
{
	say("takes access to b%d", block);
	revoke_touch(s, s->handle[h].txn, block);
	return own(s, s->handle[h].txn, block);
}

/* The handle that first dirties a block logs its image (decision 2). */
static void pay(struct state *s, int txn, int block)
{
	int owner = newest_owner(s, block);
	struct part *part;

	if (owner < 0 || !is_open(s, owner))
		return;
	part = &s->txn[owner].part[block];
	if ((part->bits & PART_KIND) == PART_CLEAN && owner != txn &&
	    s->txn[txn].comp & BIT(owner)) {
		part->bits &= ~PART_KIND;
		part = &s->txn[txn].part[block];
	}
	part->bits = (part->bits & ~PART_KIND) | PART_DIRTY;
}

void change(struct state *s, int h, int block, int what)
{
	struct block *b = &s->block[block];
	struct handle *handle = &s->handle[h];

	say("changes b%d", block);
	if (b->free == B_FREED || b->free == B_REUSABLE) {
		b->free = B_REBORN;
		b->live = 0;
	}
	handle->after |= b->live & C_HANDLES & ~BIT(h);
	handle->writes |= BIT(block);
	pay(s, handle->txn, block);
	b->live |= what;
	/* The log is being written from this buffer. */
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[t].part[block].bits & PART_LIVE)
			s->txn[t].torn = 1;
}

/* R9: what the handle does next depends on what it has read. */
void read_block(struct state *s, int h, int block)
{
	struct handle *handle = &s->handle[h];
	int owner = newest_owner(s, block);

	say("reads b%d and relies on it", block);
	handle->after |= s->block[block].live & ~BIT(h);
	if (owner < 0 || !on(R9))
		return;
	if (!on(R9_RUNNING) && is_open(s, owner))
		return;
	tie(s, handle->txn, owner);
}
