// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct I/O whose completion is polled for (IORING_SETUP_IOPOLL), beside fsyncs of the same file.
 *
 *   polled FILE ROUNDS
 *
 * Each block is an extent. In each round every other one is overwritten through the page cache and
 * synced, so that it is in the log where small data goes there. Then all blocks are read,
 * overwritten and read by requests that are in flight at once, of two blocks each: the second one
 * is in the log when the first one is on its way. The device must poll.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "uring.h"

#define BLK	4096
#define EACH	(2 * BLK)	/* bytes of a request */
#define DEPTH	8		/* requests in flight */
#define ALL	(DEPTH * EACH)

/* The argument of EXT4_IOC_MOVE_EXT. */
struct move {
	uint32_t reserved, donor;
	uint64_t start, donor_start, len, moved;
};

#define MOVE	_IOWR('f', 15, struct move)

static struct uring ring;

static void die(const char *what)
{
	fprintf(stderr, "polled: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Reads or writes all blocks. */
static void transfer(int opcode, int fd, char *data)
{
	int i;

	for (i = 0; i < DEPTH; i++) {
		struct io_uring_sqe request = {
			.opcode = opcode,
			.fd = fd,
			.addr = (uintptr_t)(data + i * EACH),
			.len = EACH,
			.off = i * EACH,
			.user_data = EACH,
		};

		uring_put(&ring, &request);
	}
	if (uring_submit(&ring, DEPTH))
		die("io_uring_enter");
	for (i = 0; i < DEPTH; i++)
		if (uring_get(&ring))
			die("a request has not done all");
}

static void must_be(const char *data, char even, char odd, const char *when)
{
	int i;

	for (i = 0; i < ALL; i++) {
		if (data[i] == (i / BLK % 2 ? odd : even))
			continue;
		fprintf(stderr, "polled: block %d %s is %c\n", i / BLK, when, data[i]);
		exit(1);
	}
}

static int create(const char *path, char *data)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || pwrite(fd, data, ALL, 0) != ALL || fsync(fd))
		die(path);
	return fd;
}

/* Every other block changes places with another file's. */
static void scatter(int fd, const char *path, char *data)
{
	struct move move = { .len = 1 };
	char name[4096];

	snprintf(name, sizeof(name), "%s.donor", path);
	move.donor = create(name, data);
	for (move.start = 0; move.start < ALL / BLK; move.start += 2) {
		move.donor_start = move.start;
		if (ioctl(fd, MOVE, &move))
			die("move");
	}
	close(move.donor);
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 ? atoi(argv[2]) : 0, fd, direct, i, at;
	char was = 'a', synced, *data;

	if (!rounds) {
		fprintf(stderr, "usage: polled FILE ROUNDS\n");
		return 2;
	}
	if (posix_memalign((void **)&data, BLK, ALL))
		die("memory");
	memset(data, was, ALL);
	fd = create(argv[1], data);
	scatter(fd, argv[1], data);
	direct = open(argv[1], O_RDWR | O_DIRECT);
	if (direct < 0)
		die(argv[1]);
	if (uring_begin(&ring, DEPTH, IORING_SETUP_IOPOLL))
		die("io_uring_setup");
	for (i = 0; i < rounds; i++) {
		synced = 'A' + i % 26;
		memset(data, synced, BLK);
		for (at = BLK; at < ALL; at += 2 * BLK)
			if (pwrite(fd, data, BLK, at) != BLK || fsync(fd))
				die("write");
		transfer(IORING_OP_READ, direct, data);
		must_be(data, was, synced, "after the fsyncs");
		was = 'a' + (i + 1) % 26;
		memset(data, was, ALL);
		transfer(IORING_OP_WRITE, direct, data);
		memset(data, 0, ALL);
		transfer(IORING_OP_READ, direct, data);
		must_be(data, was, was, "after the writes");
	}
	return 0;
}
