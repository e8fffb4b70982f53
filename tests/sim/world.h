/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world of a run: a toy file system over the journal, and the history that
 * the oracle judges by.
 *
 * An *object* is a slot of a block that holds a version. A *unit* is what must be
 * whole or absent after a crash: a handle, or the part of one up to a restart.
 * A task that writes an object raises its version, so "the block holds version v"
 * says exactly which units' writes it holds.
 *
 * Blocks: fixed metadata, inode blocks (objects live in core and are copied out),
 * allocation blocks (the version is the generation of an allocatable block: odd is
 * in use), allocatable blocks (metadata, ordered data, or journaled data of one
 * file), the journal.
 *
 * Places in time are lengths of the disk's log.
 */
#ifndef ZJ_TESTS_SIM_WORLD_H
#define ZJ_TESTS_SIM_WORLD_H

#include "disk.h"
#include "kit.h"

#define SLOTS		8
#define NEVER		(~0u)
#define MAX_INODES	8
#define MAX_ALLOC	24
#define FILE_PAGES	2
#define FILE_BLOCKS	(FILE_PAGES * PAGE_BUFS)
#define HOME_BLOCKS	64
#define MAX_TASKS	64

/* What a generation of an allocatable block holds. */
enum kind { KIND_META = 1, KIND_DATA, KIND_FILE };

/**
 * struct half - a block is two of these, alike, one in each sector
 */
struct half {
	u32	magic;		/* often one that the log has to escape */
	u32	block;
	u32	gen;		/* generation of an allocatable block, else 0 */
	u32	kind;
	u32	ver[SLOTS];	/* versions of the objects */
	u32	noted;		/* as @note */
	u32	zero[3];	/* the rest is in another line */
	u32	trigger;	/* made by the frozen trigger from sum; or 0 */
	u32	sum;		/* of what is above trigger */
	u32	fill[108];
	u32	note;		/* a line that not every change changes, in a log of lines */
	u32	stored;		/* of the first half: written without a handle */
};

_Static_assert(sizeof(struct half) == DISK_SECTOR, "a half is a sector");

/**
 * struct object - a slot of a block, for one generation
 */
struct object {
	u32	block;
	u32	gen;
	u32	slot;
	u32	ver;		/* in memory */
	u32	base;		/* at the mount; never less afterwards */
};

/**
 * struct unit - what is whole or absent
 */
struct unit {
	tid_t	tid;
	u32	lane;
	u32	order;		/* of its transaction in the lane */
	u32	stopped;	/* when stop was called; NEVER: open */
	u32	must;		/* from when on it must be there */
	bool	acked;		/* its stop has returned */
	u32	inodes;		/* bit for each inode whose sync tid it took */
	u32	writes;		/* index of its newest write + 1; 0: none */
	u32	reads;		/* index of its newest read + 1; 0: none */
};

/**
 * struct touch - a unit wrote or read a version of an object
 */
struct touch {
	u32	object;
	u32	ver;
	u32	next;		/* older one of the unit + 1; 0: none */
};

/* USE_LEFT: found at the mount, of no file; the next truncation frees it. */
enum use { USE_FREE, USE_META, USE_DATA, USE_FILE, USE_LEFT, USE_FREEING, USE_BUSY };

/**
 * struct life - a generation of an allocatable block that is in use
 */
struct life {
	u32	gen;
	enum kind kind;
	u32	objects;	/* first of its SLOTS objects; not of data */
	bool	cut;		/* its file was truncated; or unknown contents */
	u32	cut_ver;	/* version of the file's inode that says so; 0: any */
};

/**
 * struct stored - a value written without a handle, and promised by fsync
 */
struct stored {
	u32	alloc;		/* index of the block */
	u32	gen;		/* its generation */
	u32	value;		/* no less may be there */
	u32	must;		/* from when on */
};

/**
 * struct page_data - data of a file in the page cache
 */
struct page_data {
	struct mutex lock;	/* held while it is sent or logged */
	void	*mem;
	u32	block;
	u32	gen;
	u32	lost;		/* generation whose write failed */
	u32	undeclared;	/* the same, and its inode went before a commit asked */
	bool	dirty;
	bool	writing;
	wait_queue_head_t wait;
};

/**
 * struct alloc - an allocatable block
 */
struct alloc {
	u32	block;
	u32	object;		/* in the allocation block; its version is the gen */
	enum use use;
	struct life *lives;	/* oldest first */
	u32	nr_lives, room_lives;
	u32	inode;		/* owner of data */
	tid_t	freed_by;	/* while USE_FREEING */
	struct page_data page;
	int	settling;	/* tasks that keep it from being freed */
};

/**
 * struct toy_inode - an inode
 */
struct toy_inode {
	struct inode	vfs;
	struct jbd2_inode jinode;
	u32	object;		/* its version counts in core */
	tid_t	claim;
	tid_t	sync_tid;
	u64	written;	/* as zj_journal_inode_written() notes it */
	struct mutex lock;	/* of its in-core state */
	int	users;		/* handles and syncs that hold it in core */
	bool	evicting;
};

