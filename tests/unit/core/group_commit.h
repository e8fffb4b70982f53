/* SPDX-License-Identifier: GPL-2.0-only */
/* A journal of one lane whose commits overlap. */
#ifndef ZJ_UNIT_PIPELINE_H
#define ZJ_UNIT_PIPELINE_H

#include "fixture.h"

/* With a log in stock's format, or in our own. */
#define JBD2(...)	OPEN(.jbd2 = true, .pipeline = true, .lanes = 1, ##__VA_ARGS__)
#define LANES(...)	OPEN(.pipeline = true, .lanes = 1, ##__VA_ARGS__)


/* An fsync of one changed block that cannot end before release(). */
static inline struct fiber *fsync_of(u32 block, u8 val)
{
	struct fiber *f = GO(call_complete, .tid = change(0, block, val));

	settle();
	return f;
}

static inline u64 lane_flushes(void)
{
	return lane(0)->stats.flushes;
}

/* A block of the log that the next transaction's images go to. */
static inline u32 next_image(void)
{
	return jblock(fx.zj->ring.head + 1);
}

/* An fsync of BLOCK whose image cannot be written before release(). */
static inline struct fiber *fsync_with_image_held(void)
{
	fx.hold_block = next_image();
	return fsync_of(BLOCK, 1);
}

#endif
