// SPDX-License-Identifier: GPL-2.0-only
/*
 * Components: unite, depend, lock, seal (R2, R3, N1, N5, N7).
 * In the journal: src/txn/component.c.
 */
#include "model.h"

/* One dependency for each lane: the newest implies the older ones (R7). */
static int newer_dep(int deps, int owner)
{
	int lane = lane_mask(lane_of(owner));

	if ((deps & lane) >= (int)BIT(owner))
		return deps;
	return (deps & ~lane) | BIT(owner);
}

static void set_comp(struct state *s, int mask, int deps)
{
	for (int t = 0; t < nr_txns(); t++)
		if (mask & BIT(t)) {
			s->txn[t].comp = mask;
			s->txn[t].deps = deps;
		}
}

void add_dep(struct state *s, int mask, int owner)
{
	int deps = s->txn[__builtin_ctz(mask)].deps;

	set_comp(s, mask, newer_dep(deps, owner));
}

static void lock_all(struct state *s, int mask)
{
	for (int t = 0; t < nr_txns(); t++)
		if (mask & BIT(t) && s->txn[t].state == T_RUNNING)
			s->txn[t].state = T_LOCKED;
}

/* R2. Returns false if the other one is sealed. */
bool unite(struct state *s, int txn, int other)
{
	struct txn *a = &s->txn[txn], *b = &s->txn[other];
	int mask = a->comp | b->comp, deps = a->deps;

	if (a->comp & BIT(other))
		return true;
	if (!is_open(s, other))
		return false;
	if (!on(R2) || (!on(UNITE_LOCKED) && b->state == T_LOCKED))
		return true;
	/* It is partly sealed: its members are fixed already. */
	if (!on(SEAL_ONCE) && b->held)
		return true;
	if (!on(TWO_WAY)) {
		add_dep(s, a->comp, other);
		return true;
	}
	for (int t = 0; t < nr_txns(); t++)
		if (b->deps & BIT(t))
			deps = newer_dep(deps, t);
	say("; R2: %s and %s are united", tname(txn), tname(other));
	set_comp(s, mask, deps);
	if ((a->state == T_LOCKED || b->state == T_LOCKED) && on(PASS_LOCK))
		lock_all(s, mask);
	return true;
}

/* R3, R4: depends on a sealed one. R7 implies this for the own lane. */
void depend(struct state *s, int txn, int owner)
{
	if (s->txn[owner].state != T_SEALED || lane_of(txn) == lane_of(owner))
		return;
	if (!on(R3))
		return;
	/* Dependencies may be added until the seal point. */
	if (!on(LIST_AT_SEAL) && s->txn[txn].state == T_LOCKED)
		return;
	say("; R3: %s depends on %s", tname(txn), tname(owner));
	add_dep(s, s->txn[txn].comp, owner);
}

/* For everything that is not a buffer. */
void tie(struct state *s, int txn, int other)
{
	if (txn == other || s->txn[other].state >= T_COMMITTED)
		return;
	if (!unite(s, txn, other))
		depend(s, txn, other);
}

/* ---- closing ---- */

static int sealed_of(const struct state *s, int lane)
{
	int n = 0;

	for (int t = lane * cfg->txns; t < (lane + 1) * cfg->txns; t++)
		n += s->txn[t].state == T_SEALED;
	return n;
}

static bool is_empty(const struct txn *txn)
{
	for (int b = 0; b < cfg->blocks; b++)
		if ((txn->part[b].bits & PART_KIND) == PART_DIRTY)
			return false;
	return !txn->revokes;
}

/* R7: depends on what the lane sealed last. */
static void depend_on_previous(struct state *s, int mask, int txn)
{
	if (!index_of(txn) || !on(R7))
		return;
	if (s->txn[txn - 1].state == T_SEALED)
		add_dep(s, mask, txn - 1);
}

