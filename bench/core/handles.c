// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a handle costs: start, write access and dirty for some blocks, stop.  Nothing is
 * committed while it is measured.
 *
 * Blocks are in the running transaction already, as those of a busy directory or bitmap,
 * or (--first) each is new to it and to the journal; then everything is checkpointed
 * after each burst.  A thread of its own does that, as in the kernel.  If the first worker did,
 * what a checkpoint uses of a block would be in that worker's cache: with one worker of all
 * blocks, with 16 of one block in 16.
 *
 * The machine may do other work as well.  So threads work in bursts, which they begin
 * together, and only those bursts count in which no thread has lost its CPU.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "core.h"

#define REGION		64u	/* blocks of a thread that are written again and again */
#define ROUND		512u	/* blocks of a thread that are written once; the TLB has room for them */
/*
 * From the first block of a thread to that of the next one. With regions side by side
 * the CPU's prefetcher runs from one into the next, and takes lines that the next thread
 * writes; that cost 20 % of a handle.
 */
#define APART		ROUND
#define BURST		4096u	/* handles of a burst, with blocks that are written again */
#define MAX_BURSTS	20000u
#define SPINS		20000u	/* looks at the others before the CPU is given away */

/**
 * struct burst - what a thread did in one; times of the clock, ns
 */
struct burst {
	s64	begin, end;
	s64	cpu_ns;		/* CPU time between */
	u64	ticks[4];	/* start, access, dirty, stop; --phases */
};

/**
 * struct worker - a thread that does handles
 */
struct worker {
	struct thr_task	*task;
	u32		number;
	struct burst	*burst;		/* all that it has done */
};

static struct fs fs;
static struct worker worker[MAX_THREADS];
static u32 nr_bursts;		/* thread 0's, between two meetings */
static u32 handles;		/* of a burst and thread */
static bool over;		/* thread 0's, between two meetings */
static u32 arrived;		/* at meetings so far; atomic */
static sem_t wanted, home;	/* a checkpoint */

static inline handle_t *begin(void)
{
	return jbd2__journal_start(fs.journal, core.blocks, 0, 0, GFP_NOFS, 0, 0);
}

/* Not the same place of each block: all of these would compete for one set of the cache. */
static inline u32 *place_in(const struct buffer_head *bh)
{
	return (u32 *)(bh->b_data + bh->b_blocknr * 64 % CORE_BLOCK);
}

static inline void change(handle_t *handle, struct buffer_head *bh)
{
	if (jbd2_journal_get_write_access(handle, bh))
		kl_fail("no access");
	++*place_in(bh);
	if (jbd2_journal_dirty_metadata(handle, bh))
		kl_fail("the block is not taken");
}

static void one(struct buffer_head **bh)
{
	handle_t *handle = begin();

	for (u32 i = 0; i < core.blocks; i++)
		change(handle, bh[i]);
	jbd2_journal_stop(handle);
}

/* The same, step by step over all blocks; reading the counter is in each figure. */
static void one_by_phases(struct buffer_head **bh, u64 *ticks)
{
	u64 t[5];
	handle_t *handle;

	t[0] = __builtin_ia32_rdtsc();
	handle = begin();
	t[1] = __builtin_ia32_rdtsc();
	for (u32 i = 0; i < core.blocks; i++)
		jbd2_journal_get_write_access(handle, bh[i]);
	t[2] = __builtin_ia32_rdtsc();
	for (u32 i = 0; i < core.blocks; i++)
		jbd2_journal_dirty_metadata(handle, bh[i]);
	t[3] = __builtin_ia32_rdtsc();
	jbd2_journal_stop(handle);
	t[4] = __builtin_ia32_rdtsc();
	for (u32 i = 0; i < 4; i++)
		ticks[i] += t[i + 1] - t[i];
}

/* All threads begin at the same time if all have a CPU. */
static void meet(u32 *meetings)
{
	u32 all = ++*meetings * core.threads;

	__atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
	for (u32 i = 1; (s32)(__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) - all) < 0; i++)
		if (i % SPINS)
			__builtin_ia32_pause();
		else
			sched_yield();
}

static void do_burst(struct worker *w, struct burst *b)
{
	u32 of_thread = core.first ? ROUND : REGION;
	u32 base = core.shared ? 0 : w->number * APART, at = 0;

	b->cpu_ns = thread_ns();
	b->begin = ktime_get();
	for (u32 i = 0; i < handles; i++) {
		if (core.phases)
			one_by_phases(&fs.bh[base + at], b->ticks);
		else
			one(&fs.bh[base + at]);
		at += core.blocks;
		if (at + core.blocks > of_thread)
			at = 0;
	}
	b->end = ktime_get();
	b->cpu_ns = thread_ns() - b->cpu_ns;
}

static void bring_home(void)
{
	if (!core.first)
		return;
	sem_post(&wanted);
	sem_wait(&home);
}

