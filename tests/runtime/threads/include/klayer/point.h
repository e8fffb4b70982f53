/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The same points as in the simulator: here the thread may give the processor away
 * and move to another CPU, so that few real processors show many interleavings.
 */
#ifndef ZJ_USER_KLAYER_POINT_H
#define ZJ_USER_KLAYER_POINT_H

#define kl_thread_local		__thread

extern kl_thread_local int kl_budget;	/* points left until the next pause */
void kl_switch(void);

static inline void kl_point(void)
{
	if (--kl_budget < 0)
		kl_switch();
}

#endif
