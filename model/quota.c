// SPDX-License-Identifier: GPL-2.0-only
/*
 * One dquot with a limit (R12); block 0 has its entry of the quota file. One unit is in use
 * at first, and the limit is one unit, so a charge needs what another handle has given back.
 * In the file system: zext4/quota.c.
 */
#include "model.h"

#define LIMIT	1

static int in_use_now(const struct state *s)
{
	return 1 + __builtin_popcount(s->charged) - __builtin_popcount(s->given);
}

static void charge(struct state *s, int h)
{
	if (in_use_now(s) >= LIMIT) {
		say("is refused, the limit is reached");
		return;
	}
	say("charges the dquot");
	s->handle[h].after |= s->given;
	s->handle[h].writes |= BIT(0);
	s->charged |= BIT(h);
	s->dirty = 1;
}

static void give_back(struct state *s, int h)
{
	if (!in_use_now(s)) {
		say("has nothing to give back");
		return;
	}
	say("gives back what is charged to the dquot");
	s->handle[h].writes |= BIT(0);
	s->given |= BIT(h);
	s->dirty = 1;
}

/* The dquot is found by its id, so its claim is never lost. */
bool dquot_step(struct state *s, int h, bool charges)
{
	if (!s->handle[h].step) {
		say("claims the dquot");
		take_over(s, h, &s->dquot_claim);
		if (on(R12))
			tie_old(s, h);
		return true;
	}
	if (charges)
		charge(s, h);
	else
		give_back(s, h);
	return true;
}

/* Usage in core is written by whoever comes first, the changes of others included. */
bool entry_step(struct state *s, int h, bool *done)
{
	if (!s->handle[h].step) {
		*done = !s->dirty || !(s->handle[h].writes & BIT(0));
		if (*done) {
			say("has nothing to write to the quota file");
			return true;
		}
		if (!touch(s, h, 0))
			return false;
		s->dirty = 0;
		return true;
	}
	*done = true;
	say("(usage in core) ");
	change(s, h, 0, s->charged | s->given);
	return true;
}
