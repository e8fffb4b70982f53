// SPDX-License-Identifier: GPL-2.0-only
/* Recovery of logs in stock's format: random ones, cut off, damaged, hostile. */
#include <stdlib.h>
#include <asm/byteorder.h>
#include "codec_jbd2.h"
#include "memlog.h"
#include "tests.h"

#define HOMES		40	/* blocks of the file system */
#define SEQUENCE	0xfffffff8u	/* the numbers go over 0 */

/**
 * struct ring - a log under construction, and what it must make of the blocks
 */
struct ring {
	struct memdev	*d;
	struct zj_jbd2_super *sb;
	struct zj_jbd2_log log;
	u32		rand;
	u32		pos;		/* next block */
	u32		left;		/* blocks */
	u32		sequence;	/* next transaction */
	u8		want[HOMES];	/* pattern, 0: untouched */
	u8		got[64][HOMES];	/* images of each transaction */
	bool		revoked[64][HOMES];
	u32		nr;		/* transactions */
};

static const u32 kinds[] = {
	0, ZJ_JBD2_INCOMPAT_64BIT, ZJ_JBD2_INCOMPAT_CSUM_V2,
	ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_64BIT,
	ZJ_JBD2_INCOMPAT_CSUM_V3,
	ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT,
};

static u32 below(struct ring *r, u32 n)
{
	return ml_rand(&r->rand) % n;
}

static void ring_new(struct ring *r, u32 seed, u32 features)
{
	memset(r, 0, sizeof(*r));
	r->d = ml_new(12, 8, HOMES);
	r->rand = seed * 2654435761u + 1;
	memset(ml_block(r->d, 1), 0, 1024);
	r->sb = ml_block(r->d, 0);
	r->sb->s_magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	r->sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	r->sb->s_blocksize = cpu_to_be32(1024);
	r->sb->s_maxlen = cpu_to_be32(r->d->geo.total_blocks);
	r->sb->s_first = cpu_to_be32(1);
	r->sb->s_feature_incompat = cpu_to_be32(features);
	r->sb->s_sequence = cpu_to_be32(SEQUENCE);
	memcpy(r->sb->s_uuid, mem_uuid, 16);
	zj_jbd2_log_of(r->sb, &r->log);
	r->pos = 1 + below(r, r->log.last - 1);
	r->left = r->log.last - 2;
	r->sb->s_start = cpu_to_be32(r->pos);
	r->sequence = SEQUENCE;
	/* Leftovers of an older life. */
	for (u32 i = 1; i < r->log.last; i++)
		zj_jbd2_put_header(ml_block(r->d, i), 1 + below(r, 5),
				   SEQUENCE - 1 - below(r, 20));
}

static void *next(struct ring *r)
{
	u8 *block = ml_block(r->d, r->pos);

	r->pos = zj_jbd2_step(&r->log, r->pos, 1);
	r->left--;
	memset(block, 0, 1024);
	return block;
}

static void put_images(struct ring *r, u32 n, u8 *got)
{
	u8 *desc = next(r);
	u32 i, block = below(r, HOMES);

	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, r->sequence);
	for (i = 0; i < n; i++) {
		struct zj_jbd2_image tag = { };
		u8 *data = next(r);

		block = (block + 1) % HOMES;
		tag.block = block;
		got[block] = 1 + below(r, 200);
		ml_pattern(r->d, data, block, got[block]);
		if (below(r, 3) == 0) {
			/* Replay puts the number there. */
			tag.flags = ZJ_JBD2_TAG_ESCAPED;
			memset(data, 0, 4);
		}
		tag.csum = zj_jbd2_image_csum(&r->log, r->sequence, data);
		zj_jbd2_put_tag(&r->log, desc, i, i == n - 1, &tag);
	}
	zj_jbd2_seal(&r->log, desc);
}

