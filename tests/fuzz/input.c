// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include "input.h"

#define HEAD	8
#define ENTRY	4

/* Enough for two inputs and all that the runs of one write. */
#define MAX_BUFFERS	(10 * IN_MAX_BLOCKS)

static u8 *buffers[MAX_BUFFERS];
static u32 buffers_used;

static u32 get16(const u8 *p)
{
	return p[0] | p[1] << 8;
}

static void put16(u8 *p, u32 val)
{
	p[0] = val;
	p[1] = val >> 8;
}

void in_reset(void)
{
	buffers_used = 0;
}

u8 *in_new_block(void)
{
	u8 **buf = &buffers[buffers_used];

	if (buffers_used++ == MAX_BUFFERS) {
		fprintf(stderr, "MAX_BUFFERS is too small\n");
		abort();
	}
	if (!*buf)
		*buf = malloc(IN_MAX_BLOCK_SIZE);
	if (!*buf)
		abort();
	memset(*buf, 0, IN_MAX_BLOCK_SIZE);
	return *buf;
}

u8 *in_block(struct input *in, u32 at)
{
	if (!in->block[at])
		in->block[at] = in_new_block();
	return in->block[at];
}

const u8 *in_peek(const struct input *in, u32 at)
{
	static const u8 zero[IN_MAX_BLOCK_SIZE];

	return in->block[at] ? in->block[at] : zero;
}

static u32 clamp_blocks(u32 blocks)
{
	return blocks > IN_MAX_BLOCKS ? IN_MAX_BLOCKS : blocks;
}

void in_unpack(struct input *in, const u8 *data, size_t size)
{
	u8 head[HEAD] = { 0 };
	size_t pos = HEAD;

	memset(in, 0, sizeof(*in));
	memcpy(head, data, size < HEAD ? size : HEAD);
	in->block_size = 1024U << head[0] % 3;
	in->extra = head[0] / 3;
	in->failure = head[1];
	in->journal_blocks = clamp_blocks(get16(head + 2));
	in->home_blocks = clamp_blocks(get16(head + 4));
	in->when = get16(head + 6);

	while (pos + ENTRY <= size) {
		u32 at = get16(data + pos), len = get16(data + pos + 2);

		pos += ENTRY;
		if (len > size - pos)
			len = size - pos;
		if (at < in->journal_blocks)
			memcpy(in_block(in, at), data + pos,
			       len < in->block_size ? len : in->block_size);
		pos += len;
	}
}

/* Returns the length without most of the zeros at the end. */
static u32 used_bytes(const u8 *block, u32 len)
{
	u64 word;

	for (; len; len -= sizeof(word)) {
		memcpy(&word, block + len - sizeof(word), sizeof(word));
		if (word)
			break;
	}
	return len;
}

size_t in_pack(const struct input *in, u8 *data, size_t room)
{
	size_t pos = HEAD;

	if (room < HEAD)
		return 0;
	data[0] = (in->block_size >> 11) + 3 * in->extra;
	data[1] = in->failure;
	put16(data + 2, in->journal_blocks);
	put16(data + 4, in->home_blocks);
	put16(data + 6, in->when);
	for (u32 at = 0; at < in->journal_blocks; at++) {
		u32 len = in->block[at] ? used_bytes(in->block[at],
						     in->block_size) : 0;

		if (!len)
			continue;
		if (pos + ENTRY + len > room)
			break;
		put16(data + pos, at);
		put16(data + pos + 2, len);
		memcpy(data + pos + ENTRY, in->block[at], len);
		pos += ENTRY + len;
	}
	return pos;
}
