/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_CRC32C_H
#define ZJ_USER_LINUX_CRC32C_H

#include <linux/types.h>

/* Castagnoli CRC of @buf continued from @crc; nothing is inverted. */
u32 crc32c(u32 crc, const void *buf, unsigned int len);
/* The same without the CPU's instruction. */
u32 crc32c_tables(u32 crc, const void *buf, unsigned int len);

#endif