/**
 * struct toy_file - the file of journaled data
 */
struct toy_file {
	struct sim_page	*page[FILE_PAGES]; /* cached, or NULL */
	struct alloc	*map[FILE_BLOCKS]; /* NULL: a hole */
	struct sim_page	*gone[64];	/* truncated, with buffers in use */
	u32		nr_gone;
	void		*writer;	/* task that writes or truncates (i_rwsem), or NULL */
	bool		truncating;	/* no page fault gets in */
	int		faults;		/* page faults under way */
	wait_queue_head_t wait;		/* for all three */
};

enum off { OFF_FLUSHER = 1, OFF_BARRIER = 2, OFF_CHECKPOINT = 4, OFF_FILE = 8,
	   OFF_DATA = 16, OFF_INODE = 32, OFF_ALLOC = 64, OFF_READ = 128,
	   OFF_SYNC = 256, OFF_PAUSE = 512, OFF_LONG = 1024, OFF_LAST = 1024 };

/* The operations that a run does more often than the others. */
enum focus { FOCUS_NONE, FOCUS_FILE, FOCUS_ALLOC, FOCUS_SYNC, FOCUS_INODE,
	     FOCUS_CLOSE, FOCUS_MEMBERS, NR_FOCUS };

/* Bits of params.skip besides the steps of a handle, which are counted from 0. */
#define SKIP_STEPS	8
#define SKIP_HANDLE	8	/* the handle */
#define SKIP_OTHER	9	/* what its task does after it */
#define SKIP_END	10	/* never set: numbers its end */
#define SKIP_HANDLES	512	/* of a task; the rest can't be left out */

/**
 * struct params - what a run does; from the command line or the seed
 */
struct params {
	u64	seed;		/* of what the tasks do */
	u64	schedule;	/* of when they do it, and of what the disk does */
	u32	cpus;
	u32	lanes;
	u32	handles;
	u32	tasks;
	u32	blocks;		/* fixed metadata blocks */
	u32	journal;	/* blocks */
	u32	granularity;
	u32	slow;		/* one in so many tasks is slow; 0: none */
	bool	cache, fua;
	bool	logged;		/* data=ordered: fsync may log data */
	bool	journaled;	/* data=journal: no ordered data, no flush for it */
	u32	batch;		/* buffers that a checkpoint sends home together */
	u32	copy;		/* enum zj_frozen_copy */
	u32	pipeline;	/* 1: lanes have flush threads */
	u32	run;		/* transactions that share their flushes, at most */
	u32	versions;	/* copies of a buffer, at most */
	u32	coalesce;	/* 1: a transaction goes on while there are too many */
	bool	jbd2;		/* one lane, a log in stock's format */
	const char *peer;	/* with jbd2: this program recovers each state as well */
	u32	images;		/* 1: the log on disk has whole blocks only */
	u32	nvm;		/* the log in memory: 1: lines, 2: whole blocks */
	u32	info_max;	/* nvm: bytes of a TxnInfo */
	u32	external;	/* the journal has a device of its own: 1; without a cache: 2;
				 * without FUA: 3
				 */
	bool	data_err;	/* an error of ordered data aborts */
	u32	remount;	/* 1: barriers go off and on */
	u32	hold;		/* 1: writes are held and released */
	u32	fail_write, fail_flush, fail_read, fail_alloc;
	u32	abort;		/* aborted at a random moment within so many jiffies; 0: never */
	u32	look;		/* 1: a task prints all debug files, one brings blocks home */
	u32	states;		/* crash states for each place in the log */
	u32	every;		/* crash at one in so many places only, by chance */
	u32	epochs;		/* runs, each on a disk that the last crash left */
	u32	off;		/* what is left out: enum off */
	u32	focus;		/* enum focus */
	const u16 (*skip)[MAX_TASKS]; /* left out: by number of the handle and task */
	bool	progress;	/* one hot block, staggered timers, bounded I/O */
	bool	trace;
};

/**
 * struct world - everything
 */
struct world {
	struct params	p;
	struct sim_rand	rand;
	struct kl_disk	*disk;
	struct kl_pmem	*pmem;		/* nvm */
	const u8	**initial;	/* the disk before the run */
	journal_t	*journal;
	struct kit	kit;
	u32		meta_first, nr_meta;
	u32		inode_first, nr_inodes;
	u32		map_first, alloc_first, nr_alloc;
	struct toy_inode inode[MAX_INODES]; /* the last one is the file's */
	struct alloc	alloc[MAX_ALLOC];
	struct toy_file	file;
	u32		fixed_objects;	/* first object of the metadata blocks */
	struct mutex	content[HOME_BLOCKS]; /* one change of a block at a time */
	int		open_handles;
	int		workers;	/* tasks still at work */
	bool		stop;		/* background tasks end */
	bool		frozen;		/* the barrier is up: no handle may begin */
	bool		erased;		/* a flush has erased the log */
	u32		clean;		/* from when on the log must be empty */
	u32		*remounts;	/* when barriers went off, on, off, ... */
	u32		nr_remounts, room_remounts;

