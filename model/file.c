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

bool log_step(struct state *s, int h)
{
	if (!s->handle[h].step)
		return touch(s, h, FILE_BLOCK);
	say("(file data) ");
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
	*done = s->handle[h].step == 1;
	if (*done)
		store_data(s);
	return log_step(s, h);
}

/* ---- the application, write-back and the page cache ---- */

static bool has_ordered_data(void)
{
	for (int i = 0; i < cfg->nr_ops; i++)
		if (OP_KIND(cfg->ops[i]) == OP_DATA)
			return true;
	return false;
}

/* With ordered data it is the handle that allocates the block. */
bool move_store(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!cfg->file || has_ordered_data() || s->store != S_NONE || !may_store(s))
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
