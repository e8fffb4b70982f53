// SPDX-License-Identifier: GPL-2.0-only
/* Recovery of logs in stock's format: random ones, cut off, damaged, hostile. */
#include <stdlib.h>
#include <linux/crc32.h>
#include <linux/slab.h>
#include <asm/byteorder.h>
#include "format/codec_jbd2.h"
#include "ringlog.h"
#include "recovery/recovery_int.h"
#include "tests.h"

static int recover(struct ring *r, struct memdev *d, struct zj_recovery_stats *s,
		   u32 *sequence)
{
	return ring_recover(d, ml_ops(d), 0, s, sequence);
}

static void judge(struct ring *r, struct memdev *d)
{
	const __be32 magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	u8 want[1024], *home;

	for (u32 b = 0; b < RING_HOMES; b++) {
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
		if (seed % 16 == 3)
			ring_new_large(&r, seed, ring_kinds[seed % RING_KINDS]);
		else
			ring_new(&r, seed, ring_kinds[seed % RING_KINDS]);
		r.d->ahead = seed % 2;
		r.d->room = seed % 4 > 1 ? 2 << 20 : 0;
		ring_fill(&r);
		cut = ml_clone(r.d);
		assert_int_equal(recover(&r, r.d, &s, &sequence), 0);
		assert_int_equal(s.transactions, r.nr);
		assert_int_equal(s.components, r.nr);
		assert_int_equal(s.committed_components, r.nr);
		assert_int_equal(s.chunks, r.nr);
		assert_int_equal(s.newest_stamp, r.nr);
		assert_int_equal(sequence, r.sequence);
		/* An image that is revoked further on is not written before. */
		judge(&r, r.d);
		/* A power cut on the way, and again. */
		cut->power_cut_at = ring_below(&r, 12);
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

static void look_at_a_log_writes_nothing(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;

	ring_new_large(&r, 1, ring_kinds[0]);
	r.d->ahead = true;
	ring_fill(&r);
	assert_int_equal(ring_recover(r.d, ml_ops(r.d), ZJ_RECOVER_DRY_RUN, &s,
				      &sequence), 0);
	assert_int_equal(s.transactions, r.nr);
	assert_int_equal(r.d->writes, 0);
	/* No block of the ring is asked for twice. */
	assert_true(r.d->blocks_read <= r.d->geo.total_blocks);
	ml_free(r.d);
}

/* Of all that is asked for ahead each piece has its place in memory. */
static void log_longer_than_what_is_read_ahead(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;

	for (u32 seed = 1; seed <= 8; seed++) {
		ring_new_huge(&r, seed, ZJ_JBD2_INCOMPAT_CSUM_V3);
		r.d->ahead = true;
		ring_fill(&r);
		assert_int_equal(recover(&r, r.d, &s, &sequence), 0);
		assert_int_equal(s.transactions, r.nr);
		/* In pieces of 256 KiB, no more of them than there are places. */
		assert_int_equal(r.d->most_in_flight, ZJ_READ_SLOTS * 256);
		judge(&r, r.d);
		ml_free(r.d);
	}
}

/*
 * A read that fails once is tried again in the scan. One that fails when an image is read for
 * the second time ends the recovery: try again.
 */
static void failed_reads_are_survived(void **state)
{
	struct zj_recovery_stats s;
	u32 sequence, failed = 0;
	struct ring r;

	for (u32 seed = 1; seed < 500; seed++) {
		ring_new(&r, seed, ZJ_JBD2_INCOMPAT_CSUM_V3);
		ring_fill(&r);
		r.d->read_error_at = ring_below(&r, 90);
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
	print_message("%u failed\n", failed);
	assert_true(failed > 50);
}

/* While it reads, while it writes; then once more. */
static void killed_jbd2_recoveries_end(void **state)
{
	u32 sequence, asked, killed = 0;
	struct zj_recovery_stats s;
	struct memdev *c;
	struct ring r;

	for (u32 seed = 1; seed < 30; seed++) {
		ring_new(&r, seed, ZJ_JBD2_INCOMPAT_CSUM_V3);
		ring_fill(&r);
		c = ml_clone(r.d);
		kl_asked = 0;
		assert_int_equal(recover(&r, c, &s, &sequence), 0);
		asked = kl_asked;
		/* At log blocks, transactions, images, their blocks, and those that are written. */
		assert_true(asked > 2 * s.transactions + 3 * s.images + s.replayed);
		for (u32 i = 1; i <= asked; i++, killed++) {
			ml_copy(c, r.d);
			kl_asked = 0;
			kl_killed_in = i;
			assert_int_equal(recover(&r, c, &s, &sequence), -EINTR);
			kl_killed_in = 0;
			assert_int_equal(recover(&r, c, &s, &sequence), 0);
			judge(&r, c);
		}
		ml_free(c);
		ml_free(r.d);
	}
	assert_true(killed > 500);
}

/* A bad block behind the log may be read ahead: it was not wanted. */
static void bad_block_behind_the_ring_s_log(void **state)
{
	struct zj_recovery_stats s;
	u32 sequence;
	struct ring r;

	for (u32 seed = 1; seed < 50; seed++) {
		ring_new_large(&r, seed, ZJ_JBD2_INCOMPAT_CSUM_V3);
		r.d->ahead = true;
		ring_fill(&r);
		r.d->bad_block = zj_jbd2_step(&r.log, r.pos,
					      1 + ring_below(&r, r.left - 2));
		assert_int_equal(recover(&r, r.d, &s, &sequence), 0);
		assert_int_equal(s.transactions, r.nr);
		judge(&r, r.d);
		ml_free(r.d);

		ring_new_large(&r, seed, ZJ_JBD2_INCOMPAT_CSUM_V3);
		r.d->ahead = true;
		ring_fill(&r);
		r.d->bad_block = be32_to_cpu(r.sb->s_start);
		assert_int_equal(recover(&r, r.d, &s, &sequence), -EUCLEAN);
		assert_non_null(strstr(r.d->error, "cannot be read, where the log goes on or ends"));
		assert_int_equal(r.d->writes, 0);
		ml_free(r.d);
	}
}

/* Change a block; sometimes its checksum is right again afterwards. */
static void damage(struct ring *r)
{
	u32 at = ring_below(r, r->log.last);
	u8 *block = ml_block(r->d, at);
	u32 byte = ring_below(r, 2) ? ring_below(r, 64) : ring_below(r, 1024);

	block[byte] ^= ring_below(r, 3) ? 1 << ring_below(r, 8) : ring_below(r, 256);
	if (at && ring_below(r, 2))
		zj_jbd2_set_csum(&r->log, block);
}

static void damaged_logs(void **state)
{
	u32 refused = 0, taken = 0, sequence;
	struct zj_recovery_stats s;
	struct ring r;
	int err;

	for (u32 seed = 1; seed <= 20000; seed++) {
		ring_new(&r, seed, ring_kinds[seed % RING_KINDS]);
		ring_fill(&r);
		for (u32 n = 1 + ring_below(&r, 4); n; n--)
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
		zj_jbd2_put_header(block, ZJ_JBD2_REVOKE, RING_SEQUENCE);
		zj_jbd2_set_csum(&r.log, block);
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
	desc = ring_next(&r);
	data = ring_next(&r);
	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, RING_SEQUENCE);
	tag.csum = zj_jbd2_image_csum(&r.log, RING_SEQUENCE, data);
	zj_jbd2_put_tag(&r.log, desc, 0, true, &tag);
	zj_jbd2_set_csum(&r.log, desc);
	zj_jbd2_put_commit(&r.log, ring_next(&r), RING_SEQUENCE, 1, 0);
	assert_int_equal(recover(&r, r.d, &s, &sequence), -EUCLEAN);
	assert_non_null(strstr(r.d->error, "the journal's own block"));
	assert_int_equal(r.d->writes, 0);
	ml_free(r.d);
}

/* ---- what only stock's older and newer versions write ---- */

/* A transaction of one block, with stock's first kind of checksum in its commit block. */
static struct zj_jbd2_commit *put_csum1(struct ring *r, u32 block, u8 val, u64 sec)
{
	struct zj_jbd2_image tag = { .block = block };
	struct zj_jbd2_commit *commit;
	u8 *desc = ring_next(r), *data = ring_next(r);
	u32 crc;

	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, r->sequence);
	zj_jbd2_put_tag(&r->log, desc, 0, true, &tag);
	ml_pattern(r->d, data, block, val);
	crc = crc32_be(crc32_be(~0U, desc, 1024), data, 1024);
	commit = ring_next(r);
	zj_jbd2_put_commit(&r->log, commit, r->sequence++, sec, 0);
	commit->chksum_type = ZJ_JBD2_CRC32;
	commit->chksum_size = 4;
	commit->chksum[0] = cpu_to_be32(crc);
	return commit;
}

static void ring_csum1(struct ring *r, u32 incompat)
{
	ring_new(r, 1, incompat);
	r->sb->s_feature_compat = cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
	zj_jbd2_geo_of(r->sb, &r->log);
}

/* What recovery says; of what it took, the number of transactions. */
static int result(struct ring *r, u32 transactions, u32 discarded)
{
	struct zj_recovery_stats s;
	u32 sequence;
	int err = recover(r, r->d, &s, &sequence);

	if (!err) {
		assert_int_equal(s.transactions, transactions);
		assert_int_equal(s.discarded, discarded);
		assert_int_equal(sequence, RING_SEQUENCE + transactions);
	} else {
		assert_int_equal(r->d->writes, 0);
	}
	ml_free(r->d);
	return err;
}

static void first_kind_of_checksum(void **state)
{
	struct zj_jbd2_commit *commit;
	struct ring r;

	ring_csum1(&r, 0);
	put_csum1(&r, 3, 7, 1000);
	put_csum1(&r, 4, 8, 1001);
	r.want[3] = 7;
	r.want[4] = 8;
	assert_int_equal(recover(&r, r.d, &(struct zj_recovery_stats){ }, &(u32){ 0 }), 0);
	judge(&r, r.d);
	ml_free(r.d);
	/* Stock may leave it out. */
	ring_csum1(&r, 0);
	commit = put_csum1(&r, 3, 7, 1000);
	commit->chksum_type = 0;
	commit->chksum_size = 0;
	commit->chksum[0] = 0;
	assert_int_equal(result(&r, 1, 0), 0);
	/* But not half of it. */
	for (u32 i = 0; i < 3; i++) {
		ring_csum1(&r, 0);
		commit = put_csum1(&r, 3, 7, 1000);
		if (i == 0)
			commit->chksum_type = 0;
		if (i == 1)
			commit->chksum_size = 0;
		if (i == 2)
			commit->chksum[0] ^= cpu_to_be32(1);
		assert_int_equal(result(&r, 0, 0), -EUCLEAN);
	}
	for (u32 i = 0; i < 3; i++) {
		ring_csum1(&r, 0);
		commit = put_csum1(&r, 3, 7, 1000);
		commit->chksum_type = i == 0 ? ZJ_JBD2_CRC32 : 0;
		commit->chksum_size = i == 1 ? 4 : 0;
		commit->chksum[0] = cpu_to_be32(i == 2);
		assert_int_equal(result(&r, 0, 0), -EUCLEAN);
	}
}

/* The commit block may be there before the blocks that it speaks of. */
static void commit_blocks_that_came_first(void **state)
{
	struct ring r;

	ring_csum1(&r, ZJ_JBD2_INCOMPAT_ASYNC_COMMIT);
	put_csum1(&r, 3, 7, 1000);
	put_csum1(&r, 4, 8, 1001)->chksum[0] ^= cpu_to_be32(1);
	assert_int_equal(result(&r, 1, 1), 0);
	/* A good one after it: that was no interruption. */
	ring_csum1(&r, ZJ_JBD2_INCOMPAT_ASYNC_COMMIT);
	put_csum1(&r, 3, 7, 1000)->chksum[0] ^= cpu_to_be32(1);
	put_csum1(&r, 4, 8, 1001);
	assert_int_equal(result(&r, 0, 0), -EUCLEAN);
	/* One of an earlier life of the journal ends the log. */
	ring_csum1(&r, ZJ_JBD2_INCOMPAT_ASYNC_COMMIT);
	put_csum1(&r, 3, 7, 1000);
	put_csum1(&r, 4, 8, 999)->chksum[0] ^= cpu_to_be32(1);
	assert_int_equal(result(&r, 1, 1), 0);
	/* And so does one that others of that life follow. */
	ring_csum1(&r, ZJ_JBD2_INCOMPAT_ASYNC_COMMIT);
	put_csum1(&r, 3, 7, 1000);
	put_csum1(&r, 4, 8, 999)->chksum[0] ^= cpu_to_be32(1);
	put_csum1(&r, 5, 9, 999);
	assert_int_equal(result(&r, 1, 1), 0);
	/* Newer checksums are of the commit block itself: the last one is half written. */
	ring_new(&r, 1, ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_ASYNC_COMMIT);
	zj_jbd2_put_commit(&r.log, ring_next(&r), RING_SEQUENCE, 1000, 0);
	zj_jbd2_put_commit(&r.log, ml_block(r.d, r.pos), RING_SEQUENCE + 1, 1001, 0);
	((struct zj_jbd2_commit *)ml_block(r.d, r.pos))->nsec ^= cpu_to_be32(1);
	assert_int_equal(result(&r, 1, 0), 0);
}

/*
 * Only fast commits after the last transaction have changes that are nowhere else. A host that
 * cannot replay them writes nothing.
 */
static void fast_commits_are_left_to_a_mount(void **state)
{
	static const struct {
		u16 tag;
		u32 tid;
		int err;
	} head[] = { { 9, RING_SEQUENCE + 1, -EOPNOTSUPP }, { 9, RING_SEQUENCE, 0 },
		     { 9, RING_SEQUENCE + 2, 0 },
		     { 8, RING_SEQUENCE + 1, 0 }, { 10, RING_SEQUENCE + 1, 0 } };
	struct ring r;

	for (u32 i = 0; i < ARRAY_SIZE(head); i++) {
		u8 *area;
		__le16 tag = cpu_to_le16(head[i].tag);
		__le32 tid = cpu_to_le32(head[i].tid);

		ring_new(&r, 1, 0);
		r.sb->s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_FAST_COMMIT);
		r.sb->s_num_fc_blks = cpu_to_be32(8);
		zj_jbd2_geo_of(r.sb, &r.log);
		r.pos = 1;
		r.sb->s_start = cpu_to_be32(1);
		zj_jbd2_put_commit(&r.log, ring_next(&r), RING_SEQUENCE, 1000, 0);
		area = ml_block(r.d, r.log.last + 1);
		memcpy(area, &tag, sizeof(tag));
		memcpy(area + 8, &tid, sizeof(tid));
		assert_int_equal(result(&r, 1, 0), head[i].err);
	}
}

/* An area of one block has no room for a fast commit, so nothing after it is read. */
static void no_room_for_fast_commits(void **state)
{
	struct ring r;

	ring_new(&r, 1, ZJ_JBD2_INCOMPAT_FAST_COMMIT);
	r.sb->s_num_fc_blks = cpu_to_be32(1);
	zj_jbd2_geo_of(r.sb, &r.log);
	r.pos = 1;
	r.sb->s_start = cpu_to_be32(1);
	zj_jbd2_put_commit(&r.log, ring_next(&r), RING_SEQUENCE, 1000, 0);
	assert_int_equal(result(&r, 1, 0), 0);
}

/* What block 0 says cannot be: its numbers, and two kinds of checksums. */
static void impossible_super_blocks(void **state)
{
	static const struct {
		u32 first, start, maxlen, compat, incompat;
		const char *text;
	} cases[] = {
		{ 1, 1, 100, 0, 0, NULL },
		{ 1, 99, 100, 0, 0, NULL },
		{ 1, 100, 100, 0, 0, "it starts at block 100, which is not one of its blocks, 1 to 99" },
		{ 5, 4, 100, 0, 0, "it starts at block 4, which is not one of its blocks, 5 to 99" },
		{ 5, 5, 100, 0, 0, NULL },
		{ 1, 1, 101, 0, 0, "it starts at block 1, which is not one of its blocks, 1 to 100" },
		{ 100, 100, 100, 0, 0, "it starts at block 100" },
		{ 50, 50, 100, 0, ZJ_JBD2_INCOMPAT_FAST_COMMIT, "it starts at block 50" },
		{ 1, 1, 100, ZJ_JBD2_COMPAT_CHECKSUM, 0, NULL },
		{ 1, 1, 100, 0, ZJ_JBD2_INCOMPAT_CSUM_V2, NULL },
		{ 1, 1, 100, 0, ZJ_JBD2_INCOMPAT_CSUM_V3, NULL },
		{ 1, 1, 100, 0, ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3,
		  "two kinds of checksums" },
		{ 1, 1, 100, ZJ_JBD2_COMPAT_CHECKSUM, ZJ_JBD2_INCOMPAT_CSUM_V2,
		  "two kinds of checksums" },
		{ 1, 1, 100, ZJ_JBD2_COMPAT_CHECKSUM, ZJ_JBD2_INCOMPAT_CSUM_V3,
		  "two kinds of checksums" },
	};
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;
	int err;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		ring_new(&r, 1, cases[i].incompat);
		r.sb->s_feature_compat = cpu_to_be32(cases[i].compat);
		r.sb->s_first = cpu_to_be32(cases[i].first);
		r.sb->s_start = cpu_to_be32(cases[i].start);
		r.sb->s_maxlen = cpu_to_be32(cases[i].maxlen);
		err = recover(&r, r.d, &s, &sequence);
		assert_int_equal(err, cases[i].text ? -EUCLEAN : 0);
		if (cases[i].text)
			assert_non_null(strstr(r.d->error, cases[i].text));
		ml_free(r.d);
	}
}

