// SPDX-License-Identifier: GPL-2.0-only
/* Where time went, by the code that lost it: the driver turns addresses into source lines. */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include "sim.h"

#define SITES		(1u << 14)	/* powers of two */
#define NAMES		(1u << 20)
#define LOCKS		64u
#define TOP		80u

/**
 * struct site - a place in the code where time was lost
 */
struct site {
	const void	*pc;
	const char	*name;		/* of the lock; NULL: none is known */
	const char	*under;		/* lines: the last lock that was taken, which others wait for */
	enum sim_what	what;
	s64		ps;
	u64		times;
};

/**
 * struct lock - all locks of one name
 */
struct lock {
	const char	*name;
	u64		times;		/* taken */
	s64		held;		/* ps */
	s64		waited;
	s64		lines;		/* lost to cache lines while it was the last one taken */
};

/**
 * struct name - what a lock is called
 */
struct name {
	const void	*word;
	const char	*name;
};

static struct site sites[SITES];
static s64 totals[NR_WHATS];
static struct lock locks[LOCKS];
static struct name *names;

static struct name *name_at(const void *word)
{
	u32 i = ((uintptr_t)word >> 2) * 0x9e3779b97f4a7c15ULL >> 44;

	if (!names)
		names = calloc(NAMES, sizeof(*names));
	while (names[i % NAMES].word && names[i % NAMES].word != word)
		i++;
	return &names[i % NAMES];
}

void prof_name(const void *word, const char *name)
{
	*name_at(word) = (struct name){ word, name };
}

const char *prof_name_of(const void *word)
{
	return name_at(word)->name;
}

/* The last one is for all that there is no room for. */
static struct lock *lock_of(const void *word)
{
	const char *name = prof_name_of(word) ?: "wait queue or other";
	struct lock *l = locks;

	while (l->name && l->name != name && l < &locks[LOCKS - 1])
		l++;
	l->name = name;
	return l;
}

void prof_held(const void *word, s64 ps)
{
	struct lock *l = lock_of(word);

	if (sim_current->cpu == SIM_SYSTEM)
		return;
	l->times++;
	l->held += ps;
}

/* Time that the holder of a lock loses, others lose as well. */
static void note_lock(enum sim_what what, const void *word, s64 ps)
{
	const struct sim_task *t = sim_current;

	if (what == WHAT_LOCK)
		lock_of(word)->waited += ps;
	else if (what == WHAT_LINE && t->nr_held)
		lock_of(t->held[t->nr_held - 1].word)->lines += ps;
}

static const char *last_lock(void)
{
	const struct sim_task *t = sim_current;

	return t->nr_held ? prof_name_of(t->held[t->nr_held - 1].word) : NULL;
}

void prof_add(enum sim_what what, const void *pc, const void *object, s64 ps)
{
	const char *name = what == WHAT_SLEEP || !object ? NULL : prof_name_of(object);
	const char *under = what == WHAT_LINE ? last_lock() : NULL;
	u32 i = ((uintptr_t)pc ^ what) * 0x9e3779b97f4a7c15ULL >> 50;
	struct site *s;

	if (ps <= 0 || !pc || sim_current->cpu == SIM_SYSTEM)
		return;
	while (s = &sites[i % SITES], s->pc && (s->pc != pc || s->what != what ||
						s->name != name || s->under != under))
		i++;
	note_lock(what, object, ps);
	s->pc = pc;
	s->what = what;
	s->name = name;
	s->under = under;
	s->ps += ps;
	s->times++;
	totals[what] += ps;
}

void prof_reset(void)
{
	memset(sites, 0, sizeof(sites));
	memset(totals, 0, sizeof(totals));
	memset(locks, 0, sizeof(locks));
}

static int by_time(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->ps < y->ps ? 1 : x->ps > y->ps ? -1 : 0;
}

static int by_waiting(const void *a, const void *b)
{
	const struct lock *x = a, *y = b;

	return x->waited < y->waited ? 1 : x->waited > y->waited ? -1 : 0;
}

static void print_locks(s64 total)
{
	qsort(locks, LOCKS, sizeof(*locks), by_waiting);
	printf("\"locks\": [");
	for (u32 i = 0; i < LOCKS && locks[i].times; i++)
		printf("%s\n  {\"name\": \"%s\", \"times\": %llu, \"held_ns\": %.1f, \"lines_ns\": %.1f, \"waited_share\": %.5f}",
		       i ? "," : "", locks[i].name, (unsigned long long)locks[i].times,
		       locks[i].held / (double)PS / locks[i].times,
		       locks[i].lines / (double)PS / locks[i].times,
		       (double)locks[i].waited / total);
	printf("], ");
}

void prof_print(s64 total)
{
	static const char *const what[] = { "line", "lock", "sleep" };

	qsort(sites, SITES, sizeof(*sites), by_time);
	for (u32 i = 0; i < NR_WHATS; i++)
		printf("\"%s_share\": %.4f, ", what[i], (double)totals[i] / total);
	print_locks(total);
	printf("\"profile\": [");
	for (u32 i = 0; i < TOP && sites[i].ps; i++)
		printf("%s\n  {\"what\": \"%s\", \"pc\": \"%p\", \"name\": \"%s\", \"under\": \"%s\", \"share\": %.5f, \"times\": %llu, \"mean_ns\": %.1f}",
		       i ? "," : "", what[sites[i].what], sites[i].pc, sites[i].name ?: "",
		       sites[i].under ?: "",
		       (double)sites[i].ps / total, (unsigned long long)sites[i].times,
		       sites[i].ps / (double)PS / sites[i].times);
	printf("]");
}
