// SPDX-License-Identifier: GPL-2.0-only
/* commit.c and log.c: what the log holds after a commit. */
#include "fixture.h"

/* The number of tags for which a header block of 1 KiB has room. */
#define TAGS	((DISK_BLOCK - sizeof(struct zj_chunk_header)) / \
		 sizeof(struct zj_tag))

static tid_t change_many(u32 lane, u32 first, u32 nr, u8 val)
{
	handle_t *h = start(lane, nr);
	tid_t tid = h->h_transaction->t_tid;

	for (u32 i = 0; i < nr; i++)
		put(h, first + i, val);
	stop(h);
	return tid;
}

static u32 log_writes(u32 from)
{
	u32 n = 0;

	for (u32 i = from; i < now(); i++)
		n += fx.disk->log[i].what == DISK_WRITE &&
		     fx.disk->log[i].block >= jblock(ZJ_LOG_FIRST);
	return n;
}

static void small_transaction_has_one_header_block(void)
{
	const struct zj_rec_chunk *c;
	struct log log;
	u32 before;
	tid_t tid;

	OPEN();
	before = now();
	tid = change_many(1, BLOCK, 5, 3);
	commit(1);
	assert_int_equal(log_writes(before), 1 + 5);
	assert_int_equal(lane(1)->stats.headers, 1);
	assert_int_equal(lane(1)->stats.blocks, 5);
	assert_int_equal(lane(1)->stats.txns, 1);
	assert_int_equal(lane(1)->stats.handles, 1);
	log_read(&log);
	assert_int_equal(log.stats.chunks, 1);
	c = log_chunk(&log, 2, 1, 0);
	assert_int_equal(c->tid, tid);
	assert_int_equal(c->nr_members, 1);
	assert_int_equal(c->nr_chunks, 1);
	assert_int_equal(c->nr_images, 5);
	assert_int_equal(c->nr_deps, 0);
	assert_int_equal(c->nr_revokes, 0);
	for (u32 i = 0; i < 5; i++) {
		const struct zj_rec_image *image = log_image(&log, 2, BLOCK + i);

		assert_int_equal(image->flags, 0);
		assert_int_equal(log_data(&log, image)[0], 3);
		assert_int_equal(log_data(&log, image)[DISK_BLOCK - 1], 3);
	}
	assert_true(log_component(&log, 2)->committed);
	log_free(&log);
	close_journal();
}

static void large_transaction_has_several_chunks(void)
{
	struct log log;

	OPEN();
	change_many(0, BLOCK, TAGS + 3, 4);
	commit(0);
	log_read(&log);
	assert_int_equal(log_chunks(&log, 2, 0), 2);
	assert_int_equal(log_chunk(&log, 2, 0, 0)->nr_chunks, 2);
	assert_int_equal(log_chunk(&log, 2, 0, 0)->nr_images, TAGS);
	assert_int_equal(log_chunk(&log, 2, 0, 1)->nr_images, 3);
	for (u32 i = 0; i < TAGS + 3; i++)
		assert_non_null(log_image(&log, 2, BLOCK + i));
	assert_true(log_component(&log, 2)->committed);
	log_free(&log);
	close_journal();
}

static void member_without_all_its_chunks_is_nothing(void)
{
	static const u8 zero[DISK_BLOCK];
	struct image *image;
	u32 second;

	OPEN();
	change_many(0, BLOCK, TAGS + 3, 4);
	commit(0);
	second = seg_block(lane(0)->cur->index, TAGS + 1);
	/* The power failed before its header or one of its images was written. */
	for (u32 lost = 0; lost < 2; lost++) {
		image = cut_power();
		image->block[second + lost] = zero;
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image->stats.torn_chunks, lost);
		assert_int_equal(image->stats.discarded, 1);
		assert_int_equal(image_val(image, BLOCK), 0);
		image_free(image);
	}
	close_journal();
}

