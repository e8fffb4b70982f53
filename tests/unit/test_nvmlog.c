// SPDX-License-Identifier: GPL-2.0-only
/* Recovery of a log in memory: hand-made logs, and errors. */
#include <asm/byteorder.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "nvmlog.h"
#include "tests.h"

/* ---- what is replayed ---- */

static void lines_lie_over_each_other_and_over_what_is_home(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 0x000f, 1 }, { 6, 0x8421, 1 } });
	PUT(.stamp = 2, .lane = 1, .rec = { { 5, 0x0006, 2 } });
	PUT(.stamp = 3, .rec = { { 7, ALL, 3 }, { 5, 0x0004, 3 }, { 63, 1, 3 } });
	assert_int_equal(accepted().replayed, 4);
	EXPECT(5, 1, 2, 3, 1, REST(4));
	EXPECT(6, 1, [1 ... 4] = UNTOUCHED, 1, [6 ... 9] = UNTOUCHED, 1,
	       [11 ... 14] = UNTOUCHED, 1);
	EXPECT(7, [0 ... LINES - 1] = 3);
	EXPECT(63, 3, REST(1));
	EXPECT(4, REST(0));
	free_log();
}

/* What is older than a whole block is not looked at, nor is the block that is home. */
static void a_whole_block_stands_for_itself(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 0x00ff, 1 } });
	PUT(.stamp = 2, .rec = { { 5, ALL, 2 } });
	PUT(.stamp = 3, .rec = { { 5, 0x0002, 3 } });
	bad_home_reads = 1;
	assert_int_equal(recover(false, NULL), 0);
	assert_int_equal(home_reads, 0);
	EXPECT(5, 2, 3, [2 ... LINES - 1] = 2);
	free_log();
}

static void a_home_block_that_cannot_be_read_keeps_the_log(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 0x00ff, 1 } });
	bad_home_reads = 1;
	assert_int_equal(recover(false, NULL), -EIO);
	assert_non_null(strstr(nv.dev->error, "error -5 reading block 5"));
	assert_int_equal(nv.dev->writes, 0);
	assert_int_equal(accepted().replayed, 1);
	EXPECT(5, [0 ... 7] = 1, REST(8));
	free_log();
}

static void only_what_is_above_s_is_replayed(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 2, .lane = 1, .rec = { { 6, ALL, 2 } });
	PUT(.stamp = 3, .rec = { { 7, ALL, 3 } });
	PUT(.stamp = 4, .rec = { { 8, ALL, 4 } });
	set_ckpt(2);
	s = accepted();
	assert_int_equal(s.ckpt_stamp, 2);
	assert_int_equal(s.newest_stamp, 4);
	assert_int_equal(s.chunks, 2);
	assert_int_equal(s.components, 2);
	assert_int_equal(s.committed_components, 2);
	assert_int_equal(s.transactions, 2);
	assert_int_equal(s.images, 2);
	assert_int_equal(s.replayed, 2);
	assert_int_equal(val_of(5), UNTOUCHED);
	assert_int_equal(val_of(6), UNTOUCHED);
	assert_int_equal(val_of(7), 3);
	assert_int_equal(val_of(8), 4);
	/* What the checkpoint stamp has passed is not even looked at. */
	memset(line(FIRST), 0xff, 16);
	set_ckpt(4);
	assert_int_equal(accepted().chunks, 0);
	free_log();
}

static void an_empty_log(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	s = accepted();
	assert_int_equal(s.chunks, 0);
	assert_int_equal(s.replayed, 0);
	free_log();
}

