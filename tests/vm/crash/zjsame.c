// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjsame: compares two recovered disks byte by byte.
 *
 *	zjsame start DEV JOURNAL	s_start of the journal, and the sector it is in
 *	zjsame A B JOURNAL		compares zjdisks number A and B
 *
 * JOURNAL is a file with the blocks of the journal, as debugfs prints them. They are
 * left out, and in the super block what a recovery may set as it likes: its own times,
 * counters and state. Exit 1 if the disks differ; the blocks are printed.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../zjdisk/zjdisk_ioctl.h"

#define SUPER		1024	/* byte and length of the super block */
#define INCOMPAT	0x60
#define NEEDS_RECOVERY	4
#define MAX_DIFF	65536
#define SHOWN		10

/* Of the super block. */
static const struct {
	uint32_t at, len;
} may_differ[] = {
	{ 0x0c, 8 },	/* free blocks, free inodes */
	{ 0x2c, 8 },	/* times of mount and write */
	{ 0x34, 2 },	/* mounts since the last check */
	{ 0x3a, 2 },	/* state */
	{ 0x158, 4 },	/* free blocks, high half */
	{ 0x178, 8 },	/* KiB written */
	{ 0x274, 2 },	/* high bytes of these times */
	{ 0x3fc, 4 },	/* checksum */
};

static uint32_t block_size, *journal, journal_blocks;

static void die(const char *what)
{
	fprintf(stderr, "zjsame: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void read_journal(const char *path)
{
	FILE *in = fopen(path, "r");
	uint32_t block;

	if (!in)
		die(path);
	while (fscanf(in, "%u", &block) == 1) {
		if (journal_blocks % 1024 == 0)
			journal = realloc(journal, (journal_blocks + 1024) * sizeof(*journal));
		if (!journal)
			die(path);
		journal[journal_blocks++] = block;
	}
	fclose(in);
	if (!journal_blocks) {
		errno = ENODATA;
		die(path);
	}
}

static int in_journal(uint32_t block)
{
	uint32_t i;

	for (i = 0; i < journal_blocks; i++)
		if (journal[i] == block)
			return 1;
	return 0;
}

static void get(int fd, void *buf, size_t len, off_t at)
{
	if (pread(fd, buf, len, at) != (ssize_t)len)
		die("read");
}

static int open_disk(const char *nr)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s%s", *nr == '/' ? "" : "/dev/zjd", nr);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		die(path);
	return fd;
}

static void read_block_size(int fd)
{
	uint32_t log;

	get(fd, &log, sizeof(log), SUPER + 24);
	block_size = 1024U << le32toh(log);
}

static int show_start(const char *dev)
{
	int fd = open_disk(dev);
	uint32_t start;

	read_block_size(fd);
	get(fd, &start, sizeof(start), (off_t)journal[0] * block_size + 0x1c);
	printf("%u %llu\n", be32toh(start),
	       (unsigned long long)journal[0] * block_size / 512);
	return 0;
}

/* The bytes of the page that count, all others 0. */
static void mask(unsigned char *page, uint64_t first)
{
	uint32_t at, i;

	for (at = 0; at < ZJD_DIFF_BYTES; at += block_size)
		if (in_journal((first + at) / block_size))
			memset(page + at, 0, block_size);
	if (first)
		return;
	for (i = 0; i < sizeof(may_differ) / sizeof(*may_differ); i++)
		memset(page + SUPER + may_differ[i].at, 0, may_differ[i].len);
	page[SUPER + INCOMPAT] &= ~NEEDS_RECOVERY;
}

static void show(uint64_t first, const unsigned char *a, const unsigned char *b)
{
	uint32_t at, shown = 0;

	printf("differ:");
	for (at = 0; at < ZJD_DIFF_BYTES && shown < SHOWN; at++)
		if (a[at] != b[at] && ++shown)
			printf(" %s%llu byte %u (%02x, %02x)", shown == 1 ? "block " : "",
			       (unsigned long long)(first + at) / block_size,
			       (uint32_t)((first + at) % block_size), a[at], b[at]);
	putchar('\n');
}

static uint32_t find(const char *a, const char *b, uint64_t *pages)
{
	struct zjd_diff diff = { .dev = { strtoul(a, NULL, 0), strtoul(b, NULL, 0) } };
	int ctl = open("/dev/zjdctl", O_RDWR);
	uint32_t n = 0;

	if (ctl < 0)
		die("/dev/zjdctl");
	for (; !ioctl(ctl, ZJD_IOC_DIFF, &diff); diff.page++)
		if (n < MAX_DIFF)
			pages[n++] = diff.page;
	if (errno != ENODATA)
		die("ZJD_IOC_DIFF");
	close(ctl);
	return n;
}

static int compare(const char *a, const char *b)
{
	static unsigned char page[2][ZJD_DIFF_BYTES];
	static uint64_t pages[MAX_DIFF];
	uint32_t n = find(a, b, pages), i, differ = 0;
	int fd[2] = { open_disk(a), open_disk(b) }, k;

	read_block_size(fd[0]);
	if (block_size > ZJD_DIFF_BYTES) {
		errno = EINVAL;
		die("block size");
	}
	for (i = 0; i < n; i++) {
		for (k = 0; k < 2; k++) {
			get(fd[k], page[k], ZJD_DIFF_BYTES, pages[i] * ZJD_DIFF_BYTES);
			mask(page[k], pages[i] * ZJD_DIFF_BYTES);
		}
		if (memcmp(page[0], page[1], ZJD_DIFF_BYTES) && ++differ <= SHOWN)
			show(pages[i] * ZJD_DIFF_BYTES, page[0], page[1]);
	}
	printf("compared: %u pages differ, %u outside of the journal and what may\n", n, differ);
	return differ > 0;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: zjsame start DEV JOURNAL | zjsame A B JOURNAL\n");
		return 2;
	}
	read_journal(argv[3]);
	return strcmp(argv[1], "start") ? compare(argv[1], argv[2]) : show_start(argv[2]);
}
