/* SPDX-License-Identifier: GPL-2.0-only */
/* An io_uring without liburing, for one thread.  What fails leaves errno. */
#ifndef URING_H
#define URING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/**
 * struct uring - its memory
 * @fd: file descriptor
 * @params: where what is
 * @sq: submission queue
 * @cq: completion queue
 * @entries: requests
 */
struct uring {
	int fd;
	struct io_uring_params params;
	char *sq;
	char *cq;
	struct io_uring_sqe *entries;
};

static inline void *uring_part(const struct uring *ring, size_t bytes, off_t at)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, at);
}

/* @ring holds zeros; @depth is a power of two. Returns 0 or -1. */
static inline int uring_begin(struct uring *ring, unsigned int depth, unsigned int flags)
{
	struct io_uring_params *p = &ring->params;

	p->flags = flags;
	ring->fd = syscall(SYS_io_uring_setup, depth, p);
	if (ring->fd < 0)
		return -1;
	ring->sq = uring_part(ring, p->sq_off.array + p->sq_entries * sizeof(uint32_t),
			      IORING_OFF_SQ_RING);
	ring->cq = uring_part(ring, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
			      IORING_OFF_CQ_RING);
	ring->entries = uring_part(ring, p->sq_entries * sizeof(*ring->entries), IORING_OFF_SQES);
	return ring->sq == MAP_FAILED || ring->cq == MAP_FAILED || ring->entries == MAP_FAILED ?
		-1 : 0;
}

/* Puts a request into the queue, which must have room. Its user_data is what it has to return. */
static inline void uring_put(struct uring *ring, const struct io_uring_sqe *request)
{
	uint32_t *tail = (uint32_t *)(ring->sq + ring->params.sq_off.tail);
	uint32_t slot = *tail & (ring->params.sq_entries - 1);

	ring->entries[slot] = *request;
	((uint32_t *)(ring->sq + ring->params.sq_off.array))[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

/* The kernel takes @count requests. Returns 0, or -1 if it does not. */
static inline int uring_submit(struct uring *ring, unsigned int count)
{
	long taken = syscall(SYS_io_uring_enter, ring->fd, count, 0, 0, NULL, 0);

	return taken == (long)count ? 0 : -1;
}

/* Waits, or polls, for one request. Returns 0, or -1 if it has not done all. */
static inline int uring_get(struct uring *ring)
{
	uint32_t *head = (uint32_t *)(ring->cq + ring->params.cq_off.head);
	uint32_t *tail = (uint32_t *)(ring->cq + ring->params.cq_off.tail);
	const struct io_uring_cqe *ended = (void *)(ring->cq + ring->params.cq_off.cqes);

	while (*head == __atomic_load_n(tail, __ATOMIC_ACQUIRE))
		if (syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return -1;
	ended += *head & (ring->params.cq_entries - 1);
	errno = ended->res < 0 ? -ended->res : EINVAL;
	if (ended->res != (int)ended->user_data)
		return -1;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return 0;
}

#endif
