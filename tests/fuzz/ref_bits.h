/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that the reference readers share: numbers, CRC-32C, and refusals. */
#ifndef ZJ_FUZZ_REF_BITS_H
#define ZJ_FUZZ_REF_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include "reference.h"

static inline uint64_t le(const uint8_t *p, int bytes)
{
	uint64_t val = 0;

	while (bytes--)
		val = val << 8 | p[bytes];
	return val;
}

static inline uint32_t le32(const uint8_t *p)
{
	return le(p, 4);
}

static inline uint64_t le64(const uint8_t *p)
{
	return le(p, 8);
}

static inline uint64_t be(const uint8_t *p, int bytes)
{
	uint64_t val = 0;

	while (bytes--)
		val = val << 8 | *p++;
	return val;
}

static inline uint32_t be32(const uint8_t *p)
{
	return be(p, 4);
}

static inline bool all_zero(const uint8_t *p, uint32_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

/* CRC-32C, continued from @seed. */
uint32_t ref_crc(uint32_t seed, const uint8_t *p, uint32_t len);
/* The same, the four bytes at @hole taken as zero. */
uint32_t ref_crc_without(uint32_t seed, const uint8_t *p, uint32_t len, uint32_t hole);
/* Note why recovery must refuse; false. */
bool ref_damage(struct ref_result *res, const char *why);

#endif
