// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breadth-first search over all reachable states. For each state that was seen only a
 * 64-bit fingerprint is kept, and the move that led to it. A schedule is reconstructed
 * by replaying its moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "model.h"

/* ---- moves ---- */

static struct {
	move_fn *fn;
	bool system;	/* needs no new handle or request */
} const moves[NR_MOVES] = {
	[M_START] = { move_start, false },
	[M_COUNT_UP] = { move_count_up, true },
	[M_OP] = { move_op, true },
	[M_STEP] = { move_step, true },
	[M_STOP] = { move_stop, true },
	[M_REQUEST] = { move_request, false },
	[M_TRY] = { move_try, true },
	[M_SEAL_HELD] = { move_seal_held, true },
	[M_DATA] = { move_data, true },
	[M_PREFLUSH] = { move_preflush, true },
	[M_SEND] = { move_send, true },
	[M_COMPLETE] = { move_complete, true },
	[M_FLUSH] = { move_flush, true },
	[M_FLUSH_DONE] = { move_flush_done, true },
	[M_FINISH] = { move_finish, true },
	[M_HOME] = { move_home, true },
	[M_HOME_DONE] = { move_home_done, true },
	[M_CKPT] = { move_ckpt, true },
	[M_CKPT_DONE] = { move_ckpt_done, true },
	[M_LANE_CKPT] = { move_lane_ckpt, true },
	[M_REUSE] = { move_reuse, false },
	[M_FSYNC] = { move_fsync, false },
	[M_FSYNC_DONE] = { move_fsync_done, true },
	[M_CRASH] = { move_crash, false },
	[M_STORE] = { move_store, false },
	[M_IN_PLACE] = { move_in_place, false },
	[M_DROP] = { move_drop, false },
	[M_LEAVE] = { move_leave, false },
	[M_LEFT] = { move_left, true },
};

u64 taken[NR_MOVES];

/* The number of values of each argument of a move. */
static int range_a(int kind)
{
	switch (kind) {
	case M_START: case M_COUNT_UP: case M_OP: case M_STEP: case M_STOP:
		return cfg->handles;
	case M_HOME: case M_HOME_DONE: case M_REUSE:
		return cfg->blocks;
	case M_FLUSH: case M_FLUSH_DONE: case M_CKPT: case M_CKPT_DONE:
	case M_FSYNC: case M_FSYNC_DONE:
	case M_STORE: case M_IN_PLACE: case M_DROP:
	case M_LEAVE: case M_LEFT:
		return 1;
	case M_CRASH:
		return cfg->crash ? 1 << nr_txns() : 0;
	default:
		return nr_txns();
	}
}

static int range_b(int kind)
{
	switch (kind) {
	case M_START:
		return cfg->lanes;
	case M_OP:
		return cfg->nr_ops;
	case M_SEND: case M_HOME_DONE: case M_CRASH:
		return 2;
	default:
		return 1;
	}
}

/* ---- what was seen ---- */

/**
 * struct origin - how a state was reached first
 */
struct origin {
	u32	parent;
	struct move move;
};

static u64 *seen;		/* fingerprints, 0: free */
static u64 seen_size, nr_seen;
static struct origin *origins;
static u64 origins_size;

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "zjmodel: out of memory; choose smaller bounds with --max-states\n");
		exit(2);
	}
	return p;
}

static u64 mix(u64 a, u64 b)
{
	__uint128_t m = (__uint128_t)(a ^ 0x9e3779b97f4a7c15) *
			(b ^ 0xd1b54a32d192ed03);

	return (u64)m ^ (u64)(m >> 64);
}

static u64 fingerprint(const void *data, size_t size)
{
	const u8 *p = data;
	u64 h = size, a, b;

	for (; size >= 16; size -= 16, p += 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = mix(a ^ h, b + 0x2545f4914f6cdd1d) ^ (h << 29 | h >> 35);
	}
	a = b = 0;
	memcpy(&a, p, size < 8 ? size : 8);
	if (size > 8)
		memcpy(&b, p + 8, size - 8);
	h = mix(mix(a ^ h, b + 0x2545f4914f6cdd1d), h);
	return h ?: 1;
}

static bool table_add(u64 *table, u64 size, u64 fp)
{
	u64 i = fp & (size - 1);

	while (table[i]) {
		if (table[i] == fp)
			return false;
		i = (i + 1) & (size - 1);
	}
	table[i] = fp;
	return true;
}

static void grow(void)
{
	u64 size = seen_size * 2, *table = must(calloc(size, sizeof(*table)));

	for (u64 i = 0; i < seen_size; i++)
		if (seen[i])
			table_add(table, size, seen[i]);
	free(seen);
	seen = table;
	seen_size = size;
}

/* Return: false if the state was seen before. */
static bool remember(const struct state *s, u32 parent, struct move move)
{
	if (nr_seen * 10 > seen_size * 7)
		grow();
	if (!table_add(seen, seen_size, fingerprint(s, state_size())))
		return false;
	if (nr_seen == origins_size) {
		origins_size *= 2;
		origins = must(realloc(origins, origins_size * sizeof(*origins)));
	}
	origins[nr_seen++] = (struct origin) { .parent = parent, .move = move };
	return true;
}

/* ---- one level after the other ---- */

/**
 * struct level - all states at one distance from the start
 */
struct level {
	u8	*states;
	u32	*ids;
	u64	nr, room;
};

static void level_add(struct level *level, const struct state *s, u32 id)
{
	if (level->nr == level->room) {
		level->room = level->room ? level->room * 2 : 1024;
		level->states = must(realloc(level->states,
					     level->room * state_size()));
		level->ids = must(realloc(level->ids,
					  level->room * sizeof(*level->ids)));
	}
	memcpy(level->states + level->nr * state_size(), s, state_size());
	level->ids[level->nr++] = id;
}

