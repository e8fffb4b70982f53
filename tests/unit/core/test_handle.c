// SPDX-License-Identifier: GPL-2.0-only
/* handle.c: start, extend, restart, stop. */
#include "fixture.h"

static void start_counts_credits_and_stop_returns_them(void)
{
	struct zj_txn *txn;
	handle_t *h;

	OPEN();
	h = start(0, 5);
	txn = running(0);
	assert_ptr_equal(handle_txn(h), txn);
	assert_int_equal(txn->updates, 1);
	assert_int_equal(txn->credits, 5);
	assert_int_equal(zj_handle_buffer_credits(h), 5);
	put(h, BLOCK, 1);
	assert_int_equal(zj_handle_buffer_credits(h), 4);
	assert_int_equal(stop(h), 0);
	assert_int_equal(txn->updates, 0);
	assert_int_equal(txn->credits, 1);
	zj_txn_put(txn);
	close_journal();
}

static void start_joins_the_running_transaction(void)
{
	handle_t *a, *b, *c;

	OPEN();
	a = start(0, 2);
	b = start(0, 3);
	c = start(1, 1);
	assert_ptr_equal(a->h_transaction, b->h_transaction);
	assert_ptr_not_equal(a->h_transaction, c->h_transaction);
	assert_int_equal(handle_txn(a)->updates, 2);
	assert_int_equal(handle_txn(a)->credits, 5);
	stop(a);
	stop(b);
	stop(c);
	close_journal();
}

static void nested_start_only_counts(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 2);
	own(h);
	assert_ptr_equal(zj_journal_start(fx.journal, 9, 9, 9, 0, 0, 0), h);
	assert_int_equal(handle_txn(h)->credits, 2);
	assert_int_equal(zj_journal_stop(h), 0);
	assert_int_equal(handle_txn(h)->updates, 1);
	assert_ptr_equal(journal_current_handle(), h);
	assert_int_equal(stop(h), 0);
	assert_int_equal(lane(0)->running->updates, 0);
	close_journal();
}

/* An inner stop reports an abort, like the outer one. */
static void nested_stop_reports_an_abort(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	own(h);
	assert_ptr_equal(zj_journal_start(fx.journal, 1, 0, 0, 0, 0, 0), h);
	assert_ptr_equal(zj_journal_start(fx.journal, 1, 0, 0, 0, 0, 0), h);
	assert_int_equal(zj_journal_stop(h), 0);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(zj_journal_stop(h), -EIO);
	assert_int_equal(zj_journal_stop(h), -EIO);
	own(NULL);
	close_aborted();
}

static void nested_start_on_another_journal_is_refused(void)
{
	static struct zj_journal other;
	handle_t *h;

	OPEN();
	h = start(0, 2);
	own(h);
	expect_warning("t_journal != journal");
	assert_int_equal(PTR_ERR(zj_journal_start(&other.public, 1, 0, 0, 0, 0, 0)),
			 -EINVAL);
	warned();
	assert_int_equal(h->h_ref, 1);
	stop(h);
	close_journal();
}

static void revokes_cost_header_blocks(void)
{
	int per = zj_chunk_room(DISK_BLOCK) / sizeof(__le64);
	handle_t *h;

	OPEN();
	h = start_more(0, 3, 0, per + 1);
	assert_int_equal(handle_txn(h)->credits, 3 + 2);
	assert_int_equal(zj_handle_buffer_credits(h), 3);
	own(h);
	assert_int_equal(zj_journal_revoke(h, BLOCK, NULL), 0);
	own(NULL);
	assert_int_equal(zj_handle_buffer_credits(h), 3);
	assert_int_equal(h->h_revoke_credits, per);
	stop(h);
	/* The share of the one revoke that was made stays. */
	assert_int_equal(lane(0)->running->credits, 1);
	close_journal();
}

