// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeping and waking: a task says that it is about to sleep, looks once more at
 * what it waits for, and sleeps on a futex that every wake-up clears.
 */
#include <limits.h>
#include <time.h>
#include <klayer/bug.h>
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include "threads.h"

wait_queue_head_t kl_var_queue = { .head = LIST_HEAD_INIT(kl_var_queue.head) };

void thr_sleep_ns(s64 ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&ts, NULL);
}

/* ---- the task's own part ---- */

static void set_asleep(struct thr_task *t)
{
	/* Pairs with wake_task(): one of the two sees the other. */
	__atomic_exchange_n(&t->asleep, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void wake_task(struct thr_task *t)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&t->asleep, 0, __ATOMIC_SEQ_CST))
		thr_futex_wake(&t->asleep, INT_MAX);
}

int wake_up_process(struct task_struct *task)
{
	struct thr_task *t = (struct thr_task *)task;

	if (!__atomic_exchange_n(&t->started, true, __ATOMIC_RELEASE))
		thr_futex_wake(&t->asleep, INT_MAX);
	wake_task(t);
	return 1;
}

/* Returns the jiffies left; 0: the time is over. */
s64 kl_wait_sleep(s64 timeout)
{
	struct thr_task *t = thr_current;
	s64 end = 0, left = -1;

	might_sleep();
	if (timeout != KL_FOREVER)
		end = ktime_get() + timeout;
	while (__atomic_load_n(&t->asleep, __ATOMIC_ACQUIRE)) {
		if (timeout != KL_FOREVER)
			left = end - ktime_get();
		if (timeout != KL_FOREVER && left <= 0)
			break;
		thr_futex_wait(&t->asleep, 1, left);
	}
	__atomic_store_n(&t->asleep, 0, __ATOMIC_RELAXED);
	if (timeout == KL_FOREVER)
		return timeout;
	return max_t(s64, 0, end - ktime_get());
}

long schedule_timeout_uninterruptible(long timeout)
{
	set_asleep(thr_current);
	return kl_wait_sleep(timeout * NSEC_PER_JIFFY) / NSEC_PER_JIFFY;
}

/* ---- queues ---- */

/* Caller holds wq->lock. */
static void count_sleepers(wait_queue_head_t *wq, int nr)
{
	WRITE_ONCE(wq->sleepers, wq->sleepers + nr);
}

static void leave_queue(wait_queue_head_t *wq, struct kl_wait *wait)
{
	list_del_init(&wait->link);
	count_sleepers(wq, -1);
}

void kl_wait_prepare(wait_queue_head_t *wq, struct kl_wait *wait, void *key)
{
	kl_point();
	wait->queue = wq;
	/* Still on the queue the second time round, if a time-out woke us. */
	thr_lock(&wq->lock);
	wait->task = kl_current;
	wait->key = key;
	if (!wq->head.next)
		INIT_LIST_HEAD(&wq->head);
	/* First time round, or a wake-up has taken it off. */
	if (!wait->link.next || list_empty(&wait->link)) {
		list_add_tail(&wait->link, &wq->head);
		count_sleepers(wq, 1);
	}
	/* Under the lock: the task that removes us from the queue also wakes us. */
	set_asleep(thr_current);
	thr_unlock(&wq->lock);
	kl_point();
}

void kl_wait_finish(struct kl_wait *wait)
{
	__atomic_store_n(&thr_current->asleep, 0, __ATOMIC_RELAXED);
	/* Also waits for a waker that is at it: the entry is on our stack. */
	thr_lock(&wait->queue->lock);
	if (!list_empty(&wait->link))
		leave_queue(wait->queue, wait);
	thr_unlock(&wait->queue->lock);
	kl_point();
}

void kl_wake(wait_queue_head_t *wq, void *key)
{
	struct kl_wait *wait, *tmp;

	kl_point();
	thr_lock(&wq->lock);
	if (!wq->head.next)
		INIT_LIST_HEAD(&wq->head);
	list_for_each_entry_safe(wait, tmp, &wq->head, link) {
		if (key && wait->key != key)
			continue;
		leave_queue(wq, wait);
		wake_task((struct thr_task *)wait->task);
	}
	thr_unlock(&wq->lock);
	kl_point();
}

/* Takes no lock, and so orders no more than the kernel's does. */
bool waitqueue_active(wait_queue_head_t *wq)
{
	return READ_ONCE(wq->sleepers);
}

/* ---- completions ---- */

void init_completion(struct completion *c)
{
	__atomic_store_n(&c->done, 0, __ATOMIC_RELAXED);
}

void complete(struct completion *c)
{
	/* Its memory may be gone after this; the wake-up takes the address only. */
	__atomic_fetch_add(&c->done, 1, __ATOMIC_RELEASE);
	thr_futex_wake(&c->done, INT_MAX);
}

bool completion_done(struct completion *c)
{
	return __atomic_load_n(&c->done, __ATOMIC_ACQUIRE);
}

void wait_for_completion_io(struct completion *c)
{
	int done = 0;

	might_sleep();
	for (;;) {
		done = __atomic_load_n(&c->done, __ATOMIC_RELAXED);
		if (!done)
			thr_futex_wait(&c->done, 0, -1);
		else if (__atomic_compare_exchange_n(&c->done, &done, done - 1,
						     false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED))
			return;
	}
}
