/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that zjournal and zext4 are built for, 6.12 to 7.3, and is
 * neither in ext4's source nor in what user space imitates. The code is written for the newest
 * one; here the older ones get what they lack.
 */
#ifndef ZJOURNAL_COMPAT_H
#define ZJOURNAL_COMPAT_H

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/iomap.h>
#include <linux/timer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)

#include <linux/pagevec.h>

static inline bool bdev_rot(struct block_device *bdev)
{
	return !bdev_nonrot(bdev);
}

#define alloc_pages_bulk alloc_pages_bulk_array

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

/* The caller holds i_lock. */
static inline void inode_state_clear(struct inode *inode, unsigned long flags)
{
	inode->i_state &= ~flags;
}

#endif

#ifndef timer_container_of
#define timer_container_of from_timer
#endif

#ifndef IOMAP_ATOMIC
#define IOMAP_ATOMIC 0
#endif

#endif /* ZJOURNAL_COMPAT_H */
