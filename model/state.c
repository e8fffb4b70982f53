// SPDX-License-Identifier: GPL-2.0-only
/* Small queries of a state, and the description of what a move did. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "model.h"

bool left_out[NR_RULES];
const struct config *cfg;
bool telling;
static char text[400];

bool all_on(void)
{
	for (int r = 0; r < NR_RULES; r++)
		if (left_out[r])
			return false;
	return true;
}

/* Old records are kept only in configurations in which a run continues after a crash. */
size_t state_size(void)
{
	return cfg->crash ? sizeof(struct state) :
			    offsetof(struct state, old_reclaimed);
}

int nr_txns(void)
{
	return cfg->lanes * cfg->txns;
}

int lane_of(int txn)
{
	return txn / cfg->txns;
}

int index_of(int txn)
{
	return txn % cfg->txns;
}

int lane_mask(int lane)
{
	return (BIT(cfg->txns) - 1) << (lane * cfg->txns);
}

bool is_open(const struct state *s, int txn)
{
	return s->txn[txn].state == T_RUNNING || s->txn[txn].state == T_LOCKED;
}

/* The lane's running or locked transaction; -1: none. */
int running_of(const struct state *s, int lane)
{
	for (int t = lane * cfg->txns; t < (lane + 1) * cfg->txns; t++)
		if (is_open(s, t))
			return t;
	return -1;
}

int updates_of(const struct state *s, int txn)
{
	int n = 0;

	for (int h = 0; h < cfg->handles; h++)
		n += s->handle[h].state == H_OPEN && s->handle[h].txn == txn;
	return n;
}

/* All handles that were started in a set of transactions. */
int handles_of(const struct state *s, int txns)
{
	int mask = 0;

	for (int h = 0; h < cfg->handles; h++)
		if ((s->handle[h].state == H_OPEN ||
		     s->handle[h].state == H_STOPPED) &&
		    txns & BIT(s->handle[h].txn))
			mask |= BIT(h);
	return mask;
}

/* Parts of a buffer are in the order of sealing; an open one is the newest. */
int newest_owner(const struct state *s, int block)
{
	int best = -1, at = 0;

	for (int t = 0; t < nr_txns(); t++) {
		int order = s->txn[t].sealed ?: 99;

		if ((s->txn[t].part[block].bits & PART_KIND) && order >= at) {
			best = t;
			at = order;
		}
	}
	return best;
}

/* Every move increases this, so no schedule is endless (see README.md). */
int progress_of(const struct state *s)
{
	int n = 2 * s->reclaiming + s->crashed * 1000000 + s->flush;

	for (int h = 0; h < cfg->handles; h++) {
		const struct handle *handle = &s->handle[h];

		n += 200 * (handle->state + 8 * __builtin_popcount(handle->done) +
			    (handle->op ? 1 + handle->step : 0));
	}
	for (int t = 0; t < nr_txns(); t++) {
		const struct txn *txn = &s->txn[t];

		n += 40 * (txn->state + txn->record + txn->durable) -
		     txn->try + !!txn->held;
		for (int b = 0; b < cfg->blocks; b++)
			n -= 2 * !!(txn->part[b].bits & PART_KIND);
	}
	for (int b = 0; b < cfg->blocks; b++)
		n += 4 * s->block[b].free + s->block[b].home_io;
	return n + 4 * s->fsync + s->store + s->stale + s->left;
}

void state_init(struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (int b = 0; b < cfg->blocks; b++) {
		s->block[b].cached = C_NONE;
		s->block[b].freer = NOBODY;
	}
}

/* ---- words ---- */

void say(const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list args;

	if (!telling)
		return;
	va_start(args, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, args);
	va_end(args);
}

/* What was said since the last call. */
const char *said(void)
{
	static char copy[sizeof(text)];

	memcpy(copy, text, sizeof(text));
	text[0] = 0;
	return copy;
}

const char *tname(int txn)
{
	static char name[8][8];
	static int next;
	char *buf = name[next++ & 7];

	snprintf(buf, 8, "T%d.%d", lane_of(txn), index_of(txn));
	return buf;
}
