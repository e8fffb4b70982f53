/* SPDX-License-Identifier: GPL-2.0-only */
/* Journal blocks that are being read or written past the buffer cache. */
#ifndef ZJ_DEV_IO_TYPES_H
#define ZJ_DEV_IO_TYPES_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>

/**
 * struct zj_dev_reads - journal blocks that one task is reading
 *
 * It is zeroed by its task before the first zj_dev_read_start(), and may be
 * used again after zj_dev_read_end().
 */
struct zj_dev_reads {
	bool		begun;		/* task only; zj_dev_read_end() has to wait */
	int		err;		/* cmpxchg; first error of any bio, read when all have
					 * ended
					 */
	atomic_t	pending;	/* bios in flight, plus one for the task */
	struct completion done;		/* completed when all bios have ended */
};

#endif /* ZJ_DEV_IO_TYPES_H */
