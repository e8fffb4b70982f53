// SPDX-License-Identifier: GPL-2.0-only
/*
 * component.c: what a union of two components carries over. Each test has it on either side,
 * asked for by either side, with either side as the larger one, because these decide which
 * component becomes part of the other. Dependencies are in test_component.c.
 */
#include "fixture.h"

/**
 * struct union_case - who is who
 *
 * The component that has something is of lane 0, the plain one of lane 1; one of the two
 * has a second member, of lane 2, or none has.
 */
struct union_case {
	int		asker;		/* lane of the handle that asks for the union */
	int		larger;		/* lane whose component has two members; 2: none */
	handle_t	*h[3];		/* one for each lane; of 2 perhaps NULL */
};

static struct zj_component *comp_of(const struct union_case *c, int lane)
{
	return handle_txn(c->h[lane])->comp;
}

static void start_case(struct union_case *c)
{
	for (u32 i = 0; i < 2; i++)
		c->h[i] = start(i, 4);
	c->h[2] = NULL;
	if (c->larger == 2)
		return;
	c->h[2] = start(2, 4);
	tie(c->h[c->larger], c->h[2], BLOCK + 20);
	assert_int_equal(comp_of(c, c->larger)->nr_members, 2);
}

/* The other side has access first, so that the asker meets it as the owner. */
static void unite_case(struct union_case *c)
{
	tie(c->h[!c->asker], c->h[c->asker], BLOCK + 21);
	for (u32 i = 0; i < 3; i++)
		if (c->h[i])
			assert_ptr_equal(comp_of(c, i), comp_of(c, 0));
	assert_int_equal(comp_of(c, 0)->nr_members, c->larger == 2 ? 2 : 3);
}

static void stop_case(struct union_case *c)
{
	for (u32 i = 0; i < 3; i++)
		if (c->h[i])
			stop(c->h[i]);
}

static void in_each_case(void (*test)(struct union_case *c))
{
	for (int asker = 0; asker < 2; asker++)
		for (int larger = 0; larger < 3; larger++) {
			OPEN(.pipeline = true, .lanes = 4, .versions = 1);
			test(&(struct union_case){ .asker = asker, .larger = larger });
			close_journal();
		}
}

/* ---- the lock ---- */

