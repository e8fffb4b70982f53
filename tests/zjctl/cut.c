// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded: a power cut at the CUT_AT-th write or flush.  Of what was not
 * flushed, every sector is kept or lost, by CUT_SEED; then SIGKILL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SECTOR	512

static struct undo {
	int	fd;
	off64_t	at;
	unsigned char old[SECTOR];
} *undo;			/* sectors written since the last flush */
static size_t nr_undo;
static long done;

static ssize_t real_pwrite(int fd, const void *buf, size_t n, off64_t at)
{
	static ssize_t (*fn)(int, const void *, size_t, off64_t);

	if (!fn)
		fn = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
	return fn(fd, buf, n, at);
}

/* One fate for all unflushed writes of a sector. */
static int lost(off64_t at)
{
	unsigned long x = at / SECTOR + 1 + 7919UL * strtoul(getenv("CUT_SEED"), NULL, 10);

	x *= 0x9e3779b97f4a7c15UL;
	return x >> 63;
}

static void maybe_cut(void)
{
	const char *at = getenv("CUT_AT");

	if (!at || done++ != atol(at))
		return;
	while (nr_undo--)
		if (lost(undo[nr_undo].at))
			real_pwrite(undo[nr_undo].fd, undo[nr_undo].old, SECTOR, undo[nr_undo].at);
	raise(SIGKILL);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	maybe_cut();
	for (size_t i = 0; i < n; i += SECTOR) {
		undo = realloc(undo, (nr_undo + 1) * sizeof(*undo));
		undo[nr_undo].fd = fd;
		undo[nr_undo].at = at + i;
		memset(undo[nr_undo].old, 0, SECTOR);
		if (pread64(fd, undo[nr_undo].old, SECTOR, at + i) < 0)
			abort();
		nr_undo++;
	}
	return real_pwrite(fd, buf, n, at);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return pwrite64(fd, buf, n, at);
}

int fsync(int fd)
{
	int (*fn)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	maybe_cut();
	nr_undo = 0;
	return fn(fd);
}
