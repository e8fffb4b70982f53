// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjctl recover's I/O.
 *
 * The scan reads the log past the page cache, a few MiB ahead. Good images are
 * kept in memory, within bounds; once these are reached the scan goes through
 * the page cache, where replay finds the rest. Whatever does not work here is
 * done again by extimage.c, which also has the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "replay_io.h"
#include "zjctl.h"

/* Our linux/types.h lacks the one type of the system's that this needs. */
typedef int __kernel_rwf_t;
#include <linux/aio_abi.h>

#define PIECE_BYTES	(1U << 20)	/* of one read or write */
#define PIECES		4		/* reads ahead */
#define KEEP_BYTES	(192UL << 20)	/* of images, if half of what is free allows it */

/**
 * struct piece - a read ahead
 */
struct piece {
	struct iocb cb;
	u32	first;		/* journal block */
	u32	nr;		/* journal blocks */
	bool	in_flight;
	s64	got;		/* bytes, or a negative errno */
};

static struct {
	struct ext_image *img;
	int	fd;		/* past the page cache; -1: do not read ahead */
	aio_context_t aio;
	u8	*ring;		/* memory of the pieces */
	struct piece piece[PIECES];
	u32	oldest;		/* piece that is used first */
	u32	nr;		/* pieces asked for and not used up */
	u32	next;		/* first journal block not asked for */
	u32	goes_on;	/* journal block after the last read */
	u8	*kept;		/* images */
	size_t	kept_bytes;
	size_t	kept_room;
	u8	*run;		/* home blocks side by side, not yet written */
	u64	run_first;
	u32	run_nr;
} io;

/* ---- the log ---- */

static struct piece *oldest(void)
{
	return &io.piece[io.oldest];
}

static void *memory_of(const struct piece *p)
{
	return io.ring + (p - io.piece) * (size_t)PIECE_BYTES;
}

static void ask(struct piece *p)
{
	struct iocb *cb = &p->cb;

	p->first = io.next;
	p->nr = ext_run_length(io.img, io.next, min_t(u32, PIECE_BYTES / io.img->block_size,
						      io.img->journal_blocks - io.next));
	*cb = (struct iocb) {
		.aio_data = (uintptr_t)p,
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = io.fd,
		.aio_buf = (uintptr_t)memory_of(p),
		.aio_nbytes = (u64)p->nr * io.img->block_size,
		.aio_offset = io.img->map[io.next] * io.img->block_size,
	};
	p->in_flight = syscall(SYS_io_submit, io.aio, 1, &cb) == 1;
	p->got = -EIO;
	io.next += p->nr;
	io.nr++;
}

static void ask_ahead(void)
{
	while (io.nr < PIECES && io.next < io.img->journal_blocks)
		ask(&io.piece[(io.oldest + io.nr) % PIECES]);
}

/* Waits for all that is in flight. */
static void end_aio(void)
{
	if (io.aio)
		syscall(SYS_io_destroy, io.aio);
	io.aio = 0;
	for (u32 i = 0; i < PIECES; i++)
		io.piece[i].in_flight = false;
}

static void wait_for(struct piece *p)
{
	struct io_event event;

	while (p->in_flight) {
		if (syscall(SYS_io_getevents, io.aio, 1, 1, &event, NULL) == 1) {
			struct piece *done = (struct piece *)(uintptr_t)event.data;

			done->in_flight = false;
			done->got = event.res;
		} else if (errno != EINTR) {
			end_aio();
		}
	}
}

static void drop_oldest(void)
{
	wait_for(oldest());
	io.oldest = (io.oldest + 1) % PIECES;
	io.nr--;
}

static void stop_reading_ahead(void)
{
	while (io.nr)
		drop_oldest();
	if (io.fd >= 0)
		close(io.fd);
	io.fd = -1;
}

static bool is_ahead(u32 block)
{
	return io.nr && block >= oldest()->first && block < io.next;
}

/* Blocks from @block on that the ring had, @nr at most. */
static u32 read_ahead(u32 block, u32 nr, void *buf)
{
	struct piece *p;
	u32 at, n;

	while (block >= oldest()->first + oldest()->nr)
		drop_oldest();
	p = oldest();
	wait_for(p);
	if (p->got != (s64)p->cb.aio_nbytes) {
		stop_reading_ahead();
		return 0;
	}
	at = block - p->first;
	n = min(nr, p->nr - at);
	memcpy(buf, memory_of(p) + (size_t)at * io.img->block_size,
	       (size_t)n * io.img->block_size);
	if (at + n == p->nr)
		drop_oldest();
	return n;
}

int rio_read_log(u32 block, u32 nr, void *buf)
{
	/* The one block that tells a free segment is no reason to read on. */
	bool long_read = nr > 1 && io.fd >= 0;
	u32 n;

	if (long_read && !is_ahead(block) && block == io.goes_on) {
		while (io.nr)
			drop_oldest();
		io.next = block;
	}
	io.goes_on = block + nr;
	for (; nr; nr -= n, block += n, buf += (size_t)n * io.img->block_size) {
		if (long_read && io.fd >= 0 && (is_ahead(block) || io.next == block))
			ask_ahead();
		n = is_ahead(block) ? read_ahead(block, nr, buf) : 0;
		if (!n)
			return ext_ops.read_log(io.img, block, nr, buf);
	}
	return 0;
}

void *rio_keep(const void *image)
{
	u32 size = io.img->block_size;
	void *copy = io.kept + io.kept_bytes;

	if (io.kept_room - io.kept_bytes < size) {
		stop_reading_ahead();
		return NULL;
	}
	io.kept_bytes += size;
	return memcpy(copy, image, size);
}

/* ---- home ---- */

static int write_run(void)
{
	int err = 0;

	if (io.run_nr)
		err = ext_write_run(io.img, io.run_first, io.run_nr, io.run);
	if (err)
		zx_say(ZX_ERROR, "%s: blocks %llu to %llu cannot be written: %s", io.img->path,
		       io.run_first, io.run_first + io.run_nr - 1, strerror(-err));
	io.run_nr = 0;
	return err;
}

int rio_write_home(u64 block, const void *buf)
{
	u32 size = io.img->block_size;
	int err;

	if (!io.run)
		return ext_write_run(io.img, block, 1, buf);
	if (block != io.run_first + io.run_nr || io.run_nr == PIECE_BYTES / size) {
		err = write_run();
		if (err)
			return err;
		io.run_first = block;
	}
	memcpy(io.run + (size_t)io.run_nr++ * size, buf, size);
	return 0;
}

int rio_flush_home(void)
{
	int err = write_run();

	return err ? err : ext_ops.flush_home(io.img);
}

/* ---- both ---- */

static void *get_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

void rio_start(struct ext_image *img)
{
	size_t half_free = (size_t)sysconf(_SC_AVPHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);

	memset(&io, 0, sizeof(io));
	io.img = img;
	io.fd = open(img->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	io.ring = get_memory(PIECES * (size_t)PIECE_BYTES);
	if (!io.ring || syscall(SYS_io_setup, PIECES, &io.aio))
		stop_reading_ahead();
	io.kept_room = min(KEEP_BYTES, half_free);
	io.kept = get_memory(io.kept_room);
	if (!io.kept)
		io.kept_room = 0;
	io.run = malloc(PIECE_BYTES);
}

void rio_end(void)
{
	stop_reading_ahead();
	end_aio();
	if (io.ring)
		munmap(io.ring, PIECES * (size_t)PIECE_BYTES);
	if (io.kept)
		munmap(io.kept, io.kept_room);
	free(io.run);
}
