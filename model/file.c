// SPDX-License-Identifier: GPL-2.0-only
/*
 * File data in the log (F1-F4): one block of a file, which an fsync may log and write-back
 * may write in place. The application stores once.
 * In the journal: src/txn/file_block.c, and zext4/log_data.c, zext4/logged.c.
 */
#include "model.h"

/* May recovery replay an image of the block, or will it be logged? */
static bool is_indexed(const struct state *s)
{
	for (int t = 0; t < nr_txns(); t++) {
		const struct txn *txn = &s->txn[t];
		int bits = txn->part[FILE_BLOCK].bits;

		if (bits & PART_ENDED)
			continue;
		if ((bits & PART_KIND) == PART_DIRTY)
			return true;
		if (on(F1_TAIL) && bits & PART_IMAGE && txn->state != T_RECLAIMED)
			return true;
	}
	return false;
}

/* The contents that a read from the device finds. */
static u8 on_device(const struct state *s)
{
	const struct block *b = &s->block[FILE_BLOCK];

	return b->cached != C_NONE ? b->cached : b->home;
}

/* Writes the block in place, and flushes the device. */
static void write_in_place(struct state *s)
{
	struct block *b = &s->block[FILE_BLOCK];

	b->home = on_device(s) | C_STORE;
	b->cached = C_NONE;
}

/* ---- an fsync that logs the block ---- */

/* A handle that logs the block has locked its folio. */
bool may_store(const struct state *s)
{
	return s->block[FILE_BLOCK].free == B_USED && !in_use(s, FILE_BLOCK);
}

/* F4: data that a commit is to write in place stays with it. */
bool may_log(const struct state *s)
{
	if (!may_store(s))
		return false;
	for (int h = 0; h < cfg->handles && on(F4); h++)
		if (s->handle[h].data == 1)
			return false;
	return true;
}

static bool has_op(int kind)
{
	for (int i = 0; i < cfg->nr_ops; i++)
		if (OP_KIND(cfg->ops[i]) == kind)
			return true;
	return false;
}

/* A revoke may come between the look for one and becoming the owner; after that it cannot. */
static bool touch_in_steps(struct state *s, int h)
{
	int txn = s->handle[h].txn;

	if (!s->handle[h].step) {
		say("looks for a revoke of b%d", FILE_BLOCK);
		revoke_touch(s, txn, FILE_BLOCK);
		return true;
	}
	say("takes access to b%d", FILE_BLOCK);
	if (!own(s, txn, FILE_BLOCK))
		return false;
	if (on(F1_LOOK_AGAIN))
		revoke_touch(s, txn, FILE_BLOCK);
	return true;
}

bool log_step(struct state *s, int h, bool *done)
{
	int step = s->handle[h].step, txn = s->handle[h].txn;
	bool steps = has_op(OP_SETTLE);

	*done = step == 1 + steps;
	if (!*done)
		return steps ? touch_in_steps(s, h) : touch(s, h, FILE_BLOCK);
	say("(file data) ");
	/* It is in the index again. */
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[txn].comp & BIT(t))
			s->txn[t].part[FILE_BLOCK].bits &= ~PART_ENDED;
	s->folio |= BIT(h);
	if (s->store == S_DIRTY)
		s->store = S_LOGGED;
	change(s, h, FILE_BLOCK, s->folio);
	return true;
}

static void store_data(struct state *s)
{
	s->folio |= C_STORE;
	s->store = S_DIRTY;
}

/* A handle stores, as a truncation zeroes the rest of a block: ordered, or logged at once. */
bool order_step(struct state *s, int h, bool *done)
{
	if (!s->handle[h].step && !(on(F1_ZEROED) && is_indexed(s))) {
		*done = true;
		file_data(s, h);
		store_data(s);
		return true;
	}
	if (s->handle[h].step == 1)
		store_data(s);
	return log_step(s, h, done);
}

/* ---- a revoke of the block, which is to be written in place ---- */

/* Does the transaction revoke the block, which stays in use? */
bool settles(const struct state *s, int txn)
{
	return s->txn[txn].revokes & BIT(FILE_BLOCK) && has_op(OP_SETTLE);
}

