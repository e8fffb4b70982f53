/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BIO_H
#define ZJ_RUNTIME_LINUX_BIO_H

#include <linux/blkdev.h>

#endif
