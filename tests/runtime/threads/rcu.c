// SPDX-License-Identifier: GPL-2.0-only
/*
 * RCU: grace periods that end as soon as they may, so that a reader outside of a
 * section meets freed memory.
 *
 * The journal needs read sections, kfree_rcu() and rcu_barrier(), which is less than
 * this file's length. liburcu (Debian 12: 0.13) is built without the annotations of
 * the thread sanitizer, which would take each of its frees for a race.
 *
 * A section notes the number of the grace period that it began in. A grace period
 * raises the number and waits for the sections that have an older one.
 */
#include <limits.h>
#include <klayer/bug.h>
#include <klayer/lock.h>
#include "threads.h"

static u64 period = 1;		/* of new sections; atomic */
static struct rcu_head *queue;	/* to be freed, newest first; atomic */
static int queued, freed;	/* objects so far, and futexes; atomic */
static bool stopping;		/* atomic */
static struct thr_task *thread;

void thr_rcu_enter(void)
{
	struct thr_task *t = thr_current;

	if (t->rcu_nest++)
		return;
	/* Pairs with wait_for(): it waits for us, or we see what was unlinked. */
	__atomic_exchange_n(&t->rcu_seen, __atomic_load_n(&period, __ATOMIC_RELAXED),
			    __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void thr_rcu_leave(void)
{
	struct thr_task *t = thr_current;

	if (--t->rcu_nest)
		return;
	__atomic_store_n(&t->rcu_seen, 0, __ATOMIC_RELEASE);
}

void rcu_read_lock(void)
{
	kl_point();
	thr_current->rcu_depth++;
	thr_rcu_enter();
}

void rcu_read_unlock(void)
{
	if (!thr_current->rcu_depth)
		kl_fail("RCU read section ends that did not begin");
	kl_point();
	thr_current->rcu_depth--;
	thr_rcu_leave();
}

void kl_assert_rcu(const char *where, bool held)
{
	/* A spinlock is a section, too. */
	if (!held && !thr_current->rcu_nest)
		kl_fail("%s: a walk outside of an RCU read section", where);
}

void kl_kfree_rcu(struct rcu_head *head, void *object)
{
	struct rcu_head *next = __atomic_load_n(&queue, __ATOMIC_RELAXED);

	kl_point();
	head->object = object;
	do {
		head->next = next;
	} while (!__atomic_compare_exchange_n(&queue, &next, head, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	__atomic_fetch_add(&queued, 1, __ATOMIC_RELEASE);
	thr_futex_wake(&queued, INT_MAX);
}

void rcu_barrier(void)
{
	int target = __atomic_load_n(&queued, __ATOMIC_ACQUIRE), now;

	might_sleep();
	while (now = __atomic_load_n(&freed, __ATOMIC_ACQUIRE), now - target < 0)
		thr_futex_wait(&freed, now, -1);
}

static void wait_for(struct thr_task *t, void *arg)
{
	u64 begun = *(u64 *)arg, seen;

	while (seen = __atomic_load_n(&t->rcu_seen, __ATOMIC_ACQUIRE),
	       seen && seen < begun)
		thr_sleep_ns(20000);
}

static void grace_period(void)
{
	u64 begun = __atomic_add_fetch(&period, 1, __ATOMIC_SEQ_CST);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	thr_for_each_task(wait_for, &begun);
}

static int free_all(struct rcu_head *head)
{
	struct rcu_head *next;
	int n = 0;

	for (; head; head = next, n++) {
		next = head->next;
		thr_free(head->object);
	}
	return n;
}

static int rcu_thread(void *arg)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		int seen = __atomic_load_n(&queued, __ATOMIC_ACQUIRE), n;
		struct rcu_head *list;

		list = __atomic_exchange_n(&queue, NULL, __ATOMIC_ACQUIRE);
		if (!list) {
			thr_futex_wait(&queued, seen, 1000000000);
			continue;
		}
		grace_period();
		n = free_all(list);
		__atomic_fetch_add(&freed, n, __ATOMIC_RELEASE);
		thr_futex_wake(&freed, INT_MAX);
	}
	return 0;
}

void thr_rcu_start(void)
{
	stopping = false;
	thread = thr_spawn(rcu_thread, NULL, "rcu");
}

void thr_rcu_stop(void)
{
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	__atomic_fetch_add(&queued, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
	thr_futex_wake(&queued, INT_MAX);
	thr_join(thread);
}
