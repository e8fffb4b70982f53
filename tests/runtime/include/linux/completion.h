/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_COMPLETION_H
#define ZJ_RUNTIME_LINUX_COMPLETION_H

#include <klayer/bug.h>
#include <linux/wait.h>

struct completion {
	int		done;	/* times that it may be waited for */
	bool		ready;	/* init_completion() was called */
	wait_queue_head_t wait;
};

static inline void init_completion(struct completion *c)
{
	c->done = 0;
	c->ready = true;
	init_waitqueue_head(&c->wait);
}

static inline void complete(struct completion *c)
{
	if (!c->ready)
		kl_fail("a completion was not initialised");
	c->done++;
	wake_up(&c->wait);
}

static inline bool completion_done(struct completion *c)
{
	return c->done;
}

static inline void wait_for_completion_io(struct completion *c)
{
	wait_event(c->wait, c->done);
	c->done--;
}

#endif
