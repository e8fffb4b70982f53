// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjcuts: chooses where to cut the power.
 *
 *	zjcuts LOGDIR WORKERS LAST COUNT SEED
 *
 * Prints COUNT lines "CUT SEED".  Every second cut is right after something was
 * reported durable (the end of an fsync and the like), the others are anywhere
 * in 1..LAST.
 */
#include <stdlib.h>

#include "facts.h"

static uint64_t state;

static uint64_t rnd(uint64_t below)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (x ^ (x >> 31)) % below;
}

static int promises(const struct fact *f)
{
	return f->end && (f->op == F_FSYNC || f->op == F_FDSYNC || f->op == F_DIRSYNC ||
			  f->op == F_REPLACE || f->flags & FACT_SYNC);
}

int main(int argc, char **argv)
{
	uint64_t *ends = NULL, n = 0, last, i, count, at;
	int w, workers;

	if (argc != 6) {
		fprintf(stderr, "usage: zjcuts LOGDIR WORKERS LAST COUNT SEED\n");
		return 2;
	}
	workers = atoi(argv[2]);
	last = strtoull(argv[3], NULL, 0);
	count = strtoull(argv[4], NULL, 0);
	state = strtoull(argv[5], NULL, 0);
	for (w = 0; w < workers; w++) {
		char path[4096];
		struct fact f;
		FILE *in;

		snprintf(path, sizeof(path), "%s/w%d.log", argv[1], w);
		in = fopen(path, "r");
		while (in && fread(&f, sizeof(f), 1, in) == 1) {
			if (!promises(&f) || f.end > last)
				continue;
			if (n % 1024 == 0)
				ends = realloc(ends, (n + 1024) * sizeof(*ends));
			if (!ends)
				return 2;
			ends[n++] = f.end;
		}
		if (in)
			fclose(in);
	}
	if (!n || !last) {
		fprintf(stderr, "zjcuts: no finished fsync in %s: nothing to check\n", argv[1]);
		return 2;
	}
	for (i = 0; i < count; i++) {
		at = i % 2 ? ends[rnd(n)] : 1 + rnd(last);
		printf("%llu %llu\n", (unsigned long long)at,
		       (unsigned long long)(1 + rnd(1000000000)));
	}
	return 0;
}
