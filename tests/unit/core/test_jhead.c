// SPDX-License-Identifier: GPL-2.0-only
/* jhead.c, part.c: journal heads, parts, the dirty bit (J1, J2). */
#include "fixture.h"

static void head_lives_while_somebody_uses_it(void)
{
	struct journal_head *jh, *same;
	struct buffer_head *bh;
	int refs;

	OPEN();
	bh = buffer(BLOCK);
	refs = atomic_read(&bh->b_count);
	assert_null(zj_jh_get(bh));
	jh = zj_jh_attach(bh);
	same = zj_jh_attach(bh);
	assert_ptr_equal(jh, same);
	assert_ptr_equal(zj_jh_get(bh), jh);
	assert_int_equal(atomic_read(&bh->b_count), refs + 1);
	zj_jh_put(jh);
	zj_jh_put(jh);
	assert_true(buffer_jbd(bh));
	zj_jh_put(jh);
	assert_false(buffer_jbd(bh));
	assert_null(bh->b_private);
	assert_int_equal(atomic_read(&bh->b_count), refs);
	brelse(bh);
	close_journal();
}

static void first_part_is_in_the_head(void)
{
	struct buffer_head *bh;
	struct journal_head *jh;

	OPEN();
	bh = buffer(BLOCK);
	change(0, BLOCK, 1);
	jh = bh2jh(bh);
	assert_ptr_equal(jh->newest, &jh->first);
	seal(0);
	change(1, BLOCK, 2);
	assert_ptr_not_equal(jh->newest, &jh->first);
	assert_true(list_is_first(&jh->first.jh_link, &jh->parts));
	commit(1);
	/* The older one is gone: its place is free for the next. */
	assert_false(jh->first_used);
	brelse(bh);
	close_journal();
}

static void parts_stand_in_stamp_order(void)
{
	struct buffer_head *bh;
	struct zj_part *part;
	u64 last = 0;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++) {
		change(i, BLOCK, i);
		seal(i);
	}
	bh = buffer(BLOCK);
	list_for_each_entry(part, &bh2jh(bh)->parts, jh_link) {
		assert_true(part->txn->comp->stamp > last);
		last = part->txn->comp->stamp;
	}
	assert_ptr_equal(bh2jh(bh)->newest->txn->lane, lane(2));
	assert_int_equal(last, 4);
	brelse(bh);
	close_journal();
}

static bool retire(u32 block)
{
	struct buffer_head *bh = buffer(block);
	struct journal_head *jh = zj_jh_get(bh);
	bool gone = true;

	if (jh) {
		spin_lock(&jh->lock);
		gone = zj_part_retire(jh, false);
		spin_unlock(&jh->lock);
		zj_jh_put(jh);
	}
	brelse(bh);
	return gone;
}

static void part_is_retired_only_when_home(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	change(0, BLOCK, 1);
	assert_false(retire(BLOCK));
	seal_held(0);
	/* Clean and unlocked is not home. */
	assert_false(buffer_dirty(bh) || buffer_locked(bh));
	assert_false(retire(BLOCK));
	release();
	settle();
	assert_true(buffer_dirty(bh));
	assert_false(retire(BLOCK));
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	assert_true(buffer_locked(bh));
	assert_false(buffer_dirty(bh));
	assert_false(retire(BLOCK));
	release();
	settle();
	assert_true(retire(BLOCK));
	assert_false(buffer_jbd(bh));
	brelse(bh);
	close_journal();
}

static void part_with_a_failed_write_is_not_retired(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK);
	settle();
	bh = buffer(BLOCK);
	assert_true(buffer_write_io_error(bh));
	assert_false(retire(BLOCK));
	brelse(bh);
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	close_aborted();
}

static void j1_buffer_is_clean_for_write_back_while_it_changes(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	bh = buffer(BLOCK);
	h = start(1, 1);
	put(h, BLOCK, 2);
	assert_false(buffer_dirty(bh));
	assert_true(buffer_jbddirty(bh));
	/* The older image is not lost: it is owed. */
	assert_true(zj_part_test(list_first_entry(&bh2jh(bh)->parts,
						  struct zj_part, jh_link),
				 ZJ_PART_NEEDS_DIRTY));
	buf_write_back(fx.disk, BLOCK);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	stop(h);
	commit(1);
	assert_true(buffer_dirty(bh));
	assert_false(buffer_jbddirty(bh));
	brelse(bh);
	close_journal();
}

