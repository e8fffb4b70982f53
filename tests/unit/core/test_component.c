// SPDX-License-Identifier: GPL-2.0-only
/* component.c: uniting, depending, locking, the seal point. */
#include "fixture.h"

static struct zj_dep *dep_through(struct zj_component *comp, u32 lane)
{
	struct zj_dep *dep, *found = NULL;

	list_for_each_entry(dep, &comp->deps, comp_link) {
		if (dep->lane != lane)
			continue;
		assert_null(found);
		found = dep;
	}
	return found;
}

static void united_components_are_one(void)
{
	handle_t *h[4];
	struct zj_component *comp;

	OPEN(.lanes = 4);
	for (u32 i = 0; i < 4; i++)
		h[i] = start(i, 1);
	tie(h[0], h[1], BLOCK);
	tie(h[2], h[3], BLOCK + 1);
	assert_ptr_not_equal(handle_txn(h[0])->comp, handle_txn(h[2])->comp);
	tie(h[1], h[2], BLOCK + 2);
	comp = handle_txn(h[0])->comp;
	assert_int_equal(comp->nr_members, 4);
	for (u32 i = 0; i < 4; i++) {
		assert_ptr_equal(handle_txn(h[i])->comp, comp);
		stop(h[i]);
	}
	commit(3);
	close_journal();
}

/*
 * One depends on an older, one on a newer component of lane 3; @first of them
 * asks for the union, and is what the other one is merged into.
 */
static void unite_with_dependencies(u32 first)
{
	handle_t *h[2];
	struct zj_component *comp;
	struct zj_dep *dep;

	OPEN(.lanes = 4);
	fx.hold_lane[3] = true;
	h[0] = start(0, 1);
	h[1] = start(1, 1);
	change(3, BLOCK, 1);
	seal(3);
	get_access(h[0], BLOCK);
	change(3, BLOCK + 1, 1);
	seal(3);
	get_access(h[1], BLOCK + 1);
	assert_int_equal(dep_through(handle_txn(h[0])->comp, 3)->stamp, 2);
	assert_int_equal(dep_through(handle_txn(h[1])->comp, 3)->stamp, 3);
	tie(h[!first], h[first], BLOCK + 2);
	comp = handle_txn(h[0])->comp;
	dep = dep_through(comp, 3);
	assert_int_equal(dep->stamp, 3);
	assert_int_equal(dep->on->stamp, 3);
	assert_int_equal(comp->missing, 1);
	stop(h[0]);
	stop(h[1]);
	seal(0);
	settle();
	assert_int_equal(comp->stage, ZJ_SEALED);
	release();
	settle();
	assert_int_equal(comp->stage, ZJ_COMMITTED);
	close_journal();
}

static void union_keeps_the_newest_dependency_of_a_lane(void)
{
	unite_with_dependencies(0);
}

static void union_keeps_the_newest_dependency_the_other_way_round(void)
{
	unite_with_dependencies(1);
}

/* @asker is united into the other one or the other way round. */
static void union_takes_dependencies_along(u32 asker)
{
	handle_t *h[2];
	struct zj_txn *txn;

	OPEN(.lanes = 3);
	h[0] = start(0, 1);
	h[1] = start(1, 1);
	change(2, BLOCK, 1);
	fx.hold_lane[2] = true;
	seal(2);
	get_access(h[0], BLOCK);
	tie(h[!asker], h[asker], BLOCK + 1);
	txn = running(1);
	assert_int_equal(txn->comp->missing, 1);
	assert_non_null(dep_through(txn->comp, 2)->on);
	stop(h[0]);
	stop(h[1]);
	seal(1);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
}

static void union_takes_the_other_ones_dependencies_along(void)
{
	union_takes_dependencies_along(1);
}

static void union_keeps_the_own_dependencies(void)
{
	union_takes_dependencies_along(0);
}

static void union_does_not_wait_for_what_is_committed(void)
{
	handle_t *a, *b;

	OPEN(.lanes = 3);
	a = start(0, 1);
	b = start(1, 1);
	change(2, BLOCK, 1);
	seal(2);
	get_access(b, BLOCK);
	settle();
	assert_null(dep_through(handle_txn(b)->comp, 2)->on);
	assert_int_equal(handle_txn(b)->comp->missing, 0);
	tie(b, a, BLOCK + 1);
	assert_int_equal(handle_txn(a)->comp->missing, 0);
	/* Recovery has to know it all the same. */
	assert_int_equal(dep_through(handle_txn(a)->comp, 2)->stamp, 2);
	stop(a);
	stop(b);
	commit(0);
	close_journal();
}

