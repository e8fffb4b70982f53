// SPDX-License-Identifier: GPL-2.0-only
/* Fast commits at the end of a log in stock's format: what the host is given, and when. */
#include <linux/kernel.h>
#include <asm/byteorder.h>
#include "format/codec_jbd2.h"
#include "ringlog.h"
#include <stdio.h>
#include "tests.h"

#define AREA		8	/* blocks that block 0 gives to fast commits */
#define USABLE		(AREA - 1)	/* the first of them stays empty */
#define HOME		3	/* a block of the log's transaction */
#define MAX_CALLS	32

/**
 * struct host - what a host with fast commits is to answer, and what it was given
 */
static struct host {
	u32	whole;		/* blocks of whole fast commits */
	int	scan_result;	/* of the block after them: 0, or an error */
	int	replay_result;	/* the same in the second pass */
	u32	calls;
	struct {
		bool	replay;
		u32	index;
		u32	tid;
		u8	first;	/* byte of the block */
		bool	zeros;	/* all of it */
		u8	home;	/* of block HOME at that moment, durable */
	} call[MAX_CALLS];
	u32	flushed_at;	/* calls before the last flush */
	bool	flush_fails;	/* the one after the second pass */
} host;

static bool all_zeros(const u8 *block)
{
	for (u32 i = 0; i < 1024; i++)
		if (block[i])
			return false;
	return true;
}

static int host_fast_commit(void *ctx, bool replay, u32 index, void *block, u32 tid)
{
	struct memdev *d = ctx;
	u32 n = host.calls++;

	assert_true(n < MAX_CALLS);
	host.call[n].replay = replay;
	host.call[n].index = index;
	host.call[n].tid = tid;
	host.call[n].first = *(u8 *)block;
	host.call[n].zeros = all_zeros(block);
	host.call[n].home = d->stable[HOME * 1024 + 1023];
	if (index < host.whole)
		return 1;
	return replay ? host.replay_result : host.scan_result;
}

static int host_flush_home(void *ctx)
{
	host.flushed_at = host.calls;
	if (host.flush_fails && host.calls && host.call[host.calls - 1].replay)
		return -EIO;
	return mem_ops.flush_home(ctx);
}

static u8 *area(struct ring *r, u32 index)
{
	return ml_block(r->d, r->log.last + 1 + index);
}

/*
 * One transaction that writes HOME, then an area whose first block has this tag and tid.
 * In each block of the area the last byte is its index, counted from 1.
 */
static void log_with_area(struct ring *r, u32 blocks, u16 tag, u32 tid)
{
	__le16 le_tag = cpu_to_le16(tag);
	__le32 le_tid = cpu_to_le32(tid);
	struct zj_jbd2_image image = { .block = HOME };
	void *desc;

	memset(&host, 0, sizeof(host));
	ring_new(r, 1, 0);
	r->sb->s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_FAST_COMMIT);
	r->sb->s_num_fc_blks = cpu_to_be32(blocks);
	zj_jbd2_geo_of(r->sb, &r->log);
	r->pos = 1;
	r->sb->s_start = cpu_to_be32(1);
	desc = ring_next(r);
	zj_jbd2_put_header(desc, ZJ_JBD2_DESCRIPTOR, RING_SEQUENCE);
	zj_jbd2_put_tag(&r->log, desc, 0, true, &image);
	memset(ring_next(r), 0x77, 1024);
	zj_jbd2_put_commit(&r->log, ring_next(r), RING_SEQUENCE, 1000, 0);
	for (u32 i = 0; i + 1 < blocks; i++) {
		memset(area(r, i), 0, 1024);
		area(r, i)[0] = 9;
		area(r, i)[1023] = i + 1;
	}
	if (blocks < 2)
		return;
	memcpy(area(r, 0), &le_tag, sizeof(le_tag));
	memcpy(area(r, 0) + 8, &le_tid, sizeof(le_tid));
}