/* The index lets go of the images that the revoke ends; it would need no others. */
void finish_settled(struct state *s, int txn)
{
	for (int t = 0; t < nr_txns(); t++)
		if (!on(F1_STAMP) || (s->txn[t].sealed && s->txn[t].stamp <= s->txn[txn].stamp))
			s->txn[t].part[FILE_BLOCK].bits |= PART_ENDED;
}

/*
 * Whether the log holds an image does not matter, as the tail may have passed it since
 * somebody looked. A block that has an owner is not revoked.
 */
bool settle_step(struct state *s, int h, bool *done)
{
	int txn = s->handle[h].txn, holder = holder_of(s, FILE_BLOCK);

	if (!s->handle[h].step) {
		say("looks for a revoke of b%d", FILE_BLOCK);
		revoke_touch(s, txn, FILE_BLOCK);
		return true;
	}
	*done = true;
	if (on(F1_UNOWNED) && newest_owner(s, FILE_BLOCK) >= 0) {
		say("does not revoke b%d, which has an owner", FILE_BLOCK);
		return true;
	}
	if (on(F1_NEWEST) && holder >= 0 && is_open(s, holder)) {
		say("looks again for a revoke of b%d", FILE_BLOCK);
		revoke_touch(s, txn, FILE_BLOCK);
		*done = false;
		return true;
	}
	say("revokes b%d, which stays in use", FILE_BLOCK);
	s->txn[txn].revokes |= BIT(FILE_BLOCK);
	if (!on(F1_COMMITTED))
		for (int t = 0; t < nr_txns(); t++)
			s->txn[t].part[FILE_BLOCK].bits |= PART_ENDED;
	return true;
}

/* ---- the application, write-back and the page cache ---- */

/* With ordered data it is the handle that allocates the block. */
bool move_store(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!cfg->file || has_op(OP_DATA) || s->store != S_NONE || !may_store(s))
		return false;
	store_data(s);
	say("the application stores to the file");
	return true;
}

/* An fsync that does not log the data, or write-back and a flush. */
bool move_in_place(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!cfg->file || s->store != S_DIRTY || (on(F1) && is_indexed(s)) ||
	    !may_store(s))
		return false;
	write_in_place(s);
	s->store = S_SYNCED;
	say("the file's data is written in place, and flushed");
	return true;
}

/* Write-back by somebody who waits for it finds the block in the log, and leaves it dirty. */
bool move_leave(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!cfg->file || s->left || s->store != S_DIRTY || !is_indexed(s) ||
	    !may_store(s))
		return false;
	s->left = 1;
	say("write-back leaves the file's data, whose block is in the log");
	return true;
}

/* Then it logs the block (LOG), or writes it if its image has gone home meanwhile. */
bool move_left(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (s->left != 1 || (s->store == S_DIRTY && is_indexed(s)) || !may_store(s))
		return false;
	s->left = 2;
	if (s->store == S_DIRTY && on(F1_LEFT))
		write_in_place(s);
	if (s->store == S_DIRTY)
		s->store = S_SYNCED;
	say("write-back is over");
	return true;
}

/* Dropping the folio changes nothing, unless the device has older contents. */
bool move_drop(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!cfg->file || s->store == S_DIRTY || s->store == S_WRITTEN ||
	    s->stale || !may_store(s))
		return false;
	if (on(F2) && newest_owner(s, FILE_BLOCK) >= 0)
		return false;
	if (!(s->folio & ~on_device(s)))
		return false;
	s->stale = 1;
	say("the folio is dropped, and read again from the device");
	return true;
}

/* ---- the commit's ordered write ---- */

void write_ordered(struct state *s)
{
	if (s->store == S_DIRTY && !(on(F1) && is_indexed(s)))
		s->store = S_WRITTEN;
}

void flush_ordered(struct state *s)
{
	if (s->store != S_WRITTEN)
		return;
	write_in_place(s);
	s->store = S_SYNCED;
}

/* ---- what must hold after a crash ---- */

const char *judge_file(const struct state *s, const u8 *out)
{
	bool there = !(out[FILE_BLOCK] & (C_DATA | C_TORN)) && out[FILE_BLOCK] & C_STORE;

	if (s->block[FILE_BLOCK].freer == NOBODY && s->store == S_SYNCED && !there)
		return "file data that was synced is lost";
	return NULL;
}
