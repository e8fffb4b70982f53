/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_NATIVE_LINUX_WAIT_H
#define ZJ_NATIVE_LINUX_WAIT_H

#include_next <linux/wait.h>

#undef waitqueue_active
static inline bool waitqueue_active(wait_queue_head_t *wq)
{
	return __atomic_load_n(&wq->head.next, __ATOMIC_RELAXED) != &wq->head;
}

/* As in the kernel: orders what the caller has stored before it looks. */
#undef wq_has_sleeper
static inline bool wq_has_sleeper(wait_queue_head_t *wq)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return waitqueue_active(wq);
}

#endif
