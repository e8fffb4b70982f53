// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads for benchmarks of a journal; the first three follow their published description:
 *
 *   nvmload -t varmail|fileserver|writesync|postmark|append|overwrite|randwrite -d DIR -p
 *	   [-w WORKERS] [-f FILES] [-s SIZE] [-a APPEND]
 *	make the files, nothing is counted
 *   nvmload -t ... -d DIR [-w WORKERS] [-n LOOPS] [-f FILES] [-s SIZE] [-a APPEND] [-e EVERY] [-m MOVE]
 *	LOOPS loops of each worker, then syncfs; prints "OPERATIONS SECONDS"
 *	Workers stay on a CPU each; with -m they go on to the next one after MOVE loops.
 *   nvmload -t command -d DIR [-w WORKERS] [-n OPERATIONS] [-m MOVE] COMMAND
 *	the same, but each worker runs COMMAND in a shell in DIR/0, DIR/1...; with -m it goes
 *	on to the next CPU every MOVE ms
 *
 * One loop of varmail, all workers in one directory: delete a file; create one, append,
 * fsync, close; open one, read it, append, fsync, close; open one, read it, close.
 * Of fileserver, in a tree: create a file, write all of it, close; open one, append,
 * close; open one, read it, close; delete one; stat one.
 * Of writesync, each worker in its own file: EVERY appends, an fsync.
 * Of postmark, in large directories: create and write, or delete, a file; read, or append to, one.
 * Of append, each worker to its own file: an append.
 * Of overwrite, randwrite: a write of APPEND bytes over what is in the worker's own file of FILES
 * times as much, from its beginning to its end or anywhere.
 *
 * Each of these calls counts as one operation.  Files have SIZE bytes when made, the
 * appends up to twice APPEND (of writesync and append: APPEND).
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

enum { NONE, BUSY, THERE };

/* What the workers share. */
struct shared {
	unsigned long	operations[256];	/* by worker */
	unsigned char	state[];		/* of every file; atomic */
};

static char data[MAX_IO];
static const char *dir;
static unsigned int workers = 4, worker;
static unsigned long loops = 100, files = 1000, size = 12288, append = 4096, every = 32, move;
static struct shared *shared;
static uint64_t rand_state;
static unsigned long dir_files;	/* in each directory of a tree; 0: there is no tree */

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
	if (dir_files)
		snprintf(path, room, "%s/d%lu/f%lu", dir, file / dir_files, file);
	else
		snprintf(path, room, "%s/f%lu", dir, file);
}

/* ---- the set of files: twice as many names as files ---- */

static unsigned long names(void)
{
	return 2 * files;
}

/* Takes a file in this state, for the caller alone until give() is called. */
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

static void create_one(void)
{
	unsigned long file = take(NONE);
	int fd = open_file(file, O_CREAT | O_EXCL);

	append_to(fd, size);
	close_file(fd);
	give(file, THERE);
}

static void append_one(void)
{
	unsigned long file = take(THERE);
	int fd = open_file(file, 0);

	append_to(fd, some_bytes());
	close_file(fd);
	give(file, THERE);
}

static void read_one(void)
{
	unsigned long file = take(THERE);
	int fd = open_file(file, 0);

	read_all(fd);
	close_file(fd);
	give(file, THERE);
}

static void fileserver(void)
{
	create_one();
	append_one();
	read_one();
	delete_one();
	stat_one();
}

static void postmark(void)
{
	if (below(2))
		create_one();
	else
		delete_one();
	if (below(2))
		read_one();
	else
		append_one();
}

static int own_file(int flags)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/log%u", dir, worker);
	fd = open(path, O_CREAT | O_RDWR | flags, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static int log_file(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = own_file(O_APPEND);
	return fd;
}

static void writesync(void)
{
	unsigned long i;

	for (i = 0; i < every; i++)
		append_to(log_file(), append);
	sync_file(log_file());
}

static void append_loop(void)
{
	append_to(log_file(), append);
}

static void write_at(unsigned long block)
{
	static int fd = -1;

	if (fd < 0)
		fd = own_file(0);
	if (pwrite(fd, data, append, block * append) != (ssize_t)append)
		die("write");
	count();
}

static void overwrite(void)
{
	static unsigned long next;

	write_at(next++ % files);
}

static void randwrite(void)
{
	write_at(below(files));
}

static const struct load {
	const char	*name;
	void		(*loop)(void);
	unsigned long	dir_files;
	enum { MANY, EMPTY, FULL } made;	/* files beforehand; FULL: each worker's own */
} all_loads[] = {
	{ "varmail", varmail, 0, MANY },
	{ "fileserver", fileserver, 20, MANY },
	{ "writesync", writesync, 0, EMPTY },
	{ "postmark", postmark, 1000, MANY },
	{ "append", append_loop, 0, EMPTY },
	{ "overwrite", overwrite, 0, FULL },
	{ "randwrite", randwrite, 0, FULL },
	{ "command", NULL, 0, EMPTY },
};

static const struct load *load_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(all_loads) / sizeof(*all_loads); i++)
		if (!strcmp(all_loads[i].name, name))
			return &all_loads[i];
	return NULL;
}