static void too_large_a_handle_is_refused(void)
{
	handle_t *h;
	u32 max;

	OPEN();
	max = fx.zj->max_credits;
	own(NULL);
	/* An image can bring it about, so it is no warning, which may be a panic. */
	h = zj_journal_start(fx.journal, max + 1, 0, 0, 0, 0, 0);
	assert_int_equal(PTR_ERR(h), -ENOSPC);
	assert_true(complained("at most"));
	h = zj_journal_start(fx.journal, 1, max / 2 + 1, 0, 0, 0, 0);
	assert_int_equal(PTR_ERR(h), -ENOSPC);
	assert_null(lane(0)->running);
	h = start(0, max);
	stop(h);
	close_journal();
}

static void extend_adds_credits_and_revokes(void)
{
	int per = zj_chunk_room(DISK_BLOCK) / sizeof(__le64);
	handle_t *h;

	OPEN();
	h = start(0, 1);
	assert_int_equal(zj_journal_extend(h, 4, per), 0);
	assert_int_equal(handle_txn(h)->credits, 6);
	assert_int_equal(h->h_revoke_credits, per);
	assert_int_equal(zj_handle_buffer_credits(h), 5);
	/* One more revoke begins another header block. */
	assert_int_equal(zj_journal_extend(h, 0, 1), 0);
	assert_int_equal(handle_txn(h)->credits, 7);
	stop(h);
	assert_int_equal(lane(0)->running->credits, 0);
	close_journal();
}

static void assert_asked(const handle_t *h, u32 blocks, int revokes, int total)
{
	assert_int_equal(h->h_requested_credits, blocks);
	assert_int_equal(h->h_revoke_credits_requested, revokes);
	assert_int_equal(h->h_revoke_credits, revokes);
	assert_int_equal(h->h_total_credits, total);
}

/* What is given back at the end, and what is counted as used, follows from that. */
static void handle_knows_what_it_was_asked_for(void)
{
	handle_t *h, *rsv;

	OPEN();
	h = start_more(0, 3, 2, 1);
	rsv = h->h_rsv_handle;
	assert_asked(h, 3, 1, 4);
	assert_int_equal(rsv->h_total_credits, 2);
	own(h);
	assert_int_equal(zj_journal_extend(h, 4, 0), 0);
	assert_asked(h, 7, 1, 8);
	assert_int_equal(zj_journal_extend(h, 2, 3), 0);
	assert_asked(h, 9, 4, 10);
	/* One that is refused leaves all as it was. */
	assert_int_equal(zj_journal_extend(h, fx.zj->max_txn, 5), 1);
	assert_asked(h, 9, 4, 10);
	assert_int_equal(handle_txn(h)->credits, 10);
	assert_int_equal(zj_journal_restart(h, 2, 3, 0), 0);
	assert_asked(h, 2, 3, 3);
	h->h_rsv_handle = NULL;
	stop(h);
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), 0);
	assert_asked(rsv, 2, 0, 2);
	stop(rsv);
	close_journal();
}

static void extend_of_a_locked_transaction_says_restart(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	seal(0);
	assert_int_equal(zj_journal_extend(h, 1, 0), 1);
	assert_int_equal(handle_txn(h)->credits, 1);
	stop(h);
	close_journal();
}

static void extend_beyond_the_largest_says_restart(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	assert_int_equal(zj_journal_extend(h, fx.zj->max_txn, 0), 1);
	assert_int_equal(zj_journal_extend(h, fx.zj->max_txn - 1, 0), 0);
	stop(h);
	close_journal();
}

static void restart_begins_a_new_transaction_of_the_lane(void)
{
	struct zj_txn *old, *next;
	handle_t *h;

	OPEN();
	h = start(0, 3);
	put(h, BLOCK, 1);
	old = running(0);
	/* The task has moved on to another CPU meanwhile. */
	sim_current->cpu = 1;
	own(h);
	assert_int_equal(zj_journal_restart(h, 7, 0, 0), 0);
	own(NULL);
	next = handle_txn(h);
	assert_ptr_not_equal(next, old);
	assert_ptr_equal(next->lane, lane(0));
	assert_int_equal(old->comp->stage, ZJ_SEALED);
	assert_int_equal(old->credits, 1);
	assert_int_equal(next->credits, 7);
	assert_int_equal(zj_handle_buffer_credits(h), 7);
	/* Access under the old handle does not count in the new transaction. */
	expect_warning("!zj_unite(txn, part->txn");
	assert_int_equal(dirty(h, BLOCK, 2), -EINVAL);
	warned();
	zj_txn_put(old);
	stop(h);
	close_journal();
}

