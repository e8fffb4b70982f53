// SPDX-License-Identifier: GPL-2.0-only
/* A change is committed only after those that it depends on: dependencies, lanes, syncs. */
#include "verbs.h"

/*
 * T0.0 cannot be left running while T1.0 commits, as they close together: its
 * record is held back instead. T1.1 is of T1.0's lane, where R7 does what R4 does.
 */
static void no_R4(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(1); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(2, 1); write(2, b1); write(2, b2); stop(2);
	lock(1);
	crash();
}

static void owner_not_component(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(0); stop(1);
	hold(1, GATE_FLUSH);
	lock(0);
	start(2, 2); write(2, b0); stop(2);
	lock(2);
	crash();
}

static void no_R3(void)
{
	start(0, 0); write(0, b0); write(0, b1); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b0); stop(1);
	hold(1, GATE_DURABLE);
	lock(1);
	crash();
}

static void early_list(void)
{
	start(0, 0); write(0, b0); write(0, b2); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b1);
	lock(1);
	write(1, b0);
	hold(1, GATE_DURABLE);
	stop(1);
	crash();
}

/*
 * A lane's thread writes one record after the other, so T1.1 cannot be durable
 * before T1.0; but T1.0 is not committed without T2.0. T1.1 must not be forgotten nor
 * committed when T0.0 meets it, so it is held back until then.
 */
static void max_tid_list(void)
{
	start(1, 1); write(1, b1);
	start(2, 2); write(2, b1); write(2, b2);
	stop(1); stop(2);
	hold(2, GATE_FLUSH);
	lock(1);
	hold(1, GATE_FLUSH);
	start(3, 1); write(3, b3); stop(3);
	lock(1);
	start(0, 0); write(0, b1); write(0, b3);
	release(1);
	stop(0);
	lock(0);
	crash();
}

static void read_skip(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); read_from(1, b0); write(1, b1); stop(1);
	lock(1);
	crash();
}

/* The same with an owner that is not sealed yet. */
static void read_one_way_late(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); read_from(1, b0); write(1, b1); stop(1);
	lock(1);
	crash();
	stop(0);
	sync_of(1);
	crash();
}

/*
 * A member without images writes its record all the same; the component's
 * dependencies stand in the record of its first member, here the empty T1.0.
 */
static void empty_member_deps_dropped(void)
{
	start(2, 2); write(2, b2); write(2, b4); stop(2);
	hold(2, GATE_FLUSH);
	lock(2);
	start(1, 1); read_from(1, b2);
	start(0, 0); write(0, b0);
	write(1, b0);
	stop(0); stop(1);
	lock(0);
	crash();
}

/* T1.0 brings a dependency into the component that T0.0 makes with it. */
static void merged_deps(void)
{
	start(2, 2); write(2, b2); write(2, b4); stop(2);
	hold(2, GATE_FLUSH);
	lock(2);
	start(1, 1); write(1, b2); write(1, b1);
	start(0, 0); write(0, b1); write(0, b0);
	stop(0); stop(1);
	hold(0, GATE_DURABLE);
	hold(1, GATE_DURABLE);
	lock(0);
	crash();
}

/* E10: with a handle open, wait for what is sealed and for nothing else. */
static void nested_force(void)
{
	start(1, 1); write(1, b1); stop(1);
	hold(1, GATE_FLUSH);
	lock(1);
	start(0, 0); write(0, b0);
	begin(0, OP_FORCE_NESTED, 0);
	blocked(0, "what T1.0 frees is not free yet");
	release(1);
	finish(0);
	crash();
	stop(0);
	sync_of(0);
	crash();
}

/* The barrier lets reserved handles through, and waits for them. */
static void barrier_reserved(void)
{
	start_reserve(0, 0); write(0, b0); stop(0);
	begin(2, OP_LOCK_UPDATES, 0);
	blocked(2, "the barrier is up, but a reserved handle may still start");
	step(1, OP_USE_RESERVED, 0);
	write(1, b1);
	blocked(2, "the barrier is up over an open handle");
	stop(1);
	finish(2);
	begin(3, OP_START, 1);
	blocked(3, "a handle has started under the barrier");
	step(2, OP_UNLOCK_UPDATES, 0);
	finish(3);
	sync_of(1);
	crash();
}

