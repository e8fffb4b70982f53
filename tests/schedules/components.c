// SPDX-License-Identifier: GPL-2.0-only
/* Transactions that share something are sealed together: uniting, locking, sealing, stamps. */
#include "verbs.h"

/* T0.0 owns b0; h1 gets access; T0.0 is to close; h1 changes b0. */
static void no_join(void)
{
	start(0, 0); write(0, b0); stop(0);
	start(1, 1); access(1, b0);
	lock(0);
	modify(1, b0); write(1, b1); stop(1);
	lock(1);
	sync_of(0); sync_of(1);
	crash();
}

/* There are no one-way links between running transactions: R2 unites. */
static void one_way_join(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1); stop(1);
	stop(0);
	lock(0);
	crash();
}

/* T1.0 has nothing of its own, but ties T0.0 to T2.0. */
static void empty_bridge(void)
{
	start(0, 0); write(0, b0);
	start(2, 2); write(2, b2);
	start(1, 1); write(1, b0); write(1, b2);
	stop(0); stop(1); stop(2);
	hold(2, GATE_FLUSH);
	lock(0);
	crash();
}

static void no_unite_locked(void)
{
	start(0, 0); write(0, b0); stop(0);
	start(3, 0);
	lock(0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(3);
	crash();
	stop(1);
	sync_of(1);
	crash();
}

static void seal_singly(void)
{
	start(0, 0); write(0, b0); write(0, b1); stop(0);
	start(1, 1); write(1, b0);
	lock(0);
	write(1, b1); stop(1);
	crash();
}

/* Only T0.0's record is on the disk. */
static void no_member_count(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(0); stop(1);
	hold(1, GATE_FLUSH);
	lock(0);
	crash();
}

static void lock_not_passed_on(void)
{
	start(0, 0); write(0, b0);
	lock(0);
	start(1, 1); write(1, b0);
	begin(2, OP_START, 1);
	stop(0); stop(1);
	begin(1, OP_SYNC, 0);
	if (play.unit[unit_of(2)].tid == play.unit[unit_of(1)].tid)
		kl_fail("h2 has started in a component that closes");
	finish(1);
	finish(2);
	crash();
}

/* Safe without the gate, but handles that overlap keep it open for ever. */
static void no_gate_on_members(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0);
	lock(0);
	begin(2, OP_START, 1);
	blocked(2, "a handle has started in a lane whose component closes");
	stop(0); stop(1);
	finish(2);
	sync_of(0);
	crash();
}

/* N5: a lane that is no member stays open, what it opens is locked on contact. */
static void late_member(void)
{
	start(0, 0); write(0, b0);
	lock(0);
	start(1, 1); write(1, b1); write(1, b0);
	begin(2, OP_START, 1);
	blocked(2, "a handle has started in a lane whose component closes");
	stop(0);
	crash();
	stop(1);
	finish(2);
	sync_of(0);
	crash();
}

/* No stamp is taken at commit: T1.0 commits before T0.0, but is newer. */
static void late_stamp(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b0); stop(1);
	lock(1);
	release(0);
	sync_of(0); sync_of(1);
	crash();
}

static void stamp_late(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(0); stop(1);
	hold(0, GATE_FLUSH);
	lock(0);
	start(2, 2); write(2, b0); stop(2);
	lock(2);
	release(0);
	sync_of(0); sync_of(1); sync_of(2);
	crash();
}

/* The images' place in the log says nothing: lane 1 lies behind lane 0. */
static void tid_order(void)
{
	start(3, 0); write(3, b8); stop(3);
	lock(0);
	start(1, 1); write(1, b0); stop(1);
	hold(1, GATE_FLUSH);
	lock(1);
	start(0, 0); write(0, b0); stop(0);
	lock(0);
	release(1);
	sync_of(0);
	crash();
}

const struct schedule components[] = {
	{ "no-join", no_join },
	{ "one-way-join", one_way_join },
	{ "empty-bridge", empty_bridge },
	{ "no-unite-locked", no_unite_locked },
	{ "seal-singly", seal_singly },
	{ "no-member-count", no_member_count },
	{ "lock-not-passed-on", lock_not_passed_on },
	{ "no-gate-on-members", no_gate_on_members },
	{ "late-member", late_member },
	{ "late-stamp", late_stamp },
	{ "stamp-late", stamp_late },
	{ "tid-order", tid_order },
	{ },
};
