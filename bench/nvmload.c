// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loads by which a journal in NVM is judged, after their published description:
 *
 *   nvmload -t varmail|fileserver|writesync -d DIR -p [-f FILES] [-s SIZE]
 *	make the files, nothing is counted
 *   nvmload -t ... -d DIR [-w WORKERS] [-n LOOPS] [-f FILES] [-s SIZE] [-a APPEND] [-e EVERY]
 *	LOOPS loops of each worker, then syncfs; prints "OPERATIONS SECONDS"
 *
 * One loop of varmail, all workers in one directory: delete a file; create one, append,
 * fsync, close; open one, read it, append, fsync, close; open one, read it, close.
 * Of fileserver, in a tree: create a file, write all of it, close; open one, append,
 * close; open one, read it, close; delete one; stat one.
 * Of writesync, each worker in its own file: EVERY appends, an fsync.
 *
 * Each of these calls counts as one operation.  Files have SIZE bytes when made, the
 * appends up to twice APPEND (of writesync: APPEND).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_IO		(1UL << 20)
#define DIR_FILES	20	/* of fileserver's tree */

enum { NONE, BUSY, THERE };

/* What the workers share. */
struct shared {
	unsigned long	operations[256];	/* by worker */
	unsigned char	state[];		/* of every file; atomic */
};

static char data[MAX_IO];
static const char *dir;
static unsigned int workers = 4, worker;
static unsigned long loops = 100, files = 1000, size = 12288, append = 4096, every = 32;
static struct shared *shared;
static uint64_t rand_state;
static int tree;	/* fileserver */

