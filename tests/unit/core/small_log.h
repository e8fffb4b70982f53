/* SPDX-License-Identifier: GPL-2.0-only */
/* Logs that are nearly full. */
#ifndef ZJ_UNIT_SMALL_LOG_H
#define ZJ_UNIT_SMALL_LOG_H

#include "fixture.h"

/* 15 segments of 8 blocks: everything is near its end. */
#define SMALL	.journal = 130

static inline u32 free_segs(void)
{
	return fx.zj->nr_pool;
}

static inline void change_many(u32 lane, u32 nr, u8 val)
{
	handle_t *h = start(lane, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, val);
	stop(h);
}

/* Starts until one has to wait, while nothing can be reclaimed. */
static inline struct fiber *fill(u32 credits)
{
	struct fiber *f;

	for (u32 i = 0; i < 100; i++) {
		f = GO(call_start, .cpu = 0, .n = credits);
		let_run();
		if (!f->done)
			return f;
		join(f);
		stop(f->h);
		seal(0);
	}
	fail();
	return NULL;
}

/* Fills the log with two large transactions that cannot become committed. */
static inline void block_the_log(void)
{
	change_many(0, fx.zj->max_credits, 1);
	fx.hold_lane[0] = true;
	seal(0);
	change_many(0, fx.zj->max_credits / 2, 2);
	seal(0);
	settle();
}

#endif
