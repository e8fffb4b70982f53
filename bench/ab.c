// SPDX-License-Identifier: GPL-2.0-only
/*
 * Micro benchmark that compares two file systems.
 *
 *   ab run -d DIR -t TEST [-u] [-n OPS] [-w WORKERS] [-p PREFIX]
 *   ab list
 *
 * "run" does a fixed amount of work with WORKERS processes, one pinned to
 * each CPU, then syncs and, with -u, unmounts the file system. It prints
 * PREFIX TEST OPS LOOP_SECONDS SYNC_SECONDS UMOUNT_SECONDS. ab.sh drives it
 * and report.c turns the lines into a table.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLK		4096
#define MAX_WORKERS	256
#define NAME_LEN	64
/* Files that one varmail worker keeps alive before it deletes the oldest. */
#define MAIL_DEPTH	16

/**
 * struct worker - what one worker process works on
 * @id:		number of the worker, from 0
 * @dir:	directory its files go to
 * @fd:		open file of the tests that use a single file, or -1
 * @ops:	number of operations to do
 * @buf:	the block that it writes
 */
struct worker {
	unsigned int id;
	int dir;
	int fd;
	unsigned long ops;
	unsigned char buf[BLK];
};

/**
 * struct test - one kind of operation
 * @name:	name on the command line and in the table
 * @percent:	operations per worker, in percent of -n
 * @shared:	all workers use one directory
 * @setup:	untimed preparation, or NULL
 * @op:		operation number @i
 */
struct test {
	const char *name;
	unsigned int percent;
	int shared;
	void (*setup)(struct worker *w);
	void (*op)(struct worker *w, unsigned long i);
};

/**
 * struct span - when a worker was inside its loop; shared with the parent
 * @start:	seconds of the monotonic clock
 * @end:	the same
 */
struct span {
	double start;
	double end;
};

/**
 * struct config - the command line
 * @dir:	directory of the file system under test
 * @prefix:	text put before the result
 * @test:	the test to run
 * @ops:	base number of operations per worker
 * @workers:	number of worker processes
 * @unmount:	unmount @dir at the end
 */
struct config {
	const char *dir;
	const char *prefix;
	const struct test *test;
	unsigned long ops;
	unsigned int workers;
	int unmount;
};

/* Where a worker tells the parent that it is ready or has failed. */
static int ready_fd = -1;

static void fail(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	fprintf(stderr, "ab: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(err));
	if (ready_fd >= 0 && write(ready_fd, "F", 1) != 1)
		_exit(2);
	_exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static const char *file_name(const struct worker *w, unsigned long i)
{
	static char name[NAME_LEN];

	snprintf(name, sizeof(name), "w%u.%07lu", w->id, i);
	return name;
}

static int open_file(struct worker *w, unsigned long i, int flags)
{
	int fd = openat(w->dir, file_name(w, i), flags, 0644);

	if (fd < 0)
		fail("open %s", file_name(w, i));
	return fd;
}

static void put_block(struct worker *w, int fd, unsigned long i)
{
	/* Another content each time, so that no layer can skip the write. */
	memcpy(w->buf + 16, &i, sizeof(i));
	if (write(fd, w->buf, BLK) != BLK)
		fail("write (is the device large enough?)");
}

static void sync_file(int fd)
{
	if (fsync(fd))
		fail("fsync");
}

/*
 * A worker's first blocks and inodes cost more than the next: bitmaps are made up
 * or read. Unlike the operations these are not of the journal, nor of many files.
 */
static void warm_up(struct worker *w)
{
	int fd = open_file(w, 0, O_CREAT | O_RDWR);

	put_block(w, fd, 0);
	sync_file(fd);
	close(fd);
	if (unlinkat(w->dir, file_name(w, 0), 0))
		fail("unlink %s", file_name(w, 0));
}

static void setup_one_file(struct worker *w)
{
	w->fd = open_file(w, 0, O_CREAT | O_RDWR | O_APPEND);
	put_block(w, w->fd, 0);
}

static void setup_overwrite(struct worker *w)
{
	w->fd = open_file(w, 0, O_CREAT | O_RDWR);
	put_block(w, w->fd, 0);
}

static void op_create(struct worker *w, unsigned long i)
{
	close(open_file(w, i, O_CREAT | O_EXCL | O_WRONLY));
}

static void setup_files(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->ops; i++)
		op_create(w, i);
}

static void op_overwrite(struct worker *w, unsigned long i)
{
	if (lseek(w->fd, 0, SEEK_SET))
		fail("lseek");
	put_block(w, w->fd, i);
}

static void op_append(struct worker *w, unsigned long i)
{
	put_block(w, w->fd, i);
}

static void op_append_fsync(struct worker *w, unsigned long i)
{
	put_block(w, w->fd, i);
	sync_file(w->fd);
}

static void op_create_fsync(struct worker *w, unsigned long i)
{
	int fd = open_file(w, i, O_CREAT | O_EXCL | O_WRONLY);

	put_block(w, fd, i);
	sync_file(fd);
	close(fd);
}

static void op_unlink(struct worker *w, unsigned long i)
{
	if (unlinkat(w->dir, file_name(w, i), 0))
		fail("unlink %s", file_name(w, i));
}

static void read_all(int fd)
{
	static unsigned char buf[4 * BLK];
	ssize_t n;

	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0);
	if (n < 0)
		fail("read");
}