static void members_and_what_they_depend_on(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	PUT(.stamp = 1, .lane = 0, .members = 2, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 1, .lane = 1, .members = 2, .rec = { { 6, ALL, 1 } });
	PUT(.stamp = 2, .lane = 0, .deps = { 1 }, .rec = { { 7, ALL, 2 } });
	/* Its other member is not there, and what depends on it goes with it. */
	PUT(.stamp = 3, .lane = 1, .members = 2, .rec = { { 8, ALL, 3 } });
	PUT(.stamp = 4, .lane = 0, .deps = { 2, 3 }, .rec = { { 9, ALL, 4 } });
	s = accepted();
	assert_int_equal(s.components, 4);
	assert_int_equal(s.committed_components, 2);
	assert_int_equal(s.transactions, 3);
	assert_int_equal(s.discarded, 2);
	assert_int_equal(s.newest_stamp, 2);
	assert_int_equal(val_of(5), 1);
	assert_int_equal(val_of(6), 1);
	assert_int_equal(val_of(7), 2);
	assert_int_equal(val_of(8), UNTOUCHED);
	assert_int_equal(val_of(9), UNTOUCHED);
	free_log();
}

static void revokes_end_what_is_older(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, ALL, 1 }, { 63, ALL, 1 } });
	PUT(.stamp = 2, .lane = 1, .deps = { 1 }, .revokes = { 5, 6, 63 }, .rec = { { 7, 1, 2 } });
	PUT(.stamp = 3, .rec = { { 6, ALL, 3 } });
	s = accepted();
	assert_int_equal(s.revoked, 3);
	assert_int_equal(val_of(5), UNTOUCHED);
	assert_int_equal(val_of(6), 3);
	assert_int_equal(val_of(63), UNTOUCHED);
	EXPECT(7, 2, REST(1));
	/* A part of what was revoked is on nothing. */
	PUT(.stamp = 4, .rec = { { 5, 1, 4 } });
	refused("stamp 4: lines of block 5, which was revoked before");
	free_log();
}

static void members_of_several_chunks(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	for (u32 stamp = 1; stamp < 3; stamp++) {
		for (u32 i = 0; i < 3; i++)
			PUT(.stamp = stamp, .lane = 1, .index = i, .more = i < 2, .tid = stamp,
			    .rec = { { 5 + i, 1 << stamp, stamp } });
	}
	s = accepted();
	assert_int_equal(s.chunks, 6);
	assert_int_equal(s.transactions, 2);
	for (u32 i = 0; i < 3; i++)
		EXPECT(5 + i, UNTOUCHED, 1, 2, REST(3));
	free_log();
}

/* Over many segments, with TxnInfos that end with a line and such that do not. */
static void long_chains(void **state)
{
	u32 n = 0;

	new_log();
	for (u32 i = 1; i <= 60; i++) {
		struct nvrec rec = { .stamp = i, .lane = i % 2 };

		for (u32 k = 0; k <= i % MAX_RECS; k++, n++) {
			rec.rec[k].block = n % 40;
			rec.rec[k].lines = 1 + i % 3;
			rec.rec[k].val = i;
		}
		put_chunk(&rec);
	}
	assert_true(nv.next > FIRST + SEG_LINES);
	assert_int_equal(accepted().chunks, 60);
	free_log();
}

/* Its tail has half of a stamp, which seems to be above the checkpoint stamp. */
static void the_tail_of_a_lane_that_has_rested_for_long(void **state)
{
	new_log();
	PUT(.stamp = 5, .rec = { { 5, ALL, 1 } });
	set_ckpt((1ULL << 32) + 3);
	assert_int_equal(accepted().chunks, 0);
	info_before(nv.end[0])->lane = cpu_to_le32(1);
	reseal(nv.end[0]);
	refused("it is of lane 1");
	free_log();
}