static void put_revokes(struct ring *r, u32 n, const u8 *got, bool *revoked)
{
	u8 *block = next(r);
	u32 nr = 0, b;

	zj_jbd2_put_header(block, ZJ_JBD2_REVOKE, r->sequence);
	while (n--) {
		b = below(r, HOMES);
		/* Sometimes of the own transaction: it voids that as well. */
		if (got[b] && below(r, 4))
			continue;
		revoked[b] = true;
		zj_jbd2_put_revoke(&r->log, block, nr++, b);
	}
	zj_jbd2_seal(&r->log, block);
}

static bool put_txn(struct ring *r, bool commit)
{
	u32 images = below(r, 6), revokes = below(r, 3) ? 0 : below(r, 8);

	if (r->left < images + 3 || r->nr == 64)
		return false;
	if (images)
		put_images(r, images, r->got[r->nr]);
	if (revokes)
		put_revokes(r, revokes, r->got[r->nr], r->revoked[r->nr]);
	if (commit) {
		zj_jbd2_put_commit(&r->log, next(r), r->sequence,
				   1000 + r->nr, 0);
		r->nr++;
		r->sequence++;
	}
	return true;
}

static void fill(struct ring *r)
{
	u32 most = below(r, 30);

	while (most-- && put_txn(r, true))
		;
	if (below(r, 2))
		put_txn(r, false);
	for (u32 t = 0; t < r->nr; t++)
		for (u32 b = 0; b < HOMES; b++) {
			if (r->got[t][b])
				r->want[b] = r->got[t][b];
			if (r->revoked[t][b])
				r->want[b] = 0;
		}
}

static int recover(struct ring *r, struct memdev *d, struct zj_recovery_stats *s,
		   u32 *sequence)
{
	return zj_recover_jbd2(&mem_ops, d, ml_block(d, 0), d->geo.total_blocks,
			       HOMES, false, s, sequence);
}

static void judge(struct ring *r, struct memdev *d)
{
	const __be32 magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	u8 want[1024], *home;

	for (u32 b = 0; b < HOMES; b++) {
		home = d->home + b * 1024;
		memset(want, 0, sizeof(want));
		if (r->want[b])
			ml_pattern(d, want, b, r->want[b]);
		if (r->want[b] && !memcmp(home, &magic, 4))
			memcpy(want, &magic, 4);
		assert_memory_equal(home, want, 1024);
	}
}

static void random_logs(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *cut;
	struct ring r;
	u32 sequence;

	for (u32 seed = 1; seed <= 6000; seed++) {
		ring_new(&r, seed, kinds[seed % ARRAY_SIZE(kinds)]);
		fill(&r);
		cut = ml_clone(r.d);
		assert_int_equal(recover(&r, r.d, &s, &sequence), 0);
		assert_int_equal(s.transactions, r.nr);
		assert_int_equal(sequence, r.sequence);
		/* An image that is revoked further on is not written before. */
		judge(&r, r.d);
		/* A power cut on the way, and again. */
		cut->power_cut_at = below(&r, 12);
		cut->rand = seed;
		if (recover(&r, cut, &s, &sequence)) {
			ml_power_cut(cut);
			cut->power_cut_at = ML_NEVER;
			assert_int_equal(recover(&r, cut, &s, &sequence), 0);
		}
		judge(&r, cut);
		ml_free(cut);
		ml_free(r.d);
	}
}

/* Once everything is checked a read may fail for the second time: try again. */
static void failed_reads_are_survived(void **state)
{
	struct zj_recovery_stats s;
	u32 sequence, failed = 0;
	struct ring r;

	for (u32 seed = 1; seed < 500; seed++) {
		ring_new(&r, seed, ZJ_JBD2_INCOMPAT_CSUM_V3);
		fill(&r);
		r.d->read_error_at = below(&r, 60);
		if (recover(&r, r.d, &s, &sequence)) {
			failed++;
			assert_non_null(strstr(r.d->error, "try again"));
			ml_power_cut(r.d);
			r.d->read_error_at = ML_NEVER;
			assert_int_equal(recover(&r, r.d, &s, &sequence), 0);
		}
		judge(&r, r.d);
		ml_free(r.d);
	}
	assert_true(failed > 100);
}

