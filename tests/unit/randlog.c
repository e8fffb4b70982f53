// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include "randlog.h"

#define LANES	3
#define NR_SEGS	16
#define SEG	8

static void plan_chunk(struct randlog *l, u32 *rnd, struct rec *rec,
		       bool *used)
{
	u32 n = ml_rand(rnd) % 4, i;

	for (i = 0; i < n; i++) {
		u64 block = 1 + ml_rand(rnd) % (RL_HOME - 1);

		/* One image of a block per component. */
		if (used[block])
			break;
		used[block] = true;
		rec->img[i].block = block;
		rec->img[i].val = 1 + ml_rand(rnd) % 255;
	}
	n = ml_rand(rnd) % 4;
	for (i = 0; i < n; i++) {
		u64 block = RL_NOT_REVOKED + ml_rand(rnd) % (RL_HOME - RL_NOT_REVOKED);

		if (used[block])
			break;
		used[block] = true;
		rec->lines[i].block = block;
		rec->lines[i].lines = 1 << ml_rand(rnd) % RL_LINES | 1 << ml_rand(rnd) % RL_LINES;
		rec->lines[i].val = '!' + ml_rand(rnd) % ('~' - '!');
	}
	n = ml_rand(rnd) % 6;
	for (i = 0; n < 3 && i < n; i++)
		rec->revokes[i] = 1 + ml_rand(rnd) % (RL_NOT_REVOKED - 1);
	if (rec->stamp > 1) {
		n = ml_rand(rnd) % 3;
		for (i = 0; i < n; i++)
			rec->deps[i] = 1 + ml_rand(rnd) % (rec->stamp - 1);
	}
}

/* Every chunk of a lane's member names the stamp before it in that lane. */
static void add_predecessor(struct rec *rec, u64 last)
{
	u32 i = 0;

	while (rec->deps[i])
		i++;
	rec->deps[i] = last;
}

static void plan(struct randlog *l, u32 *rnd)
{
	u64 last[LANES] = { 0 };

	l->nr = 1 + ml_rand(rnd) % RL_COMPONENTS;
	for (u32 c = 0; c < l->nr; c++) {
		bool used[RL_HOME] = { false };
		u32 lanes = 1 + ml_rand(rnd) % ((1 << LANES) - 1), m = 0;

		for (u32 lane = 0; lane < LANES; lane++) {
			if (!(lanes & 1 << lane))
				continue;
			l->comp[c].nr_chunks[m] = 1 + ml_rand(rnd) % RL_CHUNKS;
			for (u32 k = 0; k < l->comp[c].nr_chunks[m]; k++) {
				struct rec *rec = &l->comp[c].rec[m][k];

				rec->stamp = c + 1;
				rec->lane = lane;
				rec->members = __builtin_popcount(lanes);
				rec->chunks = l->comp[c].nr_chunks[m];
				rec->index = k;
				plan_chunk(l, rnd, rec, used);
				add_predecessor(rec, last[lane]);
				l->comp[c].seen[m][k] = true;
			}
			last[lane] = c + 1;
			m++;
		}
		l->comp[c].nr_members = m;
	}
}

static bool fits(struct randlog *l, u32 seg, const struct rec *rec)
{
	u32 n = 1;

	while (rec->img[n - 1].val)
		n++;
	return l->d->next[seg] + n <= SEG;
}

/* Lane i writes segments i, i + LANES, ...; false if the log is full. */
static bool write_log(struct randlog *l)
{
	u32 seg[LANES];

	for (u32 i = 0; i < LANES; i++)
		seg[i] = i;
	for (u32 c = 0; c < l->nr; c++)
		for (u32 m = 0; m < l->comp[c].nr_members; m++)
			for (u32 k = 0; k < l->comp[c].nr_chunks[m]; k++) {
				const struct rec *rec = &l->comp[c].rec[m][k];
				u32 *s = &seg[rec->lane];

				if (!fits(l, *s, rec))
					*s += LANES;
				if (*s >= NR_SEGS)
					return false;
				l->comp[c].at[m][k] = ml_put(l->d, *s, rec);
			}
	return true;
}

/* A lost header hides what follows in its segment. */
static void hide_after(struct randlog *l, u32 at)
{
	u32 seg = (at - ZJ_LOG_FIRST) / SEG;

	for (u32 c = 0; c < l->nr; c++)
		for (u32 m = 0; m < l->comp[c].nr_members; m++)
			for (u32 k = 0; k < l->comp[c].nr_chunks[m]; k++) {
				u32 other = l->comp[c].at[m][k];

				if (other >= at &&
				    (other - ZJ_LOG_FIRST) / SEG == seg)
					l->comp[c].seen[m][k] = false;
			}
}