static void dependency_on_a_newer_one_of_the_lane_replaces_the_older(void)
{
	handle_t *h;

	OPEN();
	fx.hold_lane[1] = true;
	h = start(0, 1);
	change(1, BLOCK, 1);
	seal(1);
	get_access(h, BLOCK);
	change(1, BLOCK + 1, 1);
	seal(1);
	get_access(h, BLOCK + 1);
	assert_int_equal(dep_through(handle_txn(h)->comp, 1)->stamp, 3);
	assert_int_equal(handle_txn(h)->comp->missing, 1);
	/* A dependency on the older one adds nothing. */
	get_access(h, BLOCK);
	assert_int_equal(dep_through(handle_txn(h)->comp, 1)->stamp, 3);
	stop(h);
	close_journal();
}

static void locked_transaction_still_takes_dependencies(void)
{
	struct zj_txn *txn;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	txn = running(0);
	seal(0);
	change(1, BLOCK, 1);
	fx.hold_lane[1] = true;
	seal(1);
	put(h, BLOCK, 2);
	assert_int_equal(txn->comp->missing, 1);
	stop(h);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
}

static void members_seal_at_one_point(void)
{
	struct zj_txn *t0, *t1;
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	tie(a, b, BLOCK);
	t0 = running(0);
	t1 = running(1);
	seal(0);
	assert_int_equal(t0->stage, ZJ_LOCKED);
	assert_int_equal(t1->stage, ZJ_LOCKED);
	stop(a);
	/* Drained, but its component has not: nothing starts, nothing seals. */
	assert_int_equal(t0->comp->stage, ZJ_LOCKED);
	f = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	assert_false(f->done);
	stop(b);
	join(f);
	assert_ptr_equal(t0->comp, t1->comp);
	assert_int_equal(t0->comp->stage, ZJ_SEALED);
	assert_int_equal(t0->comp->stamp, 2);
	assert_int_equal(t0->comp->nr_members, 2);
	assert_ptr_not_equal(handle_txn(f->h), t0);
	stop(f->h);
	zj_txn_put(t0);
	zj_txn_put(t1);
	close_journal();
}

static void union_with_a_locked_one_locks_all_members(void)
{
	handle_t *h[3];
	struct fiber *f;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++)
		h[i] = start(i, 1);
	tie(h[1], h[2], BLOCK);
	put(h[0], BLOCK + 1, 1);
	seal(0);
	assert_int_equal(lane(2)->running->stage, ZJ_RUNNING);
	get_access(h[1], BLOCK + 1);
	assert_int_equal(lane(1)->running->stage, ZJ_LOCKED);
	assert_int_equal(lane(2)->running->stage, ZJ_LOCKED);
	f = GO(call_start, .cpu = 2, .n = 1);
	let_run();
	assert_false(f->done);
	for (u32 i = 0; i < 3; i++)
		stop(h[i]);
	join(f);
	stop(f->h);
	close_journal();
}

static void lane_without_a_transaction_stays_open(void)
{
	handle_t *a, *b, *c;

	OPEN(.lanes = 3);
	a = start(0, 1);
	b = start(1, 1);
	tie(a, b, BLOCK);
	seal(0);
	c = start(2, 1);
	assert_int_equal(handle_txn(c)->stage, ZJ_RUNNING);
	get_access(c, BLOCK);
	assert_int_equal(handle_txn(c)->stage, ZJ_LOCKED);
	stop(a);
	stop(b);
	assert_int_equal(handle_txn(c)->comp->stage, ZJ_LOCKED);
	stop(c);
	assert_null(lane(2)->running);
	close_journal();
}

static void request_for_any_member_closes_all(void)
{
	struct zj_txn *txn;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	tie(a, b, BLOCK);
	stop(a);
	stop(b);
	txn = running(1);
	zj_commit_request(fx.zj, txn);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_null(lane(0)->running);
	/* A second call has no effect in any state. */
	zj_commit_request(fx.zj, txn);
	settle();
	zj_commit_request(fx.zj, txn);
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	assert_int_equal(fx.zj->stamp, 2);
	zj_txn_put(txn);
	close_journal();
}

static void n7_sealed_components_of_a_lane_are_limited(void)
{
	struct zj_txn *txn;
	struct fiber *f;

	OPEN();
	fx.hold_lane[0] = true;
	for (u32 i = 0; i < ZJ_MAX_SEALED; i++) {
		change(0, BLOCK + i, 1);
		seal(0);
		assert_null(lane(0)->running);
	}
	change(0, BLOCK, 2);
	txn = running(0);
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	f = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	assert_false(f->done);
	/* The other lane is not concerned. */
	change(1, BLOCK + 100, 1);
	commit(1);
	release();
	join(f);
	stop(f->h);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	assert_int_equal(lane(0)->nr_sealed, 0);
	zj_txn_put(txn);
	close_journal();
}

