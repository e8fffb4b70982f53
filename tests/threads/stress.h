/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A toy file system over the journal, changed by many threads at once, and the
 * promises that a crash is judged by.
 *
 * A *unit* is what must be whole or absent: a handle, or the part of one up to a
 * restart. Each thread counts its units. A unit raises the counters of some blocks
 * that all threads share, notes in each "thread t made it v", and writes into its
 * thread's own block which unit this is and all the v that the thread has made.
 *
 * So in any state that a crash may leave: a shared block's counter is the highest
 * of its notes; each thread's own block agrees with all its notes (else a unit is
 * torn); the unit it names is not older than what a sync has promised, and not
 * newer than the last that was begun.
 */
#ifndef ZJ_TESTS_THREADS_STRESS_H
#define ZJ_TESTS_THREADS_STRESS_H

#include "disk.h"
#include "kit.h"

#define MAX_THREADS	32
#define NR_META		8	/* shared blocks of metadata */
#define NR_INODES	4	/* inode blocks: changed in core, copied out */
#define NR_FILE		3	/* journaled data */
#define NR_SHARED	(NR_META + NR_INODES + NR_FILE)
#define NR_ALLOC	24	/* blocks that are allocated and freed */
#define NR_HOME		128	/* blocks before the journal */

/* Where they are; block 0 is not used. */
#define FIRST_SHARED	1
#define FIRST_INODE	(FIRST_SHARED + NR_META)
#define FIRST_FILE	(FIRST_INODE + NR_INODES)
#define FIRST_OWN	(FIRST_FILE + NR_FILE)
#define MAP_BLOCK	(FIRST_OWN + MAX_THREADS)
#define FIRST_ALLOC	(MAP_BLOCK + 1)

enum kind { KIND_FIXED = 1, KIND_META, KIND_DATA };

/**
 * struct content - what a block holds; the rest of it is zero but for its last word
 */
struct content {
	u32	magic;		/* often one that the log has to escape */
	u32	block;
	u32	kind;
	u32	gen;		/* of an allocatable block, else 0 */
	u32	count;		/* shared: how often it was changed */
	u32	made[MAX_THREADS]; /* shared: what each thread made of it last */
	u32	unit;		/* own: the thread's unit */
	u32	notes[NR_SHARED]; /* own: the thread's note in each shared block */
	u32	seen[NR_SHARED]; /* own: counters that the thread has acted on */
	u32	map[NR_ALLOC];	/* map: generation of each, 2 * gen + is data */
	u32	sum;		/* of what is above */
	u32	trigger;	/* made by the frozen trigger from sum, or 0 */
};

/**
 * struct promises - outlives the process: in memory that it shares
 */
struct promises {
	u32	begun[MAX_THREADS];	/* last unit; atomic, all of these */
	u32	acked[MAX_THREADS];	/* last unit that a sync has covered */
	u32	units;			/* all that have stopped */
	u32	freed;			/* revokes made */
	u32	reused;			/* freed blocks taken again */
	u32	barriers;		/* updates locked and unlocked */
	u32	reclaimed;		/* buffers forgotten */
};

/**
 * struct page_data - data of a file in the page cache
 */
struct page_data {
	void	*mem;
	u32	block;
	bool	dirty;		/* atomic */
	bool	writing;	/* atomic */
	wait_queue_head_t wait;	/* for the write to end */
};

enum use { USE_FREE, USE_BUSY, USE_META, USE_DATA, USE_FREEING };

/**
 * struct alloc - an allocatable block
 */
struct alloc {
	enum use use;		/* fs.alloc_lock */
	u32	gen;		/* of the task that made it USE_BUSY */
	u32	inode;		/* fs.alloc_lock; owner of data */
	bool	has_data;	/* fs.alloc_lock; in the page, not freed */
	tid_t	freed_by;	/* fs.alloc_lock; while USE_FREEING */
	struct page_data page;
};

