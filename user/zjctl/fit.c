// SPDX-License-Identifier: GPL-2.0-only
/* How many lanes a journal has room for, and how large it should be. */
#include <unistd.h>
#include <linux/minmax.h>
#include "format/codec.h"
#include "zjctl.h"

#define MIN_BLOCKS	1024	/* JBD2's own limit */

u32 zx_lanes_that_fit(u32 journal_blocks, u32 block_size, u32 wanted)
{
	struct zj_log_geometry geo;

	return zj_fit_lanes(&geo, journal_blocks, block_size,
			    min_t(u32, wanted, ZJ_MAX_LANES));
}

/* Groups of less than 2048 blocks would spread the descriptors, and be too small themselves. */
u64 zx_group_blocks(u64 blocks, u32 descs_per_block, u32 cpus)
{
	u64 per_group = blocks / ((u64)descs_per_block * cpus) & ~7ULL;

	return per_group < 2048 ? 0 : per_group;
}

u32 zx_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : min_t(u32, n, ZJ_MAX_LANES);
}

u32 zx_journal_mib(u32 lanes, u64 fs_bytes, u32 block_size)
{
	u64 most = fs_bytes / 8 >> 20;	/* a limited share of a small file system */
	u64 mib = (u64)lanes * ZX_LANE_MIB;
	u64 least = (u64)MIN_BLOCKS * block_size >> 20;

	if (mib < 64)
		mib = 64;
	if (mib > 4096)
		mib = 4096;
	while (mib > least && mib > most)
		mib /= 2;
	/* The smallest size with room for every lane, if the file system has the space. */
	while (mib * 2 <= most && mib < 4096 &&
	       zx_lanes_that_fit((mib << 20) / block_size, block_size, lanes) < lanes)
		mib *= 2;
	return max_t(u64, mib, least);
}
