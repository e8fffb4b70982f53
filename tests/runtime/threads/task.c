// SPDX-License-Identifier: GPL-2.0-only
/* Tasks are threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <klayer/bug.h>
#include <klayer/lock.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include "threads.h"

kl_thread_local struct task_struct *kl_current;
unsigned int kl_nr_cpus;
bool thr_running;

struct thr_config thr_config;
static struct thr_task *tasks[THR_MAX_TASKS];	/* alive, or about to be */
static int tasks_lock;
static u64 births;	/* under tasks_lock; seeds the tasks' random numbers */

u64 thr_rand(struct thr_rand *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 get_random_u64(void)
{
	return thr_rand(&thr_current->rand);
}

ktime_t ktime_get(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* ---- births and deaths ---- */

static void *task_main(void *arg)
{
	struct thr_task *t = arg;

	kl_current = &t->task;
	while (!__atomic_load_n(&t->started, __ATOMIC_ACQUIRE))
		thr_futex_wait(&t->asleep, 0, 10000000);
	__atomic_store_n(&t->pinned, false, __ATOMIC_RELAXED);
	t->ret = t->fn(t->arg);
	if (t->nr_held || t->rcu_nest)
		kl_fail("%s ends with a lock held", t->task.comm);
	return NULL;
}

static struct thr_task *new_task(int (*fn)(void *), void *arg)
{
	struct thr_task *t = calloc(1, sizeof(*t));
	int i = 0;

	t->fn = fn;
	t->arg = arg;
	thr_lock(&tasks_lock);
	while (i < THR_MAX_TASKS && tasks[i])
		i++;
	if (i == THR_MAX_TASKS)
		kl_fail("too many tasks");
	tasks[i] = t;
	t->rand.state = thr_config.seed * 2654435761u + ++births;
	thr_unlock(&tasks_lock);
	t->cpu = thr_below(&t->rand, kl_nr_cpus);
	return t;
}

static void start_thread(struct thr_task *t)
{
	if (pthread_create(&t->thread, NULL, task_main, t))
		kl_fail("no memory for a thread");
}

void thr_for_each_task(void (*fn)(struct thr_task *task, void *arg), void *arg)
{
	thr_lock(&tasks_lock);
	for (int i = 0; i < THR_MAX_TASKS; i++)
		if (tasks[i])
			fn(tasks[i], arg);
	thr_unlock(&tasks_lock);
}

struct thr_task *thr_spawn(int (*fn)(void *), void *arg, const char *name)
{
	struct thr_task *t = new_task(fn, arg);

	strncpy(t->task.comm, name, sizeof(t->task.comm) - 1);
	t->started = true;
	start_thread(t);
	return t;
}

static void forget(struct thr_task *t)
{
	thr_lock(&tasks_lock);
	for (int i = 0; i < THR_MAX_TASKS; i++)
		if (tasks[i] == t)
			tasks[i] = NULL;
	thr_unlock(&tasks_lock);
	free(t);
}

int thr_join(struct thr_task *t)
{
	int ret;

	might_sleep();
	pthread_join(t->thread, NULL);
	ret = t->ret;
	forget(t);
	return ret;
}

struct task_struct *kthread_create(int (*fn)(void *), void *arg,
				   const char *fmt, ...)
{
	struct thr_task *t = new_task(fn, arg);
	va_list ap;

	va_start(ap, fmt);
	kl_vsnprintf(t->task.comm, sizeof(t->task.comm), fmt, ap);
	va_end(ap);
	start_thread(t);
	return &t->task;
}

bool kthread_should_stop(void)
{
	kl_point();
	return __atomic_load_n(&thr_current->should_stop, __ATOMIC_RELAXED);
}

int kthread_stop(struct task_struct *task)
{
	struct thr_task *t = (struct thr_task *)task;

	__atomic_store_n(&t->should_stop, true, __ATOMIC_RELAXED);
	wake_up_process(task);
	return thr_join(t);
}

/* ---- begin and end ---- */

void thr_start(const struct thr_config *c)
{
	struct thr_task *t;

	thr_config = *c;
	kl_nr_cpus = c->cpus;
	t = new_task(NULL, NULL);
	t->started = true;
	strcpy(t->task.comm, "main");
	kl_current = &t->task;
	thr_running = true;
	thr_rcu_start();
	thr_timer_start();
}

static void fail_if_other(struct thr_task *t, void *arg)
{
	if (t != arg)
		kl_fail("task %s is left", t->task.comm);
}

void thr_end(void)
{
	struct thr_task *t = thr_current;

	thr_timer_stop();
	rcu_barrier();
	thr_rcu_stop();
	thr_for_each_task(fail_if_other, t);
	thr_memory_check();
	thr_running = false;
	kl_current = NULL;
	forget(t);
}
