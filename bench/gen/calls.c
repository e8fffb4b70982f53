// SPDX-License-Identifier: GPL-2.0-only
/* System calls that may not fail. Each counts as one operation of the worker. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gen.h"

char data[MAX_IO];

/**
 * die() - end this process with the reason
 * @what: name of what has failed; errno says why
 */
void die(const char *what)
{
	fprintf(stderr, "loadgen: %s: %s\n", what, strerror(errno));
	exit(1);
}

/**
 * now() - the time
 *
 * Return: nanoseconds of the monotonic clock.
 */
uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/**
 * pin() - bind a process to one CPU
 * @pid: the process, 0 for this one
 * @nth: which of the CPUs that the parent may use; goes round if there are fewer
 */
void pin(pid_t pid, unsigned int nth)
{
	static cpu_set_t all;
	cpu_set_t one;
	int cpu;

	/* A pinned process must go on to CPUs that it was not on, so what is allowed is asked once. */
	if (!CPU_COUNT(&all) && sched_getaffinity(0, sizeof(all), &all))
		die("sched_getaffinity");
	nth %= CPU_COUNT(&all);
	for (cpu = 0; !CPU_ISSET(cpu, &all) || nth--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	/* A command that is moved may have come to its end. */
	if (sched_setaffinity(pid, sizeof(one), &one) && errno != ESRCH)
		die("sched_setaffinity");
}

/**
 * below() - a random number, the same in each run
 * @w: the worker
 * @n: upper limit
 *
 * Return: a number from 0 to @n - 1.
 */
unsigned long below(struct worker *w, unsigned long n)
{
	w->seed = w->seed * 6364136223846793005UL + 1442695040888963407UL;
	return (w->seed >> 33) % n;
}

/**
 * make_dir() - make a directory if it is not there, and open it
 * @parent: open directory that it lies in
 * @name: its name
 *
 * Return: the open directory.
 */
int make_dir(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0755) && errno != EEXIST)
		die(name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		die(name);
	return fd;
}

/**
 * open_at() - open or make a file
 * @w: the worker
 * @dir: open directory
 * @name: of the file, from there
 * @flags: of open()
 *
 * Return: the open file.
 */
int open_at(struct worker *w, int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags, 0644);

	if (fd < 0)
		die(name);
	w->tally->operations++;
	return fd;
}

/**
 * close_it() - close a file
 * @w: the worker
 * @fd: the file
 */
void close_it(struct worker *w, int fd)
{
	if (close(fd))
		die("close");
	w->tally->operations++;
}

/**
 * write_to() - write where the file stands, in pieces of MAX_IO
 * @w: the worker
 * @fd: the file
 * @bytes: how many
 */
void write_to(struct worker *w, int fd, unsigned long bytes)
{
	while (bytes) {
		unsigned long part = bytes < MAX_IO ? bytes : MAX_IO;

		if (write(fd, data, part) != (ssize_t)part)
			die("write (is the device large enough?)");
		bytes -= part;
	}
	w->tally->operations++;
}

/**
 * write_at() - write at an offset
 * @w: the worker
 * @fd: the file
 * @bytes: how many, MAX_IO at most
 * @where: the offset
 */
void write_at(struct worker *w, int fd, unsigned long bytes, off_t where)
{
	if (pwrite(fd, data, bytes, where) != (ssize_t)bytes)
		die("write (is the device large enough?)");
	w->tally->operations++;
}

/**
 * read_all() - read from where the file stands to its end
 * @w: the worker
 * @fd: the file
 */
void read_all(struct worker *w, int fd)
{
	static char buf[16 * BLOCK];
	ssize_t n;

	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0);
	if (n < 0)
		die("read");
	w->tally->operations++;
}

/**
 * sync_it() - fsync, timed
 * @w: the worker
 * @fd: the file
 */
void sync_it(struct worker *w, int fd)
{
	uint64_t start = now();

	if (fsync(fd))
		die("fsync");
	hist_add(&w->tally->fsyncs, now() - start);
	w->tally->operations++;
}

/**
 * remove_at() - delete a file
 * @w: the worker
 * @dir: open directory
 * @name: of the file, from there
 */
void remove_at(struct worker *w, int dir, const char *name)
{
	if (unlinkat(dir, name, 0))
		die(name);
	w->tally->operations++;
}
