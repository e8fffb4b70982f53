// SPDX-License-Identifier: GPL-2.0-only
/* Between the log and the disk: home writes, the tail, flushes, recovery. */
#include <klayer/bug.h>
#include "verbs.h"

/*
 * There is one checkpoint stamp for all lanes, so a lane has no tail of its own that could
 * run ahead; but it might reuse its own space. b5 keeps T0.0 in the log.
 */
static void per_lane_tail(void)
{
	start(0, 0); write(0, b0); write(0, b5); stop(0);
	lock(0);
	start(3, 2); write(3, b5);
	start(1, 1); write(1, b0); stop(1);
	lock(1);
	home(b0);
	checkpoint();
	crash();
	start(2, 1); write(2, b7); stop(2);
	lock(1);
	sync_of(1);
	crash();
}

static void tail_over_uncommitted(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b1); stop(1);
	lock(1);
	/* The checkpoint does not look behind T0.0; T1.1 takes b1 off T1.0. */
	start(2, 1); write(2, b1); stop(2);
	lock(1);
	checkpoint();
	crash();
	release(0);
	sync_of(0);
	crash();
}

/*
 * A small log of segments of 16 blocks: eight records fill one, h1's of b1 the
 * last. h2's is the first of the next one, which is used again when all is home.
 */
static void reuse_early(void)
{
	for (u32 i = 0; i < 7; i++) {
		start(0, 0); write(0, b0); stop(0);
		lock(0);
		home(b0);
	}
	start(1, 0); write(1, b1); stop(1);
	lock(0);
	start(2, 0); write(2, b1); stop(2);
	lock(0);
	home(b1);
	checkpoint();
	skip_to_here();
	start(3, 0); write(3, b4); stop(3);
	lock(0);
	crash();
}

/* Nothing is reclaimed while b5 is on its way home: the log fills up, and waits. */
static void log_full(void)
{
	start(0, 0); write(0, b5); stop(0);
	lock(0);
	hold_write(b5);
	home(b5);
	for (u32 i = 0; i < 30; i++) {
		begin(1, OP_START, 0);
		if (play.nr_units < 2 + i)
			break;
		finish(1);
		for (u32 b = b7; b <= b11; b++)
			write(1, b);
		stop(1);
		lock(0);
	}
	skip_to_here();
	crash();
	blocked(1, "a handle has started in a log that is full");
	release_write(b5);
	finish(1);
}

/*
 * Lane 0 has twelve blocks left in its segment, and promises no more. T0.0 owns
 * b0 to b11; who dirties them first has the space for them (E15).
 */
static void foreign_dirty(void)
{
	for (u32 i = 0; i < 10; i++) {
		start(3, 0); write(3, b0); stop(3);
		lock(0);
	}
	start(0, 0);
	for (u32 b = b0; b <= b11; b++)
		access(0, b);
	start(1, 1);
	start(2, 1);
	for (u32 b = b0; b <= b11; b++)
		write(1 + (b & 1), b);
	stop(0); stop(1); stop(2);
	lock(0);
	sync_of(1);
	skip_to_here();
	crash();
}

static void live_checkpoint(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_FLUSH);
	lock(0);
	start(1, 1); write(1, b0); write(1, b1);
	release(0);
	home(b0);
	checkpoint();
	crash();
}

static void home_io_race(void)
{
	start(0, 0); write(0, b0); stop(0);
	lock(0);
	hold_write(b0);
	home(b0);
	start(1, 1);
	begin(1, OP_WRITE, b0);
	blocked(1, "it changes b0 while that is written home");
	release_write(b0);
	finish(1);
	crash();
	stop(1);
}

/* The log is written from the buffer itself if no handle was expected to change it. */
static void log_io_race(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_LOG);
	lock(0);
	start(1, 1);
	begin(1, OP_WRITE, b0);
	blocked(1, "it changes b0 while the log is written from it");
	release(0);
	finish(1);
	crash();
	stop(1);
}

/* E8: a home write of the former life must not land on reused b3. */
static void late_home_write(void)
{
	start(0, 0); write(0, b3); stop(0);
	lock(0);
	hold_write(b3);
	home(b3);
	start(1, 1); write(1, b1);
	begin(1, OP_FREE, b3);
	blocked(1, "b3 is free while its old image is on its way home");
	play.block[b3].reuse = true;
	release_write(b3);
	finish(1);
	stop(1);
	lock(1);
	home(b3);
	checkpoint();
	disk_flush();
	play.block[b3].data_must = now();
	crash();
}