static void chunks_end_with_their_segment(void)
{
	u32 seg_blocks, nr;
	struct log log;

	OPEN(.journal = 1024);
	seg_blocks = fx.zj->geo.seg_blocks;
	change_many(0, BLOCK, TAGS, 1);
	commit(0);
	assert_int_equal(lane(0)->cur_off, TAGS + 1);
	/* Less than one chunk is left in the segment. */
	nr = seg_blocks - (TAGS + 1) - 1;
	assert_true(nr < TAGS);
	change_many(0, BLOCK, nr + 2, 2);
	commit(0);
	log_read(&log);
	assert_int_equal(log_chunks(&log, 3, 0), 2);
	assert_int_equal(log_chunk(&log, 3, 0, 0)->nr_images, nr);
	assert_int_equal(log_chunk(&log, 3, 0, 1)->nr_images, 2);
	assert_int_equal(zj_seg_block_of(&log.r,
					 log_chunk(&log, 3, 0, 1)->log_block), 0);
	assert_true(log_component(&log, 3)->committed);
	log_free(&log);
	assert_int_equal(val_after_crash(BLOCK + nr + 1), 2);
	close_journal();
}

static void last_block_of_a_segment_takes_no_bare_header(void)
{
	struct log log;
	u32 left;

	OPEN(.journal = 1024);
	change_many(0, BLOCK, TAGS, 1);
	commit(0);
	left = fx.zj->geo.seg_blocks - lane(0)->cur_off - 1;
	change_many(0, BLOCK, left - 1, 2);
	commit(0);
	assert_int_equal(lane(0)->cur_off, fx.zj->geo.seg_blocks - 1);
	change_many(0, BLOCK, 1, 3);
	commit(0);
	assert_int_equal(lane(0)->cur_off, 2);
	log_read(&log);
	assert_int_equal(log_chunks(&log, 4, 0), 1);
	assert_true(log_component(&log, 4)->committed);
	log_free(&log);
	close_journal();
}

static void every_member_says_how_many_there_are(void)
{
	handle_t *h[3];
	struct log log;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++) {
		h[i] = start(i, 2);
		put(h[i], BLOCK, i);
		put(h[i], BLOCK + 1 + i, 9);
	}
	for (u32 i = 0; i < 3; i++)
		stop(h[i]);
	commit(1);
	log_read(&log);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(log_chunk(&log, 2, i, 0)->nr_members, 3);
	assert_int_equal(log_component(&log, 2)->members, 3);
	assert_true(log_component(&log, 2)->committed);
	log_free(&log);
	close_journal();
}

static void one_member_alone_is_nothing(void)
{
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 2);
	put(a, BLOCK, 5);
	put(b, BLOCK, 6);
	put(b, BLOCK + 1, 6);
	stop(a);
	stop(b);
	fx.hold_lane[1] = true;
	seal(0);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 0);
	release();
	settle();
	assert_int_equal(val_after_crash(BLOCK), 6);
	assert_int_equal(val_after_crash(BLOCK + 1), 6);
	close_journal();
}

static void empty_member_is_a_bridge(void)
{
	handle_t *h[3];
	struct log log;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++)
		h[i] = start(i, 1);
	put(h[0], BLOCK, 1);
	put(h[2], BLOCK + 1, 1);
	/* The transaction in the middle changes only blocks that the others own. */
	put(h[1], BLOCK, 2);
	put(h[1], BLOCK + 1, 2);
	for (u32 i = 0; i < 3; i++)
		stop(h[i]);
	fx.hold_lane[2] = true;
	seal(0);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 0);
	release();
	settle();
	log_read(&log);
	assert_int_equal(log_chunk(&log, 2, 1, 0)->nr_images, 0);
	assert_int_equal(log_chunk(&log, 2, 0, 0)->nr_members, 3);
	assert_true(log_component(&log, 2)->committed);
	log_free(&log);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

