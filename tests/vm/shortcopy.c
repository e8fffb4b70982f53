// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes that copy nothing, over a block that is fsynced and not home; then the block's
 * pages are dropped.
 *
 *   shortcopy [-n rounds] FILE
 *
 * Another thread takes the source of a write away now and then: if that is between the
 * look at it and the copy (newer kernels look after the copy), the file system has asked
 * for a block that does not change then. After write-back, the block before it is
 * collapsed away: the block must hold what was fsynced. Prints how many writes failed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLK	4096
#define HOME	(SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |	\
		 SYNC_FILE_RANGE_WAIT_AFTER)

static char block[BLK];
static char *source;
static int fd;

static void must(long ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "shortcopy: %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *map(void *where, int prot, int flags, int from, off_t at)
{
	char *p = mmap(where, BLK, prot, flags, from, at);

	must(p == MAP_FAILED ? -1 : 0, "mmap");
	return p;
}

/* By another mapping: a kernel under User Mode Linux reads pages that only mprotect() forbids. */
static void *take_away(void *arg)
{
	for (;;) {
		map(source, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		map(source, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return arg;
}

static void fill(char with, int first, int last)
{
	memset(block, with, BLK);
	for (int i = first; i <= last; i++)
		must(pwrite(fd, block, BLK, (off_t)i * BLK), "pwrite");
	must(fsync(fd), "fsync");
}

/* The other thread shall be anywhere. */
static void drift(void)
{
	volatile char *p = map(NULL, PROT_READ, MAP_SHARED, fd, BLK);

	(void)*p;
	munmap((void *)p, BLK);
}

static int failed_copy(void)
{
	fill('o', 0, 2);
	must(sync_file_range(fd, 0, 0, HOME), "sync_file_range");
	fill('n', 1, 1);
	drift();
	if (pwrite(fd, source, BLK, BLK) >= 0)
		return 0;
	must(errno == EFAULT ? 0 : -1, "pwrite");
	drift();
	must(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), "sync_file_range");
	drift();
	must(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, BLK), "fallocate");
	must(pread(fd, block, BLK, 0), "pread");
	if (block[0] != 'n') {
		fprintf(stderr, "shortcopy: a fsynced block is lost\n");
		exit(1);
	}
	return 1;
}

int main(int argc, char **argv)
{
	int rounds = 400, failed = 0;
	pthread_t thread;

	if (argc > 3 && !strcmp(argv[1], "-n"))
		rounds = atoi(argv[2]);
	fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd, "open");
	source = map(NULL, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(-pthread_create(&thread, NULL, take_away, NULL), "pthread_create");
	while (rounds--)
		failed += failed_copy();
	printf("%d\n", failed);
	return 0;
}
