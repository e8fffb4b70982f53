// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes sync one file: what the second one finds clean may not be durable yet.
 *
 *   twosyncs FILE CHARACTER SEED
 *
 * One syncs all the time. The other one waits a little after a write, so that the first one may
 * have begun to sync it, syncs, and then the file system is shut down without its log. The
 * first block of FILE must be all CHARACTER after recovery.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXT4_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#define NOLOGFLUSH		2

static char block[4096];

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	uint32_t how = NOLOGFLUSH;
	pid_t other;
	int fd;

	if (argc != 4)
		return 2;
	fd = open(argv[1], O_RDWR);
	must(fd >= 0, argv[1]);
	other = fork();
	while (!other)
		fdatasync(fd);
	srandom(atoi(argv[3]));
	usleep(1000);
	memset(block, argv[2][0], sizeof(block));
	must(pwrite(fd, block, sizeof(block), 0) == sizeof(block), "write");
	usleep(random() % 1000);
	must(!fdatasync(fd), "fdatasync");
	must(!ioctl(fd, EXT4_IOC_SHUTDOWN, &how), "shutdown");
	kill(other, SIGKILL);
	wait(NULL);
	return 0;
}
