// SPDX-License-Identifier: GPL-2.0-only
/* access.c: the rules R1-R10 of the design, one by one. */
#include "fixture.h"

static bool is_dirty(u32 block)
{
	struct buffer_head *bh = buffer(block);
	bool ret = buffer_dirty(bh);

	brelse(bh);
	return ret;
}

static struct zj_part *newest_part(u32 block)
{
	struct buffer_head *bh = buffer(block);
	struct journal_head *jh = bh2jh(bh);
	struct zj_part *part = jh ? jh->newest : NULL;

	brelse(bh);
	return part;
}

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

static void r1_valid_owner_is_none(void)
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
	freeze(0);
	get_access(b, BLOCK);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_true(handle_txn(b)->locked);
	stop(a);
	assert_int_equal(handle_txn(b)->comp->state, ZJ_C_LOCKED);
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

/* ---- R3 ---- */

static void r3_frozen_owner_is_copied_then_depended_on(void)
{
	struct zj_txn *old;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	freeze(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_non_null(part_of(old, BLOCK)->frozen);
	assert_int_equal(lane(1)->stats.copies, 1);
	assert_true(depends(handle_txn(h), old));
	assert_false(depends(old, handle_txn(h)));
	assert_int_equal(old->comp->nr_members, 1);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	commit(1);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	assert_int_equal(log_data(&log, log_image(&log, 3, BLOCK))[0], 2);
	assert_true(log_depends(&log, 3, 2));
	assert_false(log_depends(&log, 2, 3));
	log_free(&log);
	zj_txn_put(old);
	close_journal();
}

static void r3_block_that_was_not_changed_is_not_copied(void)
{
	struct zj_txn *old;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	get_access(h, BLOCK);
	stop(h);
	old = running(0);
	freeze(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_null(part_of(old, BLOCK)->frozen);
	assert_int_equal(lane(1)->stats.copies, 0);
	assert_true(depends(handle_txn(h), old));
	stop(h);
	zj_txn_put(old);
	close_journal();
}

static void r3_next_of_the_own_lane_copies_too(void)
{
	struct zj_txn *old;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	freeze(0);
	h = start(0, 1);
	put(h, BLOCK, 2);
	assert_non_null(part_of(old, BLOCK)->frozen);
	/* The order within a lane is R7's. */
	assert_int_equal(dependencies(0), 0);
	stop(h);
	commit(0);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	assert_int_equal(log_data(&log, log_image(&log, 3, BLOCK))[0], 2);
	log_free(&log);
	zj_txn_put(old);
	close_journal();
}

static void r3_every_owner_has_a_copy_of_its_own(void)
{
	struct log log;
	handle_t *h;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++) {
		h = start(i, 1);
		put(h, BLOCK, 10 + i);
		stop(h);
		freeze(i);
		assert_int_equal(lane(i)->stats.copies, i > 0);
	}
	settle();
	log_read(&log);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(log_data(&log, log_image(&log, 2 + i, BLOCK))[0],
				 10 + i);
	log_free(&log);
	assert_int_equal(val_after_crash(BLOCK), 12);
	close_journal();
}

static void r3_waits_for_log_io_from_the_live_buffer_only(void)
{
	struct log log;
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	assert_int_equal(nr_held(), 1);
	h = start(1, 2);
	f = GO(call_access, .h = h, .block = BLOCK);
	get_access(h, BLOCK + 1);
	settle();
	assert_false(f->done);
	assert_int_equal(lane(1)->stats.wait_log, 1);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(lane(1)->stats.copies, 0);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	log_free(&log);
	close_journal();
}

static void r3_contended_block_is_copied_ahead_next_time(void)
{
	OPEN();
	change(0, BLOCK, 1);
	freeze(0);
	change(1, BLOCK, 2);
	assert_int_equal(lane(1)->stats.ahead, 0);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 1);
	/* Three times more nobody comes: from the live buffer again. */
	for (u32 i = 0; i < 6; i++) {
		change(1, BLOCK, 3 + i);
		commit(1);
	}
	assert_int_equal(lane(1)->stats.ahead, 4);
	close_journal();
}

