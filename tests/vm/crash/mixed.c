// SPDX-License-Identifier: GPL-2.0-only
/*
 * mixed: no file may ever show what was never written to it.
 *
 *	mixed run DIR SECONDS SEED
 *	mixed verify DIR
 *
 * Several processes change the same few files at once, in all ways, sync them and remove
 * some. Everything that is ever written to file x<n>, to its donor y<n> for exchanges of blocks
 * and to the short-lived u<n>... is the same character, so that a file has this and zeros. "run"
 * reads all the time; "verify" reads what a crash has left. Exit 0: all well; 1: not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK		4096u
#define FILES		3
#define PROCESSES	4
#define MAX_SIZE	(64 * BLOCK)

struct move_extent {
	uint32_t reserved, donor;
	uint64_t from, donor_from, blocks, moved;
};

static int fd[FILES], direct_fd[FILES], donor_fd[FILES], chars_fd[FILES];
static char buf[2 * MAX_SIZE] __attribute__((aligned(4096)));
static uint64_t rnd_state;
static const char *dir;
static unsigned int process, ops;

static uint64_t rnd(uint64_t below)
{
	uint64_t x = rnd_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (x ^ (x >> 31)) % below;
}

static void fail(const char *what, unsigned int n)
{
	fprintf(stderr, "BAD: mixed: %s, file %u, operation %u of process %u: %s\n", what, n, ops,
		process, strerror(errno));
	exit(1);
}

/* Operations meet each other, so most errors are no surprise. */
static void tolerate(long rc, const char *what, unsigned int n)
{
	if (rc < 0 && (errno == EIO || errno == EROFS || errno == EUCLEAN))
		fail(what, n);
}

static void check(const char *data, ssize_t len, const char *what, unsigned int n)
{
	ssize_t i;

	for (i = 0; i < len; i++) {
		if (!data[i] || data[i] == (char)('a' + n))
			continue;
		fprintf(stderr, "BAD: mixed: %s, byte %zd of %zd is %02x\n", what, i, len,
			(unsigned char)data[i]);
		fail("foreign data", n);
	}
}

static uint64_t some_length(void)
{
	return 1 + rnd(1u << (4 + rnd(13)));
}

static uint64_t down(uint64_t bytes)
{
	return bytes / BLOCK * BLOCK;
}

static void chars(unsigned int n)
{
	memset(buf, 'a' + n, sizeof(buf));
}

static void do_write(unsigned int n)
{
	chars(n);
	tolerate(pwrite(fd[n], buf, some_length(), rnd(MAX_SIZE)), "write", n);
}

static void do_direct(unsigned int n)
{
	chars(n);
	tolerate(pwrite(direct_fd[n], buf, down(some_length()) + BLOCK, down(rnd(MAX_SIZE))),
		 "direct write", n);
}

/* The kernel stores, and reports it where a truncation is faster. */
static void do_mapped(unsigned int n)
{
	char *map = mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd[n], 0);
	uint64_t at = rnd(MAX_SIZE), len = some_length();
	ssize_t done;

	if (map == MAP_FAILED)
		fail("mmap", n);
	done = pread(chars_fd[n], map + at, at + len > MAX_SIZE ? MAX_SIZE - at : len, 0);
	if (done < 0 && errno != EFAULT)
		fail("store", n);
	munmap(map, MAX_SIZE);
}

static void do_fallocate(unsigned int n)
{
	static const int modes[] = {
		0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE,
		FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_COLLAPSE_RANGE,
		FALLOC_FL_INSERT_RANGE,
	};
	int mode = modes[rnd(7)];
	uint64_t at = rnd(MAX_SIZE), len = some_length();

	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		at = down(at);
		len = down(len) + BLOCK;
	}
	tolerate(fallocate(fd[n], mode, at, len), "fallocate", n);
}

static void do_move(unsigned int n)
{
	struct move_extent move = { .donor = donor_fd[n] };
	struct stat st;

	if (fstat(fd[n], &st))
		fail("fstat", n);
	move.from = rnd(MAX_SIZE / st.st_blksize);
	move.donor_from = move.from;
	move.blocks = 1 + rnd(9);
	chars(n);
	tolerate(pwrite(donor_fd[n], buf, MAX_SIZE, 0), "write of the donor", n);
	if (rnd(2))
		tolerate(fsync(donor_fd[n]), "fsync of the donor", n);
	tolerate(ioctl(fd[n], _IOWR('f', 15, struct move_extent), &move), "move", n);
}