static void j1_image_that_turns_committed_under_a_change_stays_off_write_back(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	change(0, BLOCK, 1);
	seal(0);
	h = start(1, 1);
	put(h, BLOCK, 2);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_false(buffer_dirty(bh));
	buf_write_back(fx.disk, BLOCK);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	stop(h);
	commit(1);
	assert_true(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

static void j2_older_part_leaves_when_a_newer_is_committed(void)
{
	struct zj_txn *old;
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	commit(0);
	change(1, BLOCK, 2);
	assert_non_null(part_of(old, BLOCK));
	seal_held(1);
	assert_non_null(part_of(old, BLOCK));
	release();
	settle();
	assert_null(part_of(old, BLOCK));
	bh = buffer(BLOCK);
	assert_true(list_is_first(&bh2jh(bh)->newest->jh_link,
				  &bh2jh(bh)->parts));
	brelse(bh);
	zj_txn_put(old);
	close_journal();
}

static void owner_that_changed_nothing_gives_the_dirty_bit_back(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	/* Two transactions that only get access, one after the other. */
	for (u32 i = 0; i < 2; i++) {
		h = start(i, 1);
		get_access(h, BLOCK);
		stop(h);
		seal(i);
	}
	assert_false(buffer_dirty(bh));
	settle();
	assert_true(buffer_dirty(bh));
	assert_false(buffer_jbd(bh));
	brelse(bh);
	close_journal();
}

static bool retire_bh(struct buffer_head *bh)
{
	struct journal_head *jh = zj_jh_get(bh);
	bool gone;

	spin_lock(&jh->lock);
	gone = zj_part_retire(jh, false);
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	return gone;
}

/* An error of any of its buffers is known only when all of the folio is written. */
static void part_of_a_file_is_home_with_its_folio(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	file_page(&file, BLOCK);
	h = start(0, 2);
	put_page_block(h, &file, 0, 1);
	put_page_block(h, &file, 1, 1);
	stop(h);
	commit(0);
	fx.hold_block = BLOCK + 1;
	page_write_back(file.page);
	settle();
	assert_false(buffer_async_write(page_bh(&file, 0)));
	assert_true(buffer_async_write(page_bh(&file, 1)));
	assert_false(retire_bh(page_bh(&file, 0)));
	release();
	settle();
	assert_true(retire_bh(page_bh(&file, 0)));
	assert_true(retire_bh(page_bh(&file, 1)));
	file_exit(&file);
	close_journal();
}

/* A conflict is a change that had to wait for the log, or for a copy, and no other. */
static void conflicts_are_of_unlogged_images(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	/* Sealed, but never changed. */
	h = start(0, 1);
	get_access(h, BLOCK);
	stop(h);
	fx.hold_lane[0] = true;
	change(0, BLOCK + 1, 1);
	seal(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_int_equal(bh2jh(bh)->conflicts, 0);
	stop(h);
	/* Changed, and its image is not in the log yet. */
	change(1, BLOCK, 1);
	seal(1);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_int_not_equal(bh2jh(bh)->conflicts, 0);
	stop(h);
	release();
	brelse(bh);
	close_journal();
}

static bool let_go;

static void call_retire(struct fiber *f)
{
	let_go = retire(BLOCK);
}

static void call_write_back(struct fiber *f)
{
	buf_write_back(fx.disk, BLOCK);
}

/* While the block is in flight its part is not home, in whatever order the two tasks run. */
static void part_in_flight_is_not_home(void)
{
	bool more;
	int n = 1;

	OPEN();
	do {
		change(0, BLOCK, n);
		commit(0);
		fx.hold_block = BLOCK;
		more = preempt_at(n++, CALL(call_retire), CALL(call_write_back));
		assert_false(let_go);
		release();
		settle();
		assert_true(retire(BLOCK));
	} while (more);
	assert_true(n > 5);
	close_journal();
}

/* Images are written from them: on no device may they lie across a boundary. */
static void frozen_copies_are_aligned(void)
{
	for (u32 size = 1024; size <= PAGE_SIZE; size *= 2) {
		struct kmem_cache *cache = zj_frozen_cache(size);
		void *copy[8];

		for (u32 i = 0; i < ARRAY_SIZE(copy); i++) {
			copy[i] = kmem_cache_alloc(cache, GFP_NOFS);
			assert_int_equal((uintptr_t)copy[i] % size, 0);
			memset(copy[i], i, size);
		}
		for (u32 i = 0; i < ARRAY_SIZE(copy); i++)
			kmem_cache_free(cache, copy[i]);
	}
}

/* If any cache cannot be created, the result is an error and no cache is left. */
static void caches_without_memory(void)
{
	unsigned long n = 0;
	void *jinode;
	int err;

	zj_caches_exit();
	do {
		zj_fail_alloc = ++n;
		err = zj_caches_init();
		assert_int_equal(err, zj_fail_alloc ? 0 : -ENOMEM);
		if (err)
			sim_caches_check();
	} while (err);
	zj_fail_alloc = 0;
	/* Heads, parts, handles, inodes, and copies of each size. */
	assert_true(n > 4 + 3);
	jinode = kmem_cache_alloc(zj_jinode_cache, GFP_NOFS);
	memset(jinode, 1, sizeof(struct jbd2_inode));
	kmem_cache_free(zj_jinode_cache, jinode);
}

/* Another task is about to file the first part. */
static void head_without_parts_has_none_to_retire(void)
{
	struct buffer_head *bh;
	struct journal_head *jh;

	OPEN();
	bh = buffer(BLOCK);
	jh = zj_jh_attach(bh);
	spin_lock(&jh->lock);
	assert_true(zj_part_retire(jh, false));
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
	brelse(bh);
	close_journal();
}

/* An earlier change outside the journal is written home with the newer image, only once. */
static void image_has_no_other_change_to_bring_home(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	h = start(0, 1);
	get_access(h, BLOCK);
	assert_false(buffer_dirty(bh));
	fx.hold_lane[0] = true;
	stop(h);
	seal(0);
	change(1, BLOCK, 2);
	seal(1);
	settle();
	release();
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(BLOCK), 2);
	assert_false(buffer_dirty(bh));
	assert_int_equal(writes_of(BLOCK, 0), 1);
	brelse(bh);
	close_journal();
}

/* A part that is no longer crowded does not count again when it is dropped. */
static void part_counts_as_one_too_many_once(void)
{
	struct zj_txn *txn;
	handle_t *h;
	tid_t tid;

	OPEN(.pipeline = true, .lanes = 1, .versions = 1);
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	settle();
	h = start(0, 1);
	txn = handle_txn(h);
	tid = txn->public.t_tid;
	put(h, BLOCK, 2);
	assert_int_equal(atomic_read(&txn->crowded), 1);
	release();
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(atomic_read(&txn->crowded), 0);
	assert_false(zj_part_test(part_of(txn, BLOCK), ZJ_PART_CROWDED));
	forget(h, BLOCK);
	assert_int_equal(atomic_read(&txn->crowded), 0);
	stop(h);
	seal(0);
	settle();
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

CORE_TESTS(jhead,
	CORE_TEST(caches_without_memory),
	CORE_TEST(frozen_copies_are_aligned),
	CORE_TEST(part_in_flight_is_not_home),
	CORE_TEST(head_lives_while_somebody_uses_it),
	CORE_TEST(first_part_is_in_the_head),
	CORE_TEST(parts_stand_in_stamp_order),
	CORE_TEST(part_is_retired_only_when_home),
	CORE_TEST(part_of_a_file_is_home_with_its_folio),
	CORE_TEST(part_with_a_failed_write_is_not_retired),
	CORE_TEST(j1_buffer_is_clean_for_write_back_while_it_changes),
	CORE_TEST(j1_image_that_turns_committed_under_a_change_stays_off_write_back),
	CORE_TEST(j2_older_part_leaves_when_a_newer_is_committed),
	CORE_TEST(owner_that_changed_nothing_gives_the_dirty_bit_back),
	CORE_TEST(conflicts_are_of_unlogged_images),
	CORE_TEST(head_without_parts_has_none_to_retire),
	CORE_TEST(image_has_no_other_change_to_bring_home),
	CORE_TEST(part_counts_as_one_too_many_once),
);