/* Who finds a copy that was made ahead needed it: the next commit makes one too. */
static void copy_that_was_used_is_made_again(void)
{
	OPEN();
	change(0, BLOCK, 1);
	freeze(0);
	change(1, BLOCK, 2);
	for (u32 i = 1; i <= 8; i++) {
		fx.hold_lane[i % 2] = true;
		freeze(i % 2);
		settle();
		/* Its record is on its way, its image is taken. */
		change(!(i % 2), BLOCK, 2 + i);
		release();
		settle();
		assert_int_equal(lane(0)->stats.ahead + lane(1)->stats.ahead, i);
	}
	commit(1);
	assert_int_equal(lane(0)->stats.wait_log, 0);
	assert_int_equal(lane(1)->stats.wait_log, 0);
	close_journal();
}

/* The head goes with the last owner, what was learned stays with the buffer. */
static void history_outlives_the_head(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	change(0, BLOCK, 1);
	freeze(0);
	change(1, BLOCK, 2);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_false(buffer_jbd(bh));
	change(1, BLOCK, 3);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 2);
	/* Nor does it stay for ever. */
	for (u32 i = 0; i < 5; i++) {
		change(1, BLOCK, 4 + i);
		commit(1);
	}
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change(1, BLOCK, 10);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 5);
	brelse(bh);
	close_journal();
}

static void copies_can_be_asked_for_always(void)
{
	OPEN();
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_ALWAYS);
	change(0, BLOCK, 1);
	change(0, BLOCK + 1, 1);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 2);
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_AUTO);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 2);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* Never ahead: who comes during the log I/O waits; the super block is copied still. */
static void copies_can_be_forbidden(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_NEVER);
	change(0, BLOCK, 1);
	freeze(0);
	change(1, BLOCK, 2);
	fx.hold_lane[1] = true;
	freeze(1);
	settle();
	assert_int_equal(lane(1)->stats.ahead, 0);
	h = start(0, 1);
	f = GO(call_access, .h = h, .block = BLOCK);
	settle();
	assert_false(f->done);
	assert_int_equal(lane(0)->stats.wait_log, 1);
	release();
	join(f);
	stop(h);
	change(0, 1, 5);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 1);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void r3_super_block_is_always_copied(void)
{
	OPEN();
	change(0, 1, 5);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 1);
	close_journal();
}

/* ---- R4 ---- */