static void crash_chunk(struct randlog *l, u32 *rnd, u32 c, u32 m, u32 k)
{
	u32 at = l->comp[c].at[m][k];

	switch (ml_rand(rnd) % 16) {
	case 0:
		memset(ml_block(l->d, at), ml_rand(rnd), 1024);
		hide_after(l, at);
		break;
	case 1:
		if (!l->comp[c].rec[m][k].img[0].val)
			break;
		memset(ml_block(l->d, at + 1) + ZJ_SECTOR, 0, ZJ_SECTOR);
		l->comp[c].seen[m][k] = false;
		break;
	}
}

static bool chunk_counts(const struct randlog *l, u32 c, u32 m, u32 k)
{
	const u64 *deps = l->comp[c].rec[m][k].deps;

	for (u32 i = 0; deps[i]; i++)
		if (deps[i] > l->ckpt_stamp && !l->comp[deps[i] - 1].committed)
			return false;
	return l->comp[c].seen[m][k];
}

/* By the definition; dependencies go to lower stamps only. */
static void find_committed(struct randlog *l)
{
	for (u32 c = 0; c < l->nr; c++) {
		l->comp[c].committed = c >= l->ckpt_stamp;
		for (u32 m = 0; m < l->comp[c].nr_members; m++)
			for (u32 k = 0; k < l->comp[c].nr_chunks[m]; k++)
				if (!chunk_counts(l, c, m, k))
					l->comp[c].committed = false;
	}
}

struct randlog *rl_new(u32 seed, bool crash)
{
	struct randlog *l = calloc(1, sizeof(*l));
	u32 rnd = seed * 2654435761U + 1;

	assert_non_null(l);
	for (;;) {
		memset(l, 0, sizeof(*l));
		l->d = ml_new(NR_SEGS, SEG, RL_HOME);
		/* Of every chunk's dependencies at most one goes with a lane. */
		l->d->geo.nr_lanes = ZJ_MAX_LANES;
		ml_log_super(l->d);
		plan(l, &rnd);
		if (write_log(l))
			break;
		ml_free(l->d);
	}
	if (ml_rand(&rnd) % 3 == 0) {
		u64 seq = 1 + ml_rand(&rnd) % 9;

		l->ckpt_stamp = ml_rand(&rnd) % (l->nr + 1);
		ml_ckpt(l->d, seq, l->ckpt_stamp);
		if (ml_rand(&rnd) % 2)
			ml_ckpt(l->d, seq - 1, ml_rand(&rnd) % (l->ckpt_stamp + 1));
	}
	for (u32 c = 0; crash && c < l->nr; c++)
		for (u32 m = 0; m < l->comp[c].nr_members; m++)
			for (u32 k = 0; k < l->comp[c].nr_chunks[m]; k++)
				crash_chunk(l, &rnd, c, m, k);
	find_committed(l);
	return l;
}

void rl_free(struct randlog *l)
{
	ml_free(l->d);
	free(l);
}

static void put_lines(u8 *line, u64 lines, u8 val)
{
	for (u32 i = 0; i < RL_LINES; i++)
		if (lines >> i & 1)
			line[i] = val;
}

/* Lines over nothing are of a block that is home. */
u8 rl_expected(const struct randlog *l, u64 block, char *line)
{
	u8 val = 0;

	memset(line, ' ', RL_LINES);
	for (u32 c = l->ckpt_stamp; c < l->nr; c++) {
		bool revoked = false;

		if (!l->comp[c].committed)
			continue;
		for (u32 m = 0; m < l->comp[c].nr_members; m++)
			for (u32 k = 0; k < l->comp[c].nr_chunks[m]; k++) {
				const struct rec *rec = &l->comp[c].rec[m][k];

				for (u32 i = 0; rec->img[i].val; i++)
					if (rec->img[i].block == block) {
						val = rec->img[i].val;
						memset(line, ' ', RL_LINES);
					}
				for (u32 i = 0; rec->lines[i].val && val; i++)
					if (rec->lines[i].block == block)
						put_lines((u8 *)line, rec->lines[i].lines,
							  rec->lines[i].val);
				for (u32 i = 0; rec->revokes[i]; i++)
					revoked |= rec->revokes[i] == block;
			}
		if (revoked)
			val = 0;
	}
	return val;
}
