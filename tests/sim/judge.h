/* SPDX-License-Identifier: GPL-2.0-only */
/* Crash states: what recovery makes of one (recover.c), for the oracle (judge.c). */
#ifndef ZJ_TESTS_SIM_JUDGE_H
#define ZJ_TESTS_SIM_JUDGE_H

#include "peer.h"
#include "world.h"

/**
 * struct cut - one crash state under recovery
 */
struct cut {
	struct disk_image image;	/* as recovery's reads get it */
	const u8	**stable;	/* the same without unflushed writes */
	struct tally	*tally;
	u32		at;		/* place in the disk's log */
	u32		state;		/* which of the states of that place */
	int		power;		/* writes until the power fails again; -1 */
	u32		writes;		/* of this recovery so far */
	u32		reads_left;	/* until a read fails; 0: none does */
	u32		unread;		/* journal block that cannot be read; 0: none */
	bool		kept;		/* the next epoch's mount recovers it as well */
	struct sim_rand	rand;
	char		msg[512];	/* recovery's last error */
};

/* With --trace, what the power cut has left of what was not durable. */
void judge_explain(void);

#define bad(c, fmt, ...)						\
do {									\
	judge_explain();						\
	kl_fail("cut at %u state %u: " fmt, (c)->at, (c)->state,	\
		##__VA_ARGS__);						\
} while (0)

struct cut cut_new(struct tally *tally);
void cut_free(struct cut *c);
/* The power is back: what is there is there. */
void cut_settle(struct cut *c);
bool cut_is_live(const struct cut *c);
/* Recovery does not refuse it; nothing is written. */
void cut_accept(struct cut *c);
/*
 * Recover, now and then in other ways that must have the same result; @begin and
 * @other are memory for them. Now and then a checkpoint slot cannot be read. False if
 * the log is refused then.
 */
bool cut_recover(struct cut *c, struct cut *begin, struct cut *other);
/* The other program recovers it meanwhile, and must come to the same blocks. */
void cut_ask(const struct cut *c);
void cut_compare(const struct cut *c);

#endif
