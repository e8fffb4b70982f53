/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_CRC32_H
#define ZJ_USER_LINUX_CRC32_H

#include <linux/types.h>

/* CRC-32 of IEEE 802.3, highest bit first, continued from @crc; nothing is inverted. */
static inline u32 crc32_be(u32 crc, const void *buf, size_t len)
{
	/* What four bits contribute once they have left at the top. */
	static const u32 nibble[16] = {
		0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9,
		0x130476dc, 0x17c56b6b, 0x1a864db2, 0x1e475005,
		0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
		0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd,
	};
	const u8 *p = buf;

	for (; len; len--) {
		crc ^= (u32)*p++ << 24;
		crc = (crc << 4) ^ nibble[crc >> 28];
		crc = (crc << 4) ^ nibble[crc >> 28];
	}
	return crc;
}

#endif