static void empty_transaction_carries_its_dependencies(void)
{
	struct buffer_head *bh;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	h = start(1, 1);
	bh = buffer(BLOCK);
	zj_journal_read_dependency(h, bh);
	brelse(bh);
	stop(h);
	commit(1);
	log_read(&log);
	assert_int_equal(log_chunk(&log, 3, 1, 0)->nr_images, 0);
	assert_true(log_depends(&log, 3, 2));
	log_free(&log);
	close_journal();
}

static void dependencies_stand_in_one_members_record(void)
{
	handle_t *a, *b;
	struct log log;

	OPEN(.lanes = 3);
	change(2, BLOCK, 1);
	change(2, BLOCK + 1, 1);
	fx.hold_lane[2] = true;
	seal(2);
	a = start(0, 2);
	b = start(1, 2);
	put(a, BLOCK, 2);
	put(b, BLOCK + 1, 2);
	put(a, BLOCK + 2, 2);
	put(b, BLOCK + 2, 2);
	stop(a);
	stop(b);
	seal(0);
	release();
	settle();
	log_read(&log);
	assert_int_equal(log_chunk(&log, 3, 0, 0)->nr_deps +
			 log_chunk(&log, 3, 1, 0)->nr_deps, 1);
	assert_true(log_depends(&log, 3, 2));
	log_free(&log);
	close_journal();
}

static void dependencies_and_revokes_spill_into_more_headers(void)
{
	/* 8 bytes each: more than a header block has room for. */
	const int deps = 30, revokes = 100;
	struct log log;
	handle_t *h;

	OPEN(.lanes = 32, .journal = 16384);
	for (int i = 1; i <= deps; i++) {
		change(i, BLOCK + i, 1);
		fx.hold_lane[i] = true;
		seal(i);
	}
	h = start_more(0, deps, 0, revokes);
	for (int i = 1; i <= deps; i++)
		put(h, BLOCK + i, 2);
	own(h);
	for (int i = 0; i < revokes; i++)
		assert_int_equal(zj_journal_revoke(h, 1000 + i, NULL), 0);
	stop(h);
	seal(0);
	settle();
	release();
	settle();
	log_read(&log);
	assert_true(log_chunks(&log, 2 + deps, 0) > 1);
	for (int i = 0; i < deps; i++)
		assert_true(log_depends(&log, 2 + deps, 2 + i));
	for (int i = 0; i < revokes; i++)
		assert_true(log_revokes(&log, 2 + deps, 1000 + i));
	for (int i = 1; i <= deps; i++)
		assert_int_equal(log_data(&log, log_image(&log, 2 + deps,
							  BLOCK + i))[0], 2);
	assert_true(log_component(&log, 2 + deps)->committed);
	log_free(&log);
	close_journal();
}

static void revokes_without_images_spill_too(void)
{
	const int revokes = 300;
	struct log log;
	handle_t *h;

	OPEN();
	h = start_more(0, 0, 0, revokes);
	own(h);
	for (int i = 0; i < revokes; i++)
		assert_int_equal(zj_journal_revoke(h, 1000 + i, NULL), 0);
	stop(h);
	commit(0);
	log_read(&log);
	assert_int_equal(log_chunks(&log, 2, 0), 3);
	for (int i = 0; i < revokes; i++)
		assert_true(log_revokes(&log, 2, 1000 + i));
	assert_true(log_component(&log, 2)->committed);
	log_free(&log);
	close_journal();
}

/* ---- escaping ---- */

static void escaped(u32 magic, u16 flag)
{
	u8 image[DISK_BLOCK];
	struct buffer_head *bh;
	struct log log;
	handle_t *h;

	OPEN();
	memset(image, 0x77, sizeof(image));
	memcpy(image, &magic, sizeof(magic));
	bh = buffer(BLOCK);
	h = start(0, 1);
	get_access(h, BLOCK);
	memcpy(bh->b_data, image, sizeof(image));
	own(h);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	stop(h);
	commit(0);
	log_read(&log);
	assert_int_equal(log_image(&log, 2, BLOCK)->flags, flag);
	assert_int_equal(*(const u32 *)log_data(&log, log_image(&log, 2, BLOCK)),
			 0);
	log_free(&log);
	/* Only the copy in the log is changed. */
	assert_memory_equal(bh->b_data, image, sizeof(image));
	{
		struct image *cut = cut_power();

		assert_int_equal(recover_image(cut), 0);
		assert_memory_equal(cut->block[BLOCK], image, sizeof(image));
		image_free(cut);
	}
	brelse(bh);
	close_journal();
}