/* Deliver a mail, read and extend it, read it again, delete an old one. */
static void op_varmail(struct worker *w, unsigned long i)
{
	int fd = open_file(w, i, O_CREAT | O_EXCL | O_WRONLY | O_APPEND);

	put_block(w, fd, i);
	put_block(w, fd, i + 1);
	sync_file(fd);
	close(fd);

	fd = open_file(w, i, O_RDWR | O_APPEND);
	read_all(fd);
	put_block(w, fd, i + 2);
	sync_file(fd);
	close(fd);

	fd = open_file(w, i, O_RDONLY);
	read_all(fd);
	close(fd);

	if (i >= MAIL_DEPTH)
		op_unlink(w, i - MAIL_DEPTH);
}

static const struct test tests[] = {
	{ "create", 100, 0, NULL, op_create },
	{ "overwrite", 1600, 0, setup_overwrite, op_overwrite },
	{ "append", 400, 0, setup_one_file, op_append },
	{ "create-fsync", 10, 0, NULL, op_create_fsync },
	{ "append-fsync", 10, 0, setup_one_file, op_append_fsync },
	{ "unlink", 100, 0, setup_files, op_unlink },
	{ "shared-create", 100, 1, NULL, op_create },
	{ "varmail", 5, 0, NULL, op_varmail },
};

#define NR_TESTS (sizeof(tests) / sizeof(tests[0]))

static void pin(unsigned int id)
{
	cpu_set_t have, want;
	unsigned int left;
	int cpu;

	if (sched_getaffinity(0, sizeof(have), &have))
		fail("sched_getaffinity");
	left = id % CPU_COUNT(&have);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &have) || left--)
			continue;
		CPU_ZERO(&want);
		CPU_SET(cpu, &want);
		if (sched_setaffinity(0, sizeof(want), &want))
			fail("sched_setaffinity");
		return;
	}
}

static int make_dir(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0755) && errno != EEXIST)
		fail("mkdir %s", name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		fail("open %s", name);
	return fd;
}

/*
 * The private directories lie below directories of the root, which ext4
 * spreads over the disk, as the directories of different users would be.
 * The parent makes them one by one, so that they come to lie alike each time.
 */
static int work_dir(const struct config *c, int root, unsigned int id)
{
	char name[NAME_LEN] = "shared";
	int top, dir;

	if (!c->test->shared)
		snprintf(name, sizeof(name), "private%u", id);
	top = make_dir(root, name);
	dir = make_dir(top, c->test->name);
	close(top);
	return dir;
}

static void work(const struct config *c, int dir, unsigned int id,
		 int go_fd, struct span *span)
{
	struct worker w = { .id = id, .dir = dir, .fd = -1 };
	unsigned long i;
	char c1;

	w.ops = c->ops * c->test->percent / 100;
	memset(w.buf, 'a' + id % 26, sizeof(w.buf));
	pin(id);
	warm_up(&w);
	if (c->test->setup)
		c->test->setup(&w);
	if (write(ready_fd, "R", 1) != 1)
		fail("ready");
	/* The parent starts everybody at once by closing its end. */
	if (read(go_fd, &c1, 1))
		fail("start");

	span->start = now();
	for (i = 0; i < w.ops; i++)
		c->test->op(&w, i);
	span->end = now();
	_exit(0);
}

