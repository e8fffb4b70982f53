// SPDX-License-Identifier: GPL-2.0-only
/*
 * A neighbour that never syncs: "bulk" writes files of 64 MiB over and over, "storm" creates
 * and deletes small ones. It has the CPU after those of the workers.
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
	if (!strcmp(set.noise, "bulk"))
		bulk(&w);
	storm(&w);
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
