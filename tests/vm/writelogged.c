// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that write-back writes a dirty block whose image in the log is just going home.
 *
 *   writelogged FILE ROUNDS
 *
 * One process empties the log again and again. The other one overwrites a block, fsyncs it,
 * which logs it, overwrites it again, and reads it past the page cache, which first writes what
 * is dirty. The last overwrite must be there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLK		4096
#define BLOCKS		16
#define CHECKPOINT	_IOW('f', 43, uint32_t)	/* EXT4_IOC_CHECKPOINT */

static void die(const char *what)
{
	fprintf(stderr, "writelogged: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Until it is killed. */
static void empty_log(int fd)
{
	uint32_t flags = 0;

	for (;;)
		if (ioctl(fd, CHECKPOINT, &flags))
			die("checkpoint");
}

static void overwrite(int fd, char *block, int number, unsigned int round)
{
	memset(block, 'a' + round % 26, BLK);
	if (pwrite(fd, block, BLK, number * BLK) != BLK)
		die("write");
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 3 ? atoi(argv[2]) : 0, i;
	char *block, *found;
	int fd, direct;
	pid_t child;

	if (!rounds) {
		fprintf(stderr, "usage: writelogged FILE ROUNDS\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	direct = open(argv[1], O_RDONLY | O_DIRECT);
	if (fd < 0 || direct < 0)
		die(argv[1]);
	if (posix_memalign((void **)&block, BLK, BLK) ||
	    posix_memalign((void **)&found, BLK, BLK))
		die("memory");
	for (i = 0; i < BLOCKS; i++)
		overwrite(fd, block, i, 0);
	if (fsync(fd))
		die("fsync");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		empty_log(fd);
	for (i = 0; i < rounds; i++) {
		overwrite(fd, block, i % BLOCKS, 2 * i);
		if (fsync(fd))
			die("fsync");
		overwrite(fd, block, i % BLOCKS, 2 * i + 1);
		if (pread(direct, found, BLK, i % BLOCKS * BLK) != BLK)
			die("read");
		if (memcmp(found, block, BLK)) {
			fprintf(stderr, "writelogged: round %u: the device has %c, not %c\n",
				i, found[0], block[0]);
			break;
		}
	}
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) < 0)
		die("wait");
	return i < rounds;
}
