// SPDX-License-Identifier: GPL-2.0-only
/* component.c: the races at the seal point (N1). */
#include "group_commit.h"

static void n1_start_does_not_count_up_in_a_sealed_transaction(void)
{
	struct zj_txn *txn;
	struct fiber *f;

	OPEN();
	change(0, BLOCK, 1);
	txn = running(0);
	f = GO(call_start, .cpu = 0, .n = 1);
	stop_before(&f->task->task, &lane(0)->lock, 1);
	let_run();
	assert_true(stopped(&f->task->task));
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	go_on(&f->task->task);
	join(f);
	assert_ptr_not_equal(handle_txn(f->h), txn);
	assert_int_equal(txn->updates, 0);
	assert_int_equal(handle_txn(f->h)->updates, 1);
	stop(f->h);
	zj_txn_put(txn);
	close_journal();
}

/* If it drops the lock in between, another task seals meanwhile. */
static void n1_start_is_one_section(void)
{
	struct fiber *f;

	OPEN();
	change(0, BLOCK, 1);
	f = GO(call_start, .cpu = 0, .n = 1);
	stop_before(&f->task->task, &lane(0)->lock, 2);
	let_run();
	if (stopped(&f->task->task))
		seal(0);
	stop_nowhere(&f->task->task);
	join(f);
	assert_true(handle_txn(f->h)->comp->stage < ZJ_SEALED);
	assert_ptr_equal(handle_txn(f->h), lane(0)->running);
	assert_int_equal(handle_txn(f->h)->updates, 1);
	stop(f->h);
	close_journal();
}

/* The same for the seal: another task unites meanwhile. */
static void n1_seal_is_one_section(void)
{
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	seal(0);
	f = GO(call_stop, .h = a);
	stop_before(&f->task->task, &fx.zj->comp_lock, 2);
	let_run();
	put(b, BLOCK, 2);
	stop_nowhere(&f->task->task);
	join(f);
	assert_true(handle_txn(b)->comp->stage < ZJ_SEALED);
	stop(b);
	close_journal();
}

static void n1_two_first_handles_open_one_transaction(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	f = GO(call_start, .cpu = 0, .n = 1);
	/* It has made a transaction and comes back to publish it. */
	stop_before(&f->task->task, &lane(0)->lock, 2);
	let_run();
	h = start(0, 1);
	go_on(&f->task->task);
	join(f);
	assert_ptr_equal(f->h->h_transaction, h->h_transaction);
	assert_int_equal(handle_txn(h)->updates, 2);
	stop(h);
	stop(f->h);
	commit(0);
	assert_true(zj_tids_empty(fx.zj));
	close_journal();
}

/* The last handle of a locked transaction has stopped, and it is not sealed yet. */
static struct fiber *about_to_seal(handle_t *h)
{
	struct fiber *f = GO(call_stop, .h = h);

	stop_before(&f->task->task, &fx.zj->comp_lock, 1);
	let_run();
	assert_true(stopped(&f->task->task));
	assert_int_equal(lane(0)->running->updates, 0);
	assert_int_equal(lane(0)->running->stage, ZJ_LOCKED);
	return f;
}

static void n1_member_that_unites_after_the_drain_is_waited_for(void)
{
	struct zj_txn *txn;
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	put(a, BLOCK, 1);
	txn = running(0);
	seal(0);
	f = about_to_seal(a);
	b = start(1, 1);
	put(b, BLOCK, 2);
	assert_int_equal(txn->comp->nr_members, 2);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	assert_false(txn->sealing);
	put(b, BLOCK, 3);
	stop(b);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_int_equal(txn->comp->nr_members, 2);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 3);
	zj_txn_put(txn);
	close_journal();
}

/* The component has drained and is not sealed only because a lane has no room (N7). */
static void n1_member_that_unites_while_room_is_awaited_is_counted(void)
{
	handle_t *a, *b, *c;
	struct zj_txn *txn;

	OPEN(.lanes = 3);
	fx.hold_lane[0] = true;
	for (u32 n = 0; n < ZJ_MAX_SEALED; n++) {
		change(0, BLOCK, n);
		seal(0);
	}
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK + 1, 1);
	get_access(b, BLOCK + 1);
	stop(a);
	stop(b);
	txn = running(0);
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	c = start(2, 1);
	get_access(c, BLOCK + 1);
	assert_int_equal(txn->comp->nr_members, 3);
	stop(c);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	zj_txn_put(txn);
	close_journal();
}