static void die(const char *what)
{
	fprintf(stderr, "nvmload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long below(unsigned long n)
{
	rand_state = rand_state * 6364136223846793005UL + 1442695040888963407UL;
	return (rand_state >> 33) % n;
}

static void count(void)
{
	shared->operations[worker]++;
}

static void path_of(char *path, size_t room, unsigned long file)
{
	if (tree)
		snprintf(path, room, "%s/d%lu/f%lu", dir, file / DIR_FILES, file);
	else
		snprintf(path, room, "%s/f%lu", dir, file);
}

/* ---- the set of files: twice as many names as files ---- */

static unsigned long names(void)
{
	return 2 * files;
}

/* A file that is in this state, and nobody else's until give() is called. */
static unsigned long take(unsigned char state)
{
	for (;;) {
		unsigned long n = below(names()), tries;

		for (tries = 0; tries < names(); tries++, n = (n + 1) % names()) {
			unsigned char was = state;

			if (__atomic_compare_exchange_n(&shared->state[n], &was, BUSY, 0,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				return n;
		}
		sched_yield();
	}
}

static void give(unsigned long file, unsigned char state)
{
	__atomic_store_n(&shared->state[file], state, __ATOMIC_SEQ_CST);
}

/* ---- operations ---- */

static int open_file(unsigned long file, int flags)
{
	char path[4200];
	int fd;

	path_of(path, sizeof(path), file);
	fd = open(path, flags | O_RDWR | O_APPEND, 0644);
	if (fd < 0)
		die(path);
	count();
	return fd;
}

static void close_file(int fd)
{
	if (close(fd))
		die("close");
	count();
}

static void append_to(int fd, unsigned long bytes)
{
	if (write(fd, data, bytes) != (ssize_t)bytes)
		die("write");
	count();
}

static void read_all(int fd)
{
	static char buf[65536];
	ssize_t n;

	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0);
	if (n < 0)
		die("read");
	count();
}

static void sync_file(int fd)
{
	if (fsync(fd))
		die("fsync");
	count();
}

static void delete_one(void)
{
	unsigned long file = take(THERE);
	char path[4200];

	path_of(path, sizeof(path), file);
	if (unlink(path))
		die(path);
	give(file, NONE);
	count();
}

static void stat_one(void)
{
	unsigned long file = take(THERE);
	struct stat st;
	char path[4200];

	path_of(path, sizeof(path), file);
	if (stat(path, &st))
		die(path);
	give(file, THERE);
	count();
}

static unsigned long some_bytes(void)
{
	return 1 + below(2 * append);
}

/* ---- loops ---- */

static void varmail(void)
{
	unsigned long file;
	int fd;

	delete_one();
	file = take(NONE);
	fd = open_file(file, O_CREAT | O_EXCL);
	append_to(fd, some_bytes());
	sync_file(fd);
	close_file(fd);
	give(file, THERE);

	file = take(THERE);
	fd = open_file(file, 0);
	read_all(fd);
	append_to(fd, some_bytes());
	sync_file(fd);
	close_file(fd);
	give(file, THERE);

	file = take(THERE);
	fd = open_file(file, 0);
	read_all(fd);
	close_file(fd);
	give(file, THERE);
}

static void fileserver(void)
{
	unsigned long file = take(NONE);
	int fd = open_file(file, O_CREAT | O_EXCL);

	append_to(fd, size);
	close_file(fd);
	give(file, THERE);

	file = take(THERE);
	fd = open_file(file, 0);
	append_to(fd, some_bytes());
	close_file(fd);
	give(file, THERE);

	file = take(THERE);
	fd = open_file(file, 0);
	read_all(fd);
	close_file(fd);
	give(file, THERE);

	delete_one();
	stat_one();
}

static void writesync(void)
{
	static int fd = -1;
	unsigned long i;
	char path[4200];

	if (fd < 0) {
		snprintf(path, sizeof(path), "%s/log%u", dir, worker);
		fd = open(path, O_CREAT | O_RDWR | O_APPEND, 0644);
		if (fd < 0)
			die(path);
	}
	for (i = 0; i < every; i++)
		append_to(fd, append);
	sync_file(fd);
}

/* ---- phases ---- */

static void prepare(int with_files)
{
	unsigned long n;
	char path[4200];

	for (n = 0; tree && n * DIR_FILES < names(); n++) {
		snprintf(path, sizeof(path), "%s/d%lu", dir, n);
		if (mkdir(path, 0755))
			die(path);
	}
	for (n = 0; with_files && n < names(); n += 2) {
		int fd = open_file(n, O_CREAT | O_EXCL);

		append_to(fd, size);
		close_file(fd);
	}
}

static void work(void (*loop)(void))
{
	unsigned long i;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(worker % sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	rand_state = worker + 1;
	for (i = 0; i < loops; i++)
		loop();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int run(void (*loop)(void), int fd)
{
	unsigned long operations = 0;
	int status, failed = 0;
	double start = now();
	unsigned int w;

	for (w = 0; w < workers; w++) {
		worker = w;
		if (!fork()) {
			work(loop);
			_exit(0);
		}
	}
	for (w = 0; w < workers; w++)
		failed |= wait(&status) < 0 || status;
	if (syncfs(fd))
		die("syncfs");
	for (w = 0; w < workers; w++)
		operations += shared->operations[w];
	if (!failed)
		printf("%lu %.6f\n", operations, now() - start);
	return failed;
}

int main(int argc, char **argv)
{
	const char *load = "";
	void (*loop)(void);
	int opt, fd, only_prepare = 0;
	unsigned long n;

	while ((opt = getopt(argc, argv, "t:d:w:n:f:s:a:e:p")) != -1) {
		switch (opt) {
		case 't': load = optarg; break;
		case 'd': dir = optarg; break;
		case 'w': workers = atoi(optarg); break;
		case 'n': loops = atol(optarg); break;
		case 'f': files = atol(optarg); break;
		case 's': size = atol(optarg); break;
		case 'a': append = atol(optarg); break;
		case 'e': every = atol(optarg); break;
		case 'p': only_prepare = 1; break;
		default: return 2;
		}
	}
	loop = !strcmp(load, "varmail") ? varmail : !strcmp(load, "fileserver") ? fileserver :
	       !strcmp(load, "writesync") ? writesync : NULL;
	if (!loop || !dir || !workers || workers > 256 || !files || size > MAX_IO ||
	    2 * append > MAX_IO || files <= 2 * workers)
		return 2;
	tree = loop == fileserver;
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		die(dir);
	shared = mmap(NULL, sizeof(*shared) + names(), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (only_prepare) {
		prepare(loop != writesync);
		return syncfs(fd) ? 1 : 0;
	}
	for (n = 0; n < names(); n += 2)
		shared->state[n] = THERE;
	return run(loop, fd);
}
