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
#define TOP		40u

/**
 * struct site - a place in the code where time was lost
 */
struct site {
	const void	*pc;
	const char	*name;		/* of the lock; NULL: none is known */
	enum sim_what	what;
	s64		ps;
	u64		times;
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

void prof_add(enum sim_what what, const void *pc, const void *object, s64 ps)
{
	const char *name = what == WHAT_SLEEP || !object ? NULL : prof_name_of(object);
	u32 i = ((uintptr_t)pc ^ what) * 0x9e3779b97f4a7c15ULL >> 50;
	struct site *s;

	if (ps <= 0 || !pc || sim_current->cpu == SIM_SYSTEM)
		return;
	while (s = &sites[i % SITES], s->pc && (s->pc != pc || s->what != what ||
						s->name != name))
		i++;
	s->pc = pc;
	s->what = what;
	s->name = name;
	s->ps += ps;
	s->times++;
	totals[what] += ps;
}

void prof_reset(void)
{
	memset(sites, 0, sizeof(sites));
	memset(totals, 0, sizeof(totals));
}

static int by_time(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->ps < y->ps ? 1 : x->ps > y->ps ? -1 : 0;
}

void prof_print(s64 total)
{
	static const char *const what[] = { "line", "lock", "sleep" };

	qsort(sites, SITES, sizeof(*sites), by_time);
	for (u32 i = 0; i < NR_WHATS; i++)
		printf("\"%s_share\": %.4f, ", what[i], (double)totals[i] / total);
	printf("\"profile\": [");
	for (u32 i = 0; i < TOP && sites[i].ps; i++)
		printf("%s\n  {\"what\": \"%s\", \"pc\": \"%p\", \"name\": \"%s\", \"share\": %.5f, \"times\": %llu, \"mean_ns\": %.1f}",
		       i ? "," : "", what[sites[i].what], sites[i].pc, sites[i].name ?: "",
		       (double)sites[i].ps / total, (unsigned long long)sites[i].times,
		       sites[i].ps / (double)PS / sites[i].times);
	printf("]");
}