static void ordered_late(void)
{
	/* The first commit of a mount flushes once more, to go live. */
	start(3, 0); write(3, b8); stop(3);
	lock(0);
	start(0, 0); write_data(0, b5); stop(0);
	lock(0);
	crash();
}

/* The flush of lane 1 was issued before the record of lane 0 was written. */
static void joined_flush(void)
{
	start(0, 0); write(0, b0); stop(0);
	hold(0, GATE_LOG);
	lock(0);
	hold(1, GATE_FLUSHED);
	start(1, 1); write(1, b1); stop(1);
	lock(1);
	begin(0, OP_SYNC, 0);
	release(0);
	crash();
	release(1);
	finish(0);
	crash();
}

/*
 * All of the log is emptied by one sector. Lane after lane would be component
 * after component here: T1.0 gone, T0.0 that depends on it not yet.
 */
static void reset_one_by_one(void)
{
	start(1, 1); write(1, b1); write(1, b4); stop(1);
	hold(1, GATE_FLUSH);
	lock(1);
	start(0, 0); write(0, b1); write(0, b0); stop(0);
	lock(0);
	start(2, 2); write(2, b2); stop(2);
	lock(2);
	crash();
}

/*
 * T0.0 is never committed, T0.1 behind it is discarded with it. The next mount's T0.0
 * takes T0.0's place in the log, and just as much of it.
 */
static void tid_reuse(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(0); stop(1);
	hold(1, GATE_FLUSH);
	lock(0);
	start(2, 0); write(2, b2); write(2, b3); stop(2);
	lock(0);
	crash_and_mount();
	start(3, 0); write(3, b4); stop(3);
	lock(0);
	sync_of(3);
	crash();
}

/* b3 is in the log until its revoke is committed; before that, its home write is flushed. */
static void home_revoke(void)
{
	/* Otherwise each commit flushes. */
	play.journal_public->j_flags |= ZJ_DATA_REPORTED;
	start(3, 2); write(3, b8); stop(3);
	lock(2);
	start(0, 0); log_data(0, b3); write(0, b0); stop(0);
	lock(0);
	home(b3);
	start(1, 1); settle_data(1, b3); stop(1);
	write_in_place(b3);
	if (play.block[b3].page)
		kl_fail("b3 is written in place before its revoke is committed");
	lock(1);
	crash();
	write_in_place(b3);
	disk_flush();
	play.block[b3].data_must = now();
	crash();
}

static void home_revoke_not_home(void)
{
	start(0, 0); log_data(0, b3); write(0, b0); stop(0);
	lock(0);
	start(1, 1); settle_data(1, b3); stop(1);
	lock(1);
	sync_of(0);
	crash();
}

/* h2 logs b3 when the revoke is sealed, which ends h0's image only. */
static void home_revoke_newer(void)
{
	start(0, 0); log_data(0, b3); stop(0);
	lock(0);
	home(b3);
	start(1, 1); settle_data(1, b3); stop(1);
	hold(1, GATE_FLUSH);
	lock(1);
	start(2, 0); log_data(2, b3); stop(2);
	lock(0);
	release(1);
	sync_of(2);
	write_in_place(b3);
	disk_flush();
	if (play.block[b3].page)
		play.block[b3].data_must = now();
	crash();
}

const struct schedule homes[] = {
	{ "per-lane-tail", per_lane_tail },
	{ "tail-over-uncommitted", tail_over_uncommitted },
	{ "reuse-early", reuse_early, .lanes = 1, .journal = 140, .images = true },
	{ "log-full", log_full, .lanes = 1, .journal = 140, .images = true },
	{ "foreign-dirty", foreign_dirty, .lanes = 2, .journal = 300, .images = true },
	{ "live-checkpoint", live_checkpoint },
	{ "home-io-race", home_io_race },
	{ "log-io-race", log_io_race },
	{ "late-home-write", late_home_write },
	{ "ordered-late", ordered_late },
	{ "joined-flush", joined_flush, .no_fua = true },
	{ "reset-one-by-one", reset_one_by_one },
	{ "tid-reuse", tid_reuse },
	{ "home-revoke", home_revoke },
	{ "home-revoke-not-home", home_revoke_not_home },
	{ "home-revoke-newer", home_revoke_newer },
	{ },
};
