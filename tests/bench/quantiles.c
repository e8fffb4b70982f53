// SPDX-License-Identifier: GPL-2.0-only
/*
 * What bench/gen/hist.c makes of numbers: reads nanoseconds from stdin, in turn into three
 * histograms, merges these and prints count, sum, longest and the quantiles of argv.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hist.h"

int main(int argc, char **argv)
{
	static struct hist parts[3], all;
	unsigned long ns, n = 0;
	int i;

	while (scanf("%lu", &ns) == 1)
		hist_add(&parts[n++ % 3], ns);
	for (i = 0; i < 3; i++)
		hist_merge(&all, &parts[i]);
	printf("%lu %lu %lu", (unsigned long)all.count, (unsigned long)all.sum,
	       (unsigned long)all.longest);
	for (i = 1; i < argc; i++)
		printf(" %.3f", hist_quantile(&all, atof(argv[i])));
	putchar('\n');
	return 0;
}
