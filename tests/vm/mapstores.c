// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores into a mapped file without a pause while the same file is fsynced again and again.
 *
 *   mapstores FILE BLOCKS FSYNCS
 *
 * Whatever is on its way to the device meanwhile must not change under it: a RAID5 would compute
 * a parity that is not that of the data.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLK	4096

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void store(volatile uint64_t *map, size_t words)
{
	for (uint64_t n = 1;; n++)
		map[n * 2654435761u % words] = n * 0x9e3779b97f4a7c15ULL;
}

int main(int argc, char **argv)
{
	size_t bytes;
	void *map;
	pid_t pid;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "mapstores FILE BLOCKS FSYNCS\n");
		return 2;
	}
	bytes = strtoul(argv[2], NULL, 0) * BLK;
	fd = open(argv[1], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, bytes) || fsync(fd))
		die(argv[1]);
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		store(map, bytes / sizeof(uint64_t));
	for (int n = atoi(argv[3]); n; n--)
		if (fsync(fd))
			die("fsync");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
