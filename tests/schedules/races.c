// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races (N1): one task is paused at a point inside its step, another does all of
 * its own or waits for a lock, then the first goes on. Every point gets its turn.
 */
#include "verbs.h"

/* A handle starts while its lane seals. */
static void start_race(void)
{
	start(0, 0); write(0, b0); stop(0);
	slowly(2, OP_START, 0);
	begin(CLOSER, OP_LOCK, 0);
	resume(2);
	finish(2); finish(CLOSER);
	write(2, b1); write(2, b2);
	lock(0);
	crash();
	stop(2);
	sync_of(2);
	crash();
}

/* The other way round. */
static void seal_race(void)
{
	start(0, 0); write(0, b0); stop(0);
	slowly(CLOSER, OP_LOCK, 0);
	begin(2, OP_START, 0);
	resume(CLOSER);
	finish(CLOSER); finish(2);
	write(2, b1); write(2, b2);
	lock(0);
	crash();
	stop(2);
	sync_of(2);
	crash();
}

/* T1.0 unites with T0.0 after its drain was seen. */
static void unite_race(void)
{
	start(0, 0); write(0, b0); stop(0);
	start(1, 1); write(1, b1);
	slowly(CLOSER, OP_LOCK, 0);
	begin(1, OP_WRITE, b0);
	resume(CLOSER);
	finish(1); finish(CLOSER);
	write(1, b2);
	crash();
	stop(1);
	lock(1);
	sync_of(1); sync_of(0);
	crash();
}

/* A reserved handle starts in the drained transaction. */
static void drain_race(void)
{
	start_reserve(0, 0); write(0, b0); stop(0);
	slowly(CLOSER, OP_LOCK, 0);
	begin(1, OP_USE_RESERVED, 0);
	resume(CLOSER);
	finish(1); finish(CLOSER);
	write(1, b1); write(1, b2);
	lock(0);
	crash();
	stop(1);
	sync_of(1);
	crash();
}

/* h2 touches both members of a component while it seals. */
static void seal_in_steps(void)
{
	start(0, 0); write(0, b0);
	start(1, 1); write(1, b0); write(1, b1);
	stop(0); stop(1);
	slowly(CLOSER, OP_LOCK, 0);
	begin(2, OP_WHOLE, WHOLE(0, b0, b1));
	resume(CLOSER);
	finish(CLOSER); finish(2);
	crash();
	sync_of(2);
	crash();
}

/* An accessor meets the owner's seal: its copy comes before the change. */
static void copy_race(void)
{
	start(0, 0); write(0, b0); stop(0);
	start(1, 1); write(1, b1);
	hold(0, GATE_FLUSH);
	slowly(1, OP_WRITE, b0);
	begin(CLOSER, OP_LOCK, 0);
	resume(1);
	finish(1); finish(CLOSER);
	release(0);
	crash();
	stop(1);
	sync_of(1); sync_of(0);
	crash();
}

/* h1 logs b3 while h2 revokes it, as it has gone home. */
static void home_revoke_race(void)
{
	start(0, 2); log_data(0, b3); stop(0);
	lock(2);
	home(b3);
	skip_to_here();
	start(1, 0);
	start(2, 1);
	slowly(1, OP_LOG_DATA, b3);
	begin(2, OP_SETTLE, b3);
	resume(1);
	finish(1); finish(2);
	/* Transactions that did not know of each other would be sealed in this order. */
	stop(1);
	lock(0);
	stop(2);
	lock(1);
	sync_of(1);
	write_in_place(b3);
	disk_flush();
	crash();
}

const struct schedule races[] = {
	{ "start-race", start_race, .points = true },
	{ "seal-race", seal_race, .points = true },
	{ "unite-race", unite_race, .points = true },
	{ "drain-race", drain_race, .points = true },
	{ "seal-in-steps", seal_in_steps, .points = true },
	{ "copy-race", copy_race, .points = true },
	{ "home-revoke-race", home_revoke_race, .points = true },
	{ },
};
