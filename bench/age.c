// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ages a file system, then counts the pieces of its files.
 *
 *   age -d DIR [-w WORKERS] [-l LIVE_MIB] [-c CHURN_MIB] [-s SEED]
 *
 * Each worker, on a CPU of its own, makes files of mixed sizes in directories of
 * its own until all hold LIVE_MIB, then deletes, appends and makes again until
 * CHURN_MIB have been made in addition.  Small files are written, large ones are
 * allocated only, so that a sparse device needs little memory.
 * Prints "FILES EXTENTS SMALL SMALL_EXTENTS" (small: up to 64 KiB).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fiemap.h>
#include <linux/fs.h>

#define KIB		1024L
#define MIB		(1024 * KIB)
#define SMALL		(64 * KIB)
#define PIECE		(4 * MIB)
#define MAX_FILES	65536
#define DIRS		32

struct counts { long files, extents, small, small_extents; };

static const char *dir = ".";
static long live_mib = 1024, churn_mib = 1024;
static unsigned int workers = 4, worker;
static uint64_t seed = 1;
static long sizes[MAX_FILES];	/* of the worker's live files, 0: none */
static unsigned int slots;	/* in use, or once used */
static char data[SMALL];

static void die(const char *what)
{
	fprintf(stderr, "age: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long below(unsigned long n)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (seed >> 33) % n;
}

static void path_of(char *path, unsigned int slot)
{
	sprintf(path, "%s/w%u/d%u/f%u", dir, worker, slot % DIRS, slot);
}

/* Most files are small, most bytes in large ones. */
static long random_size(void)
{
	static const int up_to_kib[] = { 4, 16, 16, 64, 64, 256, 1024, 1024, 4096, 32768 };

	return (1 + below(up_to_kib[below(10)])) * KIB;
}

static void extend(int fd, long from, long size)
{
	long n;

	for (; size; size -= n, from += n) {
		n = size < PIECE ? size : PIECE;
		if (size <= SMALL ? pwrite(fd, data, n, from) != n
				  : fallocate(fd, 0, from, n))
			die("no room; take less than the disk holds");
	}
}

static long make_file(void)
{
	char path[4200];
	unsigned int slot;
	int fd;

	for (slot = 0; slot < slots && sizes[slot]; slot++)
		;
	if (slot == MAX_FILES)
		die("too many files");
	if (slot == slots)
		slots++;
	path_of(path, slot);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(path);
	sizes[slot] = random_size();
	extend(fd, 0, sizes[slot]);
	close(fd);
	return sizes[slot];
}

static unsigned int some_file(void)
{
	unsigned int slot;

	do
		slot = below(slots);
	while (!sizes[slot]);
	return slot;
}

static long delete_file(void)
{
	unsigned int slot = some_file();
	long size = sizes[slot];
	char path[4200];

	path_of(path, slot);
	if (unlink(path))
		die(path);
	sizes[slot] = 0;
	return size;
}

static long append_to_file(void)
{
	unsigned int slot = some_file();
	char path[4200];
	int fd;

	path_of(path, slot);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		die(path);
	extend(fd, sizes[slot], 16 * KIB);
	close(fd);
	sizes[slot] += 16 * KIB;
	return 16 * KIB;
}

static void make_dirs(void)
{
	char path[4200];
	unsigned int d;

	snprintf(path, sizeof(path), "%s/w%u", dir, worker);
	if (mkdir(path, 0755))
		die(path);
	for (d = 0; d < DIRS; d++) {
		snprintf(path, sizeof(path), "%s/w%u/d%u", dir, worker, d);
		if (mkdir(path, 0755))
			die(path);
	}
}

static void count_file(unsigned int slot, struct counts *counts)
{
	struct fiemap map = { .fm_length = ~0ULL, .fm_flags = FIEMAP_FLAG_SYNC };
	char path[4200];
	int fd;

	path_of(path, slot);
	fd = open(path, O_RDONLY);
	if (fd < 0 || ioctl(fd, FS_IOC_FIEMAP, &map))
		die(path);
	close(fd);
	counts->files++;
	counts->extents += map.fm_mapped_extents;
	if (sizes[slot] <= SMALL) {
		counts->small++;
		counts->small_extents += map.fm_mapped_extents;
	}
}

static void work(struct counts *counts)
{
	long live = 0, made = 0, want = live_mib * MIB / workers;
	unsigned int slot;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(worker % sysconf(_SC_NPROCESSORS_ONLN), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	seed = seed * 1000 + worker;
	make_dirs();
	while (live < want)
		live += make_file();
	while (made < churn_mib * MIB / workers) {
		long n = below(4) ? make_file() : append_to_file();

		made += n;
		for (live += n; live > want; )
			live -= delete_file();
	}
	for (slot = 0; slot < slots; slot++)
		if (sizes[slot])
			count_file(slot, counts);
}

int main(int argc, char **argv)
{
	struct counts *counts, sum = { 0 };
	int opt, status;

	while ((opt = getopt(argc, argv, "d:w:l:c:s:")) != -1) {
		switch (opt) {
		case 'd': dir = optarg; break;
		case 'w': workers = atoi(optarg); break;
		case 'l': live_mib = atol(optarg); break;
		case 'c': churn_mib = atol(optarg); break;
		case 's': seed = atol(optarg); break;
		default: return 2;
		}
	}
	counts = mmap(NULL, workers * sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!workers || counts == MAP_FAILED)
		die("workers");
	for (worker = 0; worker < workers; worker++) {
		if (!fork()) {
			work(&counts[worker]);
			exit(0);
		}
	}
	while (wait(&status) > 0)
		if (status)
			return 1;
	for (worker = 0; worker < workers; worker++) {
		sum.files += counts[worker].files;
		sum.extents += counts[worker].extents;
		sum.small += counts[worker].small;
		sum.small_extents += counts[worker].small_extents;
	}
	printf("%ld %ld %ld %ld\n", sum.files, sum.extents, sum.small, sum.small_extents);
	return 0;
}
