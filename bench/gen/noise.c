// SPDX-License-Identifier: GPL-2.0-only
/*
 * A neighbour. "bulk" writes files of 64 MiB over and over and "storm" creates and deletes small
 * ones; neither syncs. "rewrite" changes and syncs a block that write-back has just sent, "reread"
 * reads past the cache what it has appended and synced, and "append" only appends and syncs, which
 * is of interest in a cgroup with little memory. It has the CPU after those of the workers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"

#define BULK_FILE	(64UL << 20)
#define STORM_FILES	200UL

static void write_file(struct worker *w, const char *name, unsigned long bytes)
{
	int fd = open_at(w, w->dir, name, O_CREAT | O_TRUNC | O_WRONLY);

	for (; bytes; bytes -= BLOCK)
		write_to(w, fd, BLOCK);
	close_it(w, fd);
}

static void bulk(struct worker *w)
{
	char name[64];

	for (;; w->i++) {
		snprintf(name, sizeof(name), "bulk%lu", w->i % 4);
		write_file(w, name, BULK_FILE);
	}
}

static void storm(struct worker *w)
{
	char name[64];

	for (;; w->i++) {
		snprintf(name, sizeof(name), "s%lu", w->i);
		write_file(w, name, BLOCK);
		if (w->i < STORM_FILES)
			continue;
		snprintf(name, sizeof(name), "s%lu", w->i - STORM_FILES);
		remove_at(w, w->dir, name);
	}
}

/* A file that is appended to has this many blocks before it begins again. */
#define APPEND_BLOCKS	4096UL

static void overwrite(int fd, off_t at)
{
	if (pwrite(fd, data, BLOCK, at) != BLOCK)
		die("pwrite");
}

static void rewrite(struct worker *w)
{
	int fd = open_at(w, w->dir, "rewrite", O_CREAT | O_RDWR);

	for (;;) {
		overwrite(fd, 0);
		if (sync_file_range(fd, 0, BLOCK, SYNC_FILE_RANGE_WRITE))
			die("sync_file_range");
		overwrite(fd, 0);
		sync_it(w, fd);
	}
}

static void append(struct worker *w)
{
	int fd = open_at(w, w->dir, "append", O_CREAT | O_RDWR);

	for (;; w->i++) {
		overwrite(fd, w->i % APPEND_BLOCKS * BLOCK);
		sync_it(w, fd);
	}
}

static void reread(struct worker *w)
{
	int fd = open_at(w, w->dir, "reread", O_CREAT | O_RDWR);
	int direct = open_at(w, w->dir, "reread", O_RDONLY | O_DIRECT);
	void *block = NULL;
	off_t at;

	if (posix_memalign(&block, BLOCK, BLOCK))
		die("memory");
	for (;; w->i++) {
		at = w->i % APPEND_BLOCKS * BLOCK;
		overwrite(fd, at);
		sync_it(w, fd);
		if (pread(direct, block, BLOCK, at) != BLOCK)
			die("pread");
	}
}

static const struct {
	const char *name;
	void (*work)(struct worker *w);
} noises[] = {
	{ "bulk", bulk }, { "storm", storm }, { "rewrite", rewrite }, { "reread", reread },
	{ "append", append },
};

static void join(const char *cgroup)
{
	int fd = open(cgroup, O_RDONLY | O_DIRECTORY);
	int procs = openat(fd, "cgroup.procs", O_WRONLY);

	if (fd < 0 || procs < 0 || write(procs, "0", 1) != 1)
		die(cgroup);
	close(procs);
	close(fd);
}

static unsigned int number_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(noises) / sizeof(*noises); i++)
		if (!strcmp(noises[i].name, name))
			break;
	return i;
}

/**
 * noise_known() - is there such a neighbour?
 * @name: what the command line asks for
 *
 * Return: whether noise_start() knows it.
 */
bool noise_known(const char *name)
{
	return number_of(name) < sizeof(noises) / sizeof(*noises);
}

/**
 * noise_start() - start the neighbour that the command line asks for
 * @go: pipe whose end starts the workers, which the neighbour must not hold open
 *
 * It has three seconds of a start, so that write-back is under way when the workers begin.
 *
 * Return: its process, or 0 if there is none.
 */
pid_t noise_start(int go)
{
	struct tally tally = { 0 };
	struct worker w = { .tally = &tally };
	pid_t pid;

	if (!set.noise)
		return 0;
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid) {
		sleep(3);
		return pid;
	}
	close(go);
	pin(0, set.workers);
	w.dir = open(set.noise_dir, O_RDONLY | O_DIRECTORY);
	if (w.dir < 0)
		die(set.noise_dir);
	if (set.noise_cgroup)
		join(set.noise_cgroup);
	noises[number_of(set.noise)].work(&w);
	_exit(1);
}

/**
 * noise_end() - end the neighbour
 * @pid: what noise_start() has returned
 */
void noise_end(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
