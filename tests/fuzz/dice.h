/* SPDX-License-Identifier: GPL-2.0-only */
/* The mutators' choices. */
#ifndef ZJ_FUZZ_DICE_H
#define ZJ_FUZZ_DICE_H

#include <linux/types.h>

static inline u32 dice_below(u32 *rand, u32 n)
{
	*rand ^= *rand << 13;
	*rand ^= *rand >> 17;
	*rand ^= *rand << 5;
	return n ? *rand % n : 0;
}

size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size,
			       unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const u8 *data1, size_t size1,
				 const u8 *data2, size_t size2, u8 *out,
				 size_t max_size, unsigned int seed);

#endif