static void n1_reserved_handle_after_the_drain_is_waited_for(void)
{
	struct fiber *f, *r;
	struct zj_txn *txn;
	handle_t *h, *rsv;

	OPEN();
	h = start_more(0, 1, 2, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	txn = running(0);
	seal(0);
	f = about_to_seal(h);
	r = GO(call_reserved, .h = rsv);
	let_run();
	join(r);
	assert_ptr_equal(handle_txn(rsv), txn);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	stop(rsv);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
	close_journal();
}

static void n1_seal_that_fails_lets_reserved_handles_in(void)
{
	handle_t *a, *b, *c, *rsv;
	struct zj_txn *txn;
	struct fiber *f, *r;

	OPEN(.lanes = 3);
	a = start_more(0, 1, 2, 0);
	rsv = a->h_rsv_handle;
	a->h_rsv_handle = NULL;
	c = start(2, 1);
	tie(a, c, BLOCK);
	stop(c);
	txn = running(0);
	seal(0);
	f = about_to_seal(a);
	/* Joins at the end of the list: the first member is held by then. */
	b = start(1, 1);
	get_access(b, BLOCK);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	r = GO(call_reserved, .h = rsv);
	join(r);
	assert_ptr_equal(handle_txn(rsv), txn);
	stop(rsv);
	stop(b);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
	close_journal();
}

/* The freezer stops in the middle: @nth time it takes the lane's lock. */
static struct fiber *sealing(handle_t *h, int nth)
{
	struct fiber *f = GO(call_stop, .h = h);

	stop_before(&f->task->task, &lane(0)->lock, nth);
	let_run();
	assert_true(stopped(&f->task->task));
	assert_ptr_equal(fx.zj->comp_lock.kl.owner, &f->task->task);
	return f;
}

static void unite_at_the_seal_point(int nth)
{
	struct zj_txn *txn;
	struct fiber *f, *u;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	txn = running(0);
	seal(0);
	f = sealing(a, nth);
	u = GO(call_access, .h = b, .block = BLOCK);
	let_run();
	assert_false(u->done);
	go_on(&f->task->task);
	join(f);
	join(u);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_int_equal(txn->comp->nr_members, 1);
	assert_true(depends(handle_txn(b), txn));
	assert_non_null(part_of(txn, BLOCK)->frozen_data);
	stop(b);
	zj_txn_put(txn);
	close_journal();
}

static void n1_unite_before_the_seal_point_becomes_a_dependency(void)
{
	/* Counted down, then about to hold the member. */
	unite_at_the_seal_point(2);
}

static void n1_unite_after_the_seal_point_becomes_a_dependency(void)
{
	/* Stamped and sealed, the lane not switched yet. */
	unite_at_the_seal_point(3);
}

static void n1_reserved_handle_at_the_seal_point_starts_in_the_next(void)
{
	struct zj_txn *txn;
	struct fiber *f, *r;
	handle_t *h, *rsv;

	OPEN();
	h = start_more(0, 1, 2, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	txn = running(0);
	seal(0);
	f = sealing(h, 3);
	assert_true(txn->sealing);
	r = GO(call_reserved, .h = rsv);
	let_run();
	assert_false(r->done);
	go_on(&f->task->task);
	join(f);
	join(r);
	assert_ptr_not_equal(handle_txn(rsv), txn);
	assert_int_equal(txn->updates, 0);
	assert_int_equal(handle_txn(rsv)->updates, 1);
	stop(rsv);
	zj_txn_put(txn);
	close_journal();
}

/* The next of a lane that has switched must find the old one sealed. */
static void n1_no_lane_switches_before_all_members_are_sealed(void)
{
	struct fiber *f, *u;
	struct zj_txn *txn;
	handle_t *a, *b, *c;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	get_access(b, BLOCK);
	stop(b);
	txn = running(0);
	seal(0);
	f = GO(call_stop, .h = a);
	/* Held, then the second one to leave its lane. */
	stop_before(&f->task->task, &lane(1)->lock, 2);
	let_run();
	assert_true(stopped(&f->task->task));
	if (lane(0)->running) {
		/* The other way round: this lane is the second one. */
		go_on(&f->task->task);
		stop_before(&f->task->task, &lane(0)->lock, 1);
		let_run();
	}
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_int_equal(txn->comp->stamp, 2);
	c = start(lane(0)->running ? 1 : 0, 1);
	u = GO(call_access, .h = c, .block = BLOCK);
	let_run();
	assert_ptr_not_equal(handle_txn(c)->comp, txn->comp);
	go_on(&f->task->task);
	join(f);
	join(u);
	assert_ptr_not_equal(handle_txn(c)->comp, txn->comp);
	assert_non_null(part_of(txn, BLOCK)->frozen_data);
	stop(c);
	zj_txn_put(txn);
	close_journal();
}

static void call_request(struct fiber *f)
{
	zj_commit_request_lane(lane(0));
}

/* A request stops before it takes the lane's lock; a handle starts. */
static void start_within_a_request(int nth)
{
	struct fiber *f, *s;
	enum zj_txn_stage stage;
	struct zj_txn *txn;

	OPEN();
	change(0, BLOCK, 1);
	txn = running(0);
	f = GO(call_request);
	stop_before(&f->task->task, &lane(0)->lock, nth);
	let_run();
	assert_true(stopped(&f->task->task));
	s = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	go_on(&f->task->task);
	join(f);
	join(s);
	stage = handle_txn(s->h)->comp->stage;
	assert_true(stage < ZJ_SEALED);
	assert_int_equal(handle_txn(s->h)->updates, 1);
	assert_ptr_equal(lane(0)->running, handle_txn(s->h));
	stop(s->h);
	zj_txn_put(txn);
	close_journal();
}

static void n1_start_before_the_members_are_locked(void)
{
	start_within_a_request(2);
}

static void n1_start_before_the_members_are_counted(void)
{
	start_within_a_request(3);
}

static void n1_start_before_the_lane_switches(void)
{
	start_within_a_request(4);
}

static void n1_crossing_unions_make_one_component(void)
{
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	a = start(0, 2);
	b = start(1, 2);
	put(a, BLOCK, 1);
	put(b, BLOCK + 1, 1);
	f = GO(call_access, .h = a, .block = BLOCK + 1);
	stop_before(&f->task->task, &fx.zj->comp_lock, 1);
	let_run();
	assert_true(stopped(&f->task->task));
	get_access(b, BLOCK);
	go_on(&f->task->task);
	join(f);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_int_equal(handle_txn(a)->comp->nr_members, 2);
	assert_int_equal(unions(0) + unions(1), 1);
	stop(a);
	stop(b);
	commit(0);
	close_journal();
}

static void n1_lock_while_uniting_is_passed_on(void)
{
	struct zj_txn *other;
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	other = running(0);
	f = GO(call_access, .h = b, .block = BLOCK);
	stop_before(&f->task->task, &fx.zj->comp_lock, 1);
	let_run();
	seal(0);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(handle_txn(b)->stage, ZJ_LOCKED);
	assert_ptr_equal(handle_txn(b)->comp, other->comp);
	stop(a);
	stop(b);
	assert_int_equal(other->comp->stage, ZJ_SEALED);
	zj_txn_put(other);
	close_journal();
}

/* Two that run unite with one that is locked: it is locked since then, not since the union. */
static void locked_time_is_passed_on(void)
{
	handle_t *a, *b, *c;
	ktime_t begin;
	u64 passed;

	OPEN(.lanes = 3);
	a = start(0, 1);
	b = start(1, 1);
	c = start(2, 1);
	put(a, BLOCK, 1);
	tie(b, c, BLOCK + 1);
	begin = ktime_get();
	zj_commit_request_lane(lane(0));
	sleep_ms(5);
	get_access(b, BLOCK);
	stop(a);
	stop(b);
	stop(c);
	passed = ktime_us_delta(ktime_get(), begin);
	for (u32 i = 0; i < 3; i++) {
		assert_true(lane(i)->stats.locked_us >= 5000);
		assert_true(lane(i)->stats.locked_us <= passed);
	}
	settle();
	close_journal();
}

/* A component of lanes 0 and 1, with two images in each, which is sealed if there is room. */
static tid_t full_component(u32 block)
{
	handle_t *a = start(0, 2), *b = start(1, 2);
	tid_t tid = a->h_transaction->t_tid;
	struct zj_txn *txn;

	for (u32 i = 0; i < 2; i++) {
		put(a, block + i, 1);
		put(b, block + 2 + i, 1);
	}
	get_access(b, block);
	stop(a);
	stop(b);
	txn = running(0);
	zj_commit_now(fx.zj, txn);
	zj_txn_put(txn);
	return tid;
}

/*
 * What is full waits for the room of one component in both lanes. Nothing else is committed
 * in them later, so it is tried again when both have room, or never.
 */
static void room_of_all_lanes_comes_at_once(void)
{
	tid_t first, second;

	OPEN();
	fx.zj->budget = 6;
	fx.hold_lane[0] = true;
	first = full_component(BLOCK);
	settle();
	assert_int_equal(stage_of(first), ZJ_SEALED);
	second = full_component(BLOCK + 4);
	settle();
	assert_int_equal(stage_of(second), ZJ_LOCKED);
	release();
	settle();
	assert_int_equal(stage_of(second), ZJ_COMMITTED);
	close_journal();
}

static handle_t *take_reserved(handle_t *h)
{
	handle_t *rsv = h->h_rsv_handle;

	h->h_rsv_handle = NULL;
	return rsv;
}

/* All members have drained once, but not at the same time. */
static void n1_reserved_handle_reopens_a_member_that_has_drained(void)
{
	handle_t *a, *b, *rsv;
	struct zj_txn *txn;

	OPEN();
	a = start_more(0, 1, 1, 0);
	b = start(1, 1);
	rsv = take_reserved(a);
	tie(a, b, BLOCK);
	txn = running(0);
	seal(0);
	stop(a);
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), 0);
	own(NULL);
	stop(b);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	assert_false(txn->sealing);
	stop(rsv);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
	close_journal();
}

