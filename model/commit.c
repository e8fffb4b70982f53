// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commit: ordered data, record, flush, and when a component is committed (C1-C5, V1-V4).
 * In the journal: src/log/commit.c, src/log/log_lanes.c, src/txn/committed.c.
 */
#include "model.h"

/* A lane's thread writes one transaction after the other, unless it is pipelined. */
static bool its_turn(const struct state *s, int txn)
{
	if (!index_of(txn) || cfg->pipeline)
		return true;
	return s->txn[txn - 1].durable;
}

/* Writes the ordered data and drops the inode's entry. */
bool move_data(struct state *s, u8 t, u8 unused)
{
	struct txn *txn = &s->txn[t];

	(void)unused;
	if (txn->state != T_SEALED || txn->record != REC_NONE || !txn->entry ||
	    !its_turn(s, t))
		return false;
	for (int h = 0; h < cfg->handles; h++)
		if (s->handle[h].data == 1 && s->handle[h].data_txn == t)
			s->handle[h].data = 2;
	if (cfg->file)
		write_ordered(s);
	txn->entry = 0;
	txn->record = REC_DATA;
	say("%s: ordered data is written", tname(t));
	return true;
}

/* Before the record can be sent: for ordered data, and for what a revoke takes for home. */
bool move_preflush(struct state *s, u8 t, u8 unused)
{
	struct txn *txn = &s->txn[t];

	(void)unused;
	if (txn->state != T_SEALED || !its_turn(s, t) || txn->entry)
		return false;
	if (txn->record != REC_DATA && (txn->record != REC_NONE || !settles(s, t)))
		return false;
	if (settles(s, t))
		flush_homes(s);
	for (int h = 0; h < cfg->handles; h++)
		if (s->handle[h].data == 2)
			s->handle[h].data = 3;
	if (cfg->file)
		flush_ordered(s);
	txn->record = REC_FLUSHED;
	say("%s: the device is flushed", tname(t));
	return true;
}

static bool may_send(const struct state *s, int t)
{
	const struct txn *txn = &s->txn[t];

	if (txn->state != T_SEALED || !its_turn(s, t))
		return false;
	if (settles(s, t) && on(F1_FLUSH))
		return txn->record == REC_FLUSHED;
	if (txn->record == REC_DATA)
		return !on(ORDERED_FLUSH);
	return txn->record == REC_FLUSHED ||
	       (txn->record == REC_NONE && !txn->entry);
}

static void settle(struct state *s, int t, int block, bool live)
{
	struct part *part = &s->txn[t].part[block];

	if ((part->bits & PART_KIND) == PART_CLEAN)
		part->bits &= ~PART_KIND;
	if ((part->bits & PART_KIND) != PART_DIRTY || part->bits & PART_IMAGE)
		return;
	part->bits |= PART_IMAGE | (live ? PART_LIVE : 0);
	part->image = s->block[block].live;
}

/* Writes the header and the images. */
bool move_send(struct state *s, u8 t, u8 live)
{
	struct txn *txn = &s->txn[t];

	if ((live && !cfg->live) || !may_send(s, t))
		return false;
	for (int b = 0; b < cfg->blocks; b++)
		settle(s, t, b, live);
	txn->record = REC_SENT;
	if (!txn->stamp)
		txn->stamp = ++s->stamp;
	say("%s: the record is sent%s%s", tname(t), live ? " from the buffers themselves" : "",
	    on(STAMP_AT_SEAL) ? "" : ", stamped now");
	return true;
}

/* ---- commit ---- */

static bool members_durable(const struct state *s, int txn)
{
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[txn].comp & BIT(t) && !s->txn[t].durable)
			return false;
	return true;
}

static bool deps_committed(const struct state *s, int txn)
{
	for (int t = 0; t < nr_txns(); t++) {
		/* Without V4 the run time looks only at the record, but recovery stops at holes. */
		if (!on(HOLE) && lane_of(t) == lane_of(txn))
			continue;
		if (s->txn[txn].deps & BIT(t) && s->txn[t].state < T_COMMITTED)
			return false;
	}
	return true;
}

static bool becomes_committed(const struct state *s, int t)
{
	if (s->txn[t].state != T_SEALED || !s->txn[t].durable)
		return false;
	if (on(WHOLE_COMMITTED) && !members_durable(s, t))
		return false;
	return deps_committed(s, t);
}

