// SPDX-License-Identifier: GPL-2.0-only
/*
 * Syncs a block that is in the log, while its page is always under write-back.
 *
 *   busypage DIR FILES
 *
 * The blocks have 1 KiB, and a write takes 2 ms. Of a page, one block is logged and changed
 * again, and the file is synced; another process goes on to write the page's next block in
 * place. It has the same CPU and goes first, so whenever a write ends and the sync lets go
 * of the page, it has begun the next write before the sync goes on. In the end the file
 * system is shut down; what was synced is 'c'.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE		4096
#define BLK		1024
#define SHUTDOWN	_IOR('X', 125, uint32_t)	/* EXT4_IOC_SHUTDOWN */
#define NO_LOG_FLUSH	2

static void die(const char *what)
{
	fprintf(stderr, "busypage: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(int fd, char c, int len, off_t at)
{
	static char page[PAGE];

	memset(page, c, len);
	if (pwrite(fd, page, len, at) != len)
		die("write");
}

static void sync_it(int fd)
{
	if (fsync(fd))
		die("fsync");
}

/* Until it is killed. */
static void keep_busy(int fd)
{
	struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("sched_setscheduler");
	for (;;) {
		put(fd, 'n', BLK, BLK);
		if (sync_file_range(fd, 0, PAGE, SYNC_FILE_RANGE_WRITE))
			die("sync_file_range");
		usleep(200);
	}
}

int main(int argc, char **argv)
{
	int files = argc == 3 ? atoi(argv[2]) : 0, fd[64], i, status;
	uint32_t how = NO_LOG_FLUSH;
	char path[4096];
	cpu_set_t cpu;
	pid_t other;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("sched_setaffinity");
	if (files < 1 || files > 64) {
		fprintf(stderr, "usage: busypage DIR FILES\n");
		return 2;
	}
	for (i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/busy%d", argv[1], i);
		fd[i] = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd[i] < 0)
			die(path);
		put(fd[i], 'a', PAGE, 0);
	}
	if (syncfs(fd[0]))
		die("syncfs");
	for (i = 0; i < files; i++) {
		put(fd[i], 'b', BLK, 0);
		sync_it(fd[i]);
		other = fork();
		if (!other)
			keep_busy(fd[i]);
		usleep(20000);
		put(fd[i], 'c', BLK, 0);
		sync_it(fd[i]);
		kill(other, SIGKILL);
		if (other < 0 || waitpid(other, &status, 0) != other || !WIFSIGNALED(status))
			die("the other process");
	}
	if (ioctl(fd[0], SHUTDOWN, &how))
		die("shutdown");
	return 0;
}
