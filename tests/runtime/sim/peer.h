/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Crash states recovered by a second program, which has another journal compiled in
 * (tests/yardstick/serve.c): a disk is passed in shared memory, and the recovered
 * disk comes back. Both may work at the same time.
 */
#ifndef ZJ_SIM_PEER_H
#define ZJ_SIM_PEER_H

#include "disk.h"

#define PEER_HOME	64	/* most blocks before the journal */
#define PEER_BLOCKS	8192	/* most blocks of a disk */

/* The request to the other program. */
enum peer_way {
	PEER_RECOVER,	/* nothing but the journal's recovery */
	PEER_MOUNT,		/* mount and unmount */
};

/**
 * struct peer_shared - what both programs see
 */
struct peer_shared {
	u32	home;		/* blocks of the disk; the journal follows them */
	u32	journal;	/* blocks */
	u32	way;		/* enum peer_way */
	s32	err;		/* of the recovery or the mount */
	u8	after[PEER_HOME][DISK_BLOCK]; /* the home blocks recovered */
	u8	disk[PEER_BLOCKS][DISK_BLOCK];
};

/* Wake the other side up, and wait for it; a byte in a pipe. */
#define PEER_SHARED_FD	3

/*
 * Hand a disk of @home and @journal blocks to @program, which is started at the first
 * call. @block must not change before the next call, scratch blocks excepted.
 */
void peer_ask(const char *program, enum peer_way way, u32 home,
		  u32 journal, const u8 **block);
/* Returns its error, and the home blocks. */
int peer_answer(const u8 (**after)[DISK_BLOCK]);
/* Blocks seen before may have other contents now. */
void peer_forget(void);

#endif