static void set_committed(struct state *s, int mask)
{
	for (int t = 0; t < nr_txns(); t++)
		if (mask & BIT(t)) {
			s->txn[t].state = T_COMMITTED;
			say("; %s is committed", tname(t));
		}
	s->reported |= handles_of(s, mask);
}

/* There is room for another sealed component now; a locked one may have waited for it. */
static void leave_lanes(struct state *s, int mask)
{
	for (int t = 0; t < nr_txns(); t++) {
		int next = running_of(s, lane_of(t));

		if (mask & BIT(t) && next >= 0 && on(RETRY_SEAL) &&
		    s->txn[next].state == T_LOCKED)
			try_seal(s, next);
	}
}

/* Counts down what the component waits for, and passes the commit on to its dependants. */
static void arrive(struct state *s, int txn)
{
	int done = 0;

	for (int t = 0; t < nr_txns(); t++) {
		int mask = on(WHOLE_COMMITTED) ? s->txn[t].comp : (int)BIT(t);

		if (!becomes_committed(s, t) || (!on(PUSH) && t != txn))
			continue;
		set_committed(s, mask);
		done |= mask;
		t = -1;
	}
	leave_lanes(s, done);
}

static void commit(struct state *s, int t)
{
	struct txn *txn = &s->txn[t];

	txn->durable = 1;
	for (int b = 0; b < cfg->blocks; b++)
		txn->part[b].bits &= ~PART_LIVE;
	if (!on(WAIT_COMMITTED))
		s->reported |= handles_of(s, BIT(t));
	if (!on(CALLBACK_COMMITTED))
		call_back(s, handles_of(s, BIT(t)));
	arrive(s, t);
}

bool move_complete(struct state *s, u8 t, u8 unused)
{
	(void)unused;
	if (s->txn[t].record != REC_SENT)
		return false;
	say("%s: the record is %s", tname(t),
	    cfg->no_fua ? "in the device's cache" : "durable");
	s->txn[t].record = cfg->no_fua ? REC_CACHED : REC_DURABLE;
	if (!cfg->no_fua)
		commit(s, t);
	return true;
}

/* ---- flushes, shared by all lanes (C4) ---- */

bool move_flush(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (s->flush)
		return false;
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[t].record == REC_CACHED)
			s->flush_covers |= BIT(t);
	if (!s->flush_covers)
		return false;
	s->flush = 1;
	say("a flush is issued");
	return true;
}

bool move_flush_done(struct state *s, u8 unused, u8 unused2)
{
	int covers = s->flush_covers;

	(void)unused;
	(void)unused2;
	if (!s->flush)
		return false;
	s->flush = 0;
	s->flush_covers = 0;
	say("the flush ends");
	for (int t = 0; t < nr_txns(); t++) {
		struct txn *txn = &s->txn[t];

		if (txn->record != REC_CACHED)
			continue;
		if (covers & BIT(t))
			txn->record = REC_DURABLE;
		else if (on(OWN_FLUSH))
			continue;
		if (!txn->durable)
			commit(s, t);
	}
	return true;
}

/* ---- the two phases of becoming committed ---- */

static void finish_forgets(struct state *s, int t)
{
	for (int b = 0; b < cfg->blocks; b++)
		if ((s->txn[t].part[b].bits & PART_KIND) == PART_FORGET) {
			drop_parts(s, b, s->txn[t].sealed);
			s->txn[t].part[b].bits &= ~PART_KIND;
		}
}

static void finish_images(struct state *s, int t)
{
	for (int b = 0; b < cfg->blocks; b++)
		if ((s->txn[t].part[b].bits & PART_KIND) == PART_DIRTY) {
			drop_parts(s, b, s->txn[t].sealed);
			s->txn[t].part[b].bits |= PART_HOME;
		}
}

bool move_finish(struct state *s, u8 t, u8 unused)
{
	int mask = on(WHOLE_COMMITTED) ? s->txn[t].comp : (int)BIT(t);

	(void)unused;
	if (s->txn[t].state != T_COMMITTED || __builtin_ctz(mask) != t)
		return false;
	say("commit of %s is processed, callbacks run", tname(t));
	for (int m = 0; m < nr_txns(); m++)
		if (mask & BIT(m)) {
			finish_forgets(s, m);
			finish_images(s, m);
			if (settles(s, m))
				finish_settled(s, m);
			s->txn[m].state = T_FINISHED;
		}
	call_back(s, handles_of(s, mask));
	return true;
}