static void image_that_looks_like_stocks_block_is_escaped(void)
{
	escaped(cpu_to_be32(ZJ_JBD2_MAGIC), ZJ_TAG_ESC_JBD2);
}

static void image_that_looks_like_our_header_is_escaped(void)
{
	escaped(cpu_to_le32(ZJ_CHUNK_MAGIC), ZJ_TAG_ESC_CHUNK);
}

/* ---- members and their data ---- */

/* data=journal: a folio is copied only when all members have protected theirs. */
static void file_folio_waits_for_the_other_members_data(void)
{
	struct file file;
	handle_t *a, *b;
	u32 before;

	OPEN();
	file_init(&file);
	file_page(&file, 600);
	a = start(0, 2);
	b = start(1, 2);
	put_page_block(a, &file, 0, 1);
	zj_journal_inode_ranged_write(b, &file.jinode, 0, 10);
	put(a, BLOCK, 1);
	put(b, BLOCK, 1);
	stop(a);
	stop(b);
	/* The entry's lane is stopped before it has submitted. */
	fx.hold_submit = true;
	before = now();
	seal(0);
	settle();
	assert_int_equal(lane(0)->stats.ahead, 0);
	assert_int_equal(record_written(before), -1);
	fx.hold_submit = false;
	settle();
	assert_int_equal(lane(0)->stats.ahead, 1);
	assert_true(record_written(before) > 0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(600), 1);
	file_exit(&file);
	close_journal();
}

static void blocks_that_were_not_changed_are_let_go(void)
{
	struct buffer_head *bh;
	struct log log;
	handle_t *h;

	OPEN();
	h = start(0, 2);
	get_access(h, BLOCK);
	put(h, BLOCK + 1, 1);
	stop(h);
	commit(0);
	bh = buffer(BLOCK);
	assert_false(buffer_jbd(bh));
	brelse(bh);
	log_read(&log);
	assert_null(log_image(&log, 2, BLOCK));
	log_free(&log);
	close_journal();
}

static void lane_writes_its_transactions_in_order(void)
{
	struct log log;

	OPEN();
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	change(0, BLOCK, 2);
	seal(0);
	settle();
	/* The second one is not even sent. */
	assert_int_equal(nr_held(), 1);
	release();
	settle();
	log_read(&log);
	assert_true(log_chunk(&log, 2, 0, 0)->log_block <
		    log_chunk(&log, 3, 0, 0)->log_block);
	log_free(&log);
	close_journal();
}

