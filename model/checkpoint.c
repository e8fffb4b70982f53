// SPDX-License-Identifier: GPL-2.0-only
/*
 * Home writes and the tail (H1-H4).
 * In the journal: src/checkpoint/, zj_part_retire() in src/txn/part.c.
 */
#include "model.h"

/* Removes the parts of a block that were sealed before number @below. */
void drop_parts(struct state *s, int block, int below)
{
	for (int t = 0; t < nr_txns(); t++) {
		struct txn *txn = &s->txn[t];

		if (txn->sealed && txn->sealed < below)
			txn->part[block].bits &= ~(PART_KIND | PART_HOME);
	}
}

static bool home_part(const struct state *s, int t, int block)
{
	int bits = s->txn[t].part[block].bits;

	return bits & PART_HOME && bits & PART_KIND;
}

/* The buffer is dirty for write-back only while its newest owner is committed (J1). */
static bool is_dirty(const struct state *s, int block)
{
	int owner = newest_owner(s, block);

	if (owner >= 0 && home_part(s, owner, block))
		return true;
	if (on(LIVE_HOME))
		return false;
	for (int t = 0; t < nr_txns(); t++)
		if (home_part(s, t, block))
			return true;
	return false;
}

bool move_home(struct state *s, u8 block, u8 unused)
{
	(void)unused;
	if (s->block[block].home_io || !is_dirty(s, block))
		return false;
	s->block[block].home_io = 1;
	say("b%d is written home from its buffer", block);
	return true;
}

/* @evicted: the device has made durable the contents that it had cached before. */
bool move_home_done(struct state *s, u8 block, u8 evicted)
{
	struct block *b = &s->block[block];
	int owner = newest_owner(s, block);

	if (!b->home_io || (evicted && b->cached == C_NONE))
		return false;
	if (evicted)
		b->home = b->cached;
	b->home_io = 0;
	b->cached = b->live;
	say("the home write of b%d ends, in the device's cache", block);
	if (owner < 0 || home_part(s, owner, block)) {
		drop_parts(s, block, 99);
		return true;
	}
	/* The block counts as home although the buffer has another owner now. */
	if (!on(LIVE_HOME) || !on(HOME_IO))
		for (int t = 0; t < nr_txns(); t++)
			if (home_part(s, t, block))
				s->txn[t].part[block].bits &= ~PART_KIND;
	return true;
}

/* ---- the tail ---- */

static bool is_home(const struct state *s, int t)
{
	if (s->txn[t].state != T_FINISHED)
		return false;
	for (int b = 0; b < cfg->blocks; b++)
		if (s->txn[t].part[b].bits & PART_KIND)
			return false;
	return true;
}

/* The highest stamp up to which everything is home; 0: none. */
static int next_ckpt(const struct state *s)
{
	int best = 0;

	for (int stamp = s->reclaimed + 1; stamp <= s->stamp; stamp++) {
		bool home = true;

		for (int t = 0; t < nr_txns(); t++)
			if (s->txn[t].stamp == stamp && !is_home(s, t))
				home = false;
		if (home)
			best = stamp;
		else if (on(TAIL_ORDER))
			break;
	}
	return best;
}

static void reuse_log(struct state *s, int stamp)
{
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[t].stamp && s->txn[t].stamp <= stamp &&
		    s->txn[t].state == T_FINISHED)
			s->txn[t].record = REC_GONE;
}

/* What has gone home becomes durable. */
void flush_homes(struct state *s)
{
	for (int b = 0; b < cfg->blocks; b++)
		if (s->block[b].cached != C_NONE) {
			s->block[b].home = s->block[b].cached;
			s->block[b].cached = C_NONE;
		}
}

/* The checkpoint stamp is written after a flush of the home writes. */
bool move_ckpt(struct state *s, u8 unused, u8 unused2)
{
	int stamp = next_ckpt(s);

	(void)unused;
	(void)unused2;
	if (s->reclaiming || stamp <= s->reclaimed || !on(TAIL_GLOBAL))
		return false;
	if (on(TAIL_FLUSH))
		flush_homes(s);
	s->reclaiming = stamp;
	say("home writes are flushed, checkpoint stamp %d is being written", stamp);
	if (!on(REUSE_LATE)) {
		say("; the log space is reused");
		reuse_log(s, stamp);
	}
	return true;
}

/* Forgets reclaimed transactions, so that states with different histories become one. */
static void bury(struct state *s, int t)
{
	struct txn *txn = &s->txn[t];

	*txn = (struct txn) {
		.state = T_RECLAIMED, .comp = BIT(t), .stamp = txn->stamp,
		.sealed = txn->sealed, .record = REC_GONE, .durable = 1,
	};
}

bool move_ckpt_done(struct state *s, u8 unused, u8 unused2)
{
	(void)unused;
	(void)unused2;
	if (!s->reclaiming)
		return false;
	s->reclaimed = s->reclaiming;
	s->reclaiming = 0;
	say("checkpoint stamp %d is durable, the log space is reused", s->reclaimed);
	reuse_log(s, s->reclaimed);
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[t].state == T_FINISHED &&
		    s->txn[t].stamp <= s->reclaimed)
			bury(s, t);
	return true;
}

/* Lane by lane, as in Z-Journal's paper: a lane's oldest transaction, when it is home. */
bool move_lane_ckpt(struct state *s, u8 t, u8 unused)
{
	(void)unused;
	if (on(TAIL_GLOBAL) || !is_home(s, t) || s->txn[t].record == REC_GONE)
		return false;
	if (index_of(t) && s->txn[t - 1].record != REC_GONE)
		return false;
	flush_homes(s);
	s->txn[t].record = REC_GONE;
	s->txn[t].state = T_RECLAIMED;
	say("lane %d reclaims %s", lane_of(t), tname(t));
	return true;
}
