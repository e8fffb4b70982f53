// SPDX-License-Identifier: GPL-2.0-only
/* Histogram of latencies on a logarithmic scale; see hist.h. */
#include "hist.h"

/* The highest bit gives the power of two, the 6 bits below it the bucket in that. */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < HIST_SUB)
		return ns;
	shift = 63 - __builtin_clzll(ns) - 6;
	return shift * HIST_SUB + (ns >> shift);
}

/**
 * hist_add() - count one latency
 * @hist: the worker's histogram
 * @ns: the latency in nanoseconds
 */
void hist_add(struct hist *hist, uint64_t ns)
{
	hist->count++;
	hist->sum += ns;
	if (ns > hist->longest)
		hist->longest = ns;
	hist->bucket[bucket_of(ns)]++;
}

/**
 * hist_merge() - add a worker's histogram to that of all workers
 * @into: what the sums go to
 * @from: the worker's
 */
void hist_merge(struct hist *into, const struct hist *from)
{
	unsigned int i;

	into->count += from->count;
	into->sum += from->sum;
	if (from->longest > into->longest)
		into->longest = from->longest;
	for (i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

/**
 * hist_lower() - the smallest value of a bucket
 * @bucket: number of the bucket
 *
 * Return: nanoseconds.
 */
uint64_t hist_lower(unsigned int bucket)
{
	unsigned int shift = bucket / HIST_SUB;

	if (!shift)
		return bucket;
	return (uint64_t)(HIST_SUB + bucket % HIST_SUB) << (shift - 1);
}

/**
 * hist_quantile() - the latency that a share of all does not exceed
 * @hist: the histogram
 * @share: between 0 and 1; 0.99 asks for the 99th percentile
 *
 * The middle of the bucket stands for all its values, so the error is 0.8 % at most.
 *
 * Return: nanoseconds, 0 of an empty histogram.
 */
double hist_quantile(const struct hist *hist, double share)
{
	double rank = share * hist->count, middle;
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += hist->bucket[i];
		if (!seen || seen < rank)
			continue;
		middle = (hist_lower(i) + hist_lower(i + 1) - 1) / 2.0;
		return middle < hist->longest ? middle : hist->longest;
	}
	return hist->longest;
}