static void r4_committed_owner_that_is_not_valid_is_depended_on(void)
{
	struct zj_txn *middle;
	struct log log;
	handle_t *h;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	h = start(1, 2);
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	middle = running(1);
	freeze(1);
	settle();
	/* Its own record is durable, what it depends on is not. */
	assert_int_equal(middle->comp->state, ZJ_C_FROZEN);
	assert_int_equal(middle->comp->missing, 1);
	h = start(2, 1);
	get_access(h, BLOCK + 1);
	assert_true(depends(handle_txn(h), middle));
	/* Its image is in the log: nothing to copy. */
	assert_int_equal(lane(2)->stats.copies, 0);
	assert_int_equal(dirty(h, BLOCK + 1, 3), 0);
	stop(h);
	freeze(2);
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

static void r7_a_lane_depends_on_what_it_froze_before(void)
{
	struct log log;
	tid_t second;

	OPEN();
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	second = change(0, BLOCK + 1, 1);
	freeze(0);
	settle();
	assert_int_equal(state_of(second), ZJ_C_FROZEN);
	release();
	settle();
	assert_int_equal(state_of(second), ZJ_C_VALID);
	log_read(&log);
	assert_true(log_depends(&log, 3, 2));
	log_free(&log);
	/* A valid one needs no dependency. */
	change(0, BLOCK + 2, 1);
	commit(0);
	log_read(&log);
	assert_false(log_depends(&log, 4, 3));
	log_free(&log);
	close_journal();
}

/* Its predecessor's record is durable, but recovery would discard it. */
static void r7_a_lane_waits_for_validity_not_for_the_record(void)
{
	tid_t middle, last;

	OPEN();
	change(1, BLOCK, 1);
	fx.hold_lane[1] = true;
	freeze(1);
	middle = change(0, BLOCK, 2);
	freeze(0);
	settle();
	last = change(0, BLOCK + 1, 3);
	freeze(0);
	settle();
	assert_int_equal(lane(0)->stats.txns, 3);
	assert_int_equal(state_of(middle), ZJ_C_FROZEN);
	assert_int_equal(state_of(last), ZJ_C_FROZEN);
	assert_int_equal(val_after_crash(BLOCK + 1), 0);
	release();
	settle();
	assert_int_equal(state_of(last), ZJ_C_VALID);
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
	freeze(0);
	a = start(2, 1);
	zj_journal_sync_tid(a, &datasync);
	assert_true(depends(handle_txn(a), old));
	assert_int_equal(handle_txn(a)->comp->nr_members, 1);
	stop(a);
	zj_txn_put(old);
	close_journal();
}

static void r8_sync_tid_of_a_valid_transaction_ties_nothing(void)
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

static void r9_read_depends_on_a_frozen_writer(void)
{
	struct buffer_head *bh;
	struct zj_txn *old;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	freeze(0);
	h = start(1, 1);
	bh = buffer(BLOCK);
	assert_int_equal(zj_journal_read_dependency(h, bh), 0);
	assert_true(depends(handle_txn(h), old));
	/* Reading copies nothing and owns nothing. */
	assert_null(part_of(old, BLOCK)->frozen);
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

/* ---- dirty ---- */

static void dirty_takes_one_credit_a_block(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 3);
	put(h, BLOCK, 1);
	put(h, BLOCK, 2);
	assert_int_equal(dirty(h, BLOCK, 3), 0);
	assert_int_equal(zj_handle_buffer_credits(h), 2);
	put(h, BLOCK + 1, 1);
	assert_int_equal(zj_handle_buffer_credits(h), 1);
	stop(h);
	close_journal();
}

/* What a handle has already it is given without a look at anything shared. */
static void access_and_dirty_again_take_no_lock(void)
{
	handle_t *h[2];
	struct buffer_head *bh;
	struct journal_head *jh;

	OPEN();
	h[0] = start(0, 1);
	h[1] = start(1, 1);
	put(h[0], BLOCK, 1);
	get_access(h[1], BLOCK);
	bh = buffer(BLOCK);
	jh = bh2jh(bh);
	for (u32 i = 0; i < 2; i++) {
		own(h[i]);
		/* Whoever wants it would take it twice. */
		spin_lock(&jh->lock);
		assert_int_equal(zj_journal_get_write_access(h[i], bh), 0);
		assert_int_equal(zj_journal_get_range_access(h[i], bh), 0);
		assert_int_equal(zj_journal_dirty_metadata(h[i], bh), 0);
		assert_int_equal(zj_journal_dirty_range(h[i], bh, 0, 1), 0);
		spin_unlock(&jh->lock);
		own(NULL);
	}
	brelse(bh);
	stop(h[0]);
	stop(h[1]);
	close_journal();
}

static void dirty_without_access_is_refused(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	assert_int_equal(dirty(h, BLOCK, 1), -EUCLEAN);
	/* It has an owner, but not this one. */
	change(1, BLOCK, 1);
	freeze(1);
	expect_warning("!zj_unite(txn, part->txn");
	assert_int_equal(dirty(h, BLOCK, 1), -EINVAL);
	warned();
	assert_int_equal(zj_handle_buffer_credits(h), 1);
	stop(h);
	close_journal();
}

static void refused_when_aborted(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	h = start(0, 3);
	bh = buffer(BLOCK);
	zj_journal_abort(fx.journal, -EIO);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_get_range_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_get_create_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), -EROFS);
	assert_int_equal(zj_journal_dirty_range(h, bh, 0, 1), -EROFS);
	assert_int_equal(zj_journal_read_dependency(h, bh), -EROFS);
	get_bh(bh);
	assert_int_equal(zj_journal_forget(h, bh), -EROFS);
	own(NULL);
	assert_false(buffer_jbd(bh));
	brelse(bh);
	stop(h);
	close_aborted();
}