static int recover_as(struct ring *r, bool dry_run, struct zj_recovery_stats *s)
{
	struct zj_io_ops ops = mem_ops;
	u32 sequence;
	int err;

	ops.fast_commit = host_fast_commit;
	ops.flush_home = host_flush_home;
	err = ring_recover(r->d, &ops, dry_run ? ZJ_RECOVER_DRY_RUN : 0, s, &sequence);
	if (!err)
		assert_int_equal(sequence, RING_SEQUENCE + 1);
	return err;
}

/* Two passes over the same blocks: before the first write, and after the last. */
static void given_twice(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;

	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	host.whole = 3;
	assert_int_equal(recover_as(&r, false, &s), 0);
	assert_int_equal(host.calls, 8);
	for (u32 i = 0; i < host.calls; i++) {
		assert_int_equal(host.call[i].replay, i >= 4);
		assert_int_equal(host.call[i].index, i % 4);
		assert_int_equal(host.call[i].tid, RING_SEQUENCE + 1);
		assert_int_equal(host.call[i].first, 9);
		assert_int_equal(host.call[i].home, i < 4 ? 0 : 0x77);
	}
	/* What the host has changed is durable, too. */
	assert_int_equal(host.flushed_at, 8);
	assert_int_equal(s.fast_blocks, 3);
	assert_int_equal(s.transactions, 1);
	assert_int_equal(r.d->error[0], 0);
	ml_free(r.d);
}

/* Stock cannot read an area that is full; here a block of zeros ends it. */
static void area_that_is_full(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;

	for (u32 more = 0; more < 2; more++) {
		log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
		/* A host that wants even more than that gets no more. */
		host.whole = USABLE + more;
		assert_int_equal(recover_as(&r, false, &s), 0);
		assert_int_equal(s.fast_blocks, USABLE);
		assert_int_equal(host.calls, 2 * (USABLE + 1));
		for (u32 i = 0; i < host.calls; i++) {
			bool end = i % (USABLE + 1) == USABLE;

			assert_int_equal(host.call[i].index, i % (USABLE + 1));
			assert_int_equal(host.call[i].zeros, end);
		}
		ml_free(r.d);
	}
}

/* Leftovers, other contents, and an area without room for any: the host is not asked. */
static void nothing_to_give(void **state)
{
	static const struct {
		u32 blocks;
		u16 tag;
		u32 tid;
	} none[] = { { AREA, 9, RING_SEQUENCE }, { AREA, 9, RING_SEQUENCE + 2 },
		     { AREA, 8, RING_SEQUENCE + 1 }, { AREA, 0, 0 }, { 1, 9, RING_SEQUENCE + 1 } };
	struct zj_recovery_stats s;
	struct ring r;

	for (u32 i = 0; i < ARRAY_SIZE(none); i++) {
		log_with_area(&r, none[i].blocks, none[i].tag, none[i].tid);
		assert_int_equal(recover_as(&r, false, &s), 0);
		assert_int_equal(host.calls, 0);
		assert_int_equal(s.fast_blocks, 0);
		ml_free(r.d);
	}
}

/* A crash while the first one was written: the transactions before it count. */
static void first_one_is_not_whole(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;

	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	host.whole = 2;
	host.scan_result = -EBADMSG;
	assert_int_equal(recover_as(&r, false, &s), 0);
	assert_int_equal(host.calls, 3);
	assert_false(host.call[2].replay);
	assert_int_equal(s.fast_blocks, 0);
	assert_int_equal(r.d->stable[HOME * 1024], 0x77);
	assert_int_equal(r.d->error[0], 0);
	assert_int_equal(r.d->notices, 2);
	ml_free(r.d);
}

static void host_that_refuses(void **state)
{
	struct zj_recovery_stats s;
	char says[100];
	struct ring r;

	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	host.scan_result = -EINVAL;
	assert_int_equal(recover_as(&r, false, &s), -EINVAL);
	assert_int_equal(r.d->writes, 0);
	snprintf(says, sizeof(says), "error %d when block %u of the journal was read; nothing was written",
		 -EINVAL, be32_to_cpu(r.sb->s_maxlen) - AREA + 1);
	assert_non_null(strstr(r.d->error, says));
	ml_free(r.d);
}

