// SPDX-License-Identifier: GPL-2.0-only
/* The logs of the unit tests, with short images, in all block sizes. */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include "jbd2_seal.h"
#include "ringlog.h"
#include "seeds.h"

#define IMAGE_BYTES	16	/* of an image are kept, so that inputs stay short */
#define HOME_BLOCKS	256	/* the first quarter is not the journal's then */

static void take_block(struct input *in, struct memdev *d, u32 at)
{
	u8 *block = in_block(in, at);

	memcpy(block, ml_block(d, at), at ? 1020 : 1024);
	if (at && !jbd2_is_header(in, at))
		memset(block + IMAGE_BYTES, 0, 1024 - IMAGE_BYTES);
}

/* Features that only stock's older and newer versions have. */
static void add_features(struct zj_jbd2_super *sb, u32 seed)
{
	if (seed % 4 == 1 && !(sb->s_feature_incompat & cpu_to_be32(JBD2_CSUMS)))
		sb->s_feature_compat = cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
	if (seed % 8 == 2)
		sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_ASYNC_COMMIT);
}

void make_input(struct input *in, u32 seed)
{
	struct zj_jbd2_super *sb;
	struct ring r;

	ring_new(&r, seed + 1, ring_kinds[seed % RING_KINDS]);
	ring_fill(&r);
	in_reset();
	memset(in, 0, sizeof(*in));
	in->block_size = 1024U << seed / 2 % 3;
	in->journal_blocks = r.d->geo.total_blocks;
	in->home_blocks = HOME_BLOCKS;
	in->failure = seed % 7;
	in->when = seed;
	for (u32 at = 0; at < in->journal_blocks; at++)
		take_block(in, r.d, at);
	sb = (void *)in->block[0];
	sb->s_blocksize = cpu_to_be32(in->block_size);
	add_features(sb, seed);
	jbd2_seal(in);
	ml_free(r.d);
}
