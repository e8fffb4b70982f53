// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjsharing MODE WORKERS BLOCKS ROUNDS: handles of several workers, each in a lane and in blocks
 * of its own, one handle at a time, in turn.
 *
 *   again   blocks that the running transaction has
 *   sync    the same, but each worker syncs its SYNCth handle, at another time than the others
 *   first   blocks that are new to the journal; between two rounds a thread that is no worker
 *           has all committed and brings it home
 *   home    the same, but the first worker's core does that, and lanes' threads have cores of
 *           their own
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"
#include "lines.h"

#define REGION	64u	/* blocks of a worker that are written again and again */
#define ROUND	512u	/* of a worker, as in bench/core */
#define SYNC	8u

struct core_options core = { .blocks = 4, .journal = 32768 };

__thread unsigned int kl_cpu;
unsigned long kl_jiffies = 1000;

/**
 * struct worker - a thread that does handles
 */
struct worker {
	struct thr_task	*task;
	u32		number;
	sem_t		go, done;
	u32		at;		/* of its blocks */
};

static struct fs fs;
static struct worker worker[MAX_WORKERS];
static bool is_first, is_home, is_sync, over;
static u32 rounds;

int cond_resched(void)
{
	return 0;
}

static void one(struct worker *w)
{
	u32 base = w->number * ROUND, region = is_first ? ROUND : REGION;
	tid_t tid = fs_write(&fs, w->number, base + w->at, core.blocks);

	w->at += core.blocks;
	if (w->at + core.blocks > region)
		w->at = 0;
	if (is_sync && (w->at / core.blocks + w->number) % SYNC == 0)
		fs_sync(&fs, tid);
}

static int work(void *arg)
{
	struct worker *w = arg;

	kl_cpu = w->number;
	lines_core(w->number, true);
	for (;;) {
		sem_wait(&w->go);
		if (over)
			break;
		one(w);
		sem_post(&w->done);
	}
	return 0;
}

static void do_round(bool counts)
{
	u32 handles = (is_first ? ROUND : REGION) / core.blocks;

	lines_phase(counts ? PHASE_HANDLES : PHASE_NONE);
	for (u32 i = 0; i < handles; i++)
		for (u32 t = 0; t < core.threads; t++) {
			sem_post(&worker[t].go);
			sem_wait(&worker[t].done);
		}
	lines_phase(counts ? PHASE_BETWEEN : PHASE_NONE);
	if (is_first && jbd2_journal_flush(fs.journal, 0))
		kl_fail("flush fails");
	rcu_barrier();
	lines_phase(PHASE_NONE);
}

/* Lanes' threads place themselves. */
int set_cpus_allowed_ptr(struct task_struct *task, unsigned int cpu)
{
	if (task == current && cpu != KL_ANY_CPU && !is_home)
		lines_core(cpu, false);
	return 0;
}

static void run(void)
{
	fs_new(&fs, core.threads * ROUND);
	for (u32 t = 0; t < core.threads; t++) {
		worker[t].number = t;
		sem_init(&worker[t].go, 0, 0);
		sem_init(&worker[t].done, 0, 0);
		worker[t].task = thr_spawn(work, &worker[t], "worker");
	}
	/* Until each cache of the allocator has what it needs. */
	for (u32 i = 0; i < 3; i++)
		do_round(false);
	for (u32 i = 0; i < rounds; i++)
		do_round(true);
	over = true;
	for (u32 t = 0; t < core.threads; t++) {
		sem_post(&worker[t].go);
		thr_join(worker[t].task);
	}
}

/* Where struct zj_journal has groups of fields that are aligned to lines. */
static void print_groups(void)
{
#define GROUP(field)	{ #field, offsetof(struct zj_journal, field) }
	static const struct { const char *name; size_t at; } groups[] = {
		GROUP(public), GROUP(super_lock), GROUP(comp_lock), GROUP(next_tid),
		GROUP(pool_lock), GROUP(flush), GROUP(log_flush), GROUP(ckpt_lock),
	};

	printf("\"groups\": {");
	for (u32 i = 0; i < ARRAY_SIZE(groups); i++)
		printf("%s\"%s\": %zu", i ? ", " : "", groups[i].name, groups[i].at);
	printf("}, ");
}

int main(int argc, char **argv)
{
	struct thr_config config = { .seed = 1 };

	if (argc != 5)
		kl_fail("zjsharing MODE WORKERS BLOCKS ROUNDS");
	is_home = !strcmp(argv[1], "home");
	is_first = is_home || !strcmp(argv[1], "first");
	is_sync = !strcmp(argv[1], "sync");
	core.threads = core.lanes = atoi(argv[2]);
	core.blocks = atoi(argv[3]);
	rounds = atoi(argv[4]);
	if (core.threads > MAX_WORKERS || !core.blocks)
		kl_fail("too many workers, or no blocks");
	config.cpus = max(core.lanes, 2u);
	if (is_home)
		lines_core(0, false);
	thr_start(&config);
	if (zj_caches_init())
		kl_fail("the journal does not initialise");
	run();
	printf("{\"handles\": %u, ",
	       rounds * core.threads * ((is_first ? ROUND : REGION) / core.blocks));
	print_groups();
	lines_print();
	printf("}\n");
	fs_end(&fs);
	zj_caches_exit();
	thr_end();
	return 0;
}
