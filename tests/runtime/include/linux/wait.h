/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_WAIT_H
#define ZJ_RUNTIME_LINUX_WAIT_H

#include <linux/list.h>
#include <linux/compiler.h>
#include <linux/ktime.h>
#include <klayer/lock.h>

typedef struct wait_queue_head {
	struct list_head head;	/* kl_wait.link; all zero: empty */
	int		lock;	/* guards it; threads only */
	int		sleepers; /* lock to change, atomic to read; length of head; threads only */
} wait_queue_head_t;

/**
 * struct kl_wait - one sleeper; on its stack
 */
struct kl_wait {
	struct list_head link;		/* in the queue, or empty */
	wait_queue_head_t *queue;	/* which one; threads only */
	struct task_struct *task;	/* the sleeper */
	void		*key;		/* what it waits for; wait_var_event() */
};

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	INIT_LIST_HEAD(&wq->head);
	wq->lock = 0;
	wq->sleepers = 0;
}

/* In either runtime all zero is a free lock. */
#define DECLARE_WAIT_QUEUE_HEAD(name)					\
	wait_queue_head_t name = { LIST_HEAD_INIT(name.head), 0, 0 }

extern wait_queue_head_t kl_var_queue;

/* Joins the queue; any wake-up from now on makes kl_wait_sleep() return. */
void kl_wait_prepare(wait_queue_head_t *wq, struct kl_wait *wait, void *key);
/* Nanoseconds; returns how many are left, 0: the time is over. */
s64 kl_wait_sleep(s64 timeout);
void kl_wait_finish(struct kl_wait *wait);
void kl_wake(wait_queue_head_t *wq, void *key);
/* Whether anybody is in the queue now. Orders nothing. */
bool waitqueue_active(wait_queue_head_t *wq);

/* As in the kernel: what the caller has stored is visible before it looks. */
static inline bool wq_has_sleeper(wait_queue_head_t *wq)
{
	smp_mb();
	return waitqueue_active(wq);
}

#define KL_FOREVER	((s64)(~0ULL >> 1))

#define kl_wait_event(wq, cond, key, timeout)				\
({									\
	s64 __left = (timeout);					\
	might_sleep();							\
	if (!(cond)) {							\
		struct kl_wait __wait = { };				\
									\
		for (;;) {						\
			kl_wait_prepare(wq, &__wait, key);		\
			if (cond)					\
				break;					\
			if (!__left)					\
				break;					\
			__left = kl_wait_sleep(__left);			\
		}							\
		kl_wait_finish(&__wait);				\
	}								\
	__left;								\
})

#define wait_event(wq, cond) \
	((void)kl_wait_event(&(wq), cond, NULL, KL_FOREVER))
#define wait_event_idle(wq, cond)	wait_event(wq, cond)
#define wait_event_interruptible(wq, cond) \
	((void)kl_wait_event(&(wq), cond, NULL, KL_FOREVER))
#define wait_event_timeout(wq, cond, timeout) \
	((void)kl_wait_event(&(wq), cond, NULL, (timeout) * NSEC_PER_JIFFY))
#define wait_event_hrtimeout(wq, cond, ns) \
	((void)kl_wait_event(&(wq), cond, NULL, ns))
#define wait_event_interruptible_timeout(wq, cond, timeout) \
	wait_event_timeout(wq, cond, timeout)
#define wake_up(wq)	kl_wake(wq, NULL)
#define wake_up_all(wq)	kl_wake(wq, NULL)

#endif
