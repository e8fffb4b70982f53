// SPDX-License-Identifier: GPL-2.0-only
/* access.c: the rules R1-R10 of the design, one by one; R3 is in test_frozen_copy.c. */
#include "fixture.h"

/* ---- R1 ---- */

static void r1_block_without_owner_is_filed_in_the_own_transaction(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	get_access(h, BLOCK);
	assert_ptr_equal(newest_part(BLOCK)->txn, handle_txn(h));
	assert_int_equal(handle_txn(h)->comp->nr_members, 1);
	assert_int_equal(handle_txn(h)->comp->missing, 0);
	assert_int_equal(unions(0) + dependencies(0), 0);
	stop(h);
	close_journal();
}

static void r1_committed_owner_is_none(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_true(is_dirty(BLOCK));
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_ptr_equal(newest_part(BLOCK)->txn, handle_txn(h));
	assert_int_equal(handle_txn(h)->comp->nr_members, 1);
	assert_true(list_empty(&handle_txn(h)->comp->deps));
	assert_int_equal(lane(1)->stats.copies, 0);
	/* Write-back must not see it: it may change any time. */
	assert_false(is_dirty(BLOCK));
	stop(h);
	/* Never changed: the older image still has to go home. */
	commit(1);
	assert_true(is_dirty(BLOCK));
	close_journal();
}

