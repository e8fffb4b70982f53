// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small programs for the simulated machine of bench/sim, without a journal.  Each prints what
 * it saw; test_sim.py knows what that has to be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/spinlock.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include "load.h"

struct sim_load sim_load;
struct core_options core;

#define TIMES	1000
#define WORD	(64 / sizeof(int))

static int words[8 * WORD] __attribute__((__aligned__(64)));
static s64 begin;
static spinlock_t lock;
static struct mutex mutex;
static rwlock_t rwlock;
static wait_queue_head_t queue;
static bool go;
static int order[8], nr;

static void run(int (*fn)(void *), u32 nr_tasks, const long *args)
{
	struct sim_task *task[8];

	begin = sim_current->clock;
	for (u32 i = 0; i < nr_tasks; i++)
		task[i] = sim_spawn(fn, (void *)args[i], "task", i);
	for (u32 i = 0; i < nr_tasks; i++)
		thr_join(&task[i]->thr);
}

/* ---- lines ---- */

static s64 spent;	/* ns of the last task to end */

static int add(void *arg)
{
	s64 since = sim_current->clock;

	for (int i = 0; i < TIMES; i++)
		sim_rmw(&words[(long)arg * WORD], NULL);
	spent = (sim_current->clock - since) / PS;
	return 0;
}

static int store(void *arg)
{
	s64 since, at;

	/* The other CPU has words[0]. */
	if (sim_current->cpu != 1)
		return 0;
	sim_rmw(&words[WORD], NULL);
	since = sim_current->clock;
	sim_touch(&words[0], sizeof(int), true, NULL);
	at = sim_current->clock;
	sim_rmw(&words[WORD], NULL);
	printf("\"store_ns\": %lld, \"then_locked_ns\": %lld", (at - since) / PS,
	       (sim_current->clock - since) / PS);
	return 0;
}

static int read_after(void *arg)
{
	s64 since;

	sim_spend((long)arg * PS);
	since = sim_current->clock;
	if (!arg)
		sim_rmw(&words[0], NULL);
	else
		sim_touch(&words[0], sizeof(int), false, (void *)read_after);
	order[sim_current->cpu] = (sim_current->clock - since) / PS;
	return 0;
}

static void lines(void)
{
	run(add, 2, (long[]){ 0, 0 });
	printf("\"same_ns\": %lld, ", spent);
	sim_forget_lines();
	run(add, 2, (long[]){ 0, 1 });
	printf("\"own_ns\": %lld, ", spent);
	sim_forget_lines();
	/* Cold, then of the CPU that wrote, then shared. */
	run(read_after, 3, (long[]){ 0, 1000, 2000 });
	printf("\"from_writer_ns\": %d, \"from_reader_ns\": %d", order[1], order[2]);
}

static void stores(void)
{
	run(add, 1, (long[]){ 0 });
	run(store, 2, (long[]){ 0, 0 });
}

/* ---- locks ---- */

static int take_lock(void *arg)
{
	sim_spend((long)arg * PS);
	spin_lock(&lock);
	order[nr++] = sim_current->cpu;
	sim_spend(5000 * PS);
	spin_unlock(&lock);
	return 0;
}

static void locks(void)
{
	spin_lock_init(&lock);
	run(take_lock, 4, (long[]){ 0, 6000, 2000, 4000 });
	printf("\"order\": [%d, %d, %d, %d], \"ns\": %lld, ", order[0], order[1], order[2],
	       order[3], (sim_current->clock - begin) / PS);
	prof_print(4 * (sim_current->clock - begin));
}

static int take_mutex(void *arg)
{
	sim_spend((long)arg * PS);
	mutex_lock(&mutex);
	order[nr++] = sim_current->cpu;
	/* The first owner sleeps: nobody may spin for it. */
	if (nr == 1)
		thr_sleep_ns(50000);
	mutex_unlock(&mutex);
	return 0;
}

static void mutexes(void)
{
	mutex_init(&mutex);
	run(take_mutex, 3, (long[]){ 0, 9000, 3000 });
	printf("\"order\": [%d, %d, %d], \"ns\": %lld", order[0], order[1], order[2],
	       (sim_current->clock - begin) / PS);
}

static int inside, most, with_writer;

static int take_rwlock(void *arg)
{
	bool writer = sim_current->cpu == 2;

	sim_spend((long)arg * PS);
	if (writer)
		write_lock(&rwlock);
	else
		read_lock(&rwlock);
	inside++;
	most = inside > most ? inside : most;
	with_writer = writer && inside > 1 ? 1 : with_writer;
	order[nr++] = sim_current->cpu;
	sim_spend(5000 * PS);
	inside--;
	if (writer)
		write_unlock(&rwlock);
	else
		read_unlock(&rwlock);
	return 0;
}

/* Two readers share it; a writer waits for both, and the reader behind it for the writer. */
static void rwlocks(void)
{
	rwlock_init(&rwlock);
	run(take_rwlock, 4, (long[]){ 0, 1000, 2000, 3000 });
	printf("\"most\": %d, \"with_writer\": %d, \"order\": [%d, %d, %d, %d]", most,
	       with_writer, order[0], order[1], order[2], order[3]);
}

/* ---- tasks ---- */

static int sleeper(void *arg)
{
	wait_event(queue, go);
	printf("\"woken_ns\": %lld", (sim_current->clock - begin) / PS);
	return 0;
}

static int waker(void *arg)
{
	sim_spend(20000 * PS);
	begin = sim_current->clock;
	go = true;
	wake_up(&queue);
	return 0;
}

static int either(void *arg)
{
	return arg ? waker(NULL) : sleeper(NULL);
}

static void wakes(void)
{
	init_waitqueue_head(&queue);
	run(either, 2, (long[]){ 0, 1 });
}

static int hog(void *arg)
{
	for (int i = 0; i < 100; i++) {
		sim_spend(100000 * PS);
		sim_point();
	}
	order[nr++] = (long)arg;
	return 0;
}

/* Two tasks of one CPU take turns; a third on another CPU is not held up. */
static void turns(void)
{
	struct sim_task *task[3];

	begin = sim_current->clock;
	for (long i = 0; i < 3; i++)
		task[i] = sim_spawn(hog, (void *)i, "hog", i / 2);
	for (u32 i = 0; i < 3; i++)
		thr_join(&task[i]->thr);
	printf("\"order\": [%d, %d, %d], \"ms\": %lld", order[0], order[1], order[2],
	       (sim_current->clock - begin) / PS / 1000000);
}

/**
 * struct test - what the command line names
 */
struct test {
	const char	*name;
	void		(*run)(void);
};

static const struct test tests[] = {
	{ "lines", lines }, { "stores", stores }, { "locks", locks }, { "mutexes", mutexes },
	{ "rwlocks", rwlocks }, { "wakes", wakes }, { "turns", turns },
};

int main(int argc, char **argv)
{
	sim_machine_start(4);
	for (u32 i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (argc != 2 || strcmp(argv[1], tests[i].name))
			continue;
		printf("{");
		tests[i].run();
		printf("}\n");
		fflush(stdout);
		_exit(0);
	}
	return 2;
}
