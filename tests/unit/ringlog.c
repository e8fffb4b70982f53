// SPDX-License-Identifier: GPL-2.0-only
#include <asm/byteorder.h>
#include "ringlog.h"

const u32 ring_kinds[RING_KINDS] = {
	0, ZJ_JBD2_INCOMPAT_64BIT, ZJ_JBD2_INCOMPAT_CSUM_V2,
	ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_64BIT,
	ZJ_JBD2_INCOMPAT_CSUM_V3,
	ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT,
};

u32 ring_below(struct ring *r, u32 n)
{
	return ml_rand(&r->rand) % n;
}

static void make_ring(struct ring *r, u32 seed, u32 features, struct memdev *d)
{
	memset(r, 0, sizeof(*r));
	r->d = d;
	r->rand = seed * 2654435761u + 1;
	memset(ml_block(r->d, 1), 0, 1024);
	r->sb = ml_block(r->d, 0);
	r->sb->s_magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	r->sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	r->sb->s_blocksize = cpu_to_be32(1024);
	r->sb->s_maxlen = cpu_to_be32(r->d->geo.total_blocks);
	r->sb->s_first = cpu_to_be32(1);
	r->sb->s_feature_incompat = cpu_to_be32(features);
	r->sb->s_checksum_type = ZJ_JBD2_CRC32C;
	r->sb->s_sequence = cpu_to_be32(RING_SEQUENCE);
	memcpy(r->sb->s_uuid, mem_uuid, 16);
	zj_jbd2_geo_of(r->sb, &r->log);
	r->pos = 1 + ring_below(r, r->log.last - 1);
	r->left = r->log.last - 2;
	r->sb->s_start = cpu_to_be32(r->pos);
	r->sequence = RING_SEQUENCE;
	/* Leftovers of an older life. */
	for (u32 i = 1; i < r->log.last; i++)
		zj_jbd2_put_header(ml_block(r->d, i), 1 + ring_below(r, 5),
				   RING_SEQUENCE - 1 - ring_below(r, 20));
}

int ring_recover(struct memdev *d, const struct zj_io_ops *ops, unsigned int flags,
		 struct zj_recovery_stats *stats, u32 *sequence)
{
	struct zj_recovery_args args = ml_args(d, ops, flags, stats);

	return zj_recover_jbd2(&args, ml_block(d, 0), sequence);
}

void ring_new(struct ring *r, u32 seed, u32 features)
{
	make_ring(r, seed, features, ml_new(12, 8, RING_HOMES));
}

void ring_new_large(struct ring *r, u32 seed, u32 features)
{
	make_ring(r, seed, features, ml_new(32, 32, RING_HOMES));
}

void ring_new_huge(struct ring *r, u32 seed, u32 features)
{
	make_ring(r, seed, features, ml_new(ZJ_READ_SLOTS + 2, 256, RING_HOMES));
}

void *ring_next(struct ring *r)
{
	u8 *block = ml_block(r->d, r->pos);

	r->pos = zj_jbd2_step(&r->log, r->pos, 1);
	r->left--;
	memset(block, 0, 1024);
	return block;
}

static void put_images(struct ring *r, u32 n, u8 *got)
{
	u8 *desc = ring_next(r);
	u32 i, block = ring_below(r, RING_HOMES);

	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, r->sequence);
	for (i = 0; i < n; i++) {
		struct zj_jbd2_image tag = { };
		u8 *data = ring_next(r);

		block = (block + 1) % RING_HOMES;
		tag.block = block;
		got[block] = 1 + ring_below(r, 200);
		ml_pattern(r->d, data, block, got[block]);
		if (ring_below(r, 3) == 0) {
			/* Replay puts the number there. */
			tag.flags = ZJ_JBD2_TAG_ESCAPED;
			memset(data, 0, 4);
		}
		tag.csum = zj_jbd2_image_csum(&r->log, r->sequence, data);
		zj_jbd2_put_tag(&r->log, desc, i, i == n - 1, &tag);
	}
	zj_jbd2_set_csum(&r->log, desc);
}

void ring_put_revokes(struct ring *r, u32 n, const u8 *got, bool *revoked)
{
	u8 *block = ring_next(r);
	u32 nr = 0, b;

	zj_jbd2_put_header(block, ZJ_JBD2_REVOKE, r->sequence);
	while (n--) {
		b = ring_below(r, RING_HOMES);
		/* Sometimes of the own transaction: it voids that as well. */
		if (got[b] && ring_below(r, 4))
			continue;
		revoked[b] = true;
		zj_jbd2_put_revoke(&r->log, block, nr++, b);
	}
	zj_jbd2_set_csum(&r->log, block);
}

static bool put_txn(struct ring *r, bool commit)
{
	u32 images = ring_below(r, 6), revokes = ring_below(r, 3) ? 0 : ring_below(r, 8);

	if (r->left < images + 3 || r->nr == 64)
		return false;
	if (images)
		put_images(r, images, r->got[r->nr]);
	if (revokes)
		ring_put_revokes(r, revokes, r->got[r->nr], r->revoked[r->nr]);
	if (commit) {
		zj_jbd2_put_commit(&r->log, ring_next(r), r->sequence,
				   1000 + r->nr, 0);
		r->nr++;
		r->sequence++;
	}
	return true;
}

void ring_fill(struct ring *r)
{
	u32 most = ring_below(r, 30);

	while (most-- && put_txn(r, true))
		;
	if (ring_below(r, 2))
		put_txn(r, false);
	for (u32 t = 0; t < r->nr; t++)
		for (u32 b = 0; b < RING_HOMES; b++) {
			if (r->got[t][b])
				r->want[b] = r->got[t][b];
			if (r->revoked[t][b])
				r->want[b] = 0;
		}
}
