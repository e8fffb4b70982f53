// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that a store through a mapping is not lost that lies behind the old end of a file, which
 * has grown while the page was being synced.
 *
 *   tailstore FILE ROUNDS
 *
 * To write-protect the page, an fsync goes over all mappings of it. There are so many that another
 * task can find the page locked, make the file grow by a direct write, and store into the page
 * before the fsync comes to its mapping, which begins behind the others and so is the last one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLK		4096
#define MAPPINGS	60000
#define END		(BLK + 1000)	/* of the file, at first: in its second page */
#define STORE		2000		/* where in this page */

static int kpageflags;

static void die(const char *what)
{
	fprintf(stderr, "tailstore: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *map(int fd, size_t length, off_t offset)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static uint64_t frame_of(const void *at)
{
	uint64_t entry;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (fd < 0 || pread(fd, &entry, 8, (uintptr_t)at / BLK * 8) != 8)
		die("pagemap");
	close(fd);
	return entry & ((1ULL << 55) - 1);
}

static int is_locked(uint64_t frame)
{
	uint64_t flags;

	if (pread(kpageflags, &flags, 8, frame * 8) != 8)
		die("kpageflags");
	return flags & 1;
}

static volatile int synced;

static void *sync_file(void *fd)
{
	if (fsync(*(int *)fd))
		die("fsync");
	synced = 1;
	return NULL;
}

/* Returns whether the file has grown while the page was locked. */
static int grow_meanwhile(int direct, uint64_t frame, const char *block)
{
	int found = 0;

	while (!synced && found < 3)
		found = is_locked(frame) ? found + 1 : 0;
	if (pwrite(direct, block, BLK, 2 * BLK) != BLK)
		die("direct write");
	return is_locked(frame);
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 ? atoi(argv[2]) : 0, i, fd, direct, met = 0;
	pthread_t thread;
	char *block, *tail;

	if (!rounds) {
		fprintf(stderr, "usage: tailstore FILE ROUNDS\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	direct = open(argv[1], O_RDWR | O_DIRECT);
	kpageflags = open("/proc/kpageflags", O_RDONLY);
	if (fd < 0 || direct < 0 || kpageflags < 0)
		die(argv[1]);
	if (posix_memalign((void **)&block, BLK, BLK))
		die("memory");
	memset(block, 'd', BLK);
	for (i = 0; i < MAPPINGS; i++)
		map(fd, 2 * BLK, 0);
	tail = map(fd, BLK, BLK);
	for (i = 0; i < rounds; i++) {
		if (ftruncate(fd, 0) || pwrite(fd, block, BLK, 0) != BLK ||
		    pwrite(fd, block, END - BLK, BLK) != END - BLK || fsync(fd))
			die("write");
		tail[0] = 'm';
		synced = 0;
		if (pthread_create(&thread, NULL, sync_file, &fd))
			die("thread");
		met += grow_meanwhile(direct, frame_of(tail), block);
		tail[STORE] = 'X';
		pthread_join(thread, NULL);
		if (tail[STORE] != 'X') {
			fprintf(stderr, "tailstore: round %d: the store is lost\n", i);
			return 1;
		}
	}
	printf("%d of %d rounds have met the fsync\n", met, rounds);
	return !met;
}