static void restart_waits_for_other_handles_to_drain(void)
{
	handle_t *h, *other;
	struct zj_txn *old;
	struct fiber *f;

	OPEN();
	h = start(0, 1);
	other = start(0, 1);
	old = running(0);
	f = GO(call_restart, .h = h, .n = 2);
	let_run();
	assert_false(f->done);
	assert_int_equal(old->comp->stage, ZJ_LOCKED);
	assert_int_equal(old->updates, 1);
	stop(other);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_ptr_not_equal(handle_txn(h), old);
	stop(h);
	zj_txn_put(old);
	close_journal();
}

static void restart_keeps_the_reservation(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 3, 4, 0);
	own(h);
	assert_int_equal(zj_journal_restart(h, 2, 0, 0), 0);
	own(NULL);
	assert_non_null(h->h_rsv_handle);
	assert_int_equal(lane(0)->rsv_credits, 4);
	stop(h);
	assert_int_equal(lane(0)->rsv_credits, 0);
	close_journal();
}

static void restart_beyond_the_largest_leaves_no_transaction(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 3, 4, 0);
	own(h);
	assert_int_equal(zj_journal_restart(h, fx.zj->max_credits, 0, 0),
			 -ENOSPC);
	assert_true(complained("at most"));
	own(NULL);
	assert_null(h->h_transaction);
	assert_null(h->h_rsv_handle);
	assert_int_equal(lane(0)->rsv_credits, 0);
	assert_true(is_handle_aborted(h));
	assert_int_equal(zj_handle_buffer_credits(h), 0);
	assert_int_equal(stop(h), -EIO);
	close_journal();
}

static void restart_renews_claims(void)
{
	tid_t claim = 0, first;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	zj_journal_claim_keep(h, &claim, ZJ_KIND_INODE);
	first = h->h_transaction->t_tid;
	assert_int_equal(claim, first);
	own(h);
	assert_int_equal(zj_journal_restart(h, 1, 0, 0), 0);
	own(NULL);
	assert_int_not_equal(claim, first);
	assert_int_equal(claim, h->h_transaction->t_tid);
	stop(h);
	close_journal();
}

static void start_waits_while_its_lane_is_locked(void)
{
	handle_t *h, *other;
	struct fiber *f;

	OPEN();
	h = start(0, 1);
	seal(0);
	f = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	assert_false(f->done);
	/* Only its own lane is closed. */
	other = start(1, 1);
	stop(other);
	stop(h);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(handle_txn(f->h)->comp->stage, ZJ_RUNNING);
	stop(f->h);
	close_journal();
}

static void start_waits_for_the_barrier(void)
{
	struct fiber *f;

	OPEN();
	zj_journal_lock_updates(fx.journal);
	f = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	assert_false(f->done);
	assert_null(lane(0)->running);
	zj_journal_unlock_updates(fx.journal);
	join(f);
	assert_int_equal(f->ret, 0);
	stop(f->h);
	close_journal();
}

