// SPDX-License-Identifier: GPL-2.0-only
/* What a commit costs in locks: component.c, committed.c, group_commit.c. */
#include "fixture.h"

#define FEW		8
#define MANY		64

static void open_many(u32 lanes)
{
	OPEN(.lanes = lanes, .journal = 1 << 18);
}

/* A handle in each lane, all of them tied by @block. */
static void tie_all(handle_t **h, u32 members, u32 block)
{
	for (u32 i = 0; i < members; i++) {
		h[i] = start(i, 2);
		get_access(h[i], block);
	}
	for (u32 i = 0; i < members; i++)
		put(h[i], block + 1 + i, 1);
}

/* Locks taken while the handles of a locked component stop one by one. */
static u64 locks_of_a_drain(u32 members)
{
	handle_t *h[ZJ_MAX_LANES];
	u64 begin, sealed;
	struct zj_txn *txn;

	open_many(members);
	tie_all(h, members, BLOCK);
	txn = running(0);
	begin = locks_taken;
	zj_commit_request(fx.zj, txn);
	for (u32 i = 0; i < members; i++)
		stop(h[i]);
	sealed = locks_taken;
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
	close_journal();
	return sealed - begin;
}

/*
 * The same with a reserved handle in each member. All but the last join a member that has
 * drained, and stop after all members have drained once.
 */
static u64 locks_of_a_drain_of_reserved_handles(u32 members)
{
	handle_t *h[ZJ_MAX_LANES], *rsv[ZJ_MAX_LANES];
	u32 last = members - 1;
	u64 begin, sealed;
	struct zj_txn *txn;

	open_many(members);
	for (u32 i = 0; i < members; i++) {
		h[i] = start_more(i, 1, 1, 0);
		rsv[i] = h[i]->h_rsv_handle;
		h[i]->h_rsv_handle = NULL;
		get_access(h[i], BLOCK);
	}
	txn = running(0);
	begin = locks_taken;
	zj_commit_request(fx.zj, txn);
	for (u32 i = 0; i < members; i++) {
		if (i < last)
			stop(h[i]);
		own(NULL);
		assert_int_equal(zj_journal_start_reserved(rsv[i], 0, 0), 0);
	}
	stop(h[last]);
	stop(rsv[last]);
	for (u32 i = 0; i < last; i++) {
		assert_int_equal(txn->comp->stage, ZJ_LOCKED);
		stop(rsv[i]);
	}
	sealed = locks_taken;
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
	close_journal();
	return sealed - begin;
}

/* Locks taken when a component becomes committed while the next one has a handle open. */
static u64 locks_of_a_commit_before_another(u32 members)
{
	handle_t *h[ZJ_MAX_LANES];
	u64 begin, end;

	open_many(members);
	fx.hold_lane[members - 1] = true;
	tie_all(h, members, BLOCK);
	for (u32 i = 0; i < members; i++)
		stop(h[i]);
	seal(0);
	settle();
	tie_all(h, members, BLOCK + 300);
	for (u32 i = 0; i < members - 1; i++)
		stop(h[i]);
	zj_commit_request_lane(lane(0));
	settle();
	begin = locks_taken;
	release();
	settle();
	end = locks_taken;
	stop(h[members - 1]);
	settle();
	close_journal();
	return end - begin;
}

/*
 * Locks taken when a component that has drained waits for room in all of its lanes (N7), and
 * the transactions before it become committed one by one.
 */
static u64 locks_of_a_wait_for_room(u32 members)
{
	handle_t *h[ZJ_MAX_LANES];
	struct zj_txn *txn;
	u64 begin, end;

	open_many(members);
	for (u32 i = 0; i < members; i++) {
		fx.hold_lane[i] = true;
		for (u32 n = 0; n < ZJ_MAX_SEALED; n++) {
			change(i, BLOCK + i, n);
			seal(i);
		}
	}
	tie_all(h, members, BLOCK + 300);
	for (u32 i = 0; i < members; i++)
		stop(h[i]);
	txn = running(0);
	seal(0);
	settle();
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	begin = locks_taken;
	release();
	settle();
	end = locks_taken;
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
	return end - begin;
}

/*
 * Locks taken when two components are committed that share all lanes with one that waits for
 * room in yet another lane. It has a full member, so its credits are looked at.
 */
static u64 locks_of_a_wait_elsewhere(u32 members)
{
	handle_t *h[ZJ_MAX_LANES];
	struct zj_txn *txn;
	u64 begin, end;

	open_many(members + 1);
	fx.hold_lane[members] = true;
	for (u32 n = 0; n < ZJ_MAX_SEALED; n++) {
		change(members, BLOCK + 600, n);
		seal(members);
	}
	for (u32 n = 0; n < 3; n++) {
		tie_all(h, members + (n == 2), BLOCK + 150 * n);
		for (u32 i = 0; i < members + (n == 2); i++)
			stop(h[i]);
		if (n < 2)
			seal(0);
	}
	txn = running(0);
	zj_commit_now(fx.zj, txn);
	begin = locks_taken;
	settle();
	end = locks_taken;
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
	return end - begin;
}

/* For each member, a large component takes no more locks than a small one. */
static void assert_linear(u64 (*locks)(u32 members))
{
	u64 few = locks(FEW), many = locks(MANY);

	print_message("%u members: %llu locks, %u: %llu\n", FEW, (unsigned long long)few,
		      MANY, (unsigned long long)many);
	assert_true(many * FEW <= few * MANY);
}

static void drain_takes_locks_in_proportion_to_members(void)
{
	assert_linear(locks_of_a_drain);
}

static void drain_of_reserved_handles_takes_locks_in_proportion_to_members(void)
{
	assert_linear(locks_of_a_drain_of_reserved_handles);
}

static void commit_takes_locks_in_proportion_to_members(void)
{
	assert_linear(locks_of_a_commit_before_another);
}

static void wait_for_room_takes_locks_in_proportion_to_members(void)
{
	assert_linear(locks_of_a_wait_for_room);
}

static void wait_elsewhere_takes_locks_in_proportion_to_members(void)
{
	assert_linear(locks_of_a_wait_elsewhere);
}

/* One section seals it, the other makes it committed. */
static void lone_commit_takes_comp_lock_twice(void)
{
	OPEN(.lanes = 2);
	change(0, BLOCK, 1);
	commit(0);
	change(0, BLOCK, 2);
	count_lock(&fx.zj->comp_lock);
	commit(0);
	settle();
	assert_int_equal(lock_count(), 2);
	close_journal();
}

CORE_TESTS(scaling,
	CORE_TEST(lone_commit_takes_comp_lock_twice),
	CORE_TEST(wait_elsewhere_takes_locks_in_proportion_to_members),
	CORE_TEST(drain_takes_locks_in_proportion_to_members),
	CORE_TEST(drain_of_reserved_handles_takes_locks_in_proportion_to_members),
	CORE_TEST(commit_takes_locks_in_proportion_to_members),
	CORE_TEST(wait_for_room_takes_locks_in_proportion_to_members),
);
