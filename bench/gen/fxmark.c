// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writing tests of FxMark, by their published definitions. In the names, D is data, M is
 * meta-data; O overwrites, A appends, S syncs, C creates, U unlinks, R renames; the last letter
 * says that workers have files of their own (L) or share a file or directory (M).
 * FxMark fills directories until no inode is left; here -f gives the number of files, so that
 * a large device does not take hours. A worker that runs out of files ends the test for all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "gen.h"

/* The part of the shared file that a worker has to itself. */
#define SHARED_PART	(8UL << 20)

static const char *file_of(const struct worker *w, unsigned long n)
{
	static char name[64];

	snprintf(name, sizeof(name), "%u.%lu", w->id, n);
	return name;
}

static void create(struct worker *w, unsigned long n)
{
	close_it(w, open_at(w, w->dir, file_of(w, n), O_CREAT | O_EXCL | O_RDWR));
}

static void make_empty(struct worker *w)
{
	create(w, 0);
}

static void make_block(struct worker *w)
{
	int fd = open_at(w, w->dir, file_of(w, 0), O_CREAT | O_EXCL | O_RDWR);

	write_to(w, fd, BLOCK);
	sync_it(w, fd);
	close_it(w, fd);
}

static void make_many(struct worker *w)
{
	unsigned long n;

	for (n = 0; n < set.files; n++)
		create(w, n);
}

static void make_shared_file(struct worker *w)
{
	int fd = open_at(w, w->dir, "shared", O_CREAT | O_RDWR);
	unsigned long at;

	for (at = 0; at < set.workers * SHARED_PART; at += MAX_IO)
		write_at(w, fd, MAX_IO, at);
	sync_it(w, fd);
	close_it(w, fd);
}

static void open_own(struct worker *w)
{
	w->fd = open_at(w, w->dir, file_of(w, 0), O_RDWR);
}

static void open_shared(struct worker *w)
{
	w->fd = open_at(w, w->dir, "shared", O_RDWR);
}

static void open_many(struct worker *w)
{
	w->have = set.files;
}

static bool overwrite(struct worker *w)
{
	write_at(w, w->fd, BLOCK, 0);
	return true;
}

static bool overwrite_part(struct worker *w)
{
	write_at(w, w->fd, BLOCK, w->id * SHARED_PART);
	return true;
}

static bool append(struct worker *w)
{
	write_to(w, w->fd, BLOCK);
	return true;
}

static bool overwrite_sync(struct worker *w)
{
	write_at(w, w->fd, BLOCK, 0);
	sync_it(w, w->fd);
	return true;
}

static bool create_next(struct worker *w)
{
	create(w, w->i);
	return true;
}

static bool create_write(struct worker *w)
{
	int fd = open_at(w, w->dir, file_of(w, w->i), O_CREAT | O_EXCL | O_RDWR);

	write_to(w, fd, BLOCK);
	close_it(w, fd);
	return true;
}

static bool unlink_next(struct worker *w)
{
	if (w->i == w->have)
		return false;
	remove_at(w, w->dir, file_of(w, w->i));
	return true;
}

static void rename_it(struct worker *w, const char *from, int dir, const char *to)
{
	if (renameat(w->dir, from, dir, to))
		die(to);
	w->tally->operations++;
}

static bool rename_own(struct worker *w)
{
	char from[64];

	snprintf(from, sizeof(from), "%s", file_of(w, w->i));
	rename_it(w, from, w->dir, file_of(w, w->i + 1));
	return true;
}

static bool rename_to_shared(struct worker *w)
{
	if (w->i == w->have)
		return false;
	rename_it(w, file_of(w, w->i), w->root, file_of(w, w->i));
	return true;
}

const struct load fxmark_loads[] = {
	{ "DWOL", OWN, .make = make_block, .open = open_own, .work = overwrite },
	{ "DWOM", SHARED, .make_all = make_shared_file, .open = open_shared,
	  .work = overwrite_part },
	{ "DWAL", OWN, .make = make_empty, .open = open_own, .work = append },
	{ "DWSL", OWN, .make = make_block, .open = open_own, .work = overwrite_sync },
	{ "MWCL", OWN, .work = create_next },
	{ "MWCM", SHARED, .work = create_write },
	{ "MWUL", OWN, .make = make_many, .open = open_many, .work = unlink_next },
	{ "MWUM", SHARED, .make = make_many, .open = open_many, .work = unlink_next },
	{ "MWRL", OWN, .make = make_block, .work = rename_own },
	{ "MWRM", OWN, .make = make_many, .open = open_many,
	  .work = rename_to_shared },
	{ }
};
