/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the blocks of a journal are on their device, as runs of neighbours: an
 * image may claim a journal of any length at no cost, and a real one has few runs.
 */
#ifndef ZJ_JOURNAL_MAP_H
#define ZJ_JOURNAL_MAP_H

#include <linux/types.h>

/*
 * A journal of 40 GB, the longest that mke2fs makes, with blocks of 4 KiB has
 * ten times as many blocks. The runs take 16 MiB.
 */
#define ZJ_MAP_RUNS	(1U << 20)

/**
 * struct zj_map_run - journal blocks that are neighbours on the device
 */
struct zj_map_run {
	u64	block;		/* of the device: the first one */
	u32	first;		/* that journal block */
};

/**
 * struct zj_map - the blocks of a journal; all zeros: none is mapped yet
 *
 * Filled by one task, then immutable.
 */
struct zj_map {
	struct zj_map_run *runs;	/* @nr elements, by their journal blocks */
	u32	nr;		/* runs in use */
	u32	room;		/* runs allocated */
	u32	blocks;		/* journal blocks that are mapped, from 0 on */
};

int zj_map_add(struct zj_map *map, u64 block, u32 nr);
u32 zj_map_look(const struct zj_map *map, u32 at, u32 nr, u64 *block);
void zj_map_clear(struct zj_map *map);

/* Returns the device's block that journal block @at is; it is mapped. */
static inline u64 zj_map_block(const struct zj_map *map, u32 at)
{
	u64 block;

	zj_map_look(map, at, 1, &block);
	return block;
}

#endif /* ZJ_JOURNAL_MAP_H */
