// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjverify: which names a file or directory may have after the cut.
 *
 * All operations on one file dirty its inode, so what is found must be the set
 * of names after some operation: not before the last one known to be durable,
 * not after the last one begun.
 */
#include <stdlib.h>

#include "verify.h"

#define MAX_NAMES 4

/**
 * struct state - the names of a file after one operation
 * @fact: index of the operation
 * @n: number of names
 * @dir: their directories
 * @name: the numbers in them
 */
struct state {
	uint32_t fact;
	uint32_t n;
	uint32_t dir[MAX_NAMES];
	uint32_t name[MAX_NAMES];
};

/**
 * struct entity - a file or directory and its history
 * @type: 'f' or 'd'; 0: never made
 * @states: after each name operation, oldest first
 * @n: number of states
 * @durable: states known to be durable; 0: not even the creation
 */
struct entity {
	char type;
	struct state *states;
	uint32_t n;
	uint32_t durable;
};

static struct entity *ents;
static uint32_t nents;

static int has_name(const struct state *s, uint32_t dir, uint32_t name)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (s->dir[i] == dir && s->name[i] == name)
			return 1 + i;
	return 0;
}

static void drop_name(struct state *s, uint32_t dir, uint32_t name)
{
	int at = has_name(s, dir, name);

	if (!at)
		return;
	s->n--;
	s->dir[at - 1] = s->dir[s->n];
	s->name[at - 1] = s->name[s->n];
}

static void add_name(struct state *s, uint32_t dir, uint32_t name)
{
	s->dir[s->n] = dir;
	s->name[s->n++] = name;
}

static void step(struct entity *e, const struct fact *f, uint32_t index)
{
	struct state s = { 0 };

	if (e->n)
		s = e->states[e->n - 1];
	s.fact = index;
	if (f->op == F_RENAME || f->op == F_UNLINK || f->op == F_RMDIR)
		drop_name(&s, f->dir, f->name);
	if (f->op == F_RENAME)
		add_name(&s, f->dir2, f->name2);
	if (f->op == F_CREATE || f->op == F_LINK || f->op == F_MKDIR)
		add_name(&s, f->dir, f->name);
	if (f->op == F_CREATE || f->op == F_MKDIR)
		e->type = f->op == F_CREATE ? 'f' : 'd';
	e->states = realloc(e->states, (e->n + 1) * sizeof(s));
	if (!e->states)
		exit(2);
	e->states[e->n++] = s;
}

/* fsync of a directory: what was done in it, and its own names. */
static void dir_synced(const struct log *log, uint32_t dir)
{
	uint32_t i, j;

	for (i = FIRST_ID; i < nents; i++) {
		struct entity *e = &ents[i];

		for (j = e->n; j > e->durable; j--) {
			const struct fact *f = &log->facts[e->states[j - 1].fact];

			if (f->dir == dir || (f->op == F_RENAME && f->dir2 == dir) || i == dir)
				e->durable = j;
		}
	}
}

static void replay(const struct log *log)
{
	uint32_t i;

	for (i = 0; i < log->n; i++) {
		const struct fact *f = &log->facts[i];
		struct entity *e = &ents[f->id < nents ? f->id : 0];

		switch (f->op) {
		case F_CREATE: case F_LINK: case F_RENAME: case F_UNLINK:
		case F_MKDIR: case F_RMDIR:
			step(e, f, i);
			break;
		case F_FSYNC:
			if (is_done(f))
				e->durable = e->n;
			break;
		case F_FDSYNC:
			if (is_done(f) && e->n && !e->durable)
				e->durable = 1;
			break;
		case F_WRITE:
			if (is_done(f) && f->flags & FACT_SYNC && e->n && !e->durable)
				e->durable = 1;
			break;
		case F_DIRSYNC:
			if (is_done(f))
				dir_synced(log, f->id);
			break;
		}
	}
}

static int matches(const struct state *want, const struct state *have)
{
	uint32_t i;

	if (want->n != have->n)
		return 0;
	for (i = 0; i < have->n; i++)
		if (!has_name(want, have->dir[i], have->name[i]))
			return 0;
	return 1;
}

static void print_state(char *buf, size_t size, const struct state *s)
{
	size_t n = 0;
	uint32_t i;

	buf[0] = 0;
	for (i = 0; i < s->n && n < size; i++)
		n += snprintf(buf + n, size - n, " %u/%u", s->dir[i], s->name[i]);
}

static void check_entity(const struct log *log, uint32_t id, const struct state *have)
{
	struct entity *e = &ents[id];
	static const struct state none;
	const struct state *want = &none;
	char a[128], b[128];
	uint32_t j;

	if (!e->durable && !have->n)
		return;
	for (j = e->durable ? e->durable - 1 : 0; j < e->n; j++)
		if (matches(&e->states[j], have))
			return;
	if (e->durable)
		want = &e->states[e->durable - 1];
	print_state(a, sizeof(a), have);
	print_state(b, sizeof(b), want);
	bad("w%u %c%u: found at%s, but%s was durable (fact %d, %u of %u states)", log->worker,
	    e->type ? e->type : '?', id, have->n ? a : " no name", want->n ? b : " no name",
	    e->durable ? (int)want->fact : -1, e->durable, e->n);
}

/* A slot of F_REPLACE must exist once a directory fsync followed. */
static void check_slots(const struct log *log)
{
	uint32_t slot, i, j;

	for (slot = 0; slot < SLOTS; slot++) {
		int made = 0, durable = 0, there = 0;

		for (i = 0; i < log->n; i++) {
			const struct fact *f = &log->facts[i];

			if (f->op == F_REPLACE && f->id == slot)
				made |= is_done(f);
			if (f->op == F_DIRSYNC && f->id == slot % 2 && is_done(f))
				durable |= made;
		}
		for (j = 0; j < nfound; j++)
			there |= founds[j].type == 'r' && founds[j].worker == log->worker &&
				 founds[j].id == slot;
		if (durable && !there)
			bad("w%u: replaced file r%u is gone", log->worker, slot);
	}
}

void check_names(const struct log *log)
{
	struct state *have;
	uint32_t i;

	nents = FIRST_ID;
	for (i = 0; i < log->n; i++)
		if ((log->facts[i].op == F_CREATE || log->facts[i].op == F_MKDIR) &&
		    log->facts[i].id >= nents)
			nents = log->facts[i].id + 1;
	ents = must_alloc(nents * sizeof(*ents));
	have = must_alloc(nents * sizeof(*have));
	replay(log);
	for (i = 0; i < nfound; i++) {
		struct found *f = &founds[i];

		if (f->worker != log->worker || (f->type != 'f' && f->type != 'd'))
			continue;
		if (f->id < FIRST_ID || f->id >= nents || ents[f->id].type != f->type)
			bad("%s was never made before the cut", f->path);
		else if (have[f->id].n == MAX_NAMES)
			bad("%s: too many names", f->path);
		else
			add_name(&have[f->id], f->dir, f->name);
	}
	for (i = 0; i < nfound; i++) {
		struct found *f = &founds[i];

		if (f->worker == log->worker && f->type == 'f' && f->id < nents &&
		    have[f->id].n != f->nlink)
			bad("%s: link count %u, names %u", f->path, f->nlink, have[f->id].n);
	}
	for (i = FIRST_ID; i < nents; i++) {
		check_entity(log, i, &have[i]);
		free(ents[i].states);
	}
	check_slots(log);
	free(ents);
	free(have);
}