/* ---- phases ---- */

static void make_many(void)
{
	unsigned long n;
	char path[4200];

	for (n = 0; dir_files && n * dir_files < names(); n++) {
		snprintf(path, sizeof(path), "%s/d%lu", dir, n);
		if (mkdir(path, 0755))
			die(path);
	}
	for (n = 0; n < names(); n += 2) {
		int fd = open_file(n, O_CREAT | O_EXCL);

		append_to(fd, size);
		close_file(fd);
	}
}

static void make_full(void)
{
	unsigned long n;

	for (worker = 0; worker < workers; worker++) {
		int fd = own_file(O_APPEND);

		for (n = 0; n < files; n++)
			append_to(fd, append);
		close_file(fd);
	}
}

static void go_to(pid_t pid, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	/* It may have come to its end. */
	if (sched_setaffinity(pid, sizeof(set), &set) && errno != ESRCH)
		die("sched_setaffinity");
}

static void work(void (*loop)(void))
{
	unsigned long i;

	rand_state = worker + 1;
	for (i = 0; i < loops; i++) {
		if (!i || (move && i % move == 0))
			go_to(0, worker + (move ? i / move : 0));
		loop();
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void work_by(const char *command)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%u", dir, worker);
	if (chdir(path))
		die(path);
	go_to(0, worker);
	execl("/bin/sh", "sh", "-c", command, NULL);
	die("/bin/sh");
}

/* What is left of the workers goes from CPU to CPU, until all have ended. */
static int wait_for(pid_t *pids, int moving)
{
	int status, failed = 0;
	unsigned int w, left = workers, at = 0;

	while (left) {
		pid_t pid = waitpid(-1, &status, moving ? WNOHANG : 0);

		if (pid < 0)
			die("waitpid");
		if (pid) {
			left--;
			failed |= status;
			continue;
		}
		usleep(move * 1000);
		at++;
		for (w = 0; w < workers; w++)
			go_to(pids[w], w + at);
	}
	return failed;
}

static int run(void (*loop)(void), const char *command, int fd)
{
	unsigned long operations = 0;
	double start = now();
	pid_t pids[256];
	unsigned int w;
	int failed;

	for (w = 0; w < workers; w++) {
		worker = w;
		pids[w] = fork();
		if (pids[w] < 0)
			die("fork");
		if (pids[w])
			continue;
		if (command)
			work_by(command);
		work(loop);
		_exit(0);
	}
	failed = wait_for(pids, command && move);
	if (syncfs(fd))
		die("syncfs");
	for (w = 0; w < workers; w++)
		operations += command ? loops : shared->operations[w];
	if (!failed)
		printf("%lu %.6f\n", operations, now() - start);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct load *load = NULL;
	int opt, fd, only_prepare = 0;
	unsigned long n;

	while ((opt = getopt(argc, argv, "t:d:w:n:f:s:a:e:m:p")) != -1) {
		switch (opt) {
		case 't': load = load_of(optarg); break;
		case 'd': dir = optarg; break;
		case 'w': workers = atoi(optarg); break;
		case 'n': loops = atol(optarg); break;
		case 'f': files = atol(optarg); break;
		case 's': size = atol(optarg); break;
		case 'a': append = atol(optarg); break;
		case 'e': every = atol(optarg); break;
		case 'm': move = atol(optarg); break;
		case 'p': only_prepare = 1; break;
		default: return 2;
		}
	}
	if (!load || !dir || (!load->loop && optind + 1 != argc) || !workers || workers > 256 || !files || size > MAX_IO ||
	    2 * append > MAX_IO || files <= 2 * workers)
		return 2;
	dir_files = load->dir_files;
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		die(dir);
	shared = mmap(NULL, sizeof(*shared) + names(), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (only_prepare) {
		if (load->made == MANY)
			make_many();
		else if (load->made == FULL)
			make_full();
		return syncfs(fd) ? 1 : 0;
	}
	for (n = 0; n < names(); n += 2)
		shared->state[n] = THERE;
	return run(load->loop, load->loop ? NULL : argv[optind], fd);
}
