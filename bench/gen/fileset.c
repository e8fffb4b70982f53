// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads on a set of files, as filebench has them: varmail, fileserver and postmark.
 *
 * varmail: delete a file; create one, append, fsync, close; open one, read it, append, fsync,
 * close; open one, read it, close.
 * fileserver, in a tree: create a file, write all of it, close; open one, append, close; open
 * one, read it, close; delete one; stat one.
 * postmark, in large directories: create and write, or delete, a file; read, or append to, one.
 *
 * Workers share the set in one directory, or each has an equal part in one of its own.
 * There are twice as many names as files, so that a free name is found soon.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "gen.h"

enum { NONE, BUSY, THERE };

/* A state for each name, of all parts one after the other; atomic. */
static unsigned char *state;
static unsigned long tree;	/* files of a directory; 0: there is no tree */

static unsigned int parts(void)
{
	return set.shared ? 1 : set.workers;
}

/* Names of a part: twice its files. */
static unsigned long names(void)
{
	return 2 * (set.files / parts());
}

static unsigned char *state_of(const struct worker *w, unsigned long file)
{
	return &state[(set.shared ? 0 : w->id * names()) + file];
}

/**
 * fileset_map() - memory for the states of files, which all workers share
 * @files_of_dir: files of a directory, or 0 if all are in one
 */
void fileset_map(unsigned long files_of_dir)
{
	tree = files_of_dir;
	state = mmap(NULL, parts() * names() + 1, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		die("mmap");
}

/**
 * fileset_there() - every second name is a file, as the make functions have left it
 */
void fileset_there(void)
{
	unsigned long n;

	for (n = 0; n < parts() * names(); n += 2)
		state[n] = THERE;
}

/* A file of this state, and no other worker's until give() is called. */
static unsigned long take(struct worker *w, unsigned char wanted)
{
	for (;;) {
		unsigned long n = below(w, names()), tries;

		for (tries = 0; tries < names(); tries++, n = (n + 1) % names()) {
			unsigned char was = wanted;

			if (__atomic_compare_exchange_n(state_of(w, n), &was, BUSY, 0,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				return n;
		}
		sched_yield();
	}
}

static void give(struct worker *w, unsigned long file, unsigned char now_is)
{
	__atomic_store_n(state_of(w, file), now_is, __ATOMIC_SEQ_CST);
}

static const char *path_of(unsigned long file)
{
	static char path[64];

	if (tree)
		snprintf(path, sizeof(path), "d%lu/f%lu", file / tree, file);
	else
		snprintf(path, sizeof(path), "f%lu", file);
	return path;
}

static int open_file(struct worker *w, unsigned long file, int flags)
{
	return open_at(w, w->dir, path_of(file), flags | O_RDWR | O_APPEND);
}

/* A share between 0 and 1, neither of them. */
static double share(struct worker *w)
{
	return (below(w, 1UL << 30) + 0.5) / (1UL << 30);
}

/*
 * Bytes of a new file. The gamma distribution of shape 1.5 is the sum of an exponential one
 * and half the square of a normal one.
 */
static unsigned long file_size(struct worker *w)
{
	double normal, sum;

	if (!set.gamma)
		return set.size;
	normal = sqrt(-2 * log(share(w))) * cos(2 * M_PI * share(w));
	sum = -log(share(w)) + normal * normal / 2;
	return 1 + set.size / 1.5 * sum;
}

static unsigned long some_bytes(struct worker *w)
{
	return 1 + below(w, 2 * set.append);
}

static void create_file(struct worker *w, unsigned long file)
{
	int fd = open_file(w, file, O_CREAT | O_EXCL);

	write_to(w, fd, file_size(w));
	close_it(w, fd);
}

static void make_part(struct worker *w)
{
	unsigned long n;
	char name[64];

	for (n = 0; tree && n * tree < names(); n++) {
		snprintf(name, sizeof(name), "d%lu", n);
		if (mkdirat(w->dir, name, 0755))
			die(name);
	}
	for (n = 0; n < names(); n += 2)
		create_file(w, n);
}

static void make_shared(struct worker *w)
{
	if (set.shared)
		make_part(w);
}

static void make_own(struct worker *w)
{
	if (!set.shared)
		make_part(w);
}

static void delete_one(struct worker *w)
{
	unsigned long file = take(w, THERE);

	remove_at(w, w->dir, path_of(file));
	give(w, file, NONE);
}

static void stat_one(struct worker *w)
{
	unsigned long file = take(w, THERE);
	struct stat st;

	if (fstatat(w->dir, path_of(file), &st, 0))
		die("stat");
	w->tally->operations++;
	give(w, file, THERE);
}

static void create_one(struct worker *w)
{
	unsigned long file = take(w, NONE);

	create_file(w, file);
	give(w, file, THERE);
}

enum { READ = 1, APPEND = 2, SYNC = 4 };

static void use_one(struct worker *w, int what)
{
	unsigned long file = take(w, THERE);
	int fd = open_file(w, file, 0);

	if (what & READ)
		read_all(w, fd);
	if (what & APPEND)
		write_to(w, fd, some_bytes(w));
	if (what & SYNC)
		sync_it(w, fd);
	close_it(w, fd);
	give(w, file, THERE);
}

static bool varmail(struct worker *w)
{
	unsigned long file;
	int fd;

	delete_one(w);
	file = take(w, NONE);
	fd = open_file(w, file, O_CREAT | O_EXCL);
	write_to(w, fd, some_bytes(w));
	sync_it(w, fd);
	close_it(w, fd);
	give(w, file, THERE);
	use_one(w, READ | APPEND | SYNC);
	use_one(w, READ);
	return true;
}

static bool fileserver(struct worker *w)
{
	create_one(w);
	use_one(w, APPEND);
	use_one(w, READ);
	delete_one(w);
	stat_one(w);
	return true;
}

static bool postmark(struct worker *w)
{
	if (below(w, 2))
		create_one(w);
	else
		delete_one(w);
	use_one(w, below(w, 2) ? READ : APPEND);
	return true;
}

#define FILESET(NAME, TREE) \
	{ #NAME, EITHER, TREE, .make_all = make_shared, .make = make_own, .work = NAME }

const struct load fileset_loads[] = {
	FILESET(varmail, 0),
	FILESET(fileserver, 20),
	FILESET(postmark, 1000),
	{ }
};
