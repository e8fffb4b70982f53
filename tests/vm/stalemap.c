// SPDX-License-Identifier: GPL-2.0-only
/*
 * stalemap prepare FILE OTHER BLOCK; after a mount: stalemap HOW FILE OTHER BLOCK
 *
 * Blocks that were given back stay unmapped. FILE gets extents of 16 blocks at 0, of 6 at 64 and of
 * 3 at 125; then a task changes it on a disk (/dev/zjdctl, number 0) that takes three seconds
 * for each request, and another one has to wait for it:
 *
 * truncate	cuts the file off at block 4; collapse: takes blocks 4 to 67 out of it. While the
 *		bitmap of the first blocks that are freed is read, the other one asks where block 4 is,
 *		and an fsync of OTHER ends the transaction. So the change goes on with a new handle,
 *		and lets the other one in before.
 * read		takes blocks 80 to 95 out of it, and has to write a later block first. The other one
 *		reads the end of the file meanwhile, as far as it went then. Later the file gets
 *		longer again.
 *
 * Exit 0: FILE has what it must have; 1: not; 2: could not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL	128	/* blocks of the file */
#define CUT	4	/* where it is cut off */
#define DIRTY	104	/* what is written first */

static int file, other, block;
static char *buf, want[ALL];

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "stalemap: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0 && write(fd, text, strlen(text)) > 0 && !close(fd), path);
}

/* Block n is full of one letter. */
static void fill(int first, int end)
{
	int i, bytes = (end - first) * block;

	for (i = first; i < end; i++)
		memset(buf + i * block, 'a' + i % 26, block);
	must(pwrite(file, buf + first * block, bytes, (off_t)first * block) == bytes, "write");
}

static void truncate_it(void)
{
	must(!ftruncate(file, CUT * block), "truncate");
}

static void collapse(int from, int blocks)
{
	must(!fallocate(file, FALLOC_FL_COLLAPSE_RANGE, from * block, blocks * block), "collapse");
}

static void taken_out(int from, int blocks)
{
	memmove(want + from, want + from + blocks, ALL - from - blocks);
	memset(want + ALL - blocks, 0, blocks);
}

static void collapse_both(void)
{
	collapse(CUT, 64);
}

static void collapse_behind_dirty(void)
{
	collapse(80, 16);
}

/* Its readahead goes up to the end that the file has now. */
static void read_end(void)
{
	must(pread(file, buf, 20 * block, 108 * block) > 0, "read");
}

static void ask(void)
{
	struct fiemap query = { .fm_start = CUT * block, .fm_length = block };

	must(!ioctl(file, FS_IOC_FIEMAP, &query), "FIEMAP");
}

/* A process that does it, asleep by now if it has to wait. */
static pid_t begin(void (*what)(void))
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid) {
		what();
		exit(0);
	}
	usleep(500000);
	return pid;
}

static int check(void)
{
	int i, k, bad = 0;

	must(!ftruncate(file, ALL * block), "truncate");
	must(pread(file, buf, ALL * block, 0) == ALL * block, "read");
	for (i = 0; i < ALL; i++) {
		for (k = i * block; k < (i + 1) * block && buf[k] == want[i]; k++)
			;
		if (k == (i + 1) * block)
			continue;
		printf("block %d has %#x, must have %#x\n", i, buf[k], want[i]);
		bad = 1;
	}
	return bad;
}

static void prepare(void)
{
	fill(0, 16);
	fill(64, 70);
	fill(125, ALL);
	must(pwrite(other, buf, block, 0) == block, "write");
}

static void know(void)
{
	int i;

	for (i = 0; i < ALL; i++)
		want[i] = i < 16 || (i >= 64 && i < 70) || i >= 125 ? 'a' + i % 26 : 0;
}

int main(int argc, char **argv)
{
	int status, reads;
	pid_t changing, waiting;
	void (*change)(void) = truncate_it;

	must(argc == 5, "arguments");
	block = atoi(argv[4]);
	buf = calloc(ALL, block);
	file = open(argv[2], O_RDWR | O_CREAT, 0644);
	other = open(argv[3], O_RDWR | O_CREAT, 0644);
	must(buf && file >= 0 && other >= 0, argv[2]);
	if (!strcmp(argv[1], "prepare")) {
		prepare();
		return 0;
	}
	know();
	reads = !strcmp(argv[1], "read");
	/* Data that is in the log: whoever frees blocks needs credits for revokes. */
	must(pwrite(other, buf, block, 0) == block && !fsync(other), "write");
	/* All that they need but the bitmap is in memory. */
	must(!fchmod(file, 0640) && !fsync(file), "fsync");
	if (reads) {
		fill(DIRTY, DIRTY + 1);
		want[DIRTY] = 'a' + DIRTY % 26;
		change = collapse_behind_dirty;
	} else if (strcmp(argv[1], "truncate")) {
		change = collapse_both;
	}
	put("/dev/zjdctl", "0 latency 3000000 0 1");
	changing = begin(change);
	waiting = begin(reads ? read_end : ask);
	if (!reads)
		must(!fchmod(other, 0600) && !fsync(other), "fsync");
	put("/dev/zjdctl", "0 latency 0 0 0");
	must(waitpid(changing, &status, 0) == changing && !status, "change");
	must(waitpid(waiting, &status, 0) == waiting && !status, "the other one");
	if (reads)
		taken_out(80, 16);
	else if (change == collapse_both)
		taken_out(CUT, 64);
	else
		memset(want + CUT, 0, ALL - CUT);
	return check();
}