/* ---- a component with many members ---- */

/* Starts a handle in each lane, ties all by one block, and seals the component. */
static u64 tie_all(u32 lanes, u32 block)
{
	handle_t *h[8];
	u64 stamp;

	for (u32 i = 0; i < lanes; i++) {
		h[i] = start(i, 2);
		get_access(h[i], block);
		put(h[i], block + 1 + i, 1);
	}
	for (u32 i = 0; i < lanes; i++)
		stop(h[i]);
	seal(0);
	stamp = fx.zj->stamp;
	settle();
	return stamp;
}

/* Entries of a component's record. */
static u32 deps_in_log(const struct log *log, u64 stamp)
{
	const struct zj_rec_chunk *c = log->r.chunks.items;
	u32 n = 0;

	for (u32 i = 0; i < log->r.chunks.nr; i++)
		n += c[i].stamp == stamp ? c[i].nr_deps : 0;
	return n;
}

/* Met through all of its members' lanes, a component is named once in the log. */
static void dependency_on_a_large_component_is_logged_once(void)
{
	u64 first, second, third;
	handle_t *a, *b;
	struct log log;

	OPEN(.lanes = 8, .journal = 16384);
	fx.hold_lane[7] = true;
	first = tie_all(8, BLOCK);
	second = tie_all(8, BLOCK + 20);
	/* United only after both have met it, each through another lane. */
	a = start(0, 4);
	b = start(1, 4);
	put(a, BLOCK + 22, 2);
	put(b, BLOCK + 21, 2);
	put(a, BLOCK + 40, 2);
	put(b, BLOCK + 40, 2);
	stop(a);
	stop(b);
	seal(0);
	third = fx.zj->stamp;
	release();
	settle();
	log_read(&log);
	assert_true(log_depends(&log, second, first));
	assert_true(log_depends(&log, third, second));
	assert_int_equal(deps_in_log(&log, second), 1);
	assert_int_equal(deps_in_log(&log, third), 1);
	log_free(&log);
	close_journal();
}

/* ---- ties and room ---- */

