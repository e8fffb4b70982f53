// SPDX-License-Identifier: GPL-2.0-only
/* Commits a second, and the memory of blocks that are in the log and not yet home. */
#include <stdio.h>
#include "core.h"

#define REGION		1024u	/* blocks of a thread */
#define LOGGED		4096u	/* blocks that are logged */
#define PER_HANDLE	16u

/**
 * struct client - a thread that syncs each of its handles
 */
struct client {
	struct thr_task	*task;
	u32		number;
	u64		syncs;
	s64		ns;
};

static struct fs fs;
static struct client client[MAX_THREADS];

static int sync_for_a_while(void *arg)
{
	struct client *c = arg;
	s64 begin = ktime_get(), end = begin + core.ms * 1000000LL;
	u32 base = c->number * REGION, at = 0;

	kl_cpu = c->number;
	for (; ktime_get() < end; c->syncs++) {
		fs_sync(&fs, fs_write(&fs, c->number, base + at, core.blocks));
		at = (at + core.blocks) % (REGION - core.blocks);
	}
	c->ns = ktime_get() - begin;
	return 0;
}

void commits_run(void)
{
	double syncs = 0, rate = 0;
	s64 cpu;

	fs_new(&fs, core.threads * REGION);
	cpu = process_ns();
	for (u32 i = 0; i < core.threads; i++) {
		client[i].number = i;
		client[i].task = thr_spawn(sync_for_a_while, &client[i], "client");
	}
	for (u32 i = 0; i < core.threads; i++) {
		thr_join(client[i].task);
		syncs += client[i].syncs;
		rate += client[i].syncs * 1e9 / client[i].ns;
	}
	cpu = process_ns() - cpu;
	printf("{\"syncs\": %.0f, \"per_s\": %.0f, \"cpu_us\": %.3f}\n", syncs, rate,
	       cpu / syncs / 1e3);
	fs_end(&fs);
}

/* Until what a commit frees later is freed: RCU, the journal's thread. */
static s64 settled(void)
{
	thr_sleep_ns(50000000);
	rcu_barrier();
	return mem_bytes();
}

void memory_run(void)
{
	s64 before, running, logged, home;
	tid_t tid = 0;

	fs_new(&fs, LOGGED);
	before = settled();
	for (u32 b = 0; b < LOGGED; b += PER_HANDLE)
		tid = fs_write(&fs, 0, b, PER_HANDLE);
	running = settled() - before;
	fs_sync(&fs, tid);
	logged = settled() - before;
	if (jbd2_journal_flush(fs.journal, 0))
		kl_fail("flush fails");
	home = settled() - before;
	/* What stays is no longer a logged block's: stock leaves its log's buffers in the cache. */
	printf("{\"blocks\": %u, \"running\": %.1f, \"logged\": %.1f, \"home\": %.1f}\n", LOGGED,
	       (double)running / LOGGED, (double)(logged - home) / LOGGED,
	       (double)home / LOGGED);
	fs_end(&fs);
}