static void r1_block_dirty_outside_the_journal_stays_so(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	h = start(0, 1);
	get_access(h, BLOCK);
	assert_false(buffer_dirty(bh));
	stop(h);
	commit(0);
	assert_true(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

static void r1_waits_for_the_home_write_of_that_block_only(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 2);
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	f = GO(call_access, .h = h, .block = BLOCK);
	settle();
	assert_false(f->done);
	get_access(h, BLOCK + 1);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	stop(h);
	close_journal();
}

/* ---- R2 ---- */

static void r2_running_owner_unites(void)
{
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	get_access(b, BLOCK);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_int_equal(handle_txn(a)->comp->nr_members, 2);
	/* The block stays where it is, and its image is paid. */
	assert_ptr_equal(newest_part(BLOCK)->txn, handle_txn(a));
	assert_int_equal(dirty(b, BLOCK, 2), 0);
	assert_ptr_equal(newest_part(BLOCK)->txn, handle_txn(a));
	assert_int_equal(zj_handle_buffer_credits(b), 1);
	assert_int_equal(lane(1)->stats.copies + dependencies(1), 0);
	stop(a);
	stop(b);
	close_journal();
}

static void r2_locked_owner_unites_and_locks(void)
{
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	seal(0);
	get_access(b, BLOCK);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_int_equal(handle_txn(b)->stage, ZJ_LOCKED);
	stop(a);
	assert_int_equal(handle_txn(b)->comp->stage, ZJ_LOCKED);
	stop(b);
	assert_null(lane(1)->running);
	close_journal();
}

static void r2_the_first_to_dirty_logs_and_pays(void)
{
	struct log log;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	get_access(a, BLOCK);
	get_access(b, BLOCK);
	assert_int_equal(dirty(b, BLOCK, 7), 0);
	assert_ptr_equal(newest_part(BLOCK)->txn, handle_txn(b));
	assert_int_equal(zj_handle_buffer_credits(a), 1);
	assert_int_equal(zj_handle_buffer_credits(b), 0);
	assert_int_equal(dirty(a, BLOCK, 8), 0);
	assert_int_equal(zj_handle_buffer_credits(a), 1);
	stop(a);
	stop(b);
	commit(0);
	log_read(&log);
	assert_int_equal(log_chunk(&log, 2, 0, 0)->nr_images, 0);
	assert_int_equal(log_chunk(&log, 2, 1, 0)->nr_images, 1);
	log_free(&log);
	close_journal();
}

static void r2_second_touch_changes_nothing(void)
{
	handle_t *a, *b;

	OPEN();
	a = start(0, 2);
	b = start(1, 1);
	put(a, BLOCK, 1);
	put(a, BLOCK + 1, 1);
	get_access(b, BLOCK);
	get_access(b, BLOCK + 1);
	get_access(a, BLOCK);
	assert_int_equal(unions(1), 1);
	assert_int_equal(unions(0), 0);
	stop(a);
	stop(b);
	close_journal();
}

/* ---- R4 ---- */

static void r4_durable_owner_that_is_not_committed_is_depended_on(void)
{
	struct zj_txn *middle;
	struct log log;
	handle_t *h;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	seal(0);
	h = start(1, 2);
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	middle = running(1);
	seal(1);
	settle();
	/* Its own record is durable, what it depends on is not. */
	assert_int_equal(middle->comp->stage, ZJ_SEALED);
	assert_int_equal(middle->comp->missing, 1);
	h = start(2, 1);
	get_access(h, BLOCK + 1);
	assert_true(depends(handle_txn(h), middle));
	/* Its image is in the log: nothing to copy. */
	assert_int_equal(lane(2)->stats.copies, 0);
	assert_int_equal(dirty(h, BLOCK + 1, 3), 0);
	stop(h);
	seal(2);
	settle();
	assert_int_equal(val_after_crash(BLOCK + 1), 0);
	release();
	settle();
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	log_read(&log);
	assert_true(log_depends(&log, 4, 3));
	log_free(&log);
	zj_txn_put(middle);
	close_journal();
}

/* ---- R5 - R8, R10: here one line each; more in the files that do it ---- */

static void r5_revoke_is_ownership(void)
{
	handle_t *a, *b;

	OPEN();
	a = start_more(0, 1, 0, 1);
	b = start(1, 1);
	own(a);
	assert_int_equal(zj_journal_revoke(a, BLOCK, buffer(BLOCK)), 0);
	own(NULL);
	get_access(b, BLOCK);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	stop(a);
	stop(b);
	close_journal();
}

static void r6_ordered_inode_is_owned_like_a_block(void)
{
	struct inode inode = { .i_mapping = &inode.i_data };
	struct jbd2_inode jinode;
	handle_t *a, *b;

	OPEN();
	zj_journal_init_jinode(&jinode, &inode);
	a = start(0, 1);
	b = start(1, 1);
	assert_int_equal(zj_journal_inode_ranged_write(a, &jinode, 0, 10), 0);
	assert_int_equal(zj_journal_inode_ranged_write(b, &jinode, 10, 10), 0);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	stop(a);
	stop(b);
	commit(0);
	close_journal();
}

static void r7_a_lane_depends_on_what_it_sealed_before(void)
{
	struct log log;
	tid_t second;

	OPEN();
	change(0, BLOCK, 1);
	seal_held(0);
	second = change(0, BLOCK + 1, 1);
	seal(0);
	settle();
	assert_int_equal(stage_of(second), ZJ_SEALED);
	release();
	settle();
	assert_int_equal(stage_of(second), ZJ_COMMITTED);
	log_read(&log);
	assert_true(log_depends(&log, 3, 2));
	log_free(&log);
	/* A committed one needs no dependency. */
	change(0, BLOCK + 2, 1);
	commit(0);
	log_read(&log);
	assert_false(log_depends(&log, 4, 3));
	log_free(&log);
	close_journal();
}

/* Its predecessor's record is durable, but recovery would discard it. */
static void r7_a_lane_waits_for_commit_not_for_the_record(void)
{
	tid_t middle, last;

	OPEN();
	change(1, BLOCK, 1);
	fx.hold_lane[1] = true;
	seal(1);
	middle = change(0, BLOCK, 2);
	seal(0);
	settle();
	last = change(0, BLOCK + 1, 3);
	seal(0);
	settle();
	assert_int_equal(lane(0)->stats.txns, 3);
	assert_int_equal(stage_of(middle), ZJ_SEALED);
	assert_int_equal(stage_of(last), ZJ_SEALED);
	assert_int_equal(val_after_crash(BLOCK + 1), 0);
	release();
	settle();
	assert_int_equal(stage_of(last), ZJ_COMMITTED);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	close_journal();
}

static void r8_sync_tid_unites_or_depends(void)
{
	tid_t sync = 0, datasync = 0;
	struct zj_txn *old;
	handle_t *a, *b;

	OPEN(.lanes = 3);
	a = start(0, 1);
	b = start(1, 1);
	zj_journal_sync_tid(a, &sync);
	zj_journal_sync_tid(a, &datasync);
	assert_int_equal(sync, a->h_transaction->t_tid);
	assert_int_equal(handle_txn(b)->comp->nr_members, 1);
	zj_journal_sync_tid(b, &sync);
	assert_int_equal(sync, b->h_transaction->t_tid);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	old = handle_txn(b);
	refcount_inc(&old->refs);
	stop(a);
	stop(b);
	seal(0);
	a = start(2, 1);
	zj_journal_sync_tid(a, &datasync);
	assert_true(depends(handle_txn(a), old));
	assert_int_equal(handle_txn(a)->comp->nr_members, 1);
	stop(a);
	zj_txn_put(old);
	close_journal();
}

static void r8_sync_tid_of_a_committed_transaction_ties_nothing(void)
{
	tid_t sync = 0;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	zj_journal_sync_tid(h, &sync);
	stop(h);
	commit(0);
	h = start(1, 1);
	zj_journal_sync_tid(h, &sync);
	assert_int_equal(sync, h->h_transaction->t_tid);
	assert_int_equal(dependencies(1) + unions(1), 0);
	stop(h);
	close_journal();
}

static void r9_read_unites_with_a_running_writer(void)
{
	struct buffer_head *bh;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	bh = buffer(BLOCK);
	assert_int_equal(zj_journal_read_dependency(b, bh), 0);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_ptr_equal(newest_part(BLOCK)->txn, handle_txn(a));
	brelse(bh);
	stop(a);
	stop(b);
	close_journal();
}

static void r9_read_depends_on_a_sealed_writer(void)
{
	struct buffer_head *bh;
	struct zj_txn *old;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	seal(0);
	h = start(1, 1);
	bh = buffer(BLOCK);
	assert_int_equal(zj_journal_read_dependency(h, bh), 0);
	assert_true(depends(handle_txn(h), old));
	/* Reading copies nothing and owns nothing. */
	assert_null(part_of(old, BLOCK)->frozen_data);
	assert_ptr_equal(newest_part(BLOCK)->txn, old);
	stop(h);
	commit(1);
	assert_int_equal(dependencies(1), 1);
	h = start(1, 1);
	assert_int_equal(zj_journal_read_dependency(h, bh), 0);
	assert_int_equal(dependencies(1), 1);
	stop(h);
	brelse(bh);
	zj_txn_put(old);
	close_journal();
}

static void r10_claim_unites_the_claimers_of_an_inode(void)
{
	handle_t *a, *b;
	tid_t claim = 0;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	zj_journal_claim(a, &claim, ZJ_KIND_INODE);
	zj_journal_claim(b, &claim, ZJ_KIND_INODE);
	assert_int_equal(claim, b->h_transaction->t_tid);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	/* Handles of one transaction hand nothing over. */
	zj_journal_claim(b, &claim, ZJ_KIND_INODE);
	zj_journal_claim(a, &claim, ZJ_KIND_INODE);
	assert_int_equal(unions(0) + unions(1), 1);
	stop(a);
	stop(b);
	close_journal();
}

CORE_TESTS(rules,
	CORE_TEST(r1_block_without_owner_is_filed_in_the_own_transaction),
	CORE_TEST(r1_committed_owner_is_none),
	CORE_TEST(r1_block_dirty_outside_the_journal_stays_so),
	CORE_TEST(r1_waits_for_the_home_write_of_that_block_only),
	CORE_TEST(r2_running_owner_unites),
	CORE_TEST(r2_locked_owner_unites_and_locks),
	CORE_TEST(r2_the_first_to_dirty_logs_and_pays),
	CORE_TEST(r2_second_touch_changes_nothing),
	CORE_TEST(r4_durable_owner_that_is_not_committed_is_depended_on),
	CORE_TEST(r5_revoke_is_ownership),
	CORE_TEST(r6_ordered_inode_is_owned_like_a_block),
	CORE_TEST(r7_a_lane_depends_on_what_it_sealed_before),
	CORE_TEST(r7_a_lane_waits_for_commit_not_for_the_record),
	CORE_TEST(r8_sync_tid_unites_or_depends),
	CORE_TEST(r8_sync_tid_of_a_committed_transaction_ties_nothing),
	CORE_TEST(r9_read_unites_with_a_running_writer),
	CORE_TEST(r9_read_depends_on_a_sealed_writer),
	CORE_TEST(r10_claim_unites_the_claimers_of_an_inode),
);
