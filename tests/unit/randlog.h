/* SPDX-License-Identifier: GPL-2.0-only */
/* Random logs as a crash could leave them, and the result that recovery must have. */
#ifndef ZJ_RANDLOG_H
#define ZJ_RANDLOG_H

#include "memlog.h"

#define RL_COMPONENTS	12
#define RL_MEMBERS	3
#define RL_CHUNKS	2
#define RL_HOME		24
#define RL_NOT_REVOKED	14	/* blocks from here on, of which there are lines as well */
#define RL_LINES	16

/**
 * struct randlog - the plan of a log, kept apart from its bytes
 */
struct randlog {
	struct memdev *d;
	u64	ckpt_stamp;
	u32	nr;			/* components; stamp is index + 1 */
	struct {
		u32	nr_members;
		u32	nr_chunks[RL_MEMBERS];
		struct rec rec[RL_MEMBERS][RL_CHUNKS];
		u32	at[RL_MEMBERS][RL_CHUNKS]; /* journal block of the header */
		bool	seen[RL_MEMBERS][RL_CHUNKS]; /* by a scan, and not torn */
		bool	committed;	/* above the checkpoint stamp */
	} comp[RL_COMPONENTS];
};

/* Build a log from @seed; with @crash some chunks are lost or torn. */
struct randlog *rl_new(u32 seed, bool crash);
void rl_free(struct randlog *l);
/*
 * The pattern that must be in @block afterwards, from the plan alone; @line gets what each line
 * holds instead, ' ' for nothing.
 */
u8 rl_expected(const struct randlog *l, u64 block, char *line);

#endif /* ZJ_RANDLOG_H */
