/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_COMPLETION_H
#define ZJ_RUNTIME_LINUX_COMPLETION_H

#include <klayer/bug.h>
#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/wait.h>

struct completion {
	int		done;	/* times that it may be waited for */
	bool		ready;	/* init_completion() was called */
	atomic_t	completing;	/* calls of complete() that are not over */
	wait_queue_head_t wait;
};

static inline void init_completion(struct completion *c)
{
	c->done = 0;
	c->ready = true;
	atomic_set(&c->completing, 0);
	init_waitqueue_head(&c->wait);
}

static inline void complete(struct completion *c)
{
	if (!c->ready)
		kl_fail("a completion was not initialised");
	atomic_inc(&c->completing);
	c->done++;
	wake_up(&c->wait);
	atomic_add_return(-1, &c->completing);
}

static inline bool completion_done(struct completion *c)
{
	return c->done;
}

/* As in the kernel, who has waited may free it: complete() does not touch it any more. */
static inline void wait_for_completion_io(struct completion *c)
{
	wait_event(c->wait, c->done);
	c->done--;
	while (atomic_read_acquire(&c->completing))
		schedule_timeout_uninterruptible(1);
}

#endif
