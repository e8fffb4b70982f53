// SPDX-License-Identifier: GPL-2.0-only
/*
 * logwrites: reads the log of the device mapper's target log-writes.
 *
 *	logwrites list LOG
 *	logwrites replay LOG DISK MARK
 *	logwrites put DISK BLOCK LETTER [fua]
 *
 * "list" prints one line per entry: its number, "write SECTOR COUNT", "flush", "discard
 * SECTOR COUNT" or "mark NAME", then fua and meta. "replay" writes to DISK what the log has
 * before MARK, in the order of the log. "put" fills a block of 4 KiB past the page cache; "fua":
 * with O_DSYNC, for which the kernel sends FUA.
 *
 * The log has sectors of the disk's size. The first one is the head; then follow the
 * entries, one sector each, and behind each entry the sectors that were written. All
 * numbers are little-endian, as this machine's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	0x6a736677736872ull

enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8, META = 16 };

struct head {
	uint64_t magic;
	uint64_t version;
	uint64_t entries;
	uint32_t sector_size;
};

/**
 * struct entry - one sector of the log
 * @sector: first sector that was written
 * @count: number of sectors
 * @flags: FLUSH and others
 * @name_len: length of a mark's name, which follows
 */
struct entry {
	uint64_t sector;
	uint64_t count;
	uint64_t flags;
	uint64_t name_len;
	char name[480];
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(2);
}

static void say(uint64_t nr, const struct entry *e)
{
	printf("%llu", (unsigned long long)nr);
	if (e->flags & MARK)
		printf(" mark %.*s", (int)e->name_len, e->name);
	if (e->count)
		printf(" %s %llu %llu", e->flags & DISCARD ? "discard" : "write",
		       (unsigned long long)e->sector, (unsigned long long)e->count);
	printf("%s%s%s\n", e->flags & FLUSH ? " flush" : "", e->flags & FUA ? " fua" : "",
	       e->flags & META ? " meta" : "");
}

static void apply(int log, uint64_t at, int disk, const struct entry *e, uint32_t size)
{
	size_t n = e->count * size;
	char *data = malloc(n);

	must(data && pread(log, data, n, at) == (ssize_t)n, "log");
	must(pwrite(disk, data, n, e->sector * size) == (ssize_t)n, "disk");
	free(data);
}

/* Returns whether the mark was met. */
static int walk(int log, int disk, const char *until)
{
	struct entry e;
	struct head head;
	uint64_t at, nr;

	must(pread(log, &head, sizeof(head), 0) == sizeof(head), "log");
	if (head.magic != MAGIC) {
		fprintf(stderr, "logwrites: this is no log of writes\n");
		exit(2);
	}
	at = head.sector_size;
	for (nr = 0; nr < head.entries; nr++) {
		must(pread(log, &e, sizeof(e), at) == sizeof(e) && e.name_len < sizeof(e.name),
		     "log entry");
		at += head.sector_size;
		if (!until)
			say(nr, &e);
		else if (e.flags & MARK && strlen(until) == e.name_len &&
			 !memcmp(until, e.name, e.name_len))
			return 1;
		else if (e.count && !(e.flags & DISCARD))
			apply(log, at, disk, &e, head.sector_size);
		if (!(e.flags & DISCARD))
			at += e.count * head.sector_size;
	}
	return !until;
}

static int put(const char *disk, const char *block, char letter, int fua)
{
	static char data[4096] __attribute__((aligned(4096)));
	int fd = open(disk, O_WRONLY | O_DIRECT | (fua ? O_DSYNC : 0));

	memset(data, letter, sizeof(data));
	must(fd >= 0 && pwrite(fd, data, sizeof(data), atol(block) * sizeof(data)) ==
	     sizeof(data) && !close(fd), disk);
	return 0;
}

int main(int argc, char **argv)
{
	int replay = argc == 5 && !strcmp(argv[1], "replay");
	int log, disk = -1;

	if (argc >= 5 && argc <= 6 && !strcmp(argv[1], "put"))
		return put(argv[2], argv[3], *argv[4], argc == 6);
	if (!replay && (argc != 3 || strcmp(argv[1], "list"))) {
		fprintf(stderr, "usage: logwrites list LOG\n"
			"       logwrites replay LOG DISK MARK\n"
			"       logwrites put DISK BLOCK LETTER [fua]\n");
		return 2;
	}
	log = open(argv[2], O_RDONLY);
	must(log >= 0, argv[2]);
	if (replay) {
		disk = open(argv[3], O_WRONLY);
		must(disk >= 0, argv[3]);
	}
	if (!walk(log, disk, replay ? argv[4] : NULL)) {
		fprintf(stderr, "logwrites: no mark %s\n", argv[4]);
		return 1;
	}
	must(!replay || (!fsync(disk) && !close(disk)), argv[3]);
	return 0;
}