/* T0.0 is durable, but not committed without T1.0; nor is T0.1. */
static void no_lane_prefix(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(0); stop(1);
	hold(1, GATE_FLUSH);
	lock(0);
	start(2, 0); write(2, b2); stop(2);
	begin(2, OP_SYNC, 0);
	crash();
	release(1);
	finish(2);
	crash();
}

/*
 * A lane has one record in flight at a time; what is reported must not run ahead
 * of what lies behind it in the lane.
 */
static void hole_mismatch(void)
{
	hold(0, GATE_FLUSH);
	start(0, 0); write(0, b0); stop(0);
	lock(0);
	start(1, 0); write(1, b1); stop(1);
	lock(0);
	start(2, 0); write(2, b2); stop(2);
	lock(0);
	release_one(0);
	release_one(0);
	crash();
	release(0);
	sync_of(2);
	crash();
}

static void fsync_own(void)
{
	start(0, 0); write(0, b0); stop(0);
	start(1, 1); write(1, b0); write(1, b1); stop(1);
	hold(0, GATE_FLUSH);
	begin(1, OP_SYNC, 0);
	crash();
	release(0);
	finish(1);
	crash();
}

/* E2: two lanes share an inode's sync tid, and nothing else. */
static void sync_tid(void)
{
	start(0, 0); write(0, b0); take_sync_tid(0); stop(0);
	start(1, 1); write(1, b1); take_sync_tid(1); stop(1);
	hold(0, GATE_FLUSH);
	begin(2, OP_SYNC_INODE, 0);
	crash();
	release(0);
	finish(2);
	crash();
}

/* b3 is freed in T1.0 while T0.0 has an image of it: R5 ties them. */
static void foreign_revoke(void)
{
	start(3, 2); write(3, b3); stop(3);
	lock(2);
	home(b3);
	start(0, 0); write(0, b3); write(0, b0);
	start(1, 1); free_block(1, b3); write(1, b1); stop(1);
	play.block[b3].reuse = true;
	lock(1);
	crash();
	stop(0);
	lock(0);
	sync_of(1);
	disk_flush();
	play.block[b3].data_must = now();
	crash();
}

static void unowned_revoke(void)
{
	start(3, 2); write(3, b3); stop(3);
	lock(2);
	start(0, 0); free_block(0, b3); write(0, b0);
	start(1, 1); create(1, b3); write(1, b1); stop(1);
	lock(1);
	stop(0);
	lock(0);
	sync_of(0); sync_of(1);
	crash();
}

/* The free is real when it is committed, not when its own record is durable. */
static void callback_at_commit(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); free_block(1, b1);
	stop(1); stop(0);
	play.block[b1].reuse = true;
	hold(0, GATE_FLUSH);
	lock(1);
	disk_flush();
	crash();
	release(0);
	sync_of(1);
	disk_flush();
	play.block[b1].data_must = now();
	crash();
}

/* T2.0 depends on T1.0, which depends on T0.0, and only T0.0 is not on the disk. */
static void chain_of_three(void)
{
	start(0, 0); write(0, b3); write(0, b0); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b0); write(1, b1); stop(1);
	lock(1);
	start(2, 2); write(2, b1); write(2, b2); stop(2);
	lock(2);
	crash();
	release(0);
	sync_of(2);
	crash();
}

const struct schedule committed[] = {
	{ "no-R4", no_R4 },
	{ "owner-not-component", owner_not_component },
	{ "no-R3", no_R3 },
	{ "early-list", early_list },
	{ "max-tid-list", max_tid_list },
	{ "read-skip", read_skip },
	{ "read-one-way-late", read_one_way_late },
	{ "empty-member-deps-dropped", empty_member_deps_dropped },
	{ "merged-deps", merged_deps },
	{ "nested-force", nested_force },
	{ "barrier-reserved", barrier_reserved },
	{ "no-lane-prefix", no_lane_prefix },
	{ "hole-mismatch", hole_mismatch },
	{ "chain-of-three", chain_of_three },
	{ "fsync-own", fsync_own },
	{ "sync-tid", sync_tid },
	{ "foreign-revoke", foreign_revoke },
	{ "unowned-revoke", unowned_revoke },
	{ "callback-at-durable", callback_at_commit },
	{ },
};
