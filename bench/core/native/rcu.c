// SPDX-License-Identifier: GPL-2.0-only
/* Grace periods: every reader either is seen or sees what was unlinked, by membarrier(). */
#include <stdlib.h>
#include <unistd.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <klayer/bug.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "native.h"

#define NAP_NS	5000000		/* frees are gathered for so long */

__thread struct kl_reader *kl_reader;
u64 kl_period = 1;

static struct kl_reader *readers;	/* all threads', added only; atomic */
static struct rcu_head *queue;		/* to be freed; atomic */
static int queued, freed;		/* objects so far; atomic */
static bool stopping;			/* atomic */
static struct thr_task *thread;

struct kl_reader *kl_new_reader(void)
{
	struct kl_reader *r = aligned_alloc(64, 64);

	*r = (struct kl_reader){ .next = __atomic_load_n(&readers, __ATOMIC_RELAXED) };
	while (!__atomic_compare_exchange_n(&readers, &r->next, r, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	kl_reader = r;
	return r;
}

void kl_kfree_rcu(struct rcu_head *head, void *object)
{
	struct rcu_head *next = __atomic_load_n(&queue, __ATOMIC_RELAXED);

	head->object = object;
	do {
		head->next = next;
	} while (!__atomic_compare_exchange_n(&queue, &next, head, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	__atomic_fetch_add(&queued, 1, __ATOMIC_RELEASE);
}

void rcu_barrier(void)
{
	int target = __atomic_load_n(&queued, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&freed, __ATOMIC_ACQUIRE) - target < 0)
		thr_sleep_ns(NAP_NS / 10);
}

static void barrier_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		kl_fail("membarrier() fails");
}

static void grace_period(void)
{
	u64 begun = __atomic_add_fetch(&kl_period, 1, __ATOMIC_SEQ_CST), seen;

	barrier_everywhere();
	for (struct kl_reader *r = __atomic_load_n(&readers, __ATOMIC_ACQUIRE); r; r = r->next)
		while (seen = __atomic_load_n(&r->seen, __ATOMIC_ACQUIRE),
		       seen && seen < begun)
			thr_sleep_ns(20000);
	barrier_everywhere();
}

static int free_all(struct rcu_head *head)
{
	struct rcu_head *next;
	int n = 0;

	for (; head; head = next, n++) {
		next = head->next;
		kfree(head->object);
	}
	return n;
}

static int rcu_thread(void *arg)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		struct rcu_head *list = __atomic_exchange_n(&queue, NULL, __ATOMIC_ACQUIRE);

		if (list) {
			grace_period();
			__atomic_fetch_add(&freed, free_all(list), __ATOMIC_RELEASE);
		}
		thr_sleep_ns(NAP_NS);
	}
	return 0;
}

void thr_rcu_start(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		kl_fail("this kernel has no membarrier()");
	thread = thr_spawn(rcu_thread, NULL, "rcu");
}

void thr_rcu_stop(void)
{
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	thr_join(thread);
}
