// SPDX-License-Identifier: GPL-2.0-only
/*
 * Progress: a requested commit is done within a bounded time, no matter what other tasks
 * do.  A commit is requested by a sync, or when the transaction is as old as the commit
 * interval.
 *
 * The bound is stated in I/O times (of the slowest request that the disk may
 * serve), as everything else takes next to no time here.  A request that comes at the
 * worst moment waits until what its lanes have sealed before is committed, for the open
 * handles of its component, which may be reading or waiting for a home write, and for
 * its own commit: ordered data, flush, log, flush, where a flush may have to wait for
 * the one in flight.  Twenty I/O times are the most that was seen, with 2 lanes as
 * with 64; a chain of commits that never is committed has no
 * bound at all.
 */
#include <stdlib.h>
#include "work.h"

#define MAX_IO_TIMES	32
#define LOOSE_BOUND	2000000000LL	/* ns; where handles pause and I/O may be slow */
#define MAX_TIDS	65536

static s64 *asked;	/* by tid: when; 0: never or committed */
static u32 highest;	/* tid so far */
static s64 slowest;

void progress_begin(void)
{
	if (!asked)
		asked = calloc(MAX_TIDS, sizeof(*asked));
	memset(asked, 0, (highest + 1) * sizeof(*asked));
	highest = 0;
}

s64 progress_bound(void)
{
	return world->disk->io_ns * MAX_IO_TIMES ?: LOOSE_BOUND;
}

s64 progress_slowest(void)
{
	return slowest;
}

static void note(tid_t tid, s64 when)
{
	if (tid >= MAX_TIDS)
		return;
	highest = max(highest, tid);
	if (!asked[tid] || when < asked[tid])
		asked[tid] = when;
}

void progress_opened(tid_t tid)
{
	if (tid < MAX_TIDS && !asked[tid])
		note(tid, sim_now + (READ_ONCE(world->journal->j_commit_interval)
				     + 1) * NSEC_PER_JIFFY);
}

void progress_asked(tid_t tid)
{
	/* A committed transaction is not waited for any more. */
	if (tid && tid < MAX_TIDS && asked[tid])
		note(tid, sim_now);
}

static void check(u32 tid)
{
	s64 took = sim_now - asked[tid];

	slowest = max(slowest, took);
	if (took > progress_bound())
		kl_fail("transaction %u is not committed %lld us after it was asked for; bound: %lld us",
			tid, took / 1000, progress_bound() / 1000);
}

void progress_committed(tid_t tid)
{
	if (tid >= MAX_TIDS || !asked[tid])
		return;
	check(tid);
	asked[tid] = 0;
}

void progress_check(void)
{
	for (u32 tid = 1; tid <= highest; tid++)
		if (asked[tid])
			check(tid);
}
