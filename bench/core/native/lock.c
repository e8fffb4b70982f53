// SPDX-License-Identifier: GPL-2.0-only
/* Waiting for a spinlock. */
#include <sched.h>
#include <klayer/lock.h>

#define SPINS	200	/* looks at a lock before the CPU is given away */

void kl_spin_slowly(unsigned int *turn)
{
	if (++*turn % SPINS)
		__builtin_ia32_pause();
	else
		sched_yield();
}
