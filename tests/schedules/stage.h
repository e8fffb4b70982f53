/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Schedules: a few handles, a few blocks, every step by name, then a power cut.
 *
 * The stage is a toy file system over the real journal and the simulated disk. A
 * block holds marks: mark u says that unit u has written it. A unit is one handle.
 * Actors are tasks that do one step at a time; after each step everything that is
 * not held back at a gate goes on until nothing moves any more. crash() looks at
 * every place of the disk's log so far, and there at all subsets of the writes
 * that a power cut may lose, recovers with the real code, and judges.
 *
 * Actor hN carries handle hN of the schedule; T0.0 is lane 0's first transaction.
 */
#ifndef ZJ_TESTS_SCHEDULES_STAGE_H
#define ZJ_TESTS_SCHEDULES_STAGE_H

#include "disk.h"
#include "kit.h"

#define NEVER		(~0u)
#define MAX_ACTORS	10
#define MAX_UNITS	64
#define MAX_BLOCKS	12
#define MAX_WRITES	8	/* blocks of one unit */
#define FIRST_HOME	8	/* disk block of b0 */
#define FIRST_JOURNAL	32

enum { b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11 };
/* The in-core inode X is a record in this block. */
#define bX		b6

enum kind { KIND_META = 1, KIND_DATA = 2 };

/**
 * struct content - what a block holds
 */
struct content {
	u32	kind;
	u32	block;		/* bN */
	u32	gen;		/* life of the block: counts creates and reuses */
	u32	sum;		/* of everything else */
	u8	mark[MAX_UNITS]; /* how often the unit has written it */
	u8	fill[DISK_BLOCK - MAX_UNITS - 16];
};

_Static_assert(sizeof(struct content) == DISK_BLOCK, "a content is a block");

/**
 * struct deed - a unit has written a block
 */
struct deed {
	u32	block;
	u32	gen;
	u32	times;
};

/**
 * struct unit - a handle: whole or absent after a crash
 */
struct unit {
	u32	actor;		/* hN */
	u32	epoch;		/* which mount */
	u32	lane;
	tid_t	tid;
	u32	stopped;	/* length of the disk's log at its stop */
	u32	must;		/* from when on it must be there */
	bool	gone;		/* an earlier recovery has discarded it */
	bool	inode;		/* has changed inode X */
	struct deed deed[MAX_WRITES];
	u32	nr_deeds;
	u64	causes;		/* bit for each unit that it has read */
};

/**
 * struct block - a block of the toy file system
 */
struct block {
	u32	gen;		/* in memory */
	enum kind kind;
	int	freed_by;	/* unit; -1: in use */
	u32	freed_gen;	/* the life that it has ended */
	bool	reuse;		/* write data there as soon as the free is real */
	u32	data_must;	/* from when on the data must be there */
	int	data_of;	/* unit whose metadata points at the data; -1 */
	void	*page;		/* the data in memory */
	bool	page_dirty, page_writing;
};

/**
 * struct play - one run of a schedule
 */
struct play {
	u32		lanes;
	u32		journal;	/* blocks */
	bool		images;		/* the log has whole blocks only */
	bool		cache, fua;	/* of the disk */
	u32		point;		/* where slowly() pauses */
	bool		paused_there;	/* it was reached */
	bool		again;		/* crash recovery as well, in every state */
	u32		epoch;
	struct kl_disk	*disk;
	const u8	**initial;
	journal_t	*journal_public;
	struct kit	kit;
	struct inode	ino;
	struct jbd2_inode jinode;
	struct unit	unit[MAX_UNITS];
	u32		nr_units;
	struct block	block[MAX_BLOCKS];
	u8		core[MAX_UNITS];	/* inode X in core: its marks */
	tid_t		claim, sync_tid;	/* of inode X */
	wait_queue_head_t page_wait;
	u32		judged;		/* places before it need no look */
	u64		states;		/* crash states looked at */
};

extern struct play play;

static inline struct zj_journal *the_journal(void)
{
	return to_zj(play.journal_public);
}

static inline u32 now(void)
{
	return play.disk->nr_log;
}

