// SPDX-License-Identifier: GPL-2.0-only
/* Writes in flight for fsxmarks. What fails leaves errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/**
 * struct ring - its memory
 * @fd: file descriptor
 * @params: where what is
 * @sq: submission queue
 * @cq: completion queue
 * @entries: requests
 */
static struct ring {
	int fd;
	struct io_uring_params params;
	char *sq;
	char *cq;
	struct io_uring_sqe *entries;
} ring;

static void *ring_part(size_t bytes, off_t at)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, at);
}

static int ring_begin(void)
{
	struct io_uring_params *p = &ring.params;

	if (ring.sq)
		return 0;
	ring.fd = syscall(SYS_io_uring_setup, 8, p);
	if (ring.fd < 0)
		return -1;
	ring.sq = ring_part(p->sq_off.array + p->sq_entries * sizeof(uint32_t),
			    IORING_OFF_SQ_RING);
	ring.cq = ring_part(p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
			    IORING_OFF_CQ_RING);
	ring.entries = ring_part(p->sq_entries * sizeof(*ring.entries), IORING_OFF_SQES);
	return ring.sq == MAP_FAILED || ring.cq == MAP_FAILED || ring.entries == MAP_FAILED;
}

/* Puts a request into the queue; the kernel has taken all before it. */
static void ring_put(int opcode, struct piece piece, int flags, int fsync_flags)
{
	uint32_t *tail = (uint32_t *)(ring.sq + ring.params.sq_off.tail);
	uint32_t at = *tail & (ring.params.sq_entries - 1);
	struct io_uring_sqe *request = &ring.entries[at];

	memset(request, 0, sizeof(*request));
	request->opcode = opcode;
	request->fd = piece.fd;
	request->addr = (uintptr_t)piece.data;
	request->len = piece.len;
	request->off = piece.at;
	request->flags = flags;
	request->fsync_flags = fsync_flags;
	request->user_data = piece.len;		/* what it has to return */
	((uint32_t *)(ring.sq + ring.params.sq_off.array))[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

/* Waits for one request, which must have done all. */
static int ring_get(void)
{
	uint32_t *head = (uint32_t *)(ring.cq + ring.params.cq_off.head);
	uint32_t *tail = (uint32_t *)(ring.cq + ring.params.cq_off.tail);
	const struct io_uring_cqe *ended = (void *)(ring.cq + ring.params.cq_off.cqes);

	while (*head == __atomic_load_n(tail, __ATOMIC_ACQUIRE))
		if (syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return -1;
	ended += *head & (ring.params.cq_entries - 1);
	errno = ended->res < 0 ? -ended->res : EINVAL;
	if (ended->res != (int)ended->user_data)
		return -1;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Writes both at once, and syncs the second one's file when that is written. */
int uring_write_beside(struct piece first, struct piece synced, int datasync)
{
	struct piece nothing = { .fd = synced.fd };

	if (ring_begin())
		return -1;
	ring_put(IORING_OP_WRITE, first, 0, 0);
	ring_put(IORING_OP_WRITE, synced, IOSQE_IO_LINK, 0);
	ring_put(IORING_OP_FSYNC, nothing, 0, datasync ? IORING_FSYNC_DATASYNC : 0);
	if (syscall(SYS_io_uring_enter, ring.fd, 3, 0, 0, NULL, 0) != 3)
		return -1;
	return ring_get() || ring_get() || ring_get() ? -1 : 0;
}
