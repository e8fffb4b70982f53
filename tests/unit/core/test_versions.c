// SPDX-License-Identifier: GPL-2.0-only
/* Versions of a buffer on their way to the log, and commits that are deferred for them. */
#include "group_commit.h"

/* ---- versions ---- */

static void each_in_flight_has_its_own_copy(void)
{
	struct fiber *f[3];

	JBD2();
	fx.hold_flush = true;
	for (u32 i = 0; i < 3; i++)
		f[i] = fsync_of(BLOCK, 1 + i);
	assert_int_equal(lane(0)->stats.wait_log, 0);
	assert_int_equal(lane(0)->stats.conflicts, 0);
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	assert_int_equal(atomic_read(&lane(0)->copies), 0);
	close_journal();
}

static void too_many_versions_put_a_commit_off(void)
{
	struct fiber *first, *second;
	handle_t *h;
	tid_t tid;

	JBD2(.versions = 1);
	first = fsync_with_image_held();
	tid = change(0, BLOCK, 2);
	second = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	assert_int_equal(lane(0)->stats.deferred, 1);
	assert_int_equal(lane(0)->stats.conflicts, 1);
	/* Others join meanwhile, without a wait. */
	h = start(0, 1);
	assert_int_equal(handle_txn(h)->public.t_tid, tid);
	put(h, BLOCK + 1, 3);
	stop(h);
	release();
	join(first);
	join(second);
	assert_int_equal(val_after_crash(BLOCK), 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	close_journal();
}

static void deferred_has_a_bound(void)
{
	struct fiber *first, *second, *late;
	tid_t tid;

	JBD2(.versions = 1);
	first = fsync_with_image_held();
	tid = change(0, BLOCK, 2);
	second = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	sleep_ms(2 * 1000 * ZJ_MAX_DEFER / HZ + 10);
	assert_int_equal(stage_of(tid), ZJ_LOCKED);
	late = GO(call_start, .n = 1);
	let_run();
	assert_false(late->done);
	release();
	join(first);
	join(second);
	join(late);
	stop(late->h);
	close_journal();
}

static void without_coalescing_starts_wait(void)
{
	struct fiber *first, *second, *late;
	tid_t tid;

	JBD2(.versions = 1, .no_coalesce = true);
	first = fsync_with_image_held();
	tid = change(0, BLOCK, 2);
	second = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(stage_of(tid), ZJ_LOCKED);
	late = GO(call_start, .n = 1);
	let_run();
	assert_false(late->done);
	release();
	join(first);
	join(second);
	join(late);
	stop(late->h);
	close_journal();
}

/* Forgotten again: nothing is in the way any more. */
static void forgotten_version_is_none(void)
{
	struct fiber *first, *second;
	tid_t tid;
	handle_t *h;

	JBD2(.versions = 1);
	first = fsync_with_image_held();
	h = start(0, 2);
	tid = handle_txn(h)->public.t_tid;
	put(h, BLOCK, 2);
	forget(h, BLOCK);
	put(h, BLOCK + 1, 2);
	stop(h);
	second = GO(call_complete, .tid = tid);
	release();
	join(first);
	join(second);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

static void five_versions_and_no_more(void)
{
	struct fiber *f[7];
	u32 i;

	LANES();
	/* In our format images are logged after the data's flush. */
	fx.hold_flush = true;
	for (i = 0; i < 6; i++)
		f[i] = fsync_of(BLOCK, 1 + i);
	assert_int_equal(lane(0)->stats.deferred, 1);
	assert_int_equal(lane(0)->depth, 5);
	release();
	for (i = 0; i < 6; i++)
		join(f[i]);
	assert_int_equal(val_after_crash(BLOCK), 6);
	close_journal();
}

/* ---- memory ---- */

static void without_memory_for_copies_others_wait(void)
{
	struct fiber *first, *access;
	handle_t *h;
	u64 before;

	JBD2();
	before = lane(0)->stats.ahead;
	fx.zj->max_copies = 0;
	first = fsync_with_image_held();
	assert_int_equal(lane(0)->stats.ahead, before);
	h = start(0, 1);
	access = GO(call_access, .h = h, .block = BLOCK);
	let_run();
	assert_false(access->done);
	release();
	join(access);
	dirty(h, BLOCK, 2);
	stop(h);
	join(first);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* The one too many changes hands in its component: the other transaction waits now. */
static void crowded_part_moves_with_its_image(void)
{
	struct zj_txn *txn[2];
	struct fiber *first;
	handle_t *h[2];

	OPEN(.pipeline = true, .lanes = 2, .versions = 1);
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	fx.hold_lane[0] = true;
	first = fsync_of(BLOCK, 1);
	for (u32 i = 0; i < 2; i++) {
		h[i] = start(i, 1);
		txn[i] = handle_txn(h[i]);
		get_access(h[i], BLOCK);
	}
	assert_ptr_equal(txn[0]->comp, txn[1]->comp);
	assert_int_equal(atomic_read(&txn[0]->crowded), 1);
	assert_int_equal(atomic_read(&txn[1]->crowded), 0);
	dirty(h[1], BLOCK, 2);
	assert_int_equal(atomic_read(&txn[0]->crowded), 0);
	assert_int_equal(atomic_read(&txn[1]->crowded), 1);
	stop(h[0]);
	stop(h[1]);
	release();
	join(first);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* It could not be sealed, so handle starts go on at once. */
static void commit_that_is_deferred_lets_starts_go_on(void)
{
	struct fiber *first, *late;
	handle_t *h;
	tid_t tid;

	JBD2(.versions = 1);
	first = fsync_with_image_held();
	h = start(0, 2);
	tid = h->h_transaction->t_tid;
	seal(0);
	assert_int_equal(stage_of(tid), ZJ_LOCKED);
	late = GO(call_start, .n = 1);
	let_run();
	assert_false(late->done);
	put(h, BLOCK, 2);
	stop(h);
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	let_run();
	assert_true(late->done);
	join(late);
	stop(late->h);
	release();
	join(first);
	close_journal();
}

/* A request to commit all lanes is no more urgent than an fsync. */
static void request_to_all_is_deferred_too(void)
{
	struct fiber *first;
	tid_t tid;

	JBD2(.versions = 1);
	first = fsync_with_image_held();
	tid = change(0, BLOCK, 2);
	zj_commit_request_all(fx.zj);
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	assert_int_equal(lane(0)->stats.deferred, 1);
	release();
	join(first);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* ---- what cannot be sealed yet ---- */

/* A change of BLOCK would now change an image that is being written to the log. */
static struct fiber *crowd(void)
{
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	fx.hold_lane[0] = true;
	return fsync_of(BLOCK, 1);
}

/* It is closed: no handle may continue in it until it can be sealed. */
static void full_transaction_is_not_deferred(void)
{
	struct fiber *first;
	struct zj_txn *txn;
	handle_t *h;

	LANES(.versions = 1);
	first = crowd();
	h = start(0, 1);
	put(h, BLOCK, 2);
	txn = running(0);
	zj_commit_now(fx.zj, txn);
	stop(h);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
}

/* It is not at its seal point, so a reserved handle may still start. */
static void reserved_handle_joins_what_cannot_be_sealed_yet(void)
{
	struct fiber *first, *r;
	struct zj_txn *txn;
	handle_t *h, *rsv;

	LANES(.versions = 1, .no_coalesce = true);
	first = crowd();
	h = start_more(0, 1, 1, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	put(h, BLOCK, 2);
	stop(h);
	txn = running(0);
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	assert_false(txn->sealing);
	r = GO(call_reserved, .h = rsv);
	join(r);
	assert_int_equal(r->ret, 0);
	put(rsv, BLOCK + 1, 3);
	stop(rsv);
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	zj_txn_put(txn);
	close_journal();
}

/* The deferred commit goes on when it can, long before its time is over. */
static void commit_that_was_deferred_goes_on_when_it_can(void)
{
	struct fiber *first;
	struct zj_txn *txn;

	LANES(.versions = 1);
	first = crowd();
	change(0, BLOCK, 2);
	txn = running(0);
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_RUNNING);
	assert_true(txn->comp->deferred);
	txn->comp->deferred_until += 1000 * HZ;
	txn->expires = txn->comp->deferred_until;
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
}

/* A union keeps the deadline of the deferred commit, no matter which one is larger. */
static void united_with_one_that_was_deferred_has_its_time(void)
{
	struct fiber *first;
	unsigned long until;
	struct zj_txn *txn;
	handle_t *h[3];

	OPEN(.pipeline = true, .lanes = 3, .versions = 1);
	first = crowd();
	for (u32 i = 0; i < 3; i++)
		h[i] = start(i, 2);
	put(h[1], BLOCK + 1, 1);
	get_access(h[2], BLOCK + 1);
	txn = handle_txn(h[2]);
	put(h[0], BLOCK, 2);
	seal(0);
	until = handle_txn(h[0])->comp->deferred_until;
	assert_int_equal(until, jiffies + ZJ_MAX_DEFER);
	assert_false(txn->comp->deferred);
	get_access(h[0], BLOCK + 1);
	assert_ptr_equal(txn->comp, handle_txn(h[0])->comp);
	assert_int_equal(txn->comp->nr_members, 3);
	assert_true(txn->comp->deferred);
	assert_int_equal(txn->comp->deferred_until, until);
	for (u32 i = 0; i < 3; i++)
		stop(h[i]);
	release();
	join(first);
	close_journal();
}

CORE_TESTS(versions,
	CORE_TEST(commit_that_is_deferred_lets_starts_go_on),
	CORE_TEST(each_in_flight_has_its_own_copy),
	CORE_TEST(too_many_versions_put_a_commit_off),
	CORE_TEST(deferred_has_a_bound),
	CORE_TEST(without_coalescing_starts_wait),
	CORE_TEST(forgotten_version_is_none),
	CORE_TEST(five_versions_and_no_more),
	CORE_TEST(without_memory_for_copies_others_wait),
	CORE_TEST(crowded_part_moves_with_its_image),
	CORE_TEST(request_to_all_is_deferred_too),
	CORE_TEST(full_transaction_is_not_deferred),
	CORE_TEST(reserved_handle_joins_what_cannot_be_sealed_yet),
	CORE_TEST(commit_that_was_deferred_goes_on_when_it_can),
	CORE_TEST(united_with_one_that_was_deferred_has_its_time),
);