static void seal_at_the_last_stop(struct union_case *c)
{
	struct zj_txn *txn = running(0);
	struct zj_component *comp = txn->comp;
	int left = comp->nr_members;

	assert_int_equal(comp->stage, ZJ_LOCKED);
	for (u32 i = 0; i < 3; i++) {
		if (!c->h[i])
			continue;
		assert_int_equal(handle_txn(c->h[i])->stage, ZJ_LOCKED);
		assert_int_equal(comp->undrained, left--);
		assert_int_equal(comp->stage, ZJ_LOCKED);
		stop(c->h[i]);
	}
	assert_int_equal(comp->stage, ZJ_SEALED);
	settle();
	assert_int_equal(comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
}

static void one_is_locked(struct union_case *c)
{
	ktime_t locked_at;

	start_case(c);
	seal(0);
	locked_at = comp_of(c, 0)->locked_at;
	assert_int_equal(comp_of(c, 1)->stage, ZJ_RUNNING);
	sleep_ms(1);
	unite_case(c);
	assert_int_equal(comp_of(c, 0)->locked_at, locked_at);
	seal_at_the_last_stop(c);
}

static void union_with_a_locked_one_is_locked_and_waits_for_all(void)
{
	in_each_case(one_is_locked);
}

static void both_are_locked(struct union_case *c)
{
	start_case(c);
	seal(0);
	seal(1);
	unite_case(c);
	seal_at_the_last_stop(c);
}

static void union_of_two_locked_ones_waits_for_all(void)
{
	in_each_case(both_are_locked);
}

/* A member of one side has stopped already: it is waited for no more, the others are. */
static void one_member_has_drained(struct union_case *c)
{
	struct zj_component *comp;
	struct zj_txn *txn;

	start_case(c);
	if (!c->h[2]) {
		stop_case(c);
		return;
	}
	txn = running(0);
	stop(c->h[2]);
	seal(c->larger);
	c->h[2] = NULL;
	tie(c->h[!c->asker], c->h[c->asker], BLOCK + 21);
	comp = txn->comp;
	assert_ptr_equal(comp, comp_of(c, 1));
	assert_int_equal(comp->nr_members, 3);
	assert_int_equal(comp->undrained, 2);
	stop(c->h[1]);
	assert_int_equal(comp->stage, ZJ_LOCKED);
	stop(c->h[0]);
	assert_int_equal(comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
}

static void union_counts_members_that_have_drained_as_such(void)
{
	in_each_case(one_member_has_drained);
}

/* ---- deferred commits ---- */

static void one_is_deferred(struct union_case *c)
{
	unsigned long until = jiffies + 7;

	start_case(c);
	comp_of(c, 0)->deferred = true;
	comp_of(c, 0)->deferred_until = until;
	unite_case(c);
	assert_true(comp_of(c, 0)->deferred);
	assert_int_equal(comp_of(c, 0)->deferred_until, until);
	stop_case(c);
}

static void union_with_a_deferred_one_is_deferred_as_long(void)
{
	in_each_case(one_is_deferred);
}

static void both_are_deferred(struct union_case *c)
{
	unsigned long early = jiffies + HZ;

	start_case(c);
	for (u32 i = 0; i < 2; i++) {
		comp_of(c, i)->deferred = true;
		comp_of(c, i)->deferred_until = early + i * HZ;
	}
	unite_case(c);
	assert_int_equal(comp_of(c, 0)->deferred_until, early);
	stop_case(c);
}

/* The first deadline counts: otherwise each union would put the commit off again. */
static void united_deferrals_keep_the_earlier_deadline(void)
{
	in_each_case(both_are_deferred);
}

/* A commit in flight whose copy of BLOCK is the only one that is allowed. */
static struct fiber *crowd(void)
{
	struct fiber *f;

	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	fx.hold_lane[3] = true;
	f = GO(call_complete, .tid = change(3, BLOCK, 1));
	settle();
	assert_false(f->done);
	return f;
}

static void one_is_full(struct union_case *c)
{
	struct fiber *first = crowd();
	struct zj_txn *txn;

	start_case(c);
	put(c->h[0], BLOCK, 2);
	txn = running(0);
	zj_commit_now(fx.zj, txn);
	assert_true(txn->comp->no_delay);
	unite_case(c);
	assert_true(txn->comp->no_delay);
	stop_case(c);
	/* BLOCK has too many copies to seal it; a plain one would go on taking handles. */
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
}

/* It is closed for good: its blocks are bounded (N7). */
static void union_with_a_full_one_is_not_deferred(void)
{
	in_each_case(one_is_full);
}

static void one_joins_a_deferred_one(struct union_case *c)
{
	struct fiber *first = crowd();
	struct zj_component *comp;

	start_case(c);
	put(c->h[0], BLOCK, 2);
	zj_commit_request(fx.zj, handle_txn(c->h[0]));
	assert_true(comp_of(c, 0)->deferred);
	assert_int_not_equal(handle_txn(c->h[1])->expires, handle_txn(c->h[0])->expires);
	unite_case(c);
	comp = comp_of(c, 0);
	/* What its lane's thread does when it has expired. */
	zj_commit_request(fx.zj, handle_txn(c->h[1]));
	assert_int_equal(comp->stage, ZJ_RUNNING);
	for (u32 i = 0; i < 3; i++)
		if (c->h[i])
			assert_int_equal(handle_txn(c->h[i])->expires, comp->deferred_until);
	stop_case(c);
	release();
	join(first);
}

/* Otherwise its lane's thread would ask for the commit again and again. */
static void members_united_since_the_first_deferral_expire_with_it(void)
{
	in_each_case(one_joins_a_deferred_one);
}

CORE_TESTS(union,
	CORE_TEST(union_with_a_locked_one_is_locked_and_waits_for_all),
	CORE_TEST(union_of_two_locked_ones_waits_for_all),
	CORE_TEST(union_counts_members_that_have_drained_as_such),
	CORE_TEST(union_with_a_deferred_one_is_deferred_as_long),
	CORE_TEST(united_deferrals_keep_the_earlier_deadline),
	CORE_TEST(union_with_a_full_one_is_not_deferred),
	CORE_TEST(members_united_since_the_first_deferral_expire_with_it),
);
