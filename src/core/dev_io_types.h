/* SPDX-License-Identifier: GPL-2.0-only */
/* Journal blocks on their way into memory. */
#ifndef ZJ_DEV_IO_TYPES_H
#define ZJ_DEV_IO_TYPES_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>

/**
 * struct zj_dev_reads - journal blocks on their way into memory; one task's
 */
struct zj_dev_reads {
	bool		begun;		/* to be waited for */
	int		err;		/* of any bio */
	atomic_t	pending;	/* bios in flight, and one for the task */
	struct completion done;		/* all bios have ended */
};

#endif /* ZJ_DEV_IO_TYPES_H */