/* Each field in its place, and back. */
static void fields_of_a_txninfo_there_and_back(void **state)
{
	const struct zj_nvm_chunk c = {
		.stamp = 0x1112131415161718ULL, .prev_stamp = 0x1112131415161717ULL,
		.prev = 0x21222324, .start = FIRST + 5, .end = FIRST + 5 + 7 + 3,
		.tid = 0x31323334, .lane = 1, .nr_members = 2, .chunk_index = 0x41424344,
		.last = true, .nr_deps = 1, .nr_revokes = 2, .count = 2, .data_lines = 7,
		.data_hash = 0x5152535455565758ULL, .commit_sec = 0x6162636465666768ULL,
	};
	struct zj_nvm_chunk back;
	struct zj_txninfo *t;

	new_log();
	zj_encode_txninfo(&nv.geo, nv.seed, &c, line(c.end - 3));
	memset(&back, 0xee, sizeof(back));
	assert_null(zj_read_txninfo(&nv.geo, nv.seed, nv.mem, c.end, &back));
	assert_int_equal(back.stamp, c.stamp);
	assert_int_equal(back.prev_stamp, c.prev_stamp);
	assert_int_equal(back.prev, c.prev);
	assert_int_equal(back.start, c.start);
	assert_int_equal(back.end, c.end);
	assert_int_equal(back.tid, c.tid);
	assert_int_equal(back.lane, c.lane);
	assert_int_equal(back.nr_members, c.nr_members);
	assert_int_equal(back.chunk_index, c.chunk_index);
	assert_true(back.last);
	assert_int_equal(back.nr_deps, c.nr_deps);
	assert_int_equal(back.nr_revokes, c.nr_revokes);
	assert_int_equal(back.count, c.count);
	assert_int_equal(back.data_lines, c.data_lines);
	assert_int_equal(back.data_hash, c.data_hash);
	assert_int_equal(back.commit_sec, c.commit_sec);
	t = info_before(c.end);
	assert_int_equal(le64_to_cpu(t->generation), GENERATION);
	assert_int_equal(le64_to_cpu(t->stamp), c.stamp);
	assert_int_equal(le64_to_cpu(t->prev_stamp), c.prev_stamp);
	assert_int_equal(le32_to_cpu(t->prev), c.prev);
	assert_int_equal(le32_to_cpu(t->start), c.start);
	assert_int_equal(le32_to_cpu(t->tid), c.tid);
	assert_int_equal(le32_to_cpu(t->lane), c.lane);
	assert_int_equal(le32_to_cpu(t->nr_members), c.nr_members);
	assert_int_equal(le32_to_cpu(t->chunk_index), c.chunk_index);
	assert_int_equal(le32_to_cpu(t->flags), ZJ_TXNINFO_LAST);
	assert_int_equal(le32_to_cpu(t->nr_deps), c.nr_deps);
	assert_int_equal(le32_to_cpu(t->nr_revokes), c.nr_revokes);
	assert_int_equal(le32_to_cpu(t->data_lines), c.data_lines);
	assert_int_equal(le64_to_cpu(t->data_hash), c.data_hash);
	assert_int_equal(le64_to_cpu(t->commit_sec), c.commit_sec);
	assert_int_equal(le32_to_cpu(t->info_lines), 3);
	assert_int_equal(le32_to_cpu(t->end), c.end);
	assert_int_equal(le32_to_cpu(t->count), c.count);
	free_log();
}

/* ---- errors ---- */

static u32 bad_write;		/* home writes until one fails, and no other */

static int write_home(void *ctx, u64 block, const void *buf)
{
	return --bad_write ? mem_ops.write_home(ctx, block, buf) : -EIO;
}

static void a_home_write_that_fails_keeps_the_log(void **state)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_home = read_home;
	ops.write_home = write_home;
	for (u32 n = 1; n <= 2; n++) {
		new_log();
		PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, 1, 1 } });
		bad_write = n;
		assert_int_equal(recover_with(&ops, 0, &s), -EIO);
		assert_non_null(strstr(nv.dev->error, "error -5 writing a block home (block "));
		assert_int_equal(accepted().replayed, 2);
		free_log();
	}
}

static int poison_and_write(void *ctx, u64 block, const void *buf)
{
	/* Where the second block's lines are. */
	kl_poison = line(FIRST + LINES);
	return mem_ops.write_home(ctx, block, buf);
}

/* It could be read when the log was looked at. */
static void memory_that_fails_meanwhile_keeps_the_log(void **state)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.write_home = poison_and_write;
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, ALL, 2 } });
	assert_int_equal(recover_with(&ops, 0, &s), -EIO);
	kl_poison = NULL;
	assert_non_null(strstr(nv.dev->error, "the memory cannot be read at byte"));
	assert_int_equal(val_of(6), UNTOUCHED);
	assert_int_equal(accepted().replayed, 2);
	assert_int_equal(val_of(6), 2);
	free_log();
}

static bool announced[HOME];

