/* SPDX-License-Identifier: GPL-2.0-only */
/* A journal whose log is in stock's format, and a look at its bytes. */
#ifndef ZJ_UNIT_JBD2VIEW_H
#define ZJ_UNIT_JBD2VIEW_H

#include "fixture.h"

#define JBD2(...)	OPEN(.jbd2 = true, .lanes = 1, ##__VA_ARGS__)
#define RING_FIRST	1	/* kit_make_journal() */
#define PER_DESCRIPTOR	62	/* images, 1 KiB, checksum 3 */

static inline u32 be(const u8 *p, u32 at)
{
	return (u32)p[at] << 24 | p[at + 1] << 16 | p[at + 2] << 8 | p[at + 3];
}

static inline const u8 *disk_block(u32 b)
{
	return fx.disk->seen[jblock(b)];
}

static inline u32 super_start(void)
{
	return be(disk_block(0), 0x1c);
}

static inline u32 super_sequence(void)
{
	return be(disk_block(0), 0x18);
}

static inline u32 step(u32 block, u32 n)
{
	for (; n; n--)
		block = block + 1 == fx.setup.journal ? RING_FIRST : block + 1;
	return block;
}

/* Where a transaction's block of this type is, from its first block on. */
static inline u32 type_at(u32 block)
{
	return be(disk_block(block), 0) == ZJ_JBD2_MAGIC ?
	       be(disk_block(block), 4) : 0;
}

static inline void change_many(u32 first, u32 nr, u8 val)
{
	handle_t *h = start(0, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, first + i, val);
	stop(h);
	commit(0);
}

#endif
