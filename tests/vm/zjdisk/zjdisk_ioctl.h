/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs share with zjdisk: the ioctls of /dev/zjdctl. */
#ifndef ZJDISK_IOCTL_H
#define ZJDISK_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct zjd_mark - take the next sequence number of a recording
 * @dev: in: device number
 * @pad: unused
 * @seq: out: the number; every request completed so far has a lower one
 */
struct zjd_mark {
	__u32 dev;
	__u32 pad;
	__u64 seq;
};

/* ENODATA: not recording; ENOSPC: the recording is full and has ended. */
#define ZJD_IOC_MARK _IOWR('z', 0x21, struct zjd_mark)

/*
 * A struct zjd_mark with a number that was given: the next moment after it at which
 * more of a recording became durable, which is the end of a flush or of a write with FUA.
 */
#define ZJD_IOC_MOMENT _IOWR('z', 0x23, struct zjd_mark)

#define ZJD_DIFF_BYTES 4096

/**
 * struct zjd_diff - find the next difference between two disks
 * @dev: in: device numbers; none of them in use
 * @page: in: where to begin; out: first page from there that differs. In units of
 *	ZJD_DIFF_BYTES
 */
struct zjd_diff {
	__u32 dev[2];
	__u64 page;
};

/* ENODATA: no difference from there on. */
#define ZJD_IOC_DIFF _IOWR('z', 0x22, struct zjd_diff)

#endif
