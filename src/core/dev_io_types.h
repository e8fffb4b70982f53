/* SPDX-License-Identifier: GPL-2.0-only */
/* Journal blocks that are being read or written past the buffer cache. */
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
	int		err;		/* task only; zj_dev_read_end() has to wait */
	atomic_t	pending;	/* first error of any bio */
	struct completion done;		/* bios in flight, plus one for the task */
};

#endif /* ZJ_DEV_IO_TYPES_H */
