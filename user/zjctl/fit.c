// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many lanes a journal has room for, as the module reckons at mount
 * (choose_geometry() in src/journal.c), and how large it should be.
 */
#include <unistd.h>
#include <linux/minmax.h>
#include "codec.h"
#include "zjctl.h"

#define LARGEST_HANDLE	1100	/* blocks, for an online resize */
#define TXN_OVERHEAD	3
#define MIN_BLOCKS	1024	/* JBD2's own limit */

static u32 log_blocks(const struct zj_log_geometry *geo, u32 n)
{
	u32 room = zj_chunk_room(geo->block_size);

	n += n / (room / sizeof(struct zj_tag)) + TXN_OVERHEAD +
	     geo->nr_lanes * sizeof(__le64) / room;
	return n + 2 * (n / (geo->seg_blocks - 2) + 1);
}

static bool fits(u32 journal_blocks, u32 block_size, u32 lanes)
{
	u32 largest = min_t(u32, LARGEST_HANDLE, journal_blocks / 4);
	struct zj_log_geometry geo = { 0 };

	if (zj_make_geometry(&geo, journal_blocks, block_size, lanes))
		return false;
	return geo.nr_segs >= DIV_ROUND_UP(log_blocks(&geo, largest), geo.seg_blocks) + 3 * lanes;
}

u32 zx_lanes_that_fit(u32 journal_blocks, u32 block_size, u32 wanted)
{
	u32 lanes = min_t(u32, wanted, ZJ_MAX_LANES);

	while (lanes && !fits(journal_blocks, block_size, lanes))
		lanes--;
	return lanes;
}

u32 zx_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : min_t(u32, n, ZJ_MAX_LANES);
}

u32 zx_journal_mib(u32 lanes, u64 fs_bytes, u32 block_size)
{
	u64 most = fs_bytes / 8 >> 20;	/* of a small file system not too much */
	u64 mib = (u64)lanes * ZX_LANE_MIB;
	u64 least = (u64)MIN_BLOCKS * block_size >> 20;

	if (mib < 64)
		mib = 64;
	if (mib > 4096)
		mib = 4096;
	while (mib > least && mib > most)
		mib /= 2;
	/* The least that gives every lane its place, where there is room. */
	while (mib * 2 <= most && mib < 4096 &&
	       zx_lanes_that_fit((mib << 20) / block_size, block_size, lanes) < lanes)
		mib *= 2;
	return max_t(u64, mib, least);
}
