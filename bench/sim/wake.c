// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends of waiting, as in the kernel: a task that a wake-up has taken off the queue does not
 * take the queue's lock again. tests/runtime has the rest; there a waker may still look at
 * the entry, which is on the sleeper's stack.
 */
#include <linux/wait.h>
#include "threads.h"

void kl_wait_finish(struct kl_wait *wait)
{
	__atomic_store_n(&thr_current->asleep, 0, __ATOMIC_RELAXED);
	if (list_empty(&wait->link))
		return;
	thr_lock(&wait->queue->lock);
	if (!list_empty(&wait->link))
		list_del_init(&wait->link);
	thr_unlock(&wait->queue->lock);
}

/* The last access to the entry is the one that takes it off. */
void kl_wake(wait_queue_head_t *wq, void *key)
{
	struct list_head *l, *next;

	thr_lock(&wq->lock);
	if (!wq->head.next)
		INIT_LIST_HEAD(&wq->head);
	for (l = wq->head.next; l != &wq->head; l = next) {
		struct kl_wait *wait = list_entry(l, struct kl_wait, link);
		struct task_struct *task = wait->task;

		next = l->next;
		if (key && wait->key != key)
			continue;
		list_del_init(&wait->link);
		wake_up_process(task);
	}
	thr_unlock(&wq->lock);
}
