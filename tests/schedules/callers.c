// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules that the file system has to keep: claims (R10), write-out before the stop
 * (N3), declared reads (R9). Each is kept here, and then broken: what follows from
 * that must be seen, else the judge is blind. And what a restart keeps.
 */
#include "verbs.h"

/* h0 changes X in memory, h1 writes X out and stops. */
static void claimed(enum op change)
{
	start(0, 0); step(0, change, 0);
	start(1, 1); step(1, change, 0); write_inode(1); stop(1);
	lock(1);
	crash();
}

static void no_R10(void)
{
	claimed(OP_CHANGE_INODE);
	stop(0);
	sync_inode(2);
	crash();
}

static void no_R10_broken(void)
{
	claimed(OP_CHANGE_UNCLAIMED);
}

/* The other half: h0 stops and syncs, but its change lies in T1.0's image. */
static void no_R10_lost(void)
{
	start(0, 0); change_inode(0);
	start(1, 1); change_inode(1); write_inode(1);
	stop(0);
	hold(1, GATE_FLUSH);
	begin(0, OP_SYNC, 0);
	stop(1);
	crash();
	release(1);
	finish(0);
	crash();
}

/* h0's claim covers the part after a restart as well. */
static void restart_claims(void)
{
	start(0, 0); claim_keep(0); write(0, b0);
	restart(0);
	step(0, OP_CHANGE_UNCLAIMED, 0);
	start(1, 1); change_inode(1); write_inode(1); stop(1);
	lock(1);
	crash();
	stop(0);
	sync_inode(2);
	crash();
}

/*
 * X is quota's usage in core. h0 was open before it counted, and claimed nothing.
 * Q_QUOTAON syncs, for which h0 restarts; what it changes then is counted, and stands
 * in what h1 writes (zext4_restart(), decision 39).
 */
static void over_quota_on(enum op change)
{
	start(0, 0); write(0, b0);
	begin(2, OP_FORCE_NESTED, 0);
	blocked(2, "quota is on, and h0 has not begun again");
	restart(0);
	finish(2);
	step(0, change, 0);
	start(1, 1); change_inode(1); write_inode(1); stop(1);
	lock(1);
	crash();
}

static void restart_over_quota_on(void)
{
	over_quota_on(OP_CHANGE_INODE);
	stop(0);
	sync_inode(2);
	crash();
}

static void restart_over_quota_on_broken(void)
{
	over_quota_on(OP_CHANGE_UNCLAIMED);
}

/* A restarted handle stays in its lane: what it did before comes first. */
static void restart_lane(void)
{
	start(0, 0); write(0, b0);
	hold(0, GATE_FLUSH);
	restart(0);
	step(1, OP_START, 1); write(1, b1); stop(1);
	write(0, b2);
	play.unit[unit_of(0)].causes |= 1;
	stop(0);
	lock(0); lock(1);
	crash();
	release(0);
	crash();
}

static void stop_before_write_out(void)
{
	start(0, 0); change_inode(0); write_inode(0); stop(0);
	sync_of(0);
	crash();
}

static void stop_before_write_out_broken(void)
{
	start(0, 0); change_inode(0); stop(0);
	sync_of(0);
	start(1, 1); write_inode(1); stop(1);
	crash();
}

static void read_not_declared(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b1);
	play.unit[unit_of(1)].causes |= 1ULL << unit_of(0);
	stop(1);
	lock(1);
	crash();
}

const struct schedule callers[] = {
	{ "no-R10", no_R10 },
	{ "no-R10-lost", no_R10_lost },
	{ "no-R10-broken", no_R10_broken, .seen = "unfinished h0 is there" },
	{ "restart-claims", restart_claims },
	{ "restart-over-quota-on", restart_over_quota_on },
	{ "restart-over-quota-on-broken", restart_over_quota_on_broken,
	  .seen = "unfinished h0 is there" },
	{ "restart-lane", restart_lane },
	{ "stop-before-write-out", stop_before_write_out },
	{ "stop-before-write-out-broken", stop_before_write_out_broken,
	  .seen = "h0 is lost" },
	{ "read-skip-broken", read_not_declared,
	  .seen = "h1 is there, but not h0" },
	{ },
};
