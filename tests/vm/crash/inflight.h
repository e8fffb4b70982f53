/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes in flight, by the system calls of libaio and of io_uring; see inflight.c. */
#ifndef INFLIGHT_H
#define INFLIGHT_H

#include <stdint.h>

/**
 * struct piece - what is written where
 * @fd: open file
 * @data: stays as it is meanwhile
 * @len: bytes
 * @at: offset
 */
struct piece {
	int fd;
	const char *data;
	uint64_t len;
	uint64_t at;
};

int aio_begin(int fd, const char *data, uint64_t len, uint64_t at);
int64_t aio_end(void);
int uring_write_beside(struct piece first, struct piece synced, int datasync);

#endif