	struct object	*objects;
	u32		nr_objects, room_objects;
	struct unit	*units;
	u32		nr_units, room_units;
	tid_t		lane_tid[ZJ_MAX_LANES];	/* last transaction of each lane */
	u32		lane_order[ZJ_MAX_LANES]; /* its place */
	struct touch	*touches;
	u32		nr_touches, room_touches;
	struct stored	*stores;
	u32		nr_stores, room_stores;
	u32		last_stored;	/* counts values written without a handle */
};

extern struct world *world;

/**
 * struct left - what one of the crashes of a run has left
 */
struct left {
	u8	*image;		/* the whole disk */
	u8	*home;		/* HOME_BLOCKS of it once recovered */
	u8	*pmem;		/* the memory, or NULL */
};

/* ---- world.c ---- */
/* @image: the disk of a crash to go on from, or NULL: a new file system. */
void world_make(const struct params *p, const struct left *before);
void world_free(void);
void world_mount(void);
/* The options that a remount may change; sync_inode() changes @log_fua. */
struct zj_live_options world_live_options(bool log_fua);
int world_unmount(void);
void world_set_barriers(bool on);
/* @image has DISK_BLOCK * HOME_BLOCKS bytes, which the mount must find in the home blocks. */
void world_check_mount(const u8 *image);
/* For messages; until the next call. */
const char *block_name(u32 block);
u32 new_objects(u32 block, u32 gen);
u32 unit_begin(handle_t *handle);
void unit_write(u32 unit, u32 object, u32 ver);
void unit_read(u32 unit, u32 object, u32 ver);
void unit_stop(u32 unit);
void unit_must(u32 unit);
/* Begin a new generation of an allocatable block. */
struct life *life_begin(struct alloc *a, u32 gen, enum kind kind);
const struct life *life_of(const struct alloc *a, u32 gen);

/* The generation that runs now. */
static inline struct life *life_now(const struct alloc *a)
{
	return &a->lives[a->nr_lives - 1];
}

void stored_must(const struct alloc *a, u32 gen, u32 value);

static inline struct toy_inode *file_inode(void)
{
	return &world->inode[world->nr_inodes - 1];
}

static inline u32 time_now(void)
{
	return world->disk->nr_log;
}

/* Nothing is promised while they are off. */
static inline bool barriers_are_off(void)
{
	return world->nr_remounts & 1;
}

/* What the run did, for --trace. */
#define trace(fmt, ...) \
do { \
	if (world->p.trace) \
		kl_printk(0, "%-10s " fmt "\n", current->comm, ##__VA_ARGS__); \
} while (0)

/* Blocks with a trigger; inode blocks have none. */
static inline bool has_trigger(u32 block)
{
	return block % 3 == 0 && block < world->alloc_first &&
	       (block < world->inode_first || block >= world->map_first);
}

/* ---- content.c ---- */
u32 half_sum(const struct half *h);
void block_init(void *data, u32 block, u32 gen, enum kind kind);
/* Give a slot a version, in steps. */
void block_set(void *data, u32 slot, u32 ver);
/* Change a line besides. */
void block_note(void *data);
/* NULL, or what is wrong with it. */
const char *block_check(const void *data, u32 block, u32 gen, enum kind kind);
extern struct jbd2_buffer_trigger_type content_trigger;

/* ---- judge.c ---- */

/**
 * struct tally - what was checked
 */
struct tally {
	u64	states;		/* crash states */
	u64	recoveries;	/* runs of recovery */
	u64	recrashes;	/* crashes of recovery itself */
	u64	refused;	/* recoveries refused memory or a read */
	u64	rotten;		/* recoveries that had to find a changed block */
	u64	unread;		/* recoveries without a checkpoint slot */
	u64	live;		/* states with a log to recover */
	u64	asked;		/* of these, recovered by the other program as well */
	s64	slowest;	/* commit, ns from the request to commit */
	s64	bound, io;	/* ns; for it, and of a request */
};

struct left judge_run(struct tally *tally);

/* ---- progress.c ---- */
/* A commit was asked for by name or by its age: note how long it takes. */
void progress_begin(void);
void progress_opened(tid_t tid);
void progress_asked(tid_t tid);
void progress_committed(tid_t tid);
/* At the end, and now and then: nothing waits for longer than it may. */
void progress_check(void);
s64 progress_bound(void);
s64 progress_slowest(void);

/* ---- zjsim.c ---- */
/* Runs all epochs of a run; does not return if it fails. */
void run(const struct params *p, struct tally *tally);

/* ---- shrink.c ---- */
/* A small run that fails as well, and its trace; for at most so many seconds. */
void shrink(struct params p, u32 runs);

#endif
