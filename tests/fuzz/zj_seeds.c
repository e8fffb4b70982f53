// SPDX-License-Identifier: GPL-2.0-only
/* The logs of the unit tests, with short images, in all block sizes. */
#include <string.h>
#include "randlog.h"
#include "seeds.h"
#include "zj_seal.h"

#define IMAGE_BYTES	16	/* of an image are kept, so that inputs stay short */
#define HOME_BLOCKS	128	/* blocks 1 to RL_HOME are not the journal's then */

static void take_block(struct input *in, struct memdev *d, u32 at)
{
	u8 *block = in_block(in, at);

	memcpy(block, ml_block(d, at), 1024);
	if (at >= d->geo.log_first && !seal_is_header(in, at))
		memset(block + IMAGE_BYTES, 0, 1024 - IMAGE_BYTES);
}

void make_input(struct input *in, u32 seed)
{
	struct randlog *l = rl_new(seed, false);

	in_reset();
	memset(in, 0, sizeof(*in));
	in->block_size = 1024U << seed % 3;
	in->journal_blocks = l->d->geo.total_blocks;
	in->home_blocks = HOME_BLOCKS;
	in->failure = seed / 3 % 7;
	in->when = seed;
	for (u32 at = 1; at < in->journal_blocks; at++)
		take_block(in, l->d, at);
	seal_block_size(in);
	seal(in, SEAL_ALL);
	rl_free(l);
}
