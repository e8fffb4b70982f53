// SPDX-License-Identifier: GPL-2.0-only
/* Grace periods: every reader either is seen or sees what was unlinked, by membarrier(). */
#include <stdlib.h>
#include <unistd.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <klayer/bug.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "native.h"

#define NAP_NS	5000000		/* frees are gathered for so long */
#define BUNCH	62		/* objects of a bunch, which has 512 bytes then */

/**
 * struct bunch - objects to be freed
 *
 * As in the kernel they are an array, so nobody looks into objects that another thread has used.
 */
struct bunch {
	struct bunch	*next;
	u32		nr;
	void		*object[BUNCH];
};

/**
 * struct freer - what a thread has to free; stays after the thread
 */
struct freer {
	struct freer	*next;		/* of all threads' */
	spinlock_t	lock;
	struct bunch	*bunch;		/* lock to change; no grace period has begun for these */
} __attribute__((__aligned__(64)));

__thread struct kl_reader *kl_reader;
u64 kl_period = 1;

static __thread struct freer *freer;
static struct freer *freers;		/* all threads', added only; atomic */
static struct kl_reader *readers;	/* all threads', added only; atomic */
static int rounds;			/* of the thread so far; atomic */
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

static noinline struct freer *new_freer(void)
{
	struct freer *f = aligned_alloc(64, sizeof(*f));

	*f = (struct freer){ .next = __atomic_load_n(&freers, __ATOMIC_RELAXED) };
	while (!__atomic_compare_exchange_n(&freers, &f->next, f, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	freer = f;
	return f;
}

static struct bunch *room(struct bunch *bunch)
{
	struct bunch *new;

	if (bunch && bunch->nr < BUNCH)
		return bunch;
	new = kmalloc(sizeof(*new), GFP_ATOMIC);
	new->next = bunch;
	new->nr = 0;
	return new;
}

void kl_kfree_rcu(struct rcu_head *head, void *object)
{
	struct freer *f = freer ?: new_freer();
	struct bunch *bunch;

	spin_lock(&f->lock);
	bunch = room(f->bunch);
	bunch->object[bunch->nr++] = object;
	WRITE_ONCE(f->bunch, bunch);
	spin_unlock(&f->lock);
}

/* A round that begins after this call frees all that was handed in before. */
void rcu_barrier(void)
{
	int target = __atomic_load_n(&rounds, __ATOMIC_ACQUIRE) + 2;

	while (__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) - target < 0)
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

static struct bunch *take(struct freer *f)
{
	struct bunch *bunch;

	if (!READ_ONCE(f->bunch))
		return NULL;
	spin_lock(&f->lock);
	bunch = f->bunch;
	WRITE_ONCE(f->bunch, NULL);
	spin_unlock(&f->lock);
	return bunch;
}

static struct bunch *take_all(void)
{
	struct bunch *all = NULL, *bunch, *next;

	for (struct freer *f = __atomic_load_n(&freers, __ATOMIC_ACQUIRE); f; f = f->next)
		for (bunch = take(f); bunch; bunch = next) {
			next = bunch->next;
			bunch->next = all;
			all = bunch;
		}
	return all;
}

static void free_all(struct bunch *bunch)
{
	struct bunch *next;

	for (; bunch; bunch = next) {
		next = bunch->next;
		for (u32 i = 0; i < bunch->nr; i++)
			kfree(bunch->object[i]);
		kfree(bunch);
	}
}

static int rcu_thread(void *arg)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		struct bunch *all = take_all();

		if (all) {
			grace_period();
			free_all(all);
		}
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
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