static void put_one(struct ring *r, u64 block, u8 val)
{
	struct zj_jbd2_image tag = { .block = block };
	u8 *desc = ring_next(r), *data = ring_next(r);

	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, r->sequence);
	ml_pattern(r->d, data, block, val);
	tag.csum = zj_jbd2_image_csum(&r->log, r->sequence, data);
	zj_jbd2_put_tag(&r->log, desc, 0, true, &tag);
	zj_jbd2_set_csum(&r->log, desc);
	zj_jbd2_put_commit(&r->log, ring_next(r), r->sequence++, 1000, 0);
}

static void entries_out_of_range(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;
	u8 *block;

	for (u32 bad = 0; bad < 2; bad++) {
		ring_new(&r, 1, ZJ_JBD2_INCOMPAT_CSUM_V3);
		put_one(&r, 3, 1);
		put_one(&r, RING_HOMES - 1 + bad, 2);
		assert_int_equal(recover(&r, r.d, &s, &sequence), bad ? -EUCLEAN : 0);
		if (bad)
			assert_non_null(strstr(r.d->error, "transaction 4294967289: image of block 40, but the device has 40"));
		ml_free(r.d);
		/* Not the first transaction's blocks again. */
		ring_new(&r, 1, ZJ_JBD2_INCOMPAT_CSUM_V3);
		put_one(&r, 3, 1);
		block = ring_next(&r);
		zj_jbd2_put_header(block, ZJ_JBD2_REVOKE, r.sequence);
		zj_jbd2_put_revoke(&r.log, block, 0, 5);
		((struct zj_jbd2_revoke *)block)->used = cpu_to_be32(1020 + bad);
		zj_jbd2_set_csum(&r.log, block);
		zj_jbd2_put_commit(&r.log, ring_next(&r), r.sequence, 1001, 0);
		assert_int_equal(recover(&r, r.d, &s, &sequence), bad ? -EUCLEAN : 0);
		if (bad)
			assert_non_null(strstr(r.d->error, "transaction 4294967289: a revoke block has an impossible length"));
		ml_free(r.d);
	}
}