/**
 * struct toy_inode - an inode
 */
struct toy_inode {
	struct inode	vfs;
	struct jbd2_inode jinode;
	struct mutex	lock;	/* guards what follows */
	struct content	core;	/* as it is written out */
	int		users;	/* handles and syncs that hold it in core */
	bool		evicting;
	tid_t		claim;	/* atomic */
	tid_t		sync_tid; /* atomic */
	u64		written; /* atomic; as zj_journal_inode_written() notes it */
	u32		stopped[MAX_THREADS]; /* last unit that changed it; atomic */
};

/**
 * struct params - what a run does
 */
struct params {
	u64	seed;
	u32	threads;
	u32	lanes;
	u32	cpus;		/* virtual ones */
	u32	handles;	/* for each thread; 0: until it is killed */
	u32	block;		/* bytes of a block */
	u32	journal;	/* blocks */
	u32	pause;		/* mean points between two pauses; 0: none */
	bool	fua;
	bool	pipeline;	/* lanes have flush threads, buffers two versions */
	bool	jbd2;		/* one lane, and a log in stock's format */
	u32	fail_write;	/* the n-th write fails; 0: none */
	const char *file;	/* the disk */
};

/**
 * struct fs - everything of a mount
 */
struct fs {
	struct params	p;
	struct promises	*promises;
	struct kl_disk	*disk;
	journal_t	*journal;
	struct kit	kit;
	struct toy_inode inode[NR_INODES];
	struct buffer_head *file[NR_FILE];
	struct alloc	alloc[NR_ALLOC];
	struct mutex	alloc_lock;	/* what becomes of allocatable blocks */
	struct mutex	content[NR_HOME]; /* one change of a block at a time */
	u32		unit[MAX_THREADS]; /* the thread's: its last unit */
	u32		notes[MAX_THREADS][NR_SHARED]; /* the thread's */
	u32		seen[MAX_THREADS][NR_SHARED]; /* the thread's */
	u32		stopped[MAX_THREADS]; /* last unit that has stopped; atomic */
	int		open_handles;	/* atomic */
	bool		stop;		/* background tasks end; atomic */
};

extern struct fs fs;

/* ---- content.c ---- */
void content_init(void *data, u32 block, enum kind kind, u32 gen);
/* After a change. */
void content_seal(void *data);
/* NULL, or what is wrong with it. */
const char *content_check(const void *data, u32 block, enum kind kind, u32 gen);
extern struct jbd2_buffer_trigger_type content_trigger;
static inline bool has_trigger(u32 block)
{
	return block >= FIRST_SHARED && block < FIRST_INODE && block % 3 == 0;
}

/* ---- fs.c ---- */
u32 disk_blocks(const struct params *p);
void fs_make(void);
void fs_mount(void);
int fs_unmount(void);

/* ---- work.c ---- */

/**
 * struct job - a worker and its handle
 */
struct job {
	struct thr_rand	rand;
	u32		t;		/* which thread */
	handle_t	*handle;
	u32		dirty_inodes;	/* changed in core, not written out yet */
	u32		used_inodes;	/* held in core until the handle stops */
	u32		wrote_inodes;	/* by the handle; for the inode's syncs */
	bool		dead;		/* the journal was aborted */
};

int worker(void *arg);
/* Fails, unless there is no error or the journal was aborted; true for the latter. */
bool dead(struct job *job, int err);
void page_write(struct page_data *page);
/* The last units that have stopped; to be promised when a sync has returned. */
void snapshot(u32 *units, const u32 *stopped);
void promise(const u32 *units);

static inline void count(u32 *word)
{
	__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

/* ---- background.c ---- */
int flusher(void *arg);
int barrier_task(void *arg);
int looker(void *arg);

/* ---- judge.c ---- */
/* The disk, not mounted. @exact: holds the last unit of every thread. */
void judge(bool exact);

#endif
