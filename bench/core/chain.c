// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions of which each depends on the one before, all in the log but the first:
 * what it takes until the last one is committed, once the first one's write is done.
 */
#include <stdio.h>
#include "core.h"

static struct fs fs;

#define WARM_UP		3u	/* chains that are not counted */
#define MAX_CHAINS	1000u

static u64 arrivals(void)
{
	struct zj_comp_stats sum;

	zj_comp_stats(to_zj(fs.journal), &sum);
	return sum.arrivals;
}

static tid_t write_link(u32 i)
{
	/* The transaction before has written block i - 1. */
	tid_t tid = fs_write(&fs, i, i ? i - 1 : 0, i ? 2 : 1);

	jbd2_journal_start_commit(fs.journal, NULL);
	return tid;
}

/* Returns the ns of one chain, and adds the steps that were counted meanwhile. */
static s64 one_chain(u64 *steps)
{
	u64 before, logged;
	tid_t last;
	s64 begin;

	/* Nothing but the chain is written from here on, neither home nor to a super block. */
	if (jbd2_journal_flush(fs.journal, 0))
		kl_fail("flush fails");
	fs_sync(&fs, fs_write(&fs, 0, core.length, 1));
	before = arrivals();
	__atomic_store_n(&fs.disk->hold, true, __ATOMIC_RELAXED);
	last = write_link(0);
	while (!__atomic_load_n(&fs.disk->held, __ATOMIC_ACQUIRE))
		thr_sleep_ns(20000);
	for (u32 i = 1; i < core.length; i++)
		last = write_link(i);
	while (logged = arrivals(), logged - before < core.length - 1)
		thr_sleep_ns(20000);
	begin = ktime_get();
	mem_disk_release(fs.disk);
	if (jbd2_log_wait_commit(fs.journal, last))
		kl_fail("the last transaction is not committed");
	begin = ktime_get() - begin;
	*steps += arrivals() - logged;
	return begin;
}

void chain_run(void)
{
	s64 end, ns, least = LLONG_MAX, all = 0;
	u64 steps = 0;
	u32 n = 0;

	core.lanes = core.length;
	core.copy = true;
	fs_new(&fs, core.length + 1);
	if (to_zj(fs.journal)->nr_lanes < core.length)
		kl_fail("this log has room for %u lanes only", to_zj(fs.journal)->nr_lanes);
	for (u32 i = 0; i < WARM_UP; i++)
		one_chain(&steps);
	steps = 0;
	end = ktime_get() + core.ms * 1000000LL;
	for (; n < MAX_CHAINS && (!n || ktime_get() < end); n++) {
		ns = one_chain(&steps);
		least = min(least, ns);
		all += ns;
	}
	printf("{\"length\": %u, \"chains\": %u, \"steps\": %.2f, \"mean_us\": %.2f, \"least_us\": %.2f}\n",
	       core.length, n, (double)steps / n, all / 1e3 / n, least / 1e3);
	fs_end(&fs);
}