static void without_memory_nothing_is_written(void **state)
{
	struct zj_recovery_stats s;
	u32 n = 0, sequence;
	struct ring r;
	int err;

	do {
		ring_new(&r, 1, ZJ_JBD2_INCOMPAT_CSUM_V3);
		put_one(&r, 3, 1);
		ring_put_revokes(&r, 8, r.got[0], r.revoked[0]);
		zj_jbd2_put_commit(&r.log, ring_next(&r), r.sequence++, 1000, 0);
		put_one(&r, 4, 1);
		zj_fail_alloc = ++n;
		err = recover(&r, r.d, &s, &sequence);
		zj_fail_alloc = 0;
		assert_true(!err || err == -ENOMEM);
		if (err) {
			assert_non_null(strstr(r.d->error, "out of memory"));
			assert_int_equal(r.d->writes, 0);
		}
		ml_free(r.d);
	} while (err);
	/* Two buffers, a table, four arrays. */
	assert_true(n > 7);
}

const struct CMUnitTest jbd2_tests[] = {
	cmocka_unit_test(log_longer_than_what_is_read_ahead),
	cmocka_unit_test(look_at_a_log_writes_nothing),
	cmocka_unit_test(random_logs),
	cmocka_unit_test(failed_reads_are_survived),
	cmocka_unit_test(killed_jbd2_recoveries_end),
	cmocka_unit_test(bad_block_behind_the_ring_s_log),
	cmocka_unit_test(damaged_logs),
	cmocka_unit_test(ring_without_an_end),
	cmocka_unit_test(image_of_the_journal_itself),
	cmocka_unit_test(first_kind_of_checksum),
	cmocka_unit_test(commit_blocks_that_came_first),
	cmocka_unit_test(fast_commits_are_left_to_a_mount),
	cmocka_unit_test(no_room_for_fast_commits),
	cmocka_unit_test(impossible_super_blocks),
	cmocka_unit_test(entries_out_of_range),
	cmocka_unit_test(without_memory_nothing_is_written),
};
const size_t nr_jbd2_tests = ARRAY_SIZE(jbd2_tests);
