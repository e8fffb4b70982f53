// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC-32C for user space: the CPU's instruction where there is one, else eight
 * bytes at a time from tables.
 */
#include <pthread.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/crc32c.h>

#define POLY	0x82f63b78U	/* Castagnoli, lowest bit first */

/* tables[k][b]: what byte b contributes once k more bytes have followed it */
static u32 tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	u32 crc;

	for (int b = 0; b < 256; b++) {
		crc = b;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? POLY : 0);
		tables[0][b] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++) {
			crc = tables[k - 1][b];
			tables[k][b] = (crc >> 8) ^ tables[0][crc & 0xff];
		}
}

u32 crc32c_tables(u32 crc, const void *buf, unsigned int len)
{
	const u8 *p = buf;
	u64 word;

	pthread_once(&tables_once, make_tables);
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		word = __le64_to_cpu(word) ^ crc;
		crc = 0;
		for (int i = 0; i < 8; i++)
			crc ^= tables[7 - i][(word >> (8 * i)) & 0xff];
	}
	for (; len; len--, p++)
		crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static u32 crc32c_sse42(u32 crc, const u8 *p, unsigned int len)
{
	unsigned long long wide = crc, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = wide;
	for (; len; len--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}
#endif

u32 crc32c(u32 crc, const void *buf, unsigned int len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, buf, len);
#endif
	return crc32c_tables(crc, buf, len);
}
