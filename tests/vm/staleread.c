// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks whether direct reads see the old contents of a file's new blocks, or a half of a write().
 *
 *   staleread [-m] [-r rounds] DIR
 *
 * One process writes the holes of a file one by one, -m: through a mapping, and
 * fsyncs each; another one reads all of it past the page cache meanwhile. The file
 * has many extents, so that such a read takes long. Each round has a new file. Without -m,
 * all blocks are then overwritten by one write() again and again, and read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLK	4096
#define BLOCKS	256
#define MINE	'm'
#define WRITES	20

static char mine[BLK];
static int mapped;

static void die(const char *what)
{
	fprintf(stderr, "staleread: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Are all bytes the same? */
static int is_one(const char *data, int len)
{
	return !memcmp(data, data + 1, len - 1);
}

/* Is a byte neither ours nor nothing? A read may meet a store to a mapping that has come half way. */
static int is_stale(const char *block)
{
	int i;

	for (i = 0; i < BLK && (!block[i] || block[i] == MINE); i++)
		;
	return i < BLK || !(mapped || is_one(block, BLK));
}

/* Begins a process that runs this, until it is killed. */
static pid_t begin(void (*reader)(const char *), const char *path)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid)
		reader(path);
	return pid;
}

static void end(pid_t reader)
{
	int status;

	kill(reader, SIGKILL);
	if (waitpid(reader, &status, 0) != reader || !WIFSIGNALED(status))
		exit(3);
}

static void read_on(const char *path)
{
	char *all;
	int fd, i;

	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0 || posix_memalign((void **)&all, BLK, BLOCKS * BLK))
		die(path);
	memset(all, 0, BLOCKS * BLK);
	for (;;) {
		if (pread(fd, all, BLOCKS * BLK, 0) < 0) {
			/* It has met a store that has no block yet. */
			if (mapped && errno == EIO)
				continue;
			die("read");
		}
		for (i = 0; i < BLOCKS; i++) {
			if (!is_stale(all + i * BLK))
				continue;
			fprintf(stderr, "staleread: block %d is stale\n", i);
			exit(3);
		}
	}
}

static void read_whole(const char *path)
{
	char *all;
	int fd;

	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0 || posix_memalign((void **)&all, BLK, BLOCKS * BLK))
		die(path);
	do {
		if (pread(fd, all, BLOCKS * BLK, 0) != BLOCKS * BLK)
			die("read");
	} while (is_one(all, BLOCKS * BLK));
	fprintf(stderr, "staleread: a read has seen a part of a write()\n");
	exit(3);
}

/* A direct read has all of a write() or nothing of it. */
static void write_whole(int fd, const char *path)
{
	static char all[BLOCKS * BLK];
	pid_t reader = 0;
	int i;

	for (i = 0; i < WRITES; i++) {
		memset(all, 'a' + i % 26, sizeof(all));
		if (pwrite(fd, all, sizeof(all), 0) != sizeof(all) || fsync(fd))
			die("write");
		if (!i)
			reader = begin(read_whole, path);
	}
	end(reader);
}

static void put(int fd, char *map, int i)
{
	if (map)
		memset(map + i * BLK, MINE, BLK);
	else if (pwrite(fd, mine, BLK, (off_t)i * BLK) != BLK)
		die("write");
}

static void one_round(const char *dir, int n)
{
	char path[4096], *map = NULL;
	pid_t reader;
	int fd, i;

	snprintf(path, sizeof(path), "%s/stale%d", dir, n);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || ftruncate(fd, BLOCKS * BLK))
		die(path);
	for (i = 0; i < BLOCKS; i += 2)
		put(fd, NULL, i);
	if (fsync(fd))
		die("fsync");
	if (mapped)
		map = mmap(NULL, BLOCKS * BLK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	reader = begin(read_on, path);
	for (i = 1; i < BLOCKS; i += 2) {
		put(fd, map, i);
		if (fsync(fd))
			die("fsync");
	}
	end(reader);
	if (!mapped)
		write_whole(fd, path);
	close(fd);
}

int main(int argc, char **argv)
{
	int opt, i, rounds = 1;

	while ((opt = getopt(argc, argv, "mr:")) != -1) {
		switch (opt) {
		case 'm': mapped = 1; break;
		case 'r': rounds = atoi(optarg); break;
		default: return 2;
		}
	}
	if (optind + 1 != argc)
		return 2;
	memset(mine, MINE, BLK);
	for (i = 0; i < rounds; i++)
		one_round(argv[optind], i);
	return 0;
}