static void do_read(unsigned int n)
{
	int direct = rnd(2);
	ssize_t len = pread(direct ? direct_fd[n] : fd[n], buf, sizeof(buf), 0);

	/* A direct read may meet a store that has no block yet. */
	if (len < 0 && direct && errno == EIO)
		return;
	tolerate(len, "read", n);
	check(buf, len, direct ? "direct read" : "read", n);
}

/* A small file that is synced and soon gone: its blocks get other data. */
static void do_new(unsigned int n)
{
	char path[4096], other[4096];
	int f;

	snprintf(path, sizeof(path), "%s/u%u.%u.%llu", dir, n, process, (unsigned long long)rnd(8));
	snprintf(other, sizeof(other), "%s/u%u.%u.new", dir, n, process);
	f = open(other, O_RDWR | O_CREAT, 0644);
	tolerate(f, "create", n);
	chars(n);
	tolerate(pwrite(f, buf, some_length() % MAX_SIZE, 0), "write of a new file", n);
	tolerate(fsync(f), "fsync of a new file", n);
	close(f);
	tolerate(rnd(2) ? rename(other, path) : unlink(rnd(2) ? path : other), "rename", n);
}

/*
 * A direct write after which a page of its range is dirty again, because of a store, makes
 * the next sync fail with EIO. Stock ext4 does so under this load, too.
 */
static void do_sync(unsigned int n)
{
	int rc = rnd(2) ? fsync(fd[n]) : fdatasync(fd[n]);

	if (rc && errno != EIO)
		tolerate(rc, "fsync", n);
}

static void change(void)
{
	unsigned int n = rnd(FILES);

	ops++;
	switch (rnd(24)) {
	case 0 ... 4: do_write(n); break;
	case 5: do_direct(n); break;
	case 6 ... 7: do_mapped(n); break;
	case 8: tolerate(ftruncate(fd[n], rnd(MAX_SIZE)), "truncate", n); break;
	case 9 ... 11: do_fallocate(n); break;
	case 12: do_move(n); break;
	case 13 ... 14: do_read(n); break;
	case 15 ... 16: do_new(n); break;
	case 17: posix_fadvise(fd[n], 0, 0, POSIX_FADV_DONTNEED); break;
	case 18: tolerate(sync_file_range(fd[n], 0, 0, SYNC_FILE_RANGE_WRITE), "write-back", n); break;
	default: do_sync(n);
	}
}

static int open_in(const char *what, unsigned int n, int flags)
{
	char path[4096];
	int f;

	snprintf(path, sizeof(path), "%s/%s%u", dir, what, n);
	f = open(path, O_RDWR | O_CREAT | flags, 0644);
	if (f < 0)
		fail(path, n);
	return f;
}

static int run(char **arg)
{
	time_t until = time(NULL) + atoi(arg[1]);
	int status, err = 0;
	unsigned int n;

	for (n = 0; n < FILES; n++) {
		fd[n] = open_in("x", n, 0);
		direct_fd[n] = open_in("x", n, O_DIRECT);
		donor_fd[n] = open_in("y", n, 0);
		chars_fd[n] = memfd_create("chars", 0);
		chars(n);
		if (chars_fd[n] < 0 || pwrite(chars_fd[n], buf, MAX_SIZE, 0) != MAX_SIZE)
			fail("memfd", n);
	}
	for (process = 0; process < PROCESSES; process++) {
		if (fork())
			continue;
		rnd_state = strtoull(arg[2], NULL, 0) * 104729 + process;
		while (time(NULL) < until)
			change();
		return 0;
	}
	while (wait(&status) > 0)
		err |= status;
	return !!err;
}

static void verify_file(const char *what, unsigned int n)
{
	char path[4096];
	ssize_t len;
	int f;

	snprintf(path, sizeof(path), "%s/%s", dir, what);
	f = open(path, O_RDONLY);
	if (f < 0)
		return;
	while ((len = read(f, buf, sizeof(buf))) > 0)
		check(buf, len, what, n);
	if (len < 0)
		fail(path, n);
	close(f);
}

static int verify(void)
{
	unsigned int n, p, i;
	char name[64];

	for (n = 0; n < FILES; n++) {
		snprintf(name, sizeof(name), "x%u", n);
		verify_file(name, n);
		name[0] = 'y';
		verify_file(name, n);
		for (p = 0; p < PROCESSES; p++) {
			for (i = 0; i < 8; i++) {
				snprintf(name, sizeof(name), "u%u.%u.%u", n, p, i);
				verify_file(name, n);
			}
			snprintf(name, sizeof(name), "u%u.%u.new", n, p);
			verify_file(name, n);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	dir = argc > 2 ? argv[2] : "";
	if (argc == 5 && !strcmp(argv[1], "run"))
		return run(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "verify"))
		return verify();
	return 2;
}