/* To depend on a member of one's own component would be to wait for oneself. */
static void reader_of_what_runs_does_not_depend_on_it_as_well(void)
{
	struct buffer_head *bh;
	handle_t *h;
	tid_t tid;

	OPEN(.lanes = 3);
	fx.hold_lane[1] = true;
	change(1, BLOCK, 1);
	seal(1);
	h = start(0, 2);
	tid = h->h_transaction->t_tid;
	put(h, BLOCK, 2);
	assert_int_equal(dependencies(0), 1);
	change(2, BLOCK + 1, 1);
	bh = buffer(BLOCK + 1);
	own(h);
	assert_int_equal(zj_journal_read_dependency(h, bh), 0);
	own(NULL);
	brelse(bh);
	assert_int_equal(dependencies(0), 1);
	stop(h);
	release();
	seal(0);
	settle();
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

/* A transaction without images takes no room, and is sealed even where there is none. */
static void empty_transaction_needs_no_share_of_the_log(void)
{
	struct zj_txn *txn;
	handle_t *h;
	u32 more;

	OPEN(.lanes = 1);
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	more = zj_space_share(fx.zj) - lane(0)->sealed_credits;
	lane(0)->sealed_credits += more;
	h = start(0, 0);
	txn = running(0);
	zj_commit_now(fx.zj, txn);
	stop(h);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	lane(0)->sealed_credits -= more;
	zj_txn_put(txn);
	close_journal();
}

static void change_together(u32 block)
{
	handle_t *one = start(0, 1), *other = start(1, 1);

	put(one, block, 1);
	get_access(other, block);
	stop(one);
	stop(other);
	seal(0);
}

/* A component that is committed leaves room in all of its lanes, not in one. */
static void all_lanes_of_a_committed_component_go_on(void)
{
	tid_t tid[2];

	OPEN();
	fx.hold_lane[0] = true;
	for (u32 i = 0; i < ZJ_MAX_SEALED; i++)
		change_together(BLOCK + i);
	for (u32 i = 0; i < 2; i++) {
		tid[i] = change(i, BLOCK + 10 + i, 1);
		seal(i);
		assert_int_equal(stage_of(tid[i]), ZJ_LOCKED);
	}
	release();
	settle();
	assert_int_equal(stage_of(tid[0]), ZJ_COMMITTED);
	assert_int_equal(stage_of(tid[1]), ZJ_COMMITTED);
	close_journal();
}

/* ---- wake-ups after a seal ---- */

static void call_start_stop(struct fiber *f)
{
	call_start(f);
	f->ret = stop(f->h);
}

/* The last handle leaves its transaction, and goes on in the next. */
static void call_restart_and_stop(struct fiber *f)
{
	call_restart(f);
	stop(f->h);
}

/* Changes a block of the component that is being sealed, and has that committed. */
static void call_change_and_complete(struct fiber *f)
{
	tid_t tid;

	call_start(f);
	tid = f->h->h_transaction->t_tid;
	put(f->h, BLOCK, 7);
	stop(f->h);
	f->ret = zj_complete_transaction(fx.journal, tid);
}

/* Locks a component of both lanes; returns its last open handle, in lane 0. */
static handle_t *locked_component(u8 value)
{
	handle_t *a = start(0, 1), *b = start(1, 1);

	put(a, BLOCK, value);
	put(b, BLOCK, value);
	stop(b);
	seal(0);
	return a;
}

/*
 * comp_lock is free between the seal and the wake-ups. A wake-up that is lost there is
 * a deadlock, or is made up for by a timer, which takes seconds.
 */
static void comes_before_the_wake_ups(struct fiber *last, struct fiber *other)
{
	bool more;
	u32 began;
	int n = 1;

	do {
		struct zj_txn *txn;

		last->h = locked_component(n);
		txn = handle_txn(last->h);
		refcount_inc(&txn->refs);
		more = preempt_at(n, last, other);
		began = jiffies;
		assert_int_equal(zj_txn_wait_finished(txn), 0);
		assert_true(jiffies - began < HZ);
		zj_txn_put(txn);
		n++;
	} while (more);
	assert_true(n > 10);
	settle();
}

static void whoever_comes_before_the_wake_ups_loses_none(void)
{
	void (*const others[])(struct fiber *f) = {
		call_start_stop, call_change_and_complete,
	};
	void (*const lasts[])(struct fiber *f) = { call_stop, call_restart_and_stop };

	OPEN(.lanes = 2);
	for (u32 l = 0; l < ARRAY_SIZE(lasts); l++)
		for (u32 i = 0; i < 2 * ARRAY_SIZE(others); i++)
			comes_before_the_wake_ups(&(struct fiber){ .fn = lasts[l], .n = 1 },
						  &(struct fiber){ .fn = others[i / 2],
								   .cpu = i % 2, .n = 1 });
	close_journal();
}

static void begin_lane(void)
{
	release();
}

/* The lane's thread seals what has waited for room, and is stopped anywhere there. */
static void start_meets_the_thread_that_makes_room(void)
{
	bool more;
	int n = 1;

	OPEN(.lanes = 2);
	do {
		struct zj_txn *txn;

		fx.hold_lane[0] = true;
		for (u32 i = 0; i < ZJ_MAX_SEALED; i++) {
			change(0, BLOCK + i, n);
			seal(0);
		}
		stop(locked_component(n));
		txn = running(1);
		assert_int_equal(txn->comp->stage, ZJ_LOCKED);
		more = preempt_task_at(n++, lane(0)->task, begin_lane,
				       CALL(call_start_stop, .cpu = 1, .n = 1));
		assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
		zj_txn_put(txn);
	} while (more);
	assert_true(n > 20);
	close_journal();
}

CORE_TESTS(component,
	CORE_TEST(dependency_on_a_large_component_is_logged_once),
	CORE_TEST(united_components_are_one),
	CORE_TEST(union_keeps_the_newest_dependency_of_a_lane),
	CORE_TEST(union_keeps_the_newest_dependency_the_other_way_round),
	CORE_TEST(union_takes_the_other_ones_dependencies_along),
	CORE_TEST(union_keeps_the_own_dependencies),
	CORE_TEST(union_does_not_wait_for_what_is_committed),
	CORE_TEST(dependency_on_a_newer_one_of_the_lane_replaces_the_older),
	CORE_TEST(locked_transaction_still_takes_dependencies),
	CORE_TEST(members_seal_at_one_point),
	CORE_TEST(union_with_a_locked_one_locks_all_members),
	CORE_TEST(lane_without_a_transaction_stays_open),
	CORE_TEST(request_for_any_member_closes_all),
	CORE_TEST(n7_sealed_components_of_a_lane_are_limited),
	CORE_TEST(reader_of_what_runs_does_not_depend_on_it_as_well),
	CORE_TEST(empty_transaction_needs_no_share_of_the_log),
	CORE_TEST(all_lanes_of_a_committed_component_go_on),
	CORE_TEST(whoever_comes_before_the_wake_ups_loses_none),
	CORE_TEST(start_meets_the_thread_that_makes_room),
);
