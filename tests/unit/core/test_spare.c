// SPDX-License-Identifier: GPL-2.0-only
/* access.c, part.c, version.c: the memory that access to a block takes, and copies of it. */
#include "linesview.h"
#include "txn/txn.h"

static u32 parts, blocks;
static bool locked;	/* by the caller */

static void count_alloc(struct kmem_cache *cache)
{
	struct buffer_head *bh = buffer(BLOCK);

	/* Reclaim may wait for whoever waits for the buffer. */
	assert_true(buffer_locked(bh) == locked);
	brelse(bh);
	parts += cache == zj_part_cache;
	blocks += cache == fx.zj->frozen_cache;
}

static void count_from_here(void)
{
	parts = 0;
	blocks = 0;
	fx.on_alloc = count_alloc;
}

static void expect_allocs(u32 nr_parts, u32 nr_blocks)
{
	fx.on_alloc = NULL;
	assert_int_equal(parts, nr_parts);
	assert_int_equal(blocks, nr_blocks);
}

/* The block's image is in the log, so the next owner would log lines of it. */
static handle_t *start_after_image(void)
{
	change_line(0, BLOCK, 3, 'a');
	assert_true(newest_lines(BLOCK) == WHOLE);
	return start_more(0, 1, 0, 1);
}

static void write_access_takes_a_part_and_a_base(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	count_from_here();
	get_access(h, BLOCK + 1);
	/* The head has the first part. */
	expect_allocs(0, 0);
	stop(h);
	h = start_after_image();
	count_from_here();
	get_access(h, BLOCK);
	expect_allocs(1, 1);
	stop(h);
	close_journal();
}

static void declared_changes_need_no_base(void)
{
	handle_t *h;

	OPEN();
	h = start_after_image();
	count_from_here();
	range_access(h, BLOCK);
	expect_allocs(1, 0);
	stop(h);
	close_journal();
}

static void a_block_that_is_freed_needs_no_base(void)
{
	handle_t *h;

	OPEN();
	h = start_after_image();
	count_from_here();
	own(h);
	assert_int_equal(zj_journal_forget(h, buffer(BLOCK)), 0);
	own(NULL);
	expect_allocs(1, 0);
	stop(h);
	close_journal();
}

static void a_new_block_needs_no_base(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	h = start_after_image();
	stop(h);
	h = start(1, 1);
	bh = buffer(BLOCK);
	own(h);
	lock_buffer(bh);
	locked = true;
	count_from_here();
	assert_int_equal(zj_journal_get_create_access(h, bh), 0);
	expect_allocs(1, 0);
	locked = false;
	unlock_buffer(bh);
	memset(bh->b_data, 'n', DISK_BLOCK);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	own(NULL);
	brelse(bh);
	stop(h);
	commit(1);
	assert_true(newest_lines(BLOCK) == WHOLE);
	expect_after_crash(BLOCK, "nnnnnnnnnnnnnnnn");
	close_journal();
}

/* ---- what is kept for the next time ---- */

/* The image's part stays, and so does that of the newest lines, so owners take turns with two. */
static void a_head_keeps_a_part_for_its_next_owner(void)
{
	struct journal_head *jh;
	struct buffer_head *bh;
	struct zj_part *kept;

	OPEN();
	change_line(0, BLOCK, 3, 'a');
	bh = buffer(BLOCK);
	jh = bh2jh(bh);
	assert_null(jh->kept);
	count_from_here();
	change_line(0, BLOCK, 3, 'b');
	assert_null(jh->kept);
	change_line(0, BLOCK, 4, 'c');
	expect_allocs(2, 2);
	/* That of 'b' went when 'c' was committed. */
	kept = jh->kept;
	assert_non_null(kept);
	count_from_here();
	change_line(0, BLOCK, 5, 'd');
	expect_allocs(0, 1);
	assert_ptr_equal(jh->newest, kept);
	assert_int_equal(newest_lines(BLOCK), BIT(5));
	assert_non_null(jh->kept);
	brelse(bh);
	close_journal();
}

