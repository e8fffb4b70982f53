// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads that write to one file or a few.
 *
 * writesync: EVERY appends to the worker's own file, an fsync.
 * append: an append to it, no fsync.
 * overwrite, randwrite: a write over what is in the worker's own file of FILES times APPEND
 * bytes, from its beginning to its end or anywhere.
 * randsync: a write of 4 KiB anywhere in one of FILES files of SIZE bytes that all workers share,
 * an fsync of the file after each EVERY writes of a worker (SysBench in Z-Journal's figures 7
 * and 8, where it is 80 files of 1 GiB and 100 writes; -e 0 leaves the fsyncs out).
 * insert: transactions of a database as InnoDB writes them: a record of 188 bytes (a row of
 * sysbench's table) goes into the redo log, a file of fixed size that is written round and
 * round in blocks of 512 bytes, with an fsync; once rows fill a page of 16 KiB, it is appended
 * to the worker's table. -s: one log for all, else each worker has its own.
 * fsync-append: 4 KiB to the worker's own file, an fsync.
 * fsync-overwrite: overwrite, with an fsync after each write.
 * fsync-create: create a file, write 4 KiB, an fsync.
 * mail: delete a file, create one, write 8 KiB, fsync; open it, read it, append 8 KiB, fsync:
 * varmail without the set of files, so each worker touches only what it has made.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "gen.h"

#define LOG_BYTES	(4UL << 20)
#define LOG_BLOCK	512UL
#define ROW		188UL
#define PAGE		(16UL << 10)
#define MAILS		8UL	/* that a worker keeps */

static const char *name_of(const struct worker *w, unsigned long n)
{
	static char name[64];

	snprintf(name, sizeof(name), "%.16s%u.%lu", set.prefix, w->id, n);
	return name;
}

static void make_own(struct worker *w)
{
	close_it(w, open_at(w, w->dir, name_of(w, 0), O_CREAT | O_WRONLY));
}

static void make_full(struct worker *w)
{
	int fd = open_at(w, w->dir, name_of(w, 0), O_CREAT | O_WRONLY);
	unsigned long n;

	for (n = 0; n < set.files; n++)
		write_to(w, fd, set.append);
	close_it(w, fd);
}

static void open_append(struct worker *w)
{
	w->fd = open_at(w, w->dir, name_of(w, 0), O_RDWR | O_APPEND);
}

static void open_own(struct worker *w)
{
	w->fd = open_at(w, w->dir, name_of(w, 0), O_RDWR);
}

static bool append(struct worker *w)
{
	write_to(w, w->fd, set.append);
	return true;
}

static bool writesync(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < set.every; i++)
		write_to(w, w->fd, set.append);
	sync_it(w, w->fd);
	return true;
}

static bool overwrite(struct worker *w)
{
	write_at(w, w->fd, set.append, w->i % set.files * set.append);
	return true;
}

static bool randwrite(struct worker *w)
{
	write_at(w, w->fd, set.append, below(w, set.files) * set.append);
	return true;
}

/* ---- randsync ---- */

static void shared_name(char *name, size_t room, unsigned long n)
{
	snprintf(name, room, "shared%lu", n);
}

static void make_files(struct worker *w)
{
	char name[64];
	unsigned long n;

	for (n = 0; n < set.files; n++) {
		int fd;

		shared_name(name, sizeof(name), n);
		fd = open_at(w, w->dir, name, O_CREAT | O_WRONLY);
		write_to(w, fd, set.size);
		close_it(w, fd);
	}
}

static bool randsync(struct worker *w)
{
	unsigned long operations = w->tally->operations;
	char name[64];
	int fd;

	shared_name(name, sizeof(name), below(w, set.files));
	fd = open_at(w, w->dir, name, O_WRONLY);
	write_at(w, fd, BLOCK, below(w, set.size / BLOCK) * BLOCK);
	if (set.every && (w->i + 1) % set.every == 0)
		sync_it(w, fd);
	close_it(w, fd);
	w->tally->operations = operations + 1;
	return true;
}

/* ---- insert ---- */

static void make_log(struct worker *w, const char *name)
{
	int fd = open_at(w, w->dir, name, O_CREAT | O_WRONLY);

	write_to(w, fd, LOG_BYTES);
	sync_it(w, fd);
	close_it(w, fd);
}

static void make_shared_log(struct worker *w)
{
	if (set.shared)
		make_log(w, "redo");
}

static void make_table(struct worker *w)
{
	make_own(w);
	if (!set.shared)
		make_log(w, "redo");
}

static void open_table(struct worker *w)
{
	open_append(w);
	w->fd2 = open_at(w, w->dir, "redo", O_WRONLY);
}

static bool insert(struct worker *w)
{
	unsigned long records = LOG_BYTES / LOG_BLOCK;
	/* Workers that share a log have equal parts of its records. */
	unsigned long n = set.shared ? w->i * set.workers + w->id : w->i;
	unsigned long operations = w->tally->operations;

	/* The log's last block is written again until it is full. */
	write_at(w, w->fd2, LOG_BLOCK, n * ROW / LOG_BLOCK % records * LOG_BLOCK);
	sync_it(w, w->fd2);
	if ((w->i + 1) % (PAGE / ROW) == 0)
		write_to(w, w->fd, PAGE);
	w->tally->operations = operations + 1;
	return true;
}

/* ---- loads that are nothing but fsyncs ---- */

static bool fsync_append(struct worker *w)
{
	write_to(w, w->fd, BLOCK);
	sync_it(w, w->fd);
	return true;
}

static bool fsync_overwrite(struct worker *w)
{
	overwrite(w);
	sync_it(w, w->fd);
	return true;
}

static bool fsync_create(struct worker *w)
{
	int fd = open_at(w, w->dir, name_of(w, w->i), O_CREAT | O_EXCL | O_WRONLY);

	write_to(w, fd, BLOCK);
	sync_it(w, fd);
	close_it(w, fd);
	return true;
}

static void take_mail(struct worker *w, int more)
{
	int fd = open_at(w, w->dir, name_of(w, w->i), O_RDWR | O_APPEND | more);

	if (!more)
		read_all(w, fd);
	write_to(w, fd, 2 * BLOCK);
	sync_it(w, fd);
	close_it(w, fd);
}

static bool mail(struct worker *w)
{
	if (w->i >= MAILS)
		remove_at(w, w->dir, name_of(w, w->i - MAILS));
	take_mail(w, O_CREAT | O_EXCL);
	take_mail(w, 0);
	return true;
}

const struct load write_loads[] = {
	{ "writesync", EITHER, .make = make_own, .open = open_append, .work = writesync },
	{ "append", EITHER, .make = make_own, .open = open_append, .work = append },
	{ "overwrite", EITHER, .make = make_full, .open = open_own, .work = overwrite },
	{ "randwrite", EITHER, .make = make_full, .open = open_own, .work = randwrite },
	{ "randsync", SHARED, .make_all = make_files, .work = randsync },
	{ "insert", EITHER, .make_all = make_shared_log, .make = make_table,
	  .open = open_table, .work = insert },
	{ "fsync-append", EITHER, .make = make_own, .open = open_append, .work = fsync_append },
	{ "fsync-overwrite", EITHER, .make = make_full, .open = open_own, .work = fsync_overwrite },
	{ "fsync-create", EITHER, .work = fsync_create },
	{ "mail", EITHER, .work = mail },
	{ }
};
