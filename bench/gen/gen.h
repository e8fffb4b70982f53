/* SPDX-License-Identifier: GPL-2.0-only */
/* What the loads of loadgen share: settings, a worker, system calls that may not fail. */
#ifndef GEN_H
#define GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hist.h"

#define BLOCK		4096UL
#define MAX_IO		(1UL << 20)	/* of one write */
#define MAX_WORKERS	256

/**
 * struct settings - the command line
 * @dir:	directory of the file system under test
 * @workers:	number of worker processes
 * @works:	works of each worker, or 0: until @ms are over
 * @ms:		milliseconds of the measurement
 * @files:	files that a load finds; of a load with a file for each worker, its writes in it
 * @size:	bytes of a file when it is made
 * @append:	bytes of a write; loads that append some bytes take twice as much at most
 * @every:	writes to an fsync
 * @gamma:	sizes vary as filebench's do, around @size
 * @shared:	all workers use one directory
 * @move:	works (of a command: milliseconds) after which a worker goes on to the next CPU;
 *		0: it stays
 * @command:	shell command of the loads "command" and "shell"
 * @noise:	what another process does meanwhile (noise.c), or NULL
 * @noise_dir:	where it does that
 * @noise_cgroup: directory of a cgroup that this process joins, or NULL
 * @prefix:	of names of files that a worker makes for itself
 *
 * Not changed once the workers run.
 */
struct settings {
	const char *dir;
	unsigned int workers;
	unsigned long works;
	unsigned long ms;
	unsigned long files;
	unsigned long size;
	unsigned long append;
	unsigned long every;
	bool gamma;
	bool shared;
	unsigned long move;
	const char *command;
	const char *noise;
	const char *noise_dir;
	const char *noise_cgroup;
	const char *prefix;
};

extern struct settings set;

/**
 * struct tally - what a worker has done; in memory that the parent sees
 * @operations:	calls, or whatever the load counts
 * @works:	how long each work took
 * @fsyncs:	how long each fsync took
 *
 * Written by its worker only; read by the parent when that has ended.
 */
struct tally {
	unsigned long operations;
	struct hist works;
	struct hist fsyncs;
};

/**
 * struct worker - one worker process
 * @id:		its number, from 0
 * @dir:	open directory that its files go to
 * @root:	open directory of all workers
 * @fd:		open file of a load that uses one file, or -1
 * @fd2:	second open file of such a load, or -1
 * @i:		number of the work, from 0
 * @have:	files that it has made for itself
 * @seed:	state of its random numbers
 * @tally:	what it has done
 *
 * Private to its process.
 */
struct worker {
	unsigned int id;
	int dir;
	int root;
	int fd;
	int fd2;
	unsigned long i;
	unsigned long have;
	uint64_t seed;
	struct tally *tally;
};

enum place { EITHER, OWN, SHARED };

/**
 * struct load - one kind of work
 * @name:	on the command line
 * @place:	whether workers have directories of their own; EITHER: as the command line says
 * @tree:	files of a directory, if the load has a set of files; 0: all are in one directory
 * @make_all:	makes what the load finds, in the parent, or NULL
 * @make:	the same in each worker
 * @open:	opens what the works use, in each worker, or NULL
 * @work:	one work; false if it cannot go on (out of files), which ends it for all workers
 */
struct load {
	const char *name;
	enum place place;
	unsigned long tree;
	void (*make_all)(struct worker *w);
	void (*make)(struct worker *w);
	void (*open)(struct worker *w);
	bool (*work)(struct worker *w);
};

extern const struct load fxmark_loads[], fileset_loads[], write_loads[], program_loads[];

/* calls.c */
extern char data[MAX_IO];
void die(const char *what);
uint64_t now(void);
void pin(pid_t pid, unsigned int nth);
unsigned long below(struct worker *w, unsigned long n);
int make_dir(int parent, const char *name);
int open_at(struct worker *w, int dir, const char *name, int flags);
void close_it(struct worker *w, int fd);
void write_to(struct worker *w, int fd, unsigned long bytes);
void write_at(struct worker *w, int fd, unsigned long bytes, off_t where);
void read_all(struct worker *w, int fd);
void sync_it(struct worker *w, int fd);
void remove_at(struct worker *w, int dir, const char *name);

/* fileset.c */
void fileset_map(unsigned long files_of_dir);
void fileset_there(void);

/* noise.c */
bool noise_known(const char *name);
pid_t noise_start(int go);
void noise_end(pid_t pid);

#endif