static void between_bursts(s64 end)
{
	bring_home();
	nr_bursts++;
	over = nr_bursts == MAX_BURSTS || ktime_get() >= end;
}

/* So that threads that spin for each other never share a CPU. */
static void keep_to_cpu(u32 cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Far from the first worker, which may have that CPU to itself; or on its CPU, to show what it is
 * worth to have there what a checkpoint has used.
 */
static int checkpoint(void *arg)
{
	keep_to_cpu(core.near ? 0 : sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (;;) {
		sem_wait(&wanted);
		if (over)
			return 0;
		if (jbd2_journal_flush(fs.journal, 0))
			kl_fail("flush fails");
		sem_post(&home);
	}
}

static int work(void *arg)
{
	struct worker *w = arg;
	struct burst warm_up = {};
	s64 end = ktime_get() + core.ms * 1000000LL;
	u32 meetings = 0;

	kl_cpu = w->number;
	keep_to_cpu(w->number);
	do_burst(w, &warm_up);
	meet(&meetings);
	if (!w->number)
		bring_home();
	do {
		meet(&meetings);
		do_burst(w, &w->burst[nr_bursts]);
		meet(&meetings);
		if (!w->number)
			between_bursts(end);
		meet(&meetings);
	} while (!over);
	return 0;
}

/* ---- report ---- */

static double ns_per_tick(void)
{
	s64 begin = ktime_get();
	u64 ticks = __builtin_ia32_rdtsc();

	while (ktime_get() - begin < 10000000)
		;
	ticks = __builtin_ia32_rdtsc() - ticks;
	return (double)(ktime_get() - begin) / ticks;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, u32 nr)
{
	qsort(values, nr, sizeof(*values), by_size);
	return nr ? values[nr / 2] : 0;
}

/*
 * Whether all threads worked at once, each with a CPU all the time but for 5 %. Then
 * @rate is the number of handles a ns of all.
 */
static bool counts(u32 i, double *rate)
{
	s64 late = 0, least = LLONG_MAX, first = worker[0].burst[i].begin;

	*rate = 0;
	for (u32 t = 0; t < core.threads; t++) {
		const struct burst *b = &worker[t].burst[i];
		s64 ns = b->end - b->begin;

		if (b->cpu_ns * 100 < ns * 95)
			return false;
		late = max(late, b->begin > first ? b->begin - first : first - b->begin);
		least = min(least, ns);
		*rate += (double)handles / ns;
	}
	return late * 20 < least;
}

static void report_phases(void)
{
	static const char *const phase[] = { "start", "access", "dirty", "stop" };
	double *ticks = calloc(nr_bursts, sizeof(*ticks)), unit = ns_per_tick(), rate;

	for (u32 p = 0; p < 4; p++) {
		u32 nr = 0;

		for (u32 i = 0; i < nr_bursts; i++)
			if (counts(i, &rate))
				ticks[nr++] = worker[0].burst[i].ticks[p] * unit / handles;
		printf(", \"%s\": %.2f", phase[p], median(ticks, nr));
	}
	free(ticks);
}

static void report(void)
{
	double *rates = calloc(nr_bursts, sizeof(*rates)), *cpu = calloc(nr_bursts, sizeof(*cpu));
	double rate;
	u32 nr = 0;

	for (u32 i = 0; i < nr_bursts; i++) {
		cpu[i] = (double)worker[0].burst[i].cpu_ns / handles;
		if (counts(i, &rates[nr]))
			nr++;
	}
	rate = median(rates, nr);
	printf("{\"bursts\": %u, \"undisturbed\": %u, \"cpu_ns\": %.2f, \"ns\": %.2f, \"per_s\": %.0f",
	       nr_bursts, nr, median(cpu, nr_bursts), nr ? core.threads / rate : 0, rate * 1e9);
	if (core.phases)
		report_phases();
	printf("}\n");
	free(cpu);
	free(rates);
}

void handles_run(void)
{
	struct thr_task *checkpointer;

	handles = core.first ? ROUND / core.blocks : BURST;
	sem_init(&wanted, 0, 0);
	sem_init(&home, 0, 0);
	fs_new(&fs, core.threads * APART);
	for (u32 i = 0; i < core.threads; i++) {
		worker[i].number = i;
		worker[i].burst = calloc(MAX_BURSTS, sizeof(*worker[i].burst));
		worker[i].task = thr_spawn(work, &worker[i], "worker");
	}
	checkpointer = thr_spawn(checkpoint, NULL, "checkpoint");
	for (u32 i = 0; i < core.threads; i++)
		thr_join(worker[i].task);
	sem_post(&wanted);
	thr_join(checkpointer);
	report();
	for (u32 i = 0; i < core.threads; i++)
		free(worker[i].burst);
	fs_end(&fs);
}