static void dirty_without_credits_is_refused(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	put(h, BLOCK, 1);
	get_access(h, BLOCK + 1);
	expect_warning("h_total_credits <= 0");
	assert_int_equal(dirty(h, BLOCK + 1, 1), -ENOSPC);
	warned();
	assert_false(zj_part_test(newest_part(BLOCK + 1), ZJ_PART_MODIFIED));
	stop(h);
	close_journal();
}

/* ---- create access ---- */

static void create_access_forgets_the_former_life(void)
{
	static struct jbd2_buffer_trigger_type trigger;
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	h = start(0, 2);
	get_access(h, BLOCK);
	zj_journal_set_triggers(bh, &trigger);
	assert_true(zj_part_test(newest_part(BLOCK), ZJ_PART_WAS_DIRTY));
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(h, bh), 0);
	unlock_buffer(bh);
	assert_null(bh2jh(bh)->triggers);
	stop(h);
	commit(0);
	assert_false(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

static void create_access_unites_too(void)
{
	struct buffer_head *bh;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	bh = buffer(BLOCK);
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(b, bh), 0);
	unlock_buffer(bh);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	brelse(bh);
	stop(a);
	stop(b);
	close_journal();
}

/* ---- what is home ---- */

/* It was written well, and is not written again for a handle that changes nothing. */
static void image_that_is_home_is_not_written_again(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_false(is_dirty(BLOCK));
	h = start(1, 1);
	get_access(h, BLOCK);
	stop(h);
	commit(1);
	assert_false(is_dirty(BLOCK));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	close_journal();
}

/* Dirty without us before, too: once home it is clean, as often as anybody looks. */
static void image_over_a_dirty_buffer_goes_home_once(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_false(buffer_dirty(bh));
	assert_false(buffer_jbd(bh));
	assert_int_equal(writes_of(BLOCK, 0), 1);
	brelse(bh);
	close_journal();
}

/* ---- the buffer goes home, and its head goes, at any place of a call ---- */

static void call_create(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	own(f->h);
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(f->h, bh), 0);
	unlock_buffer(bh);
	own(NULL);
	brelse(bh);
}

/* Without access: the owner is another lane's, or there is none any more. */
static void call_dirty(struct fiber *f)
{
	int err = dirty(f->h, f->block, f->n);

	assert_true(err == -EINVAL || err == -EUCLEAN);
}

static void call_newest_is(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	zj_journal_newest_is(bh, f->h->h_transaction);
	brelse(bh);
}

static void call_set_triggers(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	zj_journal_set_triggers(bh, NULL);
	brelse(bh);
}

static void call_put(struct fiber *f)
{
	put(f->h, f->block, f->n);
}

static void (*const touchers[])(struct fiber *f) = {
	call_access, call_put, call_create, call_forget, call_newest_is, call_dirty,
	call_set_triggers,
};

/* What warns if the head is gone, or was never this handle's. */
static const char *warning_of(void (*toucher)(struct fiber *f))
{
	if (toucher == call_dirty)
		return "!zj_unite(txn, part->txn";
	return toucher == call_set_triggers ? "!jh" : NULL;
}

static void go_home(struct fiber *f)
{
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
}

