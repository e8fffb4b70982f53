// SPDX-License-Identifier: GPL-2.0-only
/*
 * latestore FILE ROUNDS: a store through a mapping is not lost because another process syncs the page.
 *
 * One process stores into a page of FILE; another one, on another CPU, syncs the file or begins to
 * write it back, which takes the right to write away from every mapping. The first one, which has not
 * entered the kernel since, stores again. That has to fault, or nobody knows that the page is
 * dirty, and a direct read, before which dirty pages are written, finds the older value. Exit 0: it
 * found each store; 1: not; 2: could not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK	4096

static _Atomic uint32_t *turn;
static long cpus;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "latestore: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % cpus, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void wait_for(uint32_t number)
{
	while (atomic_load(turn) != number)
		usleep(50);
}

/* Without a system call. With a single CPU there is nothing to see: the other process runs in between. */
static void wait_in_user_space(uint32_t number)
{
	while (atomic_load(turn) != number) {
		if (cpus == 1)
			sched_yield();
	}
}

/* Round r: its turns are 4r, when it stores, to 4r + 3, when both stores have been done. */
static void store(volatile uint32_t *page, uint32_t rounds)
{
	uint32_t r;

	run_on_cpu(1);
	for (r = 0; r < rounds; r++) {
		wait_for(4 * r);
		*page = 2 * r + 1;
		atomic_store(turn, 4 * r + 1);
		wait_in_user_space(4 * r + 2);
		*page = 2 * r + 2;
		atomic_store(turn, 4 * r + 3);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	uint32_t r, rounds, lost = 0, *page, *found;
	int fd, direct, status;

	must(argc == 3, "arguments");
	rounds = atoi(argv[2]);
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	fd = open(argv[1], O_RDWR | O_CREAT, 0644);
	direct = open(argv[1], O_RDONLY | O_DIRECT);
	must(fd >= 0 && direct >= 0 && !ftruncate(fd, BLOCK), argv[1]);
	page = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	turn = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	found = aligned_alloc(BLOCK, BLOCK);
	must(page != MAP_FAILED && turn != MAP_FAILED && found, "mmap");
	switch (fork()) {
	case -1: must(0, "fork"); break;
	case 0: store(page, rounds);
	}
	run_on_cpu(0);
	for (r = 0; r < rounds; r++) {
		wait_for(4 * r + 1);
		/* What has been logged is not written in place: that comes last. */
		if (r >= rounds / 2)
			must(!fsync(fd), "fsync");
		else
			must(!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), "write-back");
		atomic_store(turn, 4 * r + 2);
		wait_for(4 * r + 3);
		must(pread(direct, found, BLOCK, 0) == BLOCK, "direct read");
		lost += *found != 2 * r + 2;
		atomic_store(turn, 4 * r + 4);
	}
	must(wait(&status) > 0 && !status, "the process that stores");
	printf("%u of %u stores lost\n", lost, rounds);
	return !!lost;
}