static void call_use_reserved(struct fiber *f)
{
	f->ret = zj_journal_start_reserved(f->h, 0, 0);
	put(f->h, f->block, 3);
	stop(f->h);
}

/* A seal has found that there is room, when a reserved handle takes it and leaves. */
static void n1_room_is_looked_at_while_members_are_held(void)
{
	struct fiber *first, *last, *reserved;
	handle_t *h, *rsv;
	tid_t tid;

	JBD2(.versions = 1);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	h = start_more(0, 1, 1, 0);
	rsv = take_reserved(h);
	tid = handle_txn(h)->public.t_tid;
	put(h, BLOCK + 1, 2);
	seal(0);
	last = GO(call_stop, .h = h);
	/* The second time it holds the members. */
	stop_before(&last->task->task, &lane(0)->lock, 2);
	let_run();
	assert_true(stopped(&last->task->task));
	assert_ptr_equal(fx.zj->comp_lock.kl.owner, &last->task->task);
	reserved = GO(call_use_reserved, .h = rsv, .block = BLOCK);
	let_run();
	assert_int_equal(atomic_read(&lane(0)->running->crowded), 1);
	go_on(&last->task->task);
	join(last);
	join(reserved);
	assert_true(stage_of(tid) < ZJ_SEALED);
	release();
	join(first);
	settle();
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

CORE_TESTS(seal_races,
	CORE_TEST(locked_time_is_passed_on),
	CORE_TEST(room_of_all_lanes_comes_at_once),
	CORE_TEST(n1_reserved_handle_reopens_a_member_that_has_drained),
	CORE_TEST(n1_room_is_looked_at_while_members_are_held),
	CORE_TEST(n1_start_does_not_count_up_in_a_sealed_transaction),
	CORE_TEST(n1_start_is_one_section),
	CORE_TEST(n1_seal_is_one_section),
	CORE_TEST(n1_two_first_handles_open_one_transaction),
	CORE_TEST(n1_member_that_unites_after_the_drain_is_waited_for),
	CORE_TEST(n1_member_that_unites_while_room_is_awaited_is_counted),
	CORE_TEST(n1_reserved_handle_after_the_drain_is_waited_for),
	CORE_TEST(n1_seal_that_fails_lets_reserved_handles_in),
	CORE_TEST(n1_unite_before_the_seal_point_becomes_a_dependency),
	CORE_TEST(n1_unite_after_the_seal_point_becomes_a_dependency),
	CORE_TEST(n1_reserved_handle_at_the_seal_point_starts_in_the_next),
	CORE_TEST(n1_no_lane_switches_before_all_members_are_sealed),
	CORE_TEST(n1_start_before_the_members_are_locked),
	CORE_TEST(n1_start_before_the_members_are_counted),
	CORE_TEST(n1_start_before_the_lane_switches),
	CORE_TEST(n1_crossing_unions_make_one_component),
	CORE_TEST(n1_lock_while_uniting_is_passed_on),
);