/* A member without buffers is skipped, together with its dependencies. */
static bool skip_member(struct state *s, int txn)
{
	struct txn *t = &s->txn[txn];

	if (on(MEMBER_DEPS) || !is_empty(t) || t->comp == BIT(txn))
		return false;
	t->record = REC_SKIPPED;
	t->durable = 1;
	return true;
}

static void seal(struct state *s, int mask, int stamp)
{
	s->seals++;
	for (int t = 0; t < nr_txns(); t++) {
		struct txn *txn = &s->txn[t];

		if (!(mask & BIT(t)))
			continue;
		if (!skip_member(s, t))
			depend_on_previous(s, txn->comp, t);
		txn->state = T_SEALED;
		txn->sealed = s->seals;
		txn->try = 0;
		txn->held = 0;
		txn->stamp = on(STAMP_AT_SEAL) ? stamp : 0;
		say("; %s seals%s", tname(t), txn->record ? ", without a record" : "");
	}
	if (on(STAMP_AT_SEAL))
		say(" with stamp %d", stamp);
}

static bool drained(const struct state *s, int mask)
{
	for (int t = 0; t < nr_txns(); t++)
		if (mask & BIT(t) && (s->txn[t].state != T_LOCKED ||
				      updates_of(s, t) ||
				      sealed_of(s, lane_of(t)) >= cfg->sealed))
			return false;
	return true;
}

/* Seals each member as soon as its own handles have stopped. */
static void seal_singly(struct state *s, int mask)
{
	for (int t = 0; t < nr_txns(); t++)
		if (mask & BIT(t) && drained(s, BIT(t)))
			seal(s, BIT(t), ++s->stamp);
}

/* The seal point (N1): one step, unless a rule is left out. */
void try_seal(struct state *s, int txn)
{
	int mask = s->txn[txn].comp;

	if (!on(CLOSE_JOINTLY)) {
		seal_singly(s, mask);
		return;
	}
	if (!drained(s, mask))
		return;
	if (!on(SEAL_UNITES) || !on(SEAL_DRAINED)) {
		s->txn[txn].held = mask;
		say("; no handle is open");
	} else if (!on(SEAL_ONCE)) {
		for (int t = 0; t < nr_txns(); t++)
			if (mask & BIT(t))
				s->txn[t].held = s->stamp + 1;
		seal(s, BIT(txn), ++s->stamp);
	} else {
		seal(s, mask, ++s->stamp);
	}
}

/* The second half of a seal that is not one step. */
bool move_seal_held(struct state *s, u8 t, u8 unused)
{
	struct txn *txn = &s->txn[t];
	int held = txn->held, late;

	(void)unused;
	if (!held || txn->state != T_LOCKED)
		return false;
	txn->held = 0;
	say("%s", tname(t));
	if (!on(SEAL_ONCE)) {
		seal(s, BIT(t), held);
		return true;
	}
	late = txn->comp & ~held;
	if (!on(SEAL_DRAINED)) {
		/* Members are read again, the counts are not. */
		if (late)
			return true;
	} else if (!drained(s, held)) {
		return true;
	}
	if (late) {
		/* It joined after the members were read. */
		set_comp(s, late, s->txn[__builtin_ctz(late)].deps);
		set_comp(s, held, txn->deps);
	}
	seal(s, held, ++s->stamp);
	return true;
}

void request(struct state *s, int txn)
{
	if (s->txn[txn].state != T_RUNNING)
		return;
	lock_all(s, s->txn[txn].comp);
	try_seal(s, txn);
}

bool move_request(struct state *s, u8 t, u8 unused)
{
	(void)unused;
	if (s->txn[t].state != T_RUNNING)
		return false;
	say("a commit of %s is requested", tname(t));
	request(s, t);
	return true;
}

/* The task that stopped the last handle checks whether to seal. */
bool move_try(struct state *s, u8 t, u8 unused)
{
	(void)unused;
	if (!s->txn[t].try)
		return false;
	s->txn[t].try = 0;
	say("%s: the task that stopped its last handle checks whether to seal", tname(t));
	if (s->txn[t].state == T_LOCKED)
		try_seal(s, t);
	return true;
}
