/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file of fsxmarks holds. */
#ifndef NOTE_H
#define NOTE_H

#include <stdint.h>
#include <string.h>

#define BLOCK		4096u
#define BLOCKS		64u
#define WORD		sizeof(uint64_t)

/**
 * struct note - a file after an fsync
 * @from: mark placed when the fsync had returned
 * @until: mark placed before the next change; 0: there was none
 * @size: size of the file
 * @sum: checksum of each block up to @size; the last one may be short
 * @word: first bytes of each block, which say what wrote them
 */
struct note {
	uint64_t from;
	uint64_t until;
	uint64_t size;
	uint64_t sum[BLOCKS];
	uint64_t word[BLOCKS];
};

static uint32_t blocks_of(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK;
}

static uint64_t sum_of(const char *data, size_t n)
{
	uint64_t sum = n;
	size_t i;

	for (i = 0; i < n; i++)
		sum = (sum ^ (unsigned char)data[i]) * 0x100000001b3ull;
	return sum;
}

static size_t in_block(uint64_t bytes, uint32_t block)
{
	uint64_t left = bytes - (uint64_t)block * BLOCK;

	return left < BLOCK ? left : BLOCK;
}

static void describe(struct note *n, const char *data, uint64_t bytes)
{
	uint32_t b;

	memset(n, 0, sizeof(*n));
	n->size = bytes;
	for (b = 0; b < blocks_of(bytes); b++) {
		size_t len = in_block(bytes, b);

		n->sum[b] = sum_of(data + b * BLOCK, len);
		memcpy(&n->word[b], data + b * BLOCK, len < WORD ? len : WORD);
	}
}

#endif