static void start_commits_a_transaction_that_is_large_enough(void)
{
	handle_t *h;
	tid_t first;

	OPEN();
	h = start(0, fx.zj->max_credits);
	first = h->h_transaction->t_tid;
	for (u32 i = 0; i < fx.zj->max_credits; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	assert_int_equal(stage_of(first), ZJ_RUNNING);
	h = start(0, 1);
	assert_int_not_equal(h->h_transaction->t_tid, first);
	assert_int_equal(stage_of(first), ZJ_SEALED);
	stop(h);
	close_journal();
}

static void start_with_an_error_of_before_is_refused(void)
{
	OPEN();
	fx.journal->j_errno = -EIO;
	own(NULL);
	assert_int_equal(PTR_ERR(zj_journal_start(fx.journal, 1, 0, 0, 0, 0, 0)),
			 -EROFS);
	assert_int_equal(zj_journal_clear_err(fx.journal), 0);
	stop(start(0, 1));
	close_journal();
}

static void last_stop_seals_a_locked_transaction(void)
{
	handle_t *a, *b;
	struct zj_txn *txn;

	OPEN();
	a = start(0, 1);
	b = start(0, 1);
	txn = running(0);
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	stop(a);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	stop(b);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_null(lane(0)->running);
	zj_txn_put(txn);
	close_journal();
}

static void sync_handle_waits_for_commit(void)
{
	struct fiber *f;
	handle_t *h;
	tid_t tid;

	OPEN();
	h = start(0, 1);
	tid = h->h_transaction->t_tid;
	put(h, BLOCK, 3);
	h->h_sync = 1;
	fx.hold_lane[0] = true;
	f = GO(call_stop, .h = h);
	settle();
	assert_false(f->done);
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void sync_handle_of_reclaim_does_not_wait(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	put(h, BLOCK, 3);
	h->h_sync = 1;
	current->flags |= PF_MEMALLOC;
	assert_int_equal(stop(h), 0);
	current->flags &= ~PF_MEMALLOC;
	assert_int_equal(lane(0)->running->comp->stage, ZJ_RUNNING);
	close_journal();
}

static void stop_after_expiry_requests_the_commit(void)
{
	handle_t *h;
	tid_t tid;

	OPEN();
	h = start(0, 1);
	tid = h->h_transaction->t_tid;
	put(h, BLOCK, 1);
	handle_txn(h)->expires = jiffies;
	assert_int_equal(stop(h), 0);
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	close_journal();
}

static void stop_frees_an_unused_reservation(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 1, 4, 0);
	assert_true(h->h_rsv_handle->h_reserved);
	assert_int_equal(zj_handle_buffer_credits(h->h_rsv_handle), 4);
	stop(h);
	assert_int_equal(lane(0)->rsv_credits, 0);
	close_journal();
}

/* The memory holds garbage before; with h_invalid ext4 neither stops the handle nor logs its changes. */
static void assert_unmarked(const handle_t *h)
{
	assert_false(h->h_invalid);
	assert_false(h->h_aborted);
	assert_false(h->h_sync);
	assert_int_equal(h->h_err, 0);
}

static void what_ext4_reads_of_a_new_handle_is_set(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 1, 4, 0);
	assert_unmarked(h);
	assert_unmarked(h->h_rsv_handle);
	stop(h);
	close_journal();
}

static void call_start_and_stop(struct fiber *f)
{
	call_start(f);
	stop(f->h);
}

static tid_t next;

/* The full transaction is closed, and the next has hardly begun. */
static void call_begin_next(struct fiber *f)
{
	seal(0);
	stop(f->h);
	next = change(0, BLOCK + 1, 1);
}

/* The largest handle: no other one fits beside it. */
static handle_t *start_full(void)
{
	handle_t *h = start(0, fx.zj->budget / fx.zj->grant * fx.zj->grant - 4);

	put(h, BLOCK, 1);
	return h;
}

/* A task that finds a transaction full closes this one, not its successor. */
static void full_transaction_is_closed_and_no_later_one(void)
{
	handle_t *h;
	bool more;
	int n = 1;

	OPEN(.lanes = 1);
	do {
		h = start_full();
		more = preempt_at(n++, CALL(call_start_and_stop, .n = 8),
				  CALL(call_begin_next, .h = h));
		assert_int_equal(stage_of(next), ZJ_RUNNING);
		commit(0);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	} while (more);
	assert_true(n > 10);
	close_journal();
}

/* A full transaction that was reclaimed in the meantime must not be closed again. */
static void full_transaction_may_be_gone(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN(.lanes = 1);
	h = start_full();
	f = GO(call_start, .n = 8);
	stop_before(&f->task->task, &fx.zj->comp_lock, 1);
	let_run();
	seal(0);
	stop(h);
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	go_on(&f->task->task);
	join(f);
	stop(f->h);
	close_journal();
}

static int reclaims;

/* An allocation may take long, and no commit may wait for it. */
static void no_handle_is_open(void)
{
	reclaims++;
	if (lane(0)->running)
		assert_int_equal(lane(0)->running->updates, 0);
}

