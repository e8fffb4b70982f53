/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_SCHED_MM_H
#define ZJ_RUNTIME_LINUX_SCHED_MM_H

#include <linux/sched.h>

static inline unsigned int memalloc_nofs_save(void)
{
	unsigned int was = current->flags & PF_MEMALLOC_NOFS;

	current->flags |= PF_MEMALLOC_NOFS;
	return was;
}

static inline void memalloc_nofs_restore(unsigned int was)
{
	current->flags = (current->flags & ~PF_MEMALLOC_NOFS) | was;
}

#endif
