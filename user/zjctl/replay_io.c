// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjctl recover's I/O.
 *
 * What recovery wants of the log soon is read past the page cache, all at once. Whatever
 * does not work here recovery asks for once more, of extimage.c, which also has the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "replay_io.h"
#include "zjctl.h"

/* Our linux/types.h lacks the one type of the system's that this needs. */
typedef int __kernel_rwf_t;
#include <linux/aio_abi.h>

#define PIECE_BYTES	(1U << 20)	/* of one read or write */
#define READS		128		/* at a time */
#define SEND_BYTES	(8U << 20)	/* written before write-back is started */

/**
 * struct read - one read on its way
 */
struct read {
	struct iocb cb;
	u32	slot;		/* whose it is */
	struct read *next;	/* in the list of free ones */
};

static struct {
	struct ext_image *img;
	int	fd;		/* past the page cache; -1: nothing is read ahead */
	aio_context_t aio;
	struct read read[READS];
	struct read *free;
	u32	in_flight[ZJ_READ_SLOTS];
	int	err[ZJ_READ_SLOTS];	/* of what was begun, or 0 */
	u8	*run;		/* home blocks side by side, not yet written */
	u64	run_first;
	u32	run_nr;
	size_t	unsent;		/* bytes written since write-back was started */
} io;

/* ---- the log ---- */

static void put_read(struct read *r)
{
	r->next = io.free;
	io.free = r;
}

static void ended(const struct io_event *event)
{
	struct read *r = (struct read *)(uintptr_t)event->data;

	io.in_flight[r->slot]--;
	if (event->res != (s64)r->cb.aio_nbytes)
		io.err[r->slot] = -EIO;
	put_read(r);
}

/* Waits for all requests in flight, whatever their result. */
static void end_aio(void)
{
	if (io.aio)
		syscall(SYS_io_destroy, io.aio);
	io.aio = 0;
	if (io.fd >= 0)
		close(io.fd);
	io.fd = -1;
	for (u32 i = 0; i < ZJ_READ_SLOTS; i++) {
		io.err[i] = io.in_flight[i] ? -EIO : io.err[i];
		io.in_flight[i] = 0;
	}
}

static void wait_for_some(void)
{
	struct io_event event[READS];
	long nr = syscall(SYS_io_getevents, io.aio, 1, READS, event, NULL);

	for (long i = 0; i < nr; i++)
		ended(&event[i]);
	if (nr < 0 && errno != EINTR)
		end_aio();
}

static void begin(u32 slot, u64 at, u32 nr, void *buf)
{
	struct read *r;
	struct iocb *cb;

	while (!io.free && io.fd >= 0)
		wait_for_some();
	if (io.fd < 0) {
		io.err[slot] = -EIO;
		return;
	}
	r = io.free;
	io.free = r->next;
	r->slot = slot;
	cb = &r->cb;
	*cb = (struct iocb) {
		.aio_data = (uintptr_t)r,
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = io.fd,
		.aio_buf = (uintptr_t)buf,
		.aio_nbytes = (u64)nr * io.img->block_size,
		.aio_offset = at * io.img->block_size,
	};
	if (syscall(SYS_io_submit, io.aio, 1, &cb) == 1) {
		io.in_flight[slot]++;
	} else {
		io.err[slot] = -EIO;
		put_read(r);
	}
}

void rio_start_read(u32 slot, u32 block, u32 nr, void *buf)
{
	u32 size = io.img->block_size, n;
	u64 at;

	for (; nr; nr -= n, block += n, buf += (size_t)n * size) {
		n = zj_map_look(&io.img->map, block, min(nr, PIECE_BYTES / size), &at);
		begin(slot, at, n, buf);
	}
}

int rio_end_read(u32 slot)
{
	int err;

	while (io.in_flight[slot])
		wait_for_some();
	err = io.err[slot];
	io.err[slot] = 0;
	return err;
}

/* ---- home ---- */

/* Whoever only asks for durability at the end leaves the device idle until then. */
static void send_home(size_t bytes)
{
	io.unsent += bytes;
	if (io.unsent < SEND_BYTES)
		return;
	io.unsent = 0;
	sync_file_range(io.img->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static int write_run(void)
{
	int err = 0;

	if (io.run_nr)
		err = ext_write_run(io.img, io.run_first, io.run_nr, io.run);
	if (err)
		zx_say(ZX_ERROR, "%s: blocks %llu to %llu cannot be written: %s", io.img->path,
		       io.run_first, io.run_first + io.run_nr - 1, strerror(-err));
	else
		send_home((size_t)io.run_nr * io.img->block_size);
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

u64 rio_room(void)
{
	return (u64)sysconf(_SC_AVPHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
}

void rio_start(struct ext_image *img)
{
	memset(&io, 0, sizeof(io));
	io.img = img;
	io.fd = open(img->log_start ? img->log_path : img->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	for (u32 i = 0; i < READS; i++)
		put_read(&io.read[i]);
	if (syscall(SYS_io_setup, READS, &io.aio))
		end_aio();
	io.run = malloc(PIECE_BYTES);
}

void rio_end(void)
{
	end_aio();
	free(io.run);
}