/* A member counts as submitted only when its pages are write-protected. */
static void file_folio_waits_until_the_other_members_data_is_out(void)
{
	struct file file;
	handle_t *a, *b;
	u32 before;

	OPEN();
	file_init(&file);
	file_page(&file, 600);
	a = start(0, 2);
	b = start(1, 2);
	put_page_block(a, &file, 0, 1);
	zj_journal_inode_ranged_write(b, &file.jinode, 0, 10);
	put(a, BLOCK, 1);
	put(b, BLOCK, 1);
	stop(a);
	stop(b);
	fx.hold_submit = true;
	before = now();
	seal(0);
	settle();
	assert_int_equal(lane(0)->stats.ahead, 0);
	assert_int_equal(record_written(before), -1);
	fx.hold_submit = false;
	settle();
	assert_int_equal(lane(0)->stats.ahead, 1);
	assert_true(record_written(before) > 0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	file_exit(&file);
	close_journal();
}

static void begin_members(void)
{
	seal(0);
}

static void call_pause(struct fiber *f)
{
	sleep_ms(2);
}

/*
 * The member that is last to submit looks whether anybody waits for it, and wakes nobody
 * otherwise. It is stopped at every place in turn while the other one goes to sleep.
 */
static void last_member_to_submit_meets_who_waits_anywhere(void)
{
	struct file file;
	handle_t *a, *b;
	bool more;
	tid_t tid;
	int n = 1;

	OPEN();
	file_init(&file);
	file_page(&file, 600);
	do {
		a = start(0, 2);
		b = start(1, 2);
		tid = a->h_transaction->t_tid;
		put_page_block(a, &file, 0, n);
		zj_journal_inode_ranged_write(b, &file.jinode, 0, 10);
		put(a, BLOCK, n);
		put(b, BLOCK, n);
		stop(a);
		stop(b);
		more = preempt_task_at(n++, lane(1)->task, begin_members, CALL(call_pause));
		assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	} while (more);
	assert_true(n > 100);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	file_exit(&file);
	close_journal();
}

/* The lane has memory for one copy at hand, and loses it. */
static void fail_next_copy(void)
{
	if (lane(0)->spare[0])
		kmem_cache_free(fx.zj->frozen_cache, lane(0)->spare[0]);
	lane(0)->spare[0] = NULL;
	zj_fail_alloc = 1;
}

/* Copies made only to spare others a wait are not made when memory is short. */
static void copy_that_need_not_be_goes_without_memory(void)
{
	struct zj_txn *txn;

	OPEN();
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	change(0, BLOCK, 1);
	txn = running(0);
	fx.hold_lane[0] = true;
	fail_next_copy();
	seal(0);
	settle();
	assert_int_equal(zj_fail_alloc, 0);
	assert_int_equal(lane(0)->stats.ahead, 0);
	assert_true(zj_part_test(part_of(txn, BLOCK), ZJ_PART_LIVE));
	zj_txn_put(txn);
	release();
	settle();
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

/* The folio of a file can be truncated under the log I/O. */
static void copy_that_must_be_waits_for_memory(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_NEVER;
	file_init(&file);
	file_page(&file, BLOCK);
	h = start(0, 1);
	put_page_block(h, &file, 0, 7);
	stop(h);
	fail_next_copy();
	commit(0);
	assert_int_equal(zj_fail_alloc, 0);
	assert_int_equal(lane(0)->stats.ahead, 1);
	assert_int_equal(val_after_crash(BLOCK), 7);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	file_exit(&file);
	close_journal();
}

CORE_TESTS(commit,
	CORE_TEST(last_member_to_submit_meets_who_waits_anywhere),
	CORE_TEST(file_folio_waits_until_the_other_members_data_is_out),
	CORE_TEST(small_transaction_has_one_header_block),
	CORE_TEST(large_transaction_has_several_chunks),
	CORE_TEST(member_without_all_its_chunks_is_nothing),
	CORE_TEST(chunks_end_with_their_segment),
	CORE_TEST(last_block_of_a_segment_takes_no_bare_header),
	CORE_TEST(every_member_says_how_many_there_are),
	CORE_TEST(one_member_alone_is_nothing),
	CORE_TEST(empty_member_is_a_bridge),
	CORE_TEST(empty_transaction_carries_its_dependencies),
	CORE_TEST(dependencies_stand_in_one_members_record),
	CORE_TEST(dependencies_and_revokes_spill_into_more_headers),
	CORE_TEST(revokes_without_images_spill_too),
	CORE_TEST(image_that_looks_like_stocks_block_is_escaped),
	CORE_TEST(image_that_looks_like_our_header_is_escaped),
	CORE_TEST(file_folio_waits_for_the_other_members_data),
	CORE_TEST(blocks_that_were_not_changed_are_let_go),
	CORE_TEST(lane_writes_its_transactions_in_order),
	CORE_TEST(copy_that_need_not_be_goes_without_memory),
	CORE_TEST(copy_that_must_be_waits_for_memory),
);
