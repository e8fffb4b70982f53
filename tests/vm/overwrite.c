// SPDX-License-Identifier: GPL-2.0-only
/*
 * Overwrites files again and again, so that a journal of data wraps around.
 *
 *   overwrite [-p procs] [-m MiB to write by each] [-f MiB of a file]
 *	       [-s writes between two fsyncs, 0: none] DIR
 *
 * Each process is bound to a CPU and has a file of its own, which it fills
 * first; then all write pieces of 4 KiB to 1 MiB anywhere in theirs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLK	4096
#define PIECE	256	/* blocks, at most */

static unsigned int procs = 8;
static unsigned long to_write = 64, file_size = 16, sync_every;
static char piece[PIECE * BLK];

static void die(const char *what)
{
	fprintf(stderr, "overwrite: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t next(uint64_t *rng)
{
	uint64_t x = *rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *rng = x;
}

static void pin(unsigned int id)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(id % sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static int make(const char *dir, unsigned int id)
{
	unsigned long i;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/over%u", dir, id);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(path);
	for (i = 0; i < file_size; i++)
		if (write(fd, piece, sizeof(piece)) != sizeof(piece))
			die("write");
	return fd;
}

static void work(int fd, unsigned int id)
{
	uint64_t rng = 88172645463325252ULL + id, left = to_write << 8;
	uint64_t blocks = file_size << 8, n, at, writes = 0;

	while (left) {
		/* As many small pieces as large ones, by powers of two. */
		n = 1 + next(&rng) % (1U << next(&rng) % 9);
		at = next(&rng) % (blocks - n + 1);
		if (n > left)
			n = left;
		if (pwrite(fd, piece, n * BLK, at * BLK) != (ssize_t)(n * BLK))
			die("pwrite");
		if (sync_every && !(++writes % sync_every) && fsync(fd))
			die("fsync");
		left -= n;
	}
}

int main(int argc, char **argv)
{
	int opt, status, failed = 0, go[2], *fds;
	unsigned int i;
	char c;

	while ((opt = getopt(argc, argv, "p:m:f:s:")) != -1) {
		switch (opt) {
		case 'p': procs = atoi(optarg); break;
		case 'm': to_write = atol(optarg); break;
		case 'f': file_size = atol(optarg); break;
		case 's': sync_every = atol(optarg); break;
		default: return 2;
		}
	}
	fds = calloc(procs, sizeof(*fds));
	if (optind != argc - 1 || !fds || pipe(go))
		return 2;
	memset(piece, 0x5a, sizeof(piece));
	for (i = 0; i < procs; i++)
		fds[i] = make(argv[optind], i);
	sync();
	for (i = 0; i < procs; i++) {
		if (fork())
			continue;
		close(go[1]);
		pin(i);
		/* Ends when all have been forked. */
		if (read(go[0], &c, 1))
			die("read");
		work(fds[i], i);
		exit(0);
	}
	close(go[1]);
	for (i = 0; i < procs; i++)
		failed |= wait(&status) < 0 || status;
	return failed;
}
