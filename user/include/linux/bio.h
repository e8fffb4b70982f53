/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_BIO_H
#define ZJ_USER_LINUX_BIO_H

#include <linux/blkdev.h>

#endif
