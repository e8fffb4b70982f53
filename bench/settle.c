// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call waits for that needs the blocks of a file on the device, after these were logged by
 * an fsync, and what a neighbour waits for meanwhile.
 *
 *   settle CALL DIR SECONDS DIRS
 *
 * DIR has the folders near and far. Makes DIRS directories, which nobody syncs. Then one process
 * overwrites a block of a file in near, syncs it and makes the call, again and again, while another
 * one creates and removes files in far. CALL: none, fsync (no call), read and write (direct), fiemap
 * (with a sync), punch, zero, collapse, insert, move. Prints
 *   CALL ROUNDS MEAN_MS LONGEST_MS CREATES LONGEST_MS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK	4096
#define BLOCKS	64

struct move_extent {
	uint32_t reserved, donor;
	uint64_t orig_start, donor_start, len, moved;
};

#define EXT4_IOC_MOVE_EXT	_IOWR('f', 15, struct move_extent)

/* What the neighbour has found; shared. */
struct found {
	unsigned long creates;
	double longest;
};

static char *block;

static void die(const char *what)
{
	fprintf(stderr, "settle: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CREAT, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static void create(const char *dir, double end, struct found *found)
{
	char path[300];
	double begin;

	for (unsigned int i = 0; now_ms() < end; i++) {
		begin = now_ms();
		snprintf(path, sizeof(path), "%s/far/%u", dir, i % 100);
		if (close(open(path, O_CREAT | O_WRONLY | O_EXCL, 0644)) || unlink(path))
			die(path);
		begin = now_ms() - begin;
		found->creates++;
		if (begin > found->longest)
			found->longest = begin;
		usleep(1000);
	}
}

static int fiemap(int fd)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extents[BLOCKS];
	} ask = { .map = { .fm_length = FIEMAP_MAX_OFFSET, .fm_flags = FIEMAP_FLAG_SYNC,
			   .fm_extent_count = BLOCKS } };

	return ioctl(fd, FS_IOC_FIEMAP, &ask);
}

static int move(int fd, int donor)
{
	struct move_extent arg = { .donor = donor, .len = 1 };

	if (pwrite(donor, block, BLOCK, 0) != BLOCK || fsync(donor))
		return -1;
	return ioctl(fd, EXT4_IOC_MOVE_EXT, &arg);
}

/* Makes the call for the block at @at. */
static int call(const char *what, int fd, int direct, int donor, off_t at)
{
	switch (what[0]) {
	case 'r':
		return pread(direct, block, BLOCK, at) == BLOCK ? 0 : -1;
	case 'w':
		return pwrite(direct, block, BLOCK, at) == BLOCK ? 0 : -1;
	case 'f':
		return what[1] == 'i' ? fiemap(fd) : 0;
	case 'p':
		return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, BLOCK);
	case 'z':
		return fallocate(fd, FALLOC_FL_ZERO_RANGE, at, BLOCK);
	case 'c':
		return fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, BLOCK) ||
		       ftruncate(fd, BLOCKS * BLOCK);
	case 'i':
		return fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, BLOCK) ||
		       ftruncate(fd, BLOCKS * BLOCK);
	case 'm':
		return move(fd, donor);
	}
	errno = EINVAL;
	return -1;
}

static void make_dirs(const char *dir, int n)
{
	char path[300];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/near/%d", dir, i / 200);
		if (!(i % 200) && mkdir(path, 0755))
			die(path);
		snprintf(path, sizeof(path), "%s/near/%d/%d", dir, i / 200, i);
		if (mkdir(path, 0755))
			die(path);
	}
}

int main(int argc, char **argv)
{
	int fd, direct, donor, rounds = 0;
	double begin, end, sum = 0, longest = 0;
	struct found *found;
	const char *what = argv[1];
	pid_t pid;

	found = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 5 || found == MAP_FAILED || posix_memalign((void **)&block, BLOCK, BLOCK))
		return 2;
	memset(block, 'a', BLOCK);
	fd = open_in(argv[2], "near/f", O_RDWR);
	direct = open_in(argv[2], "near/f", O_RDWR | O_DIRECT);
	donor = open_in(argv[2], "near/donor", O_RDWR);
	for (int i = 0; i < BLOCKS; i++)
		if (pwrite(fd, block, BLOCK, i * BLOCK) != BLOCK)
			die("write");
	sync();
	make_dirs(argv[2], atoi(argv[4]));
	end = now_ms() + 1e3 * atof(argv[3]);
	pid = fork();
	if (!pid) {
		create(argv[2], end, found);
		return 0;
	}
	for (; now_ms() < end && what[0] != 'n'; rounds++) {
		off_t at = what[0] == 'm' ? 0 : rounds % BLOCKS * BLOCK;

		if (pwrite(fd, block, BLOCK, at) != BLOCK || fsync(fd))
			die("fsync");
		begin = now_ms();
		if (call(what, fd, direct, donor, at))
			die(what);
		begin = now_ms() - begin;
		sum += begin;
		if (begin > longest)
			longest = begin;
	}
	if (waitpid(pid, NULL, 0) != pid)
		die("wait");
	printf("%s %d %.2f %.2f %lu %.2f\n", what, rounds, rounds ? sum / rounds : 0, longest,
	       found->creates, found->longest);
	return 0;
}