/* ASan tells of a head or a part that is looked at when it is gone. */
static void heads_go_at_any_place_of_a_call(void)
{
	const char *warning;
	bool more;
	handle_t *h;
	int n;

	for (u32 i = 0; i < ARRAY_SIZE(touchers); i++) {
		OPEN();
		n = 1;
		warning = warning_of(touchers[i]);
		do {
			change(0, BLOCK, n);
			commit(0);
			h = start(1, 2);
			if (warning)
				expect_warning(warning);
			more = preempt_at(n, CALL(touchers[i], .h = h, .block = BLOCK,
						  .n = n, .cpu = 1), CALL(go_home));
			if (warning)
				expect_warning("");
			stop(h);
			commit(1);
			assert_int_equal(zj_checkpoint(fx.zj, true), 0);
			n++;
		} while (more);
		assert_true(n > 3);
		close_journal();
	}
}

/* It has access by the other handle's, of which it is one part from then on. */
static void who_dirties_what_another_has_access_to_is_united(void)
{
	handle_t *h[2];

	OPEN();
	h[0] = start(0, 1);
	h[1] = start(1, 1);
	get_access(h[0], BLOCK);
	assert_int_equal(dirty(h[1], BLOCK, 5), 0);
	assert_ptr_equal(handle_txn(h[0])->comp, handle_txn(h[1])->comp);
	stop(h[0]);
	stop(h[1]);
	commit(1);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

CORE_TESTS(access,
	CORE_TEST(image_that_is_home_is_not_written_again),
	CORE_TEST(image_over_a_dirty_buffer_goes_home_once),
	CORE_TEST(heads_go_at_any_place_of_a_call),
	CORE_TEST(r1_block_without_owner_is_filed_in_the_own_transaction),
	CORE_TEST(r1_valid_owner_is_none),
	CORE_TEST(r1_block_dirty_outside_the_journal_stays_so),
	CORE_TEST(r1_waits_for_the_home_write_of_that_block_only),
	CORE_TEST(r2_running_owner_unites),
	CORE_TEST(r2_locked_owner_unites_and_locks),
	CORE_TEST(r2_the_first_to_dirty_logs_and_pays),
	CORE_TEST(r2_second_touch_changes_nothing),
	CORE_TEST(r3_frozen_owner_is_copied_then_depended_on),
	CORE_TEST(r3_block_that_was_not_changed_is_not_copied),
	CORE_TEST(r3_next_of_the_own_lane_copies_too),
	CORE_TEST(r3_every_owner_has_a_copy_of_its_own),
	CORE_TEST(r3_waits_for_log_io_from_the_live_buffer_only),
	CORE_TEST(r3_contended_block_is_copied_ahead_next_time),
	CORE_TEST(copy_that_was_used_is_made_again),
	CORE_TEST(history_outlives_the_head),
	CORE_TEST(copies_can_be_asked_for_always),
	CORE_TEST(copies_can_be_forbidden),
	CORE_TEST(r3_super_block_is_always_copied),
	CORE_TEST(r4_committed_owner_that_is_not_valid_is_depended_on),
	CORE_TEST(r5_revoke_is_ownership),
	CORE_TEST(r6_ordered_inode_is_owned_like_a_block),
	CORE_TEST(r7_a_lane_depends_on_what_it_froze_before),
	CORE_TEST(r7_a_lane_waits_for_validity_not_for_the_record),
	CORE_TEST(r8_sync_tid_unites_or_depends),
	CORE_TEST(r8_sync_tid_of_a_valid_transaction_ties_nothing),
	CORE_TEST(r9_read_unites_with_a_running_writer),
	CORE_TEST(r9_read_depends_on_a_frozen_writer),
	CORE_TEST(r10_claim_unites_the_claimers_of_an_inode),
	CORE_TEST(dirty_takes_one_credit_a_block),
	CORE_TEST(access_and_dirty_again_take_no_lock),
	CORE_TEST(dirty_without_access_is_refused),
	CORE_TEST(refused_when_aborted),
	CORE_TEST(dirty_without_credits_is_refused),
	CORE_TEST(create_access_forgets_the_former_life),
	CORE_TEST(create_access_unites_too),
	CORE_TEST(who_dirties_what_another_has_access_to_is_united),
);