static struct buffer_head *taken_from;
static struct zj_part *taken;

/*
 * The memory for the base is allocated between the look at the head and its lock. That for the
 * part, which is missed with the buffer locked, is not.
 */
static void take_kept(struct kmem_cache *cache)
{
	struct journal_head *jh = bh2jh(taken_from);

	assert_false(buffer_locked(taken_from));
	if (cache != fx.zj->frozen_cache || !jh->kept)
		return;
	taken = jh->kept;
	jh->kept = NULL;
}

static void a_kept_part_that_is_gone_is_missed_in_time(void)
{
	struct journal_head *jh;
	handle_t *h;

	OPEN();
	change_line(0, BLOCK, 3, 'a');
	change_line(0, BLOCK, 3, 'b');
	change_line(0, BLOCK, 4, 'c');
	taken_from = buffer(BLOCK);
	jh = bh2jh(taken_from);
	h = start(0, 1);
	fx.on_alloc = take_kept;
	get_access(h, BLOCK);
	fx.on_alloc = NULL;
	assert_non_null(taken);
	assert_true(jh->newest != taken);
	assert_ptr_equal(jh->newest->txn, handle_txn(h));
	jh->kept = taken;
	brelse(taken_from);
	stop(h);
	close_journal();
}

/* All of another lane's transaction, which takes what the head has kept, and gives it back. */
static void call_change(struct fiber *f)
{
	handle_t *h = start(1, 1);

	change_lines(h, f->block, 5, 1, 'e');
	stop(h);
	zj_commit_request_lane(lane(1));
	/* Not until it is committed: it may be tied to the handle that this one preempts. */
	sleep_ms(5);
}

static void call_go_home(struct fiber *f)
{
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
}

/* ASan reports a part that has two owners, as it is freed twice or while it is in use. */
static void a_kept_part_goes_at_any_place_of_an_access(void)
{
	static void (*const others[])(struct fiber *f) = { call_change, call_go_home };
	handle_t *h;
	bool more;
	int n;

	for (u32 i = 0; i < ARRAY_SIZE(others); i++) {
		OPEN();
		n = 1;
		do {
			commit_lines(0, BLOCK, 0, 16, 'a');
			change_line(0, BLOCK, 3, 'b');
			change_line(0, BLOCK, 4, 'c');
			h = start(0, 1);
			more = preempt_at(n, CALL(call_access, .h = h, .block = BLOCK),
					  CALL(others[i], .block = BLOCK, .cpu = 1));
			fill_line(h, BLOCK, 6, 'f');
			stop(h);
			assert_int_equal(zj_journal_force_commit(fx.journal), 0);
			expect_after_crash(BLOCK, i ? "aaabcafaaaaaaaaa" : "aaabcefaaaaaaaaa");
			n++;
		} while (more);
		assert_true(n > 10);
		close_journal();
	}
}

/* The header with the newest lines of a block has nothing between its tags and these lines. */
static void expect_clean_header(u32 block)
{
	const struct zj_chunk_header *header;
	const struct zj_rec_image *image;
	const u8 *bytes;
	struct log log;
	size_t i;

	log_read(&log);
	image = log_image(&log, fx.zj->stamp, block);
	bytes = log.image->block[jblock(image->log_block)];
	header = (const void *)bytes;
	assert_int_equal(le32_to_cpu(header->nr_tags), 1);
	for (i = sizeof(*header) + 8 * le32_to_cpu(header->nr_deps) + sizeof(struct zj_tag);
	     i < image->data; i++)
		assert_int_equal(bytes[i], 0);
	log_free(&log);
}

static void a_lane_keeps_the_memory_of_a_chunk(void)
{
	void *plan;

	OPEN();
	assert_null(lane(1)->plan);
	commit_lines(1, BLOCK, 0, 16, 'a');
	commit_lines(1, BLOCK, 3, MOST, 'b');
	plan = lane(1)->plan;
	assert_non_null(plan);
	change_line(1, BLOCK, 14, 'c');
	assert_ptr_equal(lane(1)->plan, plan);
	expect_clean_header(BLOCK);
	expect_after_crash(BLOCK, "aaabbbbbbaaaaaca");
	close_journal();
}