static void ahead_home(void *ctx, u64 block)
{
	assert_false(announced[block]);
	announced[block] = true;
}

static int announced_write(void *ctx, u64 block, const void *buf)
{
	assert_true(announced[7]);
	assert_int_equal(home_reads, block == 7);
	return mem_ops.write_home(ctx, block, buf);
}

/* Those that the log has parts of, and nothing whole: before the first is written. */
static void home_blocks_are_read_ahead(void **state)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_home = read_home;
	ops.ahead_home = ahead_home;
	ops.write_home = announced_write;
	home_reads = 0;
	memset(announced, 0, sizeof(announced));
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, ALL, 1 }, { 7, 1, 1 } });
	PUT(.stamp = 2, .rec = { { 6, 1, 2 }, { 7, 2, 2 } });
	assert_int_equal(recover_with(&ops, 0, &s), 0);
	assert_false(announced[5] || announced[6]);
	assert_int_equal(home_reads, 1);
	free_log();
}

static void chunks_of_all_kinds(void)
{
	new_log();
	PUT(.stamp = 1, .members = 2, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 1, .members = 2, .lane = 1, .rec = { { 6, 1, 1 } });
	PUT(.stamp = 2, .deps = { 1 }, .revokes = { 5 }, .rec = { { 7, 1, 1 } });
	/* More than one allocation's worth of each. */
	for (u32 i = 3; i < 90; i++)
		PUT(.stamp = i, .deps = { i - 1 }, .rec = { { 7 + i % 3, 1, i } });
}

static void without_memory_nothing_is_written(void **state)
{
	u32 n = 0;
	int err;

	do {
		chunks_of_all_kinds();
		zj_fail_alloc = ++n;
		err = recover(false, NULL);
		zj_fail_alloc = 0;
		assert_true(!err || err == -ENOMEM);
		if (err) {
			assert_non_null(strstr(nv.dev->error, "out of memory"));
			assert_int_equal(nv.dev->writes, 0);
		}
		free_log();
	} while (err);
	/* Two buffers, two tables, and what grows: each once at least. */
	assert_true(n > 8);
}

/* A load of any of it would be a machine check. */
static void lines_that_cannot_be_read(void **state)
{
	u32 bad = 0, good = 0;

	chunks_of_all_kinds();
	set_ckpt(1);
	for (u32 at = FIRST; at < nv.next; at++) {
		int err;

		kl_poison = line(at);
		err = recover(true, NULL);
		assert_true(!err || err == -EIO);
		good += !err;
		bad += err == -EIO;
		if (err)
			assert_non_null(strstr(nv.dev->error, "the memory cannot be read at byte"));
		kl_poison = NULL;
	}
	/* Reclaimed: a block, a line, and their TxnInfos; and a segment's end. */
	assert_in_range(good, LINES + 1 + 2 * 3, LINES + 1 + 3 * 3);
	assert_true(bad > 87 * 3);
	free_log();
}

const struct CMUnitTest nvmlog_tests[] = {
	cmocka_unit_test(lines_lie_over_each_other_and_over_what_is_home),
	cmocka_unit_test(a_whole_block_stands_for_itself),
	cmocka_unit_test(a_home_block_that_cannot_be_read_keeps_the_log),
	cmocka_unit_test(only_what_is_above_s_is_replayed),
	cmocka_unit_test(an_empty_log),
	cmocka_unit_test(members_and_what_they_depend_on),
	cmocka_unit_test(revokes_end_what_is_older),
	cmocka_unit_test(members_of_several_chunks),
	cmocka_unit_test(long_chains),
	cmocka_unit_test(the_tail_of_a_lane_that_has_rested_for_long),
	cmocka_unit_test(fields_of_a_txninfo_there_and_back),
	cmocka_unit_test(a_home_write_that_fails_keeps_the_log),
	cmocka_unit_test(home_blocks_are_read_ahead),
	cmocka_unit_test(memory_that_fails_meanwhile_keeps_the_log),
	cmocka_unit_test(without_memory_nothing_is_written),
	cmocka_unit_test(lines_that_cannot_be_read),
};

const size_t nr_nvmlog_tests = ARRAY_SIZE(nvmlog_tests);