static void level_free(struct level *level)
{
	free(level->states);
	free(level->ids);
	*level = (struct level) { };
}

/* Disks that were judged already; an entry may be overwritten. */
#define JUDGED	(1u << 20)
static u64 judged[JUDGED];

static const char *check_power(const struct state *s)
{
	const char *bad;
	struct state key;
	u64 fp;

	crash_key(s, &key);
	fp = fingerprint(&key, state_size());
	if (judged[fp % JUDGED] == fp)
		return NULL;
	bad = check_crashes(s);
	judged[fp % JUDGED] = fp;
	return bad;
}

static const char *violation;
static u32 culprit;

/*
 * Progress: where only new handles or requests are possible, every requested commit must
 * be done; where no move is possible, the log must be empty.
 */
static const char *check_rest(const struct state *s, bool any, bool system)
{
	int states = 0;

	for (int t = 0; t < nr_txns(); t++)
		states |= BIT(s->txn[t].state);
	if (system)
		return NULL;
	if (states & BIT(T_LOCKED))
		return "a requested commit is never sealed";
	if (states & (BIT(T_SEALED) | BIT(T_COMMITTED)))
		return "a requested commit never becomes committed";
	if (!any && on(TAIL_GLOBAL) && states & BIT(T_FINISHED))
		return "a committed transaction is never reclaimed";
	return NULL;
}

static void arrive_at(const struct state *s, const struct state *from, u32 parent,
		      struct move move, struct level *next)
{
	const char *bad;

	if (!remember(s, parent, move))
		return;
	bad = check_step(s);
	if (!bad)
		bad = check_power(s);
	if (!bad && all_on() && progress_of(s) <= progress_of(from))
		bad = "a move that is no progress: schedules may be endless";
	if (bad) {
		violation = bad;
		culprit = nr_seen - 1;
		return;
	}
	level_add(next, s, nr_seen - 1);
}

static void expand(const struct state *s, u32 id, struct level *next)
{
	bool any = false, system = false;

	for (int kind = 0; kind < NR_MOVES; kind++)
		for (int a = 0; a < range_a(kind); a++)
			for (int b = 0; b < range_b(kind); b++) {
				struct state n;

				memcpy(&n, s, state_size());
				if (!moves[kind].fn(&n, a, b))
					continue;
				any = true;
				taken[kind]++;
				system |= moves[kind].system;
				arrive_at(&n, s, id, (struct move) { kind, a, b },
					  next);
				if (violation)
					return;
			}
	violation = check_rest(s, any, system);
	culprit = id;
}

static void search_init(void)
{
	free(seen);
	free(origins);
	seen_size = 1 << 16;
	origins_size = 1 << 14;
	nr_seen = 0;
	violation = NULL;
	memset(judged, 0, sizeof(judged));
	seen = must(calloc(seen_size, sizeof(*seen)));
	origins = must(malloc(origins_size * sizeof(*origins)));
}

static int steps_to(u32 id)
{
	int n = 0;

	for (; id; id = origins[id].parent)
		n++;
	return n;
}

/**
 * search() - explore cfg with the rules that are on
 * @res: what was found
 * @max_states: the search ends after so many states; 0: never
 */
void search(struct result *res, u64 max_states)
{
	struct level now = { }, next = { };
	clock_t start = clock();
	struct state s;

	search_init();
	state_init(&s);
	remember(&s, 0, (struct move) { });
	level_add(&now, &s, 0);
	*res = (struct result) { };
	for (; now.nr && !violation; res->depth++) {
		for (u64 i = 0; i < now.nr && !violation; i++) {
			memcpy(&s, now.states + i * state_size(), state_size());
			expand(&s, now.ids[i], &next);
			if (max_states && nr_seen > max_states && !violation)
				violation = "gave up: more states than allowed";
		}
		level_free(&now);
		now = next;
		next = (struct level) { };
	}
	level_free(&now);
	res->states = nr_seen;
	res->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	res->violation = violation;
	res->steps = violation ? steps_to(culprit) : 0;
}

/* ---- the schedule of the last violation ---- */

static void print_state(const struct state *s)
{
	static const char * const names[] = { "", "running", "locked", "sealed",
					      "committed", "finished", "reclaimed" };

	printf("      then:");
	for (int t = 0; t < nr_txns(); t++)
		if (s->txn[t].state)
			printf(" %s %s%s,", tname(t), names[s->txn[t].state],
			       s->txn[t].record >= REC_SENT &&
			       s->txn[t].record <= REC_CACHED ? " (record in flight)" : "");
	for (int b = 0; b < cfg->blocks; b++)
		printf(" b%d %#x home %#x%s", b, s->block[b].live,
		       s->block[b].home, b < cfg->blocks - 1 ? "," : "");
	printf("\n");
}

/**
 * print_schedule() - the moves that lead to the last search's violation
 */
void print_schedule(void)
{
	int n = steps_to(culprit), i = n;
	u32 *path = must(calloc(n + 1, sizeof(*path)));
	struct state s;

	for (u32 id = culprit; id; id = origins[id].parent)
		path[--i] = id;
	state_init(&s);
	telling = true;
	for (i = 0; i < n; i++) {
		struct move m = origins[path[i]].move;

		said();
		moves[m.kind].fn(&s, m.a, m.b);
		printf("  %3d. %s\n", i + 1, said());
	}
	telling = false;
	print_state(&s);
	free(path);
}
