// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: which components are committed, which images win (D1-D4).
 * In the journal: src/recovery/scan.c, src/recovery/graph.c, src/recovery/replay.c.
 */
#include <string.h>
#include "model.h"

/**
 * struct found - a record as the scan sees it
 */
struct found {
	bool	there;		/* on the disk, whole, of this generation */
	bool	reclaimed;	/* the checkpoint stamp covers it */
	bool	committed;
	u8	stamp, comp, deps, revokes;
	const struct part *part;
};

static bool is_reclaimed(const struct txn *txn, int reclaimed)
{
	if (txn->stamp && txn->stamp <= reclaimed)
		return true;
	/* With a tail for each lane: what a lane has reclaimed was committed. */
	return !on(TAIL_GLOBAL) && txn->record == REC_GONE;
}

static struct found find(const struct state *s, const struct disk *disk, int t)
{
	const struct txn *txn = &s->txn[t];
	const struct leftover *old = &s->old[t];
	struct found f = { .stamp = txn->stamp, .comp = txn->comp,
			   .deps = txn->deps, .revokes = txn->revokes,
			   .part = txn->part };
	int reclaimed = disk->reclaimed;

	if (!on(TAIL_GENERATION) && s->crashed && s->old_reclaimed > reclaimed)
		reclaimed = s->old_reclaimed;
	f.reclaimed = is_reclaimed(txn, reclaimed);
	f.there = disk->records & BIT(t) && !txn->torn && !f.reclaimed;
	if (!on(REC_GENERATION) && s->crashed && !(disk->records & BIT(t)) &&
	    old->there) {
		/* It looks like a record of this generation. */
		f = (struct found) { .stamp = old->stamp, .comp = old->comp,
				     .deps = old->deps, .part = old->part };
		f.reclaimed = old->stamp <= reclaimed;
		f.there = !f.reclaimed;
	}
	if (disk->lanes_reset & BIT(lane_of(t)))
		f.there = false;
	return f;
}

/* A lane's scan ends at its first hole. */
static void scan(const struct state *s, const struct disk *disk,
		 struct found *f)
{
	for (int lane = 0; lane < cfg->lanes; lane++) {
		bool hole = false;

		for (int i = 0; i < cfg->txns; i++) {
			int t = lane * cfg->txns + i;

			f[t] = find(s, disk, t);
			f[t].there &= !hole;
			/* A member without blocks that is not counted is not a hole. */
			if (s->txn[t].record == REC_SKIPPED)
				f[t].there = true;
			hole |= !f[t].there && !f[t].reclaimed;
		}
	}
}

static bool is_whole(const struct found *f, int t)
{
	if (!f[t].there)
		return false;
	for (int m = 0; m < nr_txns() && on(MEMBER_COUNT); m++)
		if (f[t].comp & BIT(m) && !f[m].there && !f[m].reclaimed)
			return false;
	return true;
}

static bool deps_hold(const struct found *f, int t)
{
	for (int d = 0; d < nr_txns() && on(REC_DEPS); d++)
		if (f[t].deps & BIT(d) && !f[d].committed && !f[d].reclaimed)
			return false;
	return true;
}

/* Dependencies refer to older components, so as many rounds as there are transactions suffice. */
static void graph(struct found *f)
{
	for (int pass = 0; pass < nr_txns(); pass++)
		for (int t = 0; t < nr_txns(); t++)
			f[t].committed = is_whole(f, t) && deps_hold(f, t);
}

static int order_of(const struct found *f, int t)
{
	return on(REC_ORDER) ? f[t].stamp : t + 1;
}

/* The newest committed image that is not revoked; -1: none. */
static int choose(const struct found *f, int block)
{
	int best = -1, revoked = 0;

	for (int t = 0; t < nr_txns(); t++) {
		if (!f[t].committed)
			continue;
		if (f[t].revokes & BIT(block) && on(REC_REVOKES) &&
		    f[t].stamp > revoked)
			revoked = f[t].stamp;
		if (f[t].part[block].bits & PART_IMAGE &&
		    (best < 0 || order_of(f, t) > order_of(f, best)))
			best = t;
	}
	return best >= 0 && f[best].stamp > revoked ? best : -1;
}

/**
 * recover() - recover a disk
 * @out: contents of the home blocks afterwards
 *
 * Return: the blocks that were replayed.
 */
int recover(const struct state *s, const struct disk *disk, u8 *out)
{
	struct found f[MAX_TXNS];
	int replayed = 0;

	scan(s, disk, f);
	for (int t = 0; t < nr_txns(); t++)
		f[t].committed = false;
	graph(f);
	for (int b = 0; b < cfg->blocks; b++) {
		int t = choose(f, b);

		out[b] = t < 0 ? disk->home[b] : f[t].part[b].image;
		replayed |= t < 0 ? 0 : BIT(b);
	}
	return replayed;
}
