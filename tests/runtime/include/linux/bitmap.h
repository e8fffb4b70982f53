/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BITMAP_H
#define ZJ_RUNTIME_LINUX_BITMAP_H

#include <linux/types.h>

#define KL_LONG_BITS	(8 * sizeof(unsigned long))
#define KL_LONGS(bits)	(((bits) + KL_LONG_BITS - 1) / KL_LONG_BITS)
#define DECLARE_BITMAP(name, bits)	unsigned long name[KL_LONGS(bits)]

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[nr / KL_LONG_BITS] |= 1UL << nr % KL_LONG_BITS;
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[nr / KL_LONG_BITS] >> nr % KL_LONG_BITS & 1;
}

#define for_each_set_bit(bit, map, bits)				\
	for ((bit) = 0; (bit) < (bits); (bit)++)			\
		if (test_bit(bit, map))

/* All bits of the last word count: those beyond the end are never set here. */
static inline unsigned int bitmap_weight(const unsigned long *map,
					 unsigned int bits)
{
	unsigned int i, n = 0;

	for (i = 0; i < KL_LONGS(bits); i++)
		n += __builtin_popcountl(map[i]);
	return n;
}

#endif