/* Change a block; sometimes its checksum is right again afterwards. */
static void damage(struct ring *r)
{
	u32 at = below(r, r->log.last);
	u8 *block = ml_block(r->d, at);
	u32 byte = below(r, 2) ? below(r, 64) : below(r, 1024);

	block[byte] ^= below(r, 3) ? 1 << below(r, 8) : below(r, 256);
	if (at && below(r, 2))
		zj_jbd2_seal(&r->log, block);
}

static void damaged_logs(void **state)
{
	u32 refused = 0, taken = 0, sequence;
	struct zj_recovery_stats s;
	struct ring r;
	int err;

	for (u32 seed = 1; seed <= 20000; seed++) {
		ring_new(&r, seed, kinds[seed % ARRAY_SIZE(kinds)]);
		fill(&r);
		for (u32 n = 1 + below(&r, 4); n; n--)
			damage(&r);
		/* The caller has checked this much. */
		if (!r.sb->s_start ||
		    zj_check_jbd2_super(r.sb, 1024, r.d->geo.total_blocks, true)) {
			ml_free(r.d);
			continue;
		}
		err = recover(&r, r.d, &s, &sequence);
		assert_true(!err || err == -EUCLEAN);
		assert_true(!err || !r.d->writes);
		assert_true(r.d->blocks_read <= 2 * r.d->geo.total_blocks);
		refused += !!err;
		taken += !err;
		ml_free(r.d);
	}
	print_message("%u damaged logs refused, %u taken\n", refused, taken);
	assert_true(refused > 500 && taken > 500);
}

/* Descriptor blocks all round, and no end: stock would go round for ever. */
static void ring_without_an_end(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;

	ring_new(&r, 1, ZJ_JBD2_INCOMPAT_CSUM_V3);
	for (u32 i = 1; i < r.log.last; i++) {
		u8 *block = ml_block(r.d, i);

		memset(block, 0, 1024);
		zj_jbd2_put_header(block, ZJ_JBD2_REVOKE, SEQUENCE);
		zj_jbd2_seal(&r.log, block);
	}
	assert_int_equal(recover(&r, r.d, &s, &sequence), 0);
	assert_int_equal(s.transactions, 0);
	assert_int_equal(r.d->blocks_read, r.log.last - 1);
	ml_free(r.d);
}

static void image_of_the_journal_itself(void **state)
{
	struct zj_jbd2_image tag = { .block = 20 };
	struct zj_recovery_stats s;
	struct ring r;
	u8 *desc, *data;
	u32 sequence;

	ring_new(&r, 1, ZJ_JBD2_INCOMPAT_CSUM_V3);
	r.d->log_home = 20;
	desc = next(&r);
	data = next(&r);
	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, SEQUENCE);
	tag.csum = zj_jbd2_image_csum(&r.log, SEQUENCE, data);
	zj_jbd2_put_tag(&r.log, desc, 0, true, &tag);
	zj_jbd2_seal(&r.log, desc);
	zj_jbd2_put_commit(&r.log, next(&r), SEQUENCE, 1, 0);
	assert_int_equal(recover(&r, r.d, &s, &sequence), -EUCLEAN);
	assert_non_null(strstr(r.d->error, "the journal's own block"));
	assert_int_equal(r.d->writes, 0);
	ml_free(r.d);
}

const struct CMUnitTest jbd2_tests[] = {
	cmocka_unit_test(random_logs),
	cmocka_unit_test(failed_reads_are_survived),
	cmocka_unit_test(damaged_logs),
	cmocka_unit_test(ring_without_an_end),
	cmocka_unit_test(image_of_the_journal_itself),
};
const size_t nr_jbd2_tests = ARRAY_SIZE(jbd2_tests);