static void start_allocates_before_it_holds_its_transaction(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	sim_reclaim = no_handle_is_open;
	h = start_more(0, 1, 3, 1);
	sim_reclaim = NULL;
	/* The handle and its reservation. */
	assert_int_equal(reclaims, 2);
	stop(h);
	commit(0);
	sim_reclaim = no_handle_is_open;
	h = start_more(0, 1, 3, 1);
	sim_reclaim = NULL;
	/* A transaction besides. */
	assert_true(reclaims > 4);
	stop(h);
	close_journal();
}

static void start_that_is_refused_keeps_no_memory(void)
{
	OPEN();
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(PTR_ERR(zj_journal_start(fx.journal, 1, 3, 0, 0, 0, 0)),
			 -EROFS);
	assert_null(journal_current_handle());
	close_aborted();
}

/* Between the two it must not: reclaim would want a handle of its own. */
static void task_may_reclaim_again_once_its_handle_is_closed(void)
{
	handle_t *h;

	OPEN();
	assert_false(current->flags & PF_MEMALLOC_NOFS);
	h = start(0, 1);
	assert_true(current->flags & PF_MEMALLOC_NOFS);
	stop(h);
	assert_false(current->flags & PF_MEMALLOC_NOFS);
	close_journal();
}

/* The last handle of a transaction that another task seals, writes and reclaims. */
static void transaction_is_there_until_its_last_handle_has_left(void)
{
	handle_t *h, *rsv;
	struct fiber *f;

	OPEN();
	h = start_more(0, 1, 1, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	put(h, BLOCK, 1);
	seal(0);
	f = GO(call_stop, .h = h);
	/* It has counted down.  Is it to be sealed? */
	stop_before(&f->task->task, &fx.zj->comp_lock, 1);
	let_run();
	assert_true(stopped(&f->task->task));
	/* A reserved handle comes and goes meanwhile, and is the last one, too. */
	own(NULL);
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), 0);
	stop(rsv);
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	sim_rcu_drain();
	go_on(&f->task->task);
	join(f);
	assert_int_equal(f->ret, 0);
	close_journal();
}

CORE_TESTS(handle,
	CORE_TEST(full_transaction_is_closed_and_no_later_one),
	CORE_TEST(full_transaction_may_be_gone),
	CORE_TEST(start_allocates_before_it_holds_its_transaction),
	CORE_TEST(start_that_is_refused_keeps_no_memory),
	CORE_TEST(start_counts_credits_and_stop_returns_them),
	CORE_TEST(start_joins_the_running_transaction),
	CORE_TEST(nested_start_only_counts),
	CORE_TEST(nested_stop_reports_an_abort),
	CORE_TEST(nested_start_on_another_journal_is_refused),
	CORE_TEST(revokes_cost_header_blocks),
	CORE_TEST(too_large_a_handle_is_refused),
	CORE_TEST(extend_adds_credits_and_revokes),
	CORE_TEST(handle_knows_what_it_was_asked_for),
	CORE_TEST(extend_of_a_locked_transaction_says_restart),
	CORE_TEST(extend_beyond_the_largest_says_restart),
	CORE_TEST(restart_begins_a_new_transaction_of_the_lane),
	CORE_TEST(restart_waits_for_other_handles_to_drain),
	CORE_TEST(restart_keeps_the_reservation),
	CORE_TEST(restart_beyond_the_largest_leaves_no_transaction),
	CORE_TEST(restart_renews_claims),
	CORE_TEST(start_waits_while_its_lane_is_locked),
	CORE_TEST(start_waits_for_the_barrier),
	CORE_TEST(start_commits_a_transaction_that_is_large_enough),
	CORE_TEST(start_with_an_error_of_before_is_refused),
	CORE_TEST(last_stop_seals_a_locked_transaction),
	CORE_TEST(sync_handle_waits_for_commit),
	CORE_TEST(sync_handle_of_reclaim_does_not_wait),
	CORE_TEST(stop_after_expiry_requests_the_commit),
	CORE_TEST(what_ext4_reads_of_a_new_handle_is_set),
	CORE_TEST(stop_frees_an_unused_reservation),
	CORE_TEST(task_may_reclaim_again_once_its_handle_is_closed),
	CORE_TEST(transaction_is_there_until_its_last_handle_has_left),
);
