/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the simulator may switch to another task.  Code that runs without a
 * scheduler (recovery in zjrecover and in the unit tests) never gets here.  The
 * threads back end has a header of its own in place of this one.
 */
#ifndef ZJ_USER_KLAYER_POINT_H
#define ZJ_USER_KLAYER_POINT_H

#define kl_thread_local		/* one OS thread: one for each is one */

extern int kl_budget;	/* points left until the next switch */
void kl_switch(void);

static inline void kl_point(void)
{
	if (--kl_budget < 0)
		kl_switch();
}

#endif
