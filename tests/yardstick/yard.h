/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The yardstick: one workload over stock jbd2 or over zjournal, under the same
 * scheduler, with the same disk and the same seed.
 *
 *   stock.[ch]  the Linux API that only jbd2 uses; stock_bh.c: its buffers
 *   drive.c     how long the disk takes, in virtual time
 *   cpu.c       what costs CPU time, in virtual time
 *   fs.c        a disk with a journal and blocks, mounting it
 *   bench.c     what handles and fsyncs cost: SIMULATED figures
 *   load.c      random handles with a history
 *   crash.c     every power cut of such a run, recovery, and an oracle
 *   serve.c     recovery of what another program has crashed
 *   main.c      options
 */
#ifndef ZJ_YARDSTICK_YARD_H
#define ZJ_YARDSTICK_YARD_H

#include "kit.h"
#include "nap.h"

/**
 * struct yard_options - the command line
 */
struct yard_options {
	u64	seed;
	u32	cpus;
	u32	journal;	/* blocks of the log */
	u32	handles;	/* crash test: in one run */
	u32	seeds;		/* crash test: runs */
	u32	states;		/* crash test: for each place in the disk's log */
	u32	percent;	/* benchmark: handles that touch the hot block */
	u32	lie;		/* bits of enum lie */
	s64	ns;		/* benchmark: virtual time of a run */
	s64	work;		/* benchmark: ns of CPU time of a handle */
	s64	line;		/* benchmark: ns to take a cache line from another CPU */
	bool	fua;		/* the disk knows FUA */
	bool	seal;		/* crash test: blocks end with their crc32c */
	bool	jbd2;		/* zjournal: the log in stock's format */
	bool	pipeline;	/* zjournal: lanes have flush threads */
	u32	run;		/* zjournal: transactions that share flushes; 0: its default */
	const char *drive;	/* benchmark: which disk; NULL: the ssd */
	bool	serve;		/* recover the disks that another program sends */
	const char *peer;	/* crash test: this program recovers each disk, too */
	const char *workload;	/* benchmark: which; NULL: crash test */
};

enum lie {
	LIE_FLUSH = 1,		/* a flush says that it is done, and does nothing */
	LIE_FUA = 2,		/* FUA is ignored */
};

extern struct yard_options yard;

/* ---- drive.c ---- */

/**
 * struct drive - times of a disk, in ns; all zero: the simulator's random ones
 */
struct drive {
	s64	read;		/* a read */
	s64	write;		/* a write into the cache */
	s64	flush;		/* a flush */
	s64	fua;		/* what FUA adds to a write */
	s64	block;		/* the link to the disk, for each block */
	s64	seek;		/* a write that does not follow the last one; 0: none */
};

void drive_use(const struct drive *times, struct kl_disk *disk);

/* ---- cpu.c ---- */

/* Cache lines cost yard.line from now on. */
void cpu_lines_cost(bool on);

/* ---- fs.c ---- */

#define MAX_CPUS	64

/**
 * struct fs - a disk with a journal, as a file system mounts it
 */
struct fs {
	struct kl_disk	*disk;
	journal_t	*journal;
	struct kit	kit;
};

/* A disk of @home blocks and an empty journal after them. */
void fs_make(struct fs *fs, u32 home, u64 seed);
/* 0 or the error of loading the journal, which includes recovery. */
int fs_mount(struct fs *fs);
/*
 * Only recover, as a mount would, a log that ends before journal block @end. 0 or the
 * error; the journal is destroyed.
 */
int fs_recover(struct fs *fs, u32 end);
/* 0 or the error of destroying the journal. */
int fs_unmount(struct fs *fs);
void fs_free(struct fs *fs);
/* As ext4 does it; returns when @tid is durable. */
int fs_sync(struct fs *fs, tid_t tid);

/* ---- bench.c ---- */
void bench_run(void);

/* ---- load.c ---- */

#define LOAD_FIXED	12	/* fixed blocks: 1 and on; the last is the map */
#define LOAD_MAP	LOAD_FIXED
#define LOAD_ALLOC	8	/* allocatable blocks after them */
#define LOAD_HOME	(LOAD_FIXED + LOAD_ALLOC + 1)
#define UNIT_WRITES	12
#define NEVER		(~0u)

enum use { USE_FREE, USE_META, USE_DATA };

/**
 * struct half - a block of metadata or data is two of these, alike
 */
struct half {
	u32	first;		/* often the log's magic number */
	u32	block;
	u32	gen;		/* generation of an allocatable block, else 0 */
	u32	ver;		/* counts writes of the block */
	u32	map[LOAD_ALLOC]; /* in the map: generation * 4 + enum use */
	u32	fill[115];	/* follows from block, gen and ver */
	u32	sum;		/* of all above */
};

/**
 * struct unit - a handle: whole or absent after a crash
 */
struct unit {
	tid_t	tid;
	u32	must;		/* place in the disk's log from when on it is there */
	u32	nr;		/* of its writes */
	struct {
		u32	block, gen, ver;
	} write[UNIT_WRITES];
};

/**
 * struct history - what has happened in a run
 */
struct history {
	struct unit	*units;
	u32		nr, room;
};

extern struct history history;

/* NULL, or what is wrong with the block. */
const char *half_check(const void *data, u32 block);
/* Run yard.handles handles on a mounted file system. */
void load_make(struct fs *fs);
void load_run(struct fs *fs);

/* ---- crash.c ---- */
void crash_run(void);
/*
 * Mount and unmount a disk with @home blocks before the journal, or only recover it,
 * its log ending before journal block @end; @fs is to be freed. 0 or the error.
 */
int recover_disk(struct fs *fs, const struct disk_image *image, u32 home,
		 u64 seed, u32 end);

/* ---- serve.c ---- */
void peer_serve(void);

#endif
