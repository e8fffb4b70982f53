/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zjcore-stock, zjcore-zj: the same program over stock jbd2 and over zjournal, with real
 * threads and real time (native/native.h), each test of a process one line of JSON.
 *
 *   fs.c        a device with a journal and blocks
 *   handles.c   what a handle costs
 *   commits.c   commits a second, memory of logged blocks
 *   recovery.c  speed of recovery
 *   chain.c     transactions that depend on each other
 *   main.c      options
 */
#ifndef ZJ_CORE_CORE_H
#define ZJ_CORE_CORE_H

#include "kit.h"
#include "native.h"

#define CORE_BLOCK	4096u
#define MAX_THREADS	64u

/**
 * struct core_options - the command line
 */
struct core_options {
	u32	threads;
	u32	lanes;		/* zjournal */
	u32	ms;		/* that a measurement takes */
	u32	blocks;		/* that a handle writes */
	u32	journal;	/* blocks of the log */
	u32	length;		/* chain: transactions */
	bool	jbd2;		/* zjournal: the log in stock's format */
	bool	shared;		/* all threads write the same blocks */
	bool	first;		/* handles: each block once in a transaction */
	bool	near;		/* handles: the checkpoint has the first thread's CPU */
	bool	phases;		/* handles: where the time goes */
	u32	copy;		/* zjournal: enum zj_frozen_copy */
};

extern struct core_options core;

/* ---- fs.c ---- */

/**
 * struct fs - a device with a journal, as a file system mounts it
 */
struct fs {
	struct mem_disk	*disk;
	journal_t	*journal;
	struct kit	kit;
	struct buffer_head **bh;	/* of the blocks before the journal; held */
};

/* A device with @home blocks before an empty journal, which is loaded. */
void fs_new(struct fs *fs, u32 home);
/* The same with the contents of another one. Returns the ns of its load. */
s64 fs_again(struct fs *fs, u32 home, u8 *contents);
void fs_end(struct fs *fs);
/* As ext4's fsync: returns when @tid is durable. */
void fs_sync(struct fs *fs, tid_t tid);
/* Write blocks @first, @first + 1 ... in one handle; returns its transaction. */
tid_t fs_write(struct fs *fs, u32 lane, u32 first, u32 nr);

/* ---- times ---- */

/* CPU time of the calling thread, of the process. */
s64 thread_ns(void);
s64 process_ns(void);

/* ---- tests: each prints its line ---- */
void handles_run(void);
void commits_run(void);
void memory_run(void);
void recovery_run(void);

#include JOURNAL_H

#endif
