// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose memory is taken by data in the log: the tasks that sync are in a cgroup.
 *
 *   othersync others CGROUP FILE BLOCKS	a task outside it appends each block
 *   othersync locked CGROUP FILE BLOCKS	they overwrite a file whose pages they have locked
 *   othersync former CGROUP FILE BLOCKS	they append; a task outside it overwrites and syncs
 *						each block when the log has been emptied
 *
 * Exit status 0: all of them came to their end.
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLK		4096
#define CHECKPOINT	_IOW('f', 43, uint32_t)	/* EXT4_IOC_CHECKPOINT */

static void die(const char *what)
{
	fprintf(stderr, "othersync: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(int fd, int number, char c)
{
	char block[BLK];

	memset(block, c, BLK);
	if (pwrite(fd, block, BLK, (off_t)number * BLK) != BLK)
		die("write");
}

static void sync_file(int fd)
{
	if (fsync(fd))
		die("fsync");
}

static void join(const char *cgroup)
{
	char path[256];
	FILE *procs;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	procs = fopen(path, "w");
	if (!procs || fprintf(procs, "%d\n", getpid()) < 0 || fclose(procs))
		die(path);
}

/* Syncs the file whenever the pipe brings a byte, and answers with it. */
static void sync_for(int fd, int from, int to)
{
	char c;

	while (read(from, &c, 1) == 1) {
		sync_file(fd);
		if (write(to, &c, 1) != 1)
			die("pipe");
	}
}

static void others(const char *cgroup, int fd, int blocks)
{
	int there[2], back[2], i;
	char c = 0;

	if (pipe(there) || pipe(back))
		die("pipe");
	if (!fork()) {
		close(there[1]);
		close(back[0]);
		join(cgroup);
		sync_for(fd, there[0], back[1]);
		exit(0);
	}
	close(there[0]);
	close(back[1]);
	for (i = 0; i < blocks; i++) {
		put(fd, i, 'o');
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			break;
	}
	close(there[1]);
}

static void locked(const char *cgroup, int fd, int blocks)
{
	int i;

	if (fork())
		return;
	join(cgroup);
	for (i = 0; i < blocks; i++)
		put(fd, i, 'a');
	sync_file(fd);
	if (mlock(mmap(NULL, (size_t)blocks * BLK, PROT_READ, MAP_SHARED, fd, 0),
		  (size_t)blocks * BLK))
		die("mlock");
	for (i = 0; i < blocks; i++) {
		put(fd, i, 'b');
		sync_file(fd);
	}
	exit(0);
}

static void former(const char *cgroup, int fd, int blocks)
{
	uint32_t flags = 0;
	int i, status;

	if (!fork()) {
		join(cgroup);
		for (i = 0; i < blocks; i++) {
			put(fd, i, 'a');
			sync_file(fd);
		}
		exit(0);
	}
	if (wait(&status) < 0 || status || ioctl(fd, CHECKPOINT, &flags) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("a synced file");
	for (i = 0; i < blocks; i++) {
		put(fd, i, 'f');
		sync_file(fd);
	}
}

int main(int argc, char **argv)
{
	int fd, blocks = argc == 5 ? atoi(argv[4]) : 0, status = 0;

	if (!blocks) {
		fprintf(stderr, "usage: othersync others|locked|former CGROUP FILE BLOCKS\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	fd = open(argv[3], O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		die(argv[3]);
	if (!strcmp(argv[1], "others"))
		others(argv[2], fd, blocks);
	else if (!strcmp(argv[1], "locked"))
		locked(argv[2], fd, blocks);
	else
		former(argv[2], fd, blocks);
	if (wait(&status) < 0 && errno != ECHILD)
		die("wait");
	return status != 0;
}
