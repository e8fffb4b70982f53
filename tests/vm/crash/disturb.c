// SPDX-License-Identifier: GPL-2.0-only
/*
 * disturb DIR SECONDS SEED [freeze]: what may happen to files beside a load.
 *
 * Processes do at random what changes no file's content, to the regular files in DIR: syncs,
 * write-back, reads of all kinds, dropping of pages, queries of blocks, emptying of the log.
 * With "freeze" the file system is frozen now and then, and remounted with other settings.
 * Exit 0: all succeeded.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rnd.h"

#define BLOCK		4096u
#define BLOCKS		64u
#define MAX_FILES	64
#define PROCESSES	3
#define CHECKPOINT	_IOW('f', 43, uint32_t)	/* EXT4_IOC_CHECKPOINT */

static int fd[MAX_FILES], direct_fd[MAX_FILES], nr_files;
static char buf[BLOCK * BLOCKS] __attribute__((aligned(BLOCK)));

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "disturb: %s: %s\n", what, strerror(errno));
	exit(3);
}

static void open_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	struct stat st;
	char path[4096];

	must(!!d, dir);
	while (nr_files < MAX_FILES && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (lstat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		fd[nr_files] = open(path, O_RDWR);
		direct_fd[nr_files] = open(path, O_RDONLY | O_DIRECT);
		must(fd[nr_files] >= 0 && direct_fd[nr_files] >= 0, path);
		nr_files++;
	}
	closedir(d);
	must(nr_files > 0, "no file");
}

static void put(const char *path, const char *text)
{
	int out = open(path, O_WRONLY);

	must(out >= 0 && write(out, text, strlen(text)) > 0 && !close(out), path);
}

/* A store never happens, but the file counts as mapped for writing. */
static void map(int f)
{
	volatile char *pages = mmap(NULL, sizeof(buf), PROT_READ, MAP_SHARED, f, 0);
	struct stat st;
	size_t at;

	must(pages != MAP_FAILED && !fstat(f, &st), "mmap");
	/* A truncation meanwhile would be a SIGBUS, so the kernel reads for us. */
	for (at = 0; at < (size_t)st.st_size && at < sizeof(buf); at += BLOCK)
		madvise((void *)(pages + at), BLOCK, MADV_POPULATE_READ);
	munmap((void *)pages, sizeof(buf));
}

static void blocks(int f)
{
	struct fiemap *query = (void *)buf;
	int block = rnd(BLOCKS);

	memset(query, 0, sizeof(*query));
	query->fm_length = FIEMAP_MAX_OFFSET;
	query->fm_flags = rnd(2) ? FIEMAP_FLAG_SYNC : 0;
	query->fm_extent_count = BLOCKS;
	must(!ioctl(f, FS_IOC_FIEMAP, query), "FIEMAP");
	must(rnd(8) || !ioctl(f, FIBMAP, &block), "FIBMAP");
}

static void disturb(void)
{
	uint64_t at = rnd(BLOCKS) * BLOCK;
	int n = rnd(nr_files);

	switch (rnd(16)) {
	case 0 ... 3: must(!fsync(fd[n]), "fsync"); break;
	case 4: must(!fdatasync(fd[n]), "fdatasync"); break;
	case 5: must(!sync_file_range(fd[n], at, rnd(sizeof(buf)), SYNC_FILE_RANGE_WRITE), "write-back"); break;
	case 6: must(!sync_file_range(fd[n], at, BLOCK, SYNC_FILE_RANGE_WRITE_AND_WAIT), "write-back and wait"); break;
	/* It may meet a store that has no block yet. */
	case 7: must(pread(direct_fd[n], buf, BLOCK * (1 + rnd(BLOCKS)), at) >= 0 || errno == EIO, "direct read"); break;
	case 8: must(pread(fd[n], buf, BLOCK * (1 + rnd(BLOCKS)), at) >= 0, "read"); break;
	case 9: posix_fadvise(fd[n], at, rnd(sizeof(buf)), POSIX_FADV_DONTNEED); break;
	case 10: blocks(fd[n]); break;
	case 11: map(fd[n]); break;
	case 12:
		if (!rnd(8))
			must(!syncfs(fd[n]), "syncfs");
		break;
	case 13:
		if (!rnd(8))
			put("/proc/sys/vm/drop_caches", "3");
		break;
	case 14:
		if (!rnd(2))
			must(!ioctl(fd[n], CHECKPOINT, &(uint32_t){ 0 }), "checkpoint");
		break;
	default:
		usleep(rnd(3000));
	}
}

static void freeze(const char *dir)
{
	static const char * const tune[] = { "auto", "beside", "before" };
	char option[64];

	usleep(rnd(200000));
	if (rnd(2)) {
		must(!ioctl(fd[0], FIFREEZE, 0), "FIFREEZE");
		usleep(rnd(20000));
		must(!ioctl(fd[0], FITHAW, 0), "FITHAW");
		return;
	}
	snprintf(option, sizeof(option), "tune=fsync_data:%s", tune[rnd(4) % 3]);
	if (mount("none", dir, NULL, MS_REMOUNT, option))
		must(errno == EINVAL, option);	/* stock ext4 */
}

int main(int argc, char **argv)
{
	time_t until;
	int i, status, err = 0;

	if (argc < 4)
		return 2;
	until = time(NULL) + atoi(argv[2]);
	open_files(argv[1]);
	for (i = 0; i < PROCESSES + (argc > 4); i++) {
		if (fork())
			continue;
		rnd_state = strtoull(argv[3], NULL, 0) * 7919 + i;
		while (time(NULL) < until)
			i < PROCESSES ? disturb() : freeze(argv[1]);
		return 0;
	}
	while (wait(&status) > 0)
		err |= status;
	return err ? 3 : 0;
}
