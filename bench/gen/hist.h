/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histogram of latencies on a logarithmic scale: every power of two is divided into 64 buckets,
 * so that a value is known to 1.6 % whatever its size, and histograms of several workers can
 * be added up.
 */
#ifndef GEN_HIST_H
#define GEN_HIST_H

#include <stdint.h>

#define HIST_SUB	64
#define HIST_BUCKETS	(59 * HIST_SUB)

/**
 * struct hist - latencies that one worker has measured
 * @count:	how many
 * @sum:	of all of them, in nanoseconds
 * @longest:	the largest, exact
 * @bucket:	how many lie in each bucket
 *
 * Written by its worker only; read once that has ended.
 */
struct hist {
	uint64_t count;
	uint64_t sum;
	uint64_t longest;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *hist, uint64_t ns);
void hist_merge(struct hist *into, const struct hist *from);
uint64_t hist_lower(unsigned int bucket);
double hist_quantile(const struct hist *hist, double share);

#endif
