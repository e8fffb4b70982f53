// SPDX-License-Identifier: GPL-2.0-only
/* The power fails at any store to the memory. */
#include "nvmview.h"

#define TXNS		60
#define BLOCKS		4

/* Do handles declare what they change? */
static bool declared;

static void access_block(handle_t *h, u32 block)
{
	if (declared)
		range_access(h, block);
	else
		get_access(h, block);
}

static void change_one(handle_t *h, u32 block, u32 line, u8 val)
{
	if (declared)
		change_range(h, block, line * ZJ_NVM_LINE, ZJ_NVM_LINE, val);
	else
		fill_line(h, block, line, val);
}

/* Change number @n: a line of each block, and now and then all lines. */
static void change_all(u32 ln, u32 n)
{
	handle_t *h = start_more(ln, BLOCKS + 2, 0, 1);

	for (u32 b = 0; b < BLOCKS; b++) {
		access_block(h, BLOCK + b);
		change_one(h, BLOCK + b, 0, n);
		change_one(h, BLOCK + b, n % LINES, n);
	}
	if (n % 7 == 3)
		assert_int_equal(revoke_block(h, BLOCK + 50), 0);
	else if (n % 7 == 4)
		put(h, BLOCK + 50, n);
	else if (n % 7 != 3) {
		access_block(h, BLOCK + 50);
		change_one(h, BLOCK + 50, n % LINES, n);
	}
	stop(h);
}

static u8 expected(u32 val, u32 line)
{
	if (!line)
		return val;
	while (val && val % LINES != line)
		val--;
	return val;
}

static void judge(struct image *image, u32 acked, u32 begun)
{
	u8 val;

	if (image_is_live(image))
		assert_int_equal(recover_image(image), 0);
	val = image->block[BLOCK][0];
	assert_in_range(val, acked, begun);
	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 i = 0; i < DISK_BLOCK; i++)
			assert_int_equal(image->block[BLOCK + b][i],
					 expected(val, i / ZJ_NVM_LINE));
}

/* The memory's queues are lost with the power. */
static bool queues;

static void crash_at_every_event(bool blocks, u32 info_max)
{
	u32 done[TXNS + 1] = { }, begun[TXNS + 1] = { }, acked = 0, started = 0;
	struct sim_rand rand = { 1 };
	struct disk_walk *walk = malloc(sizeof(*walk));
	struct disk_image crash = { };

	OPEN(.journal = 400, .nvm = 256 << 10, .log_blocks = blocks, .info_max = info_max, .lanes = 2,
	     .nvm_queues = queues, .new = true);
	for (u32 i = 1; i <= TXNS; i++) {
		begun[i] = now();
		change_all(i % 2, i);
		commit(i % 2);
		done[i] = now();
	}
	crash.nr = fx.disk->nr;
	crash.block = malloc(crash.nr * sizeof(*crash.block));
	crash.pmem = malloc(fx.pmem->size);
	walk_init(walk, fx.disk, fx.initial);
	while (walk->at < now()) {
		while (acked < TXNS && done[acked + 1] <= walk->at)
			acked++;
		while (started < TXNS && begun[started + 1] <= walk->at)
			started++;
		for (u32 n = 0; n < 6; n++) {
			struct image image = { .block = crash.block, .pmem = crash.pmem };

			walk_crash(walk, &rand, &crash);
			judge(&image, acked, started);
		}
		scratch_reset();
		walk_step(walk);
	}
	walk_free(walk);
	free(walk);
	free(crash.block);
	free(crash.pmem);
	close_journal();
}

static void power_fails_at_any_store(void)
{
	crash_at_every_event(false, 0);
}

static void power_fails_with_declared_lines(void)
{
	declared = true;
	crash_at_every_event(false, 0);
}

static void power_fails_with_queues(void)
{
	queues = true;
	crash_at_every_event(false, 0);
}

static void power_fails_with_small_txninfos(void)
{
	crash_at_every_event(false, 256);
}

static void power_fails_with_whole_blocks(void)
{
	crash_at_every_event(true, 0);
}

CORE_TESTS(nvm_crash,
	CORE_TEST(power_fails_at_any_store),
	CORE_TEST(power_fails_with_declared_lines),
	CORE_TEST(power_fails_with_queues),
	CORE_TEST(power_fails_with_small_txninfos),
	CORE_TEST(power_fails_with_whole_blocks),
);