/* ---- stage.c ---- */
void stage_make(const u8 *image);
void stage_mount(void);
/* Unmounts; all handles must be closed. */
void stage_unmount(void);
void stage_free(void);
u32 content_sum(const struct content *c);
void page_write(u32 block);
void data_new(u32 block);
struct buffer_head *read_home(u32 block);

/* ---- actors.c ---- */

enum gate {
	GATE_FLUSH,	/* a lane's thread, before its flush ahead of the record */
	GATE_FLUSHED,	/* leading a flush, when the device has done it */
	GATE_LOG,	/* before it sends log blocks */
	GATE_DURABLE,	/* before its member counts as durable */
	NR_GATES,
};

enum op { OP_NONE, OP_START, OP_STOP, OP_ACCESS, OP_MODIFY, OP_WRITE, OP_READ,
	  OP_FREE, OP_CREATE, OP_DATA, OP_CHANGE_INODE, OP_CHANGE_UNCLAIMED,
	  OP_WRITE_INODE, OP_TAKE_TID, OP_USE_RESERVED, OP_RESERVE, OP_SYNC,
	  OP_SYNC_INODE, OP_LOCK, OP_CHECKPOINT, OP_WHOLE,
	  OP_CLAIM_KEEP, OP_RESTART, OP_FORCE_NESTED, OP_LOCK_UPDATES,
	  OP_UNLOCK_UPDATES, OP_LOG_DATA, OP_SETTLE, OP_IN_PLACE };

/* The argument of OP_WHOLE: start in a lane, write two blocks, stop. */
#define WHOLE(lane, x, y)	((lane) | (x) << 8 | (y) << 16)
#define CLOSER			9	/* the actor that closes lanes */

void actors_start(void);
/* Open every gate, close every handle, end the actors. */
void actors_end(void);

/* A step, in full; it is a failure if it cannot be done. */
void step(u32 actor, enum op op, u32 arg);
/* A step that need not be done when this returns. */
void begin(u32 actor, enum op op, u32 arg);
/* It has to be done by now. */
void finish(u32 actor);
/* It must not be done yet. */
void blocked(u32 actor, const char *why);
/* Like begin(), but paused at point number play.point of the step. */
void slowly(u32 actor, enum op op, u32 arg);
void resume(u32 actor);
void settle(void);

void hold(u32 lane, enum gate gate);
void release(u32 lane);
/* Let one through. */
void release_one(u32 lane);
/* Writes of b stay in flight. */
void hold_write(u32 block);
void release_write(u32 block);
/* Starts to write b home if it is dirty, like the kernel's flusher. */
void home(u32 block);
void disk_flush(void);

u32 unit_of(u32 actor);
void unit_must(u32 unit);

/* What the linker calls the functions that a gate stands before. */
void __real_kl_switch(void);
void __real_submit_bio(struct bio *bio);
int __real_zj_issue_flush(struct zj_journal *zj, struct block_device *bdev);
int __real_zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
int __real_zj_log_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
int __real_zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written, bool log);
void __real_zj_member_durable(struct zj_txn *txn);
u64 __real_sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg);

/* ---- judge.c ---- */

/* The power fails: at every place so far, with every subset of what may be lost. */
void crash(void);
/* The same, then mount what is left if all writes so far reach the disk. */
void crash_and_mount(void);
/* Places up to here are not looked at. */
void skip_to_here(void);

/* ---- main.c ---- */

/**
 * struct schedule - one test
 */
struct schedule {
	const char	*name;
	void		(*run)(void);
	u32		lanes;		/* 0: 3 */
	u32		journal;	/* blocks; 0: 1000 */
	bool		no_fua;		/* the disk has a cache, but no FUA */
	bool		points;		/* run it for every point of slowly()'s step */
	bool		images;		/* it counts log blocks, so the log has no lines */
	const char	*seen;		/* the caller breaks a rule: this must be seen */
};

/* One array for each file, ended by an empty entry. */
extern const struct schedule components[], committed[], homes[], callers[], races[];

/* End this mount as it is and mount @image, which is taken over. */
void stage_reopen(u8 *image);

#endif
