// SPDX-License-Identifier: GPL-2.0-only
/* Writes in flight for fsxmarks. What fails leaves errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../uring.h"
#include "inflight.h"

/* ---- libaio, one request at a time ---- */

static aio_context_t context;

int aio_begin(int fd, const char *data, uint64_t len, uint64_t at)
{
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PWRITE }, *list = &request;

	if (!context && syscall(SYS_io_setup, 8, &context))
		return -1;
	request.aio_fildes = fd;
	request.aio_buf = (uintptr_t)data;
	request.aio_nbytes = len;
	request.aio_offset = at;
	return syscall(SYS_io_submit, context, 1, &list) == 1 ? 0 : -1;
}

/* Returns what was written, or a negative error. */
int64_t aio_end(void)
{
	struct io_event event;

	return syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1 ? event.res : -errno;
}

/* ---- io_uring ---- */

static struct uring ring;

static void put(int opcode, struct piece piece, int flags, int fsync_flags)
{
	struct io_uring_sqe request = {
		.opcode = opcode,
		.fd = piece.fd,
		.addr = (uintptr_t)piece.data,
		.len = piece.len,
		.off = piece.at,
		.flags = flags,
		.fsync_flags = fsync_flags,
		.user_data = piece.len,
	};

	uring_put(&ring, &request);
}

/* Writes both at once, and syncs the second one's file when that is written. */
int uring_write_beside(struct piece first, struct piece synced, int datasync)
{
	struct piece nothing = { .fd = synced.fd };

	if (!ring.sq && uring_begin(&ring, 8, 0))
		return -1;
	put(IORING_OP_WRITE, first, 0, 0);
	put(IORING_OP_WRITE, synced, IOSQE_IO_LINK, 0);
	put(IORING_OP_FSYNC, nothing, 0, datasync ? IORING_FSYNC_DATASYNC : 0);
	if (uring_submit(&ring, 3))
		return -1;
	return uring_get(&ring) || uring_get(&ring) || uring_get(&ring) ? -1 : 0;
}
