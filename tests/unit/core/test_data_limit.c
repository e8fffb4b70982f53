// SPDX-License-Identifier: GPL-2.0-only
/* log_io.c, file_block.c: how much file data an fsync logs, by what log writes take. */
#include "fixture.h"

static u32 limit(void)
{
	return zj_journal_file_data_limit(fx.journal, 0);
}

/* What log writes of two sizes have taken. */
static void took(s64 small_ns, s64 large_ns)
{
	lane(0)->write_time[0] = (struct zj_write_time){ small_ns, 8192 };
	lane(0)->write_time[1] = (struct zj_write_time){ large_ns, 8192 + (1 << 20) };
}

static void limit_follows_from_the_price_of_a_byte(void)
{
	OPEN(.lanes = 1, .journal = 20000);
	/* Nothing is known, or a byte costs nothing: the limit of a disk. */
	took(0, 0);
	assert_int_equal(limit(), 65536);
	took(20000, 20000);
	assert_int_equal(limit(), 65536);
	/* 1 ns a byte, which is written twice. */
	took(20000, 20000 + (1 << 20));
	assert_int_equal(limit(), 10000);
	/* A block at least. */
	took(20, 20 + (1 << 20));
	assert_int_equal(limit(), DISK_BLOCK);
	/* And no more than a part of a transaction. */
	fx.zj->max_txn = 640;
	took(0, 0);
	assert_int_equal(limit(), 10 * DISK_BLOCK);
	close_journal();
}

static void limit_is_of_the_transaction_with_a_log_in_memory(void)
{
	OPEN(.lanes = 1, .nvm = 1 << 22);
	took(20, 20 + (1 << 20));
	assert_int_equal(limit(), fx.zj->max_txn / 64 * DISK_BLOCK);
	close_journal();
}

static void log_writes_are_timed_by_size(void)
{
	const struct zj_write_time *time;
	handle_t *h;

	OPEN(.lanes = 1);
	time = lane(0)->write_time;
	change(0, BLOCK, 1);
	commit(0);
	assert_true(time[0].ns > 0 && time[0].bytes >= 2 * DISK_BLOCK);
	assert_int_equal(time[1].bytes, 0);
	h = start(0, 40);
	for (u32 i = 0; i < 40; i++)
		put(h, BLOCK + i, i);
	stop(h);
	commit(0);
	assert_true(time[1].ns > 0 && time[1].bytes >= 40 * DISK_BLOCK);
	close_journal();
}

/* One that takes long counts for a quarter, and is soon forgotten. */
static void time_of_log_writes_is_a_mean(void)
{
	const s64 long_ns = 1000000000;
	struct zj_write_time *time;

	OPEN(.lanes = 1);
	time = &lane(0)->write_time[0];
	*time = (struct zj_write_time){ long_ns, 1 << 20 };
	change(0, BLOCK, 1);
	commit(0);
	assert_in_range(time->ns, 3 * long_ns / 4 + 1, 4 * long_ns / 5);
	assert_in_range(time->bytes, (3 << 20) / 4 + 1, 4 * (1 << 20) / 5);
	/* The first one of all is taken as it is. */
	*time = (struct zj_write_time){ 0 };
	change(0, BLOCK, 2);
	commit(0);
	assert_true(time->bytes >= 2 * DISK_BLOCK);
	assert_true(time->ns >= 1000);
	close_journal();
}

/* ---- requests ---- */

/* What the caller's memory held before is nothing to them. */
static void first_block_begins_a_request(void)
{
	struct zj_log_io io;
	u32 block, before;
	void *data;

	OPEN(.lanes = 1);
	block = seg_block(3, 0) - jblock(0);
	data = kmem_cache_zalloc(fx.zj->frozen_cache, GFP_KERNEL);
	before = now();
	io.next = zj_map_block(&fx.zj->map, block);
	zj_log_io_begin(&io, lane(0), 0, 2);
	zj_log_io_add(&io, block, data);
	zj_log_io_add(&io, block + 1, data);
	zj_log_io_send(&io);
	assert_int_equal(zj_log_io_wait(&io), 0);
	assert_int_equal(written(jblock(block), before), before);
	assert_int_equal(written(jblock(block + 1), before), before + 1);
	kmem_cache_free(fx.zj->frozen_cache, data);
	close_journal();
}

CORE_TESTS(data_limit,
	CORE_TEST(first_block_begins_a_request),
	CORE_TEST(limit_follows_from_the_price_of_a_byte),
	CORE_TEST(limit_is_of_the_transaction_with_a_log_in_memory),
	CORE_TEST(log_writes_are_timed_by_size),
	CORE_TEST(time_of_log_writes_is_a_mean));
