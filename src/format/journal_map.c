// SPDX-License-Identifier: GPL-2.0-only
/* Where the blocks of a journal are on their device. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "format/journal_map.h"

#define ZJ_MAP_FIRST	16	/* runs that are allocated at first */

static int zj_map_grow(struct zj_map *map)
{
	u32 room = map->room ? map->room * 2 : ZJ_MAP_FIRST;
	struct zj_map_run *runs;

	if (room > ZJ_MAP_RUNS)
		return -EFBIG;
	runs = kvmalloc_array(room, sizeof(*runs),
			      GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!runs)
		return -ENOMEM;
	if (map->nr)
		memcpy(runs, map->runs, map->nr * sizeof(*runs));
	kvfree(map->runs);
	map->runs = runs;
	map->room = room;
	return 0;
}

/* The block of the device behind the last one that is mapped. */
static u64 zj_map_end(const struct zj_map *map)
{
	const struct zj_map_run *last = &map->runs[map->nr - 1];

	return last->block + (map->blocks - last->first);
}

/**
 * zj_map_add() - map the next blocks of the journal
 * @map: the map
 * @block: block of the device that the first of them is
 * @nr: number of blocks, neighbours
 *
 * Return: 0, -ENOMEM, or -EFBIG if the journal is in too many pieces.
 */
int zj_map_add(struct zj_map *map, u64 block, u32 nr)
{
	int err = 0;

	if (!map->nr || zj_map_end(map) != block) {
		if (map->nr == map->room)
			err = zj_map_grow(map);
		if (err)
			return err;
		map->runs[map->nr++] = (struct zj_map_run) {
			.block = block,
			.first = map->blocks,
		};
	}
	map->blocks += nr;
	return 0;
}

/**
 * zj_map_look() - look up blocks of the journal
 * @map: the map
 * @at: the first journal block; it is mapped
 * @nr: number of blocks that are wanted, at least 1
 * @block: set to the block of the device that @at is
 *
 * Most journals have one run, or two.
 *
 * Return: how many of them are neighbours on the device from there on.
 */
u32 zj_map_look(const struct zj_map *map, u32 at, u32 nr, u64 *block)
{
	const struct zj_map_run *run = map->runs;
	u32 lo = 0, hi = map->nr, mid, end;

	/* The run with the highest first block that is not above @at. */
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (run[mid].first <= at)
			lo = mid;
		else
			hi = mid;
	}
	end = lo + 1 < map->nr ? run[lo + 1].first : map->blocks;
	*block = run[lo].block + (at - run[lo].first);
	return min(nr, end - at);
}

/**
 * zj_map_clear() - map no block any more
 * @map: the map
 */
void zj_map_clear(struct zj_map *map)
{
	kvfree(map->runs);
	memset(map, 0, sizeof(*map));
}
