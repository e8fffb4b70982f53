/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_CRC32_H
#define ZJ_USER_LINUX_CRC32_H

#include <linux/types.h>

/* CRC-32 of IEEE 802.3, highest bit first, continued from @crc; nothing is inverted. */
static inline u32 crc32_be(u32 crc, const void *buf, size_t len)
{
	const u8 *p = buf;

	for (; len; len--) {
		crc ^= (u32)*p++ << 24;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc << 1) ^ (crc & 0x80000000U ? 0x04c11db7U : 0);
	}
	return crc;
}

#endif