static void wait_ready(int fd, unsigned int n)
{
	char c1;

	while (n--) {
		if (read(fd, &c1, 1) != 1 || c1 != 'R') {
			fprintf(stderr, "ab: a worker failed in its setup\n");
			exit(1);
		}
	}
}

static void wait_done(unsigned int n)
{
	int status, bad = 0;

	while (n--) {
		if (wait(&status) < 0)
			fail("wait");
		if (status)
			bad = 1;
	}
	if (bad) {
		fprintf(stderr, "ab: a worker failed\n");
		exit(1);
	}
}

static double loop_time(const struct span *span, unsigned int n)
{
	double start = span[0].start, end = span[0].end;
	unsigned int i;

	for (i = 1; i < n; i++) {
		if (span[i].start < start)
			start = span[i].start;
		if (span[i].end > end)
			end = span[i].end;
	}
	return end - start;
}

static int run(const struct config *c)
{
	unsigned long total = c->ops * c->test->percent / 100 * c->workers;
	int root = open(c->dir, O_RDONLY | O_DIRECTORY);
	int ready[2], go[2];
	int dir[MAX_WORKERS];
	struct span *span;
	unsigned int i;
	double t[3];

	if (root < 0)
		fail("open %s", c->dir);
	span = mmap(NULL, c->workers * sizeof(*span), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (span == MAP_FAILED || pipe(ready) || pipe(go))
		fail("no memory or pipe");
	for (i = 0; i < c->workers; i++)
		dir[i] = work_dir(c, root, i);
	for (i = 0; i < c->workers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (!pid) {
			ready_fd = ready[1];
			close(go[1]);
			work(c, dir[i], i, go[0], &span[i]);
		}
	}
	close(ready[1]);
	wait_ready(ready[0], c->workers);
	if (syncfs(root))
		fail("syncfs");
	close(go[1]);
	wait_done(c->workers);

	t[0] = now();
	if (syncfs(root))
		fail("syncfs");
	t[1] = now();
	close(root);
	for (i = 0; i < c->workers; i++)
		close(dir[i]);
	if (c->unmount && umount(c->dir))
		fail("umount %s", c->dir);
	t[2] = now();
	printf("%s %s %lu %.6f %.6f %.6f\n", c->prefix, c->test->name, total,
	       loop_time(span, c->workers), t[1] - t[0], t[2] - t[1]);
	return 0;
}

static const struct test *find_test(const char *name)
{
	size_t i;

	for (i = 0; i < NR_TESTS; i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	fprintf(stderr, "ab: no test \"%s\"; see: ab list\n", name);
	exit(2);
}

static int list(void)
{
	size_t i;

	for (i = 0; i < NR_TESTS; i++)
		puts(tests[i].name);
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: ab run -d DIR -t TEST [-u] [-n OPS] [-w WORKERS] [-p PREFIX]\n"
		"       ab list\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct config c = { .prefix = "-", .ops = 1000, .workers = 4 };
	const char *verb = argc > 1 ? argv[1] : "";
	int opt;

	optind = 2;
	while (argc > 1 && (opt = getopt(argc, argv, "d:t:n:w:p:u")) != -1) {
		if (opt == 'd')
			c.dir = optarg;
		else if (opt == 't')
			c.test = find_test(optarg);
		else if (opt == 'n')
			c.ops = strtoul(optarg, NULL, 10);
		else if (opt == 'w')
			c.workers = strtoul(optarg, NULL, 10);
		else if (opt == 'p')
			c.prefix = optarg;
		else if (opt == 'u')
			c.unmount = 1;
		else
			return usage();
	}
	if (!strcmp(verb, "list"))
		return list();
	if (strcmp(verb, "run") || !c.dir || !c.test)
		return usage();
	if (c.ops < 20 || !c.workers || c.workers > MAX_WORKERS) {
		fprintf(stderr, "ab: -n must be at least 20 and -w 1 to %d\n",
			MAX_WORKERS);
		return 2;
	}
	return run(&c);
}