/* Two transactions are in a run, and the second cannot be logged: each chunk is freed once. */
static void a_run_that_fails_leaves_a_lane_one_chunk(void)
{
	struct buffer_head *bh;
	handle_t *h;
	u64 txns;

	OPEN(.lanes = 1, .pipeline = true, .log_check = true);
	declare_range(0, BLOCK, 0, 64, 'a');
	change(0, BLOCK + 1, 1);
	seal_held(0);
	assert_null(lane(0)->plan);
	change(0, BLOCK + 2, 1);
	seal(0);
	h = start(0, 1);
	range_access(h, BLOCK);
	bh = buffer(BLOCK);
	bh->b_data[128] = 'b';
	brelse(bh);
	change_range(h, BLOCK, 64, 64, 'b');
	stop(h);
	seal(0);
	settle();
	assert_int_equal(lane(0)->depth, 3);
	txns = lane(0)->stats.txns;
	release();
	settle();
	assert_int_equal(lane(0)->stats.txns, txns + 1);
	assert_true(said("block 8 was changed in lines 0x4, but only 0x2 were declared"));
	assert_non_null(lane(0)->plan);
	close_aborted();
}

/* ---- copies ahead of the log I/O ---- */

static void on_frozen(struct jbd2_buffer_trigger_type *type, struct buffer_head *bh,
		      void *data, size_t size)
{
	((u8 *)data)[900] = 0x77;
}

/* Lines are taken from the buffer at once, with what a trigger changes; an image is not. */
static void declared_lines_are_not_copied_ahead(void)
{
	struct jbd2_buffer_trigger_type type = { .t_frozen = on_frozen };
	struct buffer_head *bh;

	OPEN();
	declare_range(0, BLOCK, 0, 64, 'a');
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_ALWAYS);
	declare_range(0, BLOCK, 0, MOST * 64, 'b');
	assert_int_equal(newest_lines(BLOCK), (1 << MOST) - 1);
	assert_int_equal(lane(0)->stats.ahead, 0);
	declare_range(0, BLOCK, 0, (MOST + 1) * 64, 'c');
	assert_true(newest_lines(BLOCK) == WHOLE);
	assert_int_equal(lane(0)->stats.ahead, 1);
	bh = buffer(BLOCK);
	zj_journal_set_triggers(bh, &type);
	brelse(bh);
	declare_range(0, BLOCK, 0, 64, 'd');
	assert_int_equal(lane(0)->stats.ahead, 1);
	close_journal();
}

/* A log in memory has all images of a transaction before handles go on. */
static void declared_lines_for_a_log_in_memory_are_copied_ahead(void)
{
	NVM();
	make_known(BLOCK, 7);
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_ALWAYS);
	declare_range(0, BLOCK, 0, 64, 'b');
	assert_int_equal(lane(0)->stats.ahead, 1);
	close_journal();
}

CORE_TESTS(spare,
	CORE_TEST(write_access_takes_a_part_and_a_base),
	CORE_TEST(declared_changes_need_no_base),
	CORE_TEST(a_block_that_is_freed_needs_no_base),
	CORE_TEST(a_new_block_needs_no_base),
	CORE_TEST(a_head_keeps_a_part_for_its_next_owner),
	CORE_TEST(a_kept_part_that_is_gone_is_missed_in_time),
	CORE_TEST(a_kept_part_goes_at_any_place_of_an_access),
	CORE_TEST(a_lane_keeps_the_memory_of_a_chunk),
	CORE_TEST(a_run_that_fails_leaves_a_lane_one_chunk),
	CORE_TEST(declared_lines_are_not_copied_ahead),
	CORE_TEST(declared_lines_for_a_log_in_memory_are_copied_ahead),
);