/* In the second pass a checksum that is wrong is an error like others. */
static void host_that_fails(void **state)
{
	static const int errors[] = { -EIO, -EBADMSG };
	struct zj_recovery_stats s;
	struct ring r;

	for (u32 i = 0; i < ARRAY_SIZE(errors); i++) {
		log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
		host.whole = 1;
		host.replay_result = errors[i];
		assert_int_equal(recover_as(&r, false, &s), errors[i]);
		assert_non_null(strstr(r.d->error, "was replayed"));
		assert_int_equal(s.fast_blocks, 0);
		ml_free(r.d);
	}
	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	host.flush_fails = true;
	assert_int_equal(recover_as(&r, false, &s), -EIO);
	assert_non_null(strstr(r.d->error, "the log is kept"));
	ml_free(r.d);
}

/* A block that cannot be read is an error in both passes, never the end. */
static void area_that_cannot_be_read(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 reads;

	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	host.whole = 2;
	assert_int_equal(recover_as(&r, false, &s), 0);
	reads = r.d->reads;
	ml_free(r.d);
	/* Three in each pass, and the first block once more, to look at it. */
	for (u32 back = 1; back <= 7; back++) {
		log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
		host.whole = 2;
		r.d->read_error_at = reads - back;
		assert_int_equal(recover_as(&r, false, &s), -EIO);
		ml_free(r.d);
	}
}

/* Nobody knows whether there are any, if not even their first block can be read. */
static void first_block_that_is_lost(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;

	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	r.d->bad_block = r.log.last + 1;
	assert_int_equal(recover_as(&r, false, &s), -EUCLEAN);
	assert_non_null(strstr(r.d->error, "where fast commits of stock ext4 may begin"));
	assert_int_equal(host.calls, 0);
	assert_int_equal(r.d->writes, 0);
	assert_int_equal(ring_recover(r.d, &mem_ops, ZJ_RECOVER_DROP_DAMAGED, &s,
				      &sequence), 0);
	assert_int_equal(s.lost_stamp, 2);
	assert_int_equal(s.transactions, 1);
	ml_free(r.d);
}

/* zjctl cannot replay them. They go with what is dropped, as no mount takes such a log. */
static void dropped_with_the_rest(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;
	u32 sequence;

	log_with_area(&r, AREA, 9, RING_SEQUENCE);
	r.d->bad_block = 2;
	assert_int_equal(ring_recover(r.d, &mem_ops, ZJ_RECOVER_DROP_DAMAGED, &s,
				      &sequence), 0);
	assert_int_equal(s.lost_stamp, 1);
	assert_int_equal(s.transactions, 0);
	ml_free(r.d);
}

static void looking_replays_nothing(void **state)
{
	struct zj_recovery_stats s;
	struct ring r;

	log_with_area(&r, AREA, 9, RING_SEQUENCE + 1);
	host.whole = 2;
	assert_int_equal(recover_as(&r, true, &s), 0);
	assert_int_equal(host.calls, 3);
	assert_false(host.call[2].replay);
	assert_int_equal(r.d->writes, 0);
	ml_free(r.d);
}

const struct CMUnitTest fast_commit_tests[] = {
	cmocka_unit_test(given_twice),
	cmocka_unit_test(area_that_is_full),
	cmocka_unit_test(nothing_to_give),
	cmocka_unit_test(first_one_is_not_whole),
	cmocka_unit_test(host_that_refuses),
	cmocka_unit_test(host_that_fails),
	cmocka_unit_test(area_that_cannot_be_read),
	cmocka_unit_test(first_block_that_is_lost),
	cmocka_unit_test(dropped_with_the_rest),
	cmocka_unit_test(looking_replays_nothing),
};

const size_t nr_fast_commit_tests = ARRAY_SIZE(fast_commit_tests);
