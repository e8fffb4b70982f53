// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how long fsyncs take, alone and next to another writer.
 *
 *   fsyncs -d DIR [-w WORKERS] [-n FSYNCS] [-t append|create|mail] [-s]
 *	    [-N bulk|storm] [-D NEIGHBOUR_DIR] [-p PREFIX]
 *
 * Each worker does FSYNCS times: append 4 KiB to its file and fsync, or create
 * a file, write 4 KiB and fsync; or it takes mail in as filebench's varmail does:
 * delete a file, create one, write 8 KiB, fsync; open it, read it, append 8 KiB,
 * fsync.  -s: all in one directory.  -p: of the files' names, for a second run in
 * the same directories.  With -N another
 * process writes large files, or creates and deletes small ones, all the while.
 * Prints "FSYNCS SECONDS MEAN_US P50_US P99_US".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLK		4096
#define BULK_FILE	(64UL << 20)
#define MAILS		8	/* that a worker keeps */

static char block[BLK];
static const char *dir = ".", *prefix = "f", *neighbour, *noise;
static unsigned int workers = 1;
static unsigned long count = 50;
static int shared, create, mail;
static double *took;	/* us, of every fsync */

static void die(const char *what)
{
	fprintf(stderr, "fsyncs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void pin(unsigned int worker)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(worker % sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static int open_in(const char *where, const char *name, int flags)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", where, name);
	fd = open(path, flags, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static void make_dir(char *path, size_t size, const char *where, const char *name)
{
	snprintf(path, size, "%s/%s", where, name);
	if (mkdir(path, 0755) && errno != EEXIST)
		die(path);
}

static void put(int fd)
{
	if (write(fd, block, BLK) != BLK)
		die("write");
}

static double timed_fsync(int fd)
{
	double start = now_us();

	if (fsync(fd))
		die("fsync");
	return now_us() - start;
}

static void read_all(int fd)
{
	char data[BLK];
	ssize_t got;

	while ((got = read(fd, data, sizeof(data))) > 0)
		;
	if (got < 0)
		die("read");
}

static void remove_in(const char *where, const char *name)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", where, name);
	if (unlink(path))
		die(path);
}

/* Two fsyncs for each mail. */
static void take_mail(const char *where, unsigned int worker)
{
	double *us = &took[worker * count];
	char name[64];
	unsigned long i;
	int fd;

	for (i = 0; i < count; i++) {
		unsigned long n = i / 2;

		if (i % 2 == 0 && n >= MAILS) {
			snprintf(name, sizeof(name), "m%u.%lu", worker, n - MAILS);
			remove_in(where, name);
		}
		snprintf(name, sizeof(name), "m%u.%lu", worker, n);
		fd = open_in(where, name, O_RDWR | O_APPEND | (i % 2 ? 0 : O_CREAT | O_EXCL));
		read_all(fd);
		put(fd);
		put(fd);
		us[i] = timed_fsync(fd);
		close(fd);
	}
}

static void work(unsigned int worker)
{
	char where[4096], name[64];
	unsigned long i;
	int fd = -1;

	pin(worker);
	snprintf(name, sizeof(name), "w%u", worker);
	make_dir(where, sizeof(where), dir, shared ? "all" : name);
	if (mail) {
		take_mail(where, worker);
		return;
	}
	for (i = 0; i < count; i++) {
		if (create || fd < 0) {
			snprintf(name, sizeof(name), "%.16s%u.%lu", prefix, worker, i);
			fd = open_in(where, name, O_CREAT | O_EXCL | O_WRONLY | O_APPEND);
		}
		put(fd);
		took[worker * count + i] = timed_fsync(fd);
		if (create)
			close(fd);
	}
}

static void bulk(void)
{
	char name[64];
	unsigned long i, n;

	for (i = 0;; i = (i + 1) % 4) {
		int fd;

		snprintf(name, sizeof(name), "bulk%lu", i);
		fd = open_in(neighbour, name, O_CREAT | O_TRUNC | O_WRONLY);
		for (n = 0; n < BULK_FILE / BLK; n++)
			put(fd);
		close(fd);
	}
}

static void storm(void)
{
	char name[64];
	unsigned long i;

	for (i = 0;; i++) {
		int fd;

		snprintf(name, sizeof(name), "s%lu", i);
		fd = open_in(neighbour, name, O_CREAT | O_WRONLY);
		put(fd);
		close(fd);
		if (i < 200)
			continue;
		snprintf(name, sizeof(name), "s%lu", i - 200);
		remove_in(neighbour, name);
	}
}

static pid_t start_noise(void)
{
	pid_t pid = noise ? fork() : 0;

	if (pid || !noise)
		return pid;
	/* The CPU that no worker has. */
	pin(workers);
	if (!strcmp(noise, "bulk"))
		bulk();
	storm();
	exit(1);
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(double seconds)
{
	unsigned long i, n = workers * count;
	double sum = 0;

	for (i = 0; i < n; i++)
		sum += took[i];
	qsort(took, n, sizeof(*took), by_time);
	printf("%lu %.6f %.1f %.1f %.1f\n", n, seconds, sum / n, took[n / 2], took[n * 99 / 100]);
}

int main(int argc, char **argv)
{
	double start;
	unsigned int w;
	pid_t noisy;
	int opt, status, failed = 0;

	while ((opt = getopt(argc, argv, "d:w:n:t:sN:D:p:")) != -1) {
		switch (opt) {
		case 'd': dir = optarg; break;
		case 'w': workers = atoi(optarg); break;
		case 'n': count = atol(optarg); break;
		case 't':
			create = !strcmp(optarg, "create");
			mail = !strcmp(optarg, "mail");
			break;
		case 's': shared = 1; break;
		case 'N': noise = optarg; break;
		case 'D': neighbour = optarg; break;
		case 'p': prefix = optarg; break;
		default: return 2;
		}
	}
	if (!workers || !count || (noise && !neighbour))
		return 2;
	took = mmap(NULL, workers * count * sizeof(*took), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (took == MAP_FAILED)
		die("mmap");
	noisy = start_noise();
	if (noisy)
		sleep(3);
	start = now_us();
	for (w = 0; w < workers; w++) {
		if (!fork()) {
			work(w);
			exit(0);
		}
	}
	for (w = 0; w < workers; w++)
		failed |= wait(&status) < 0 || status;
	if (!failed)
		report((now_us() - start) / 1e6);
	if (noisy) {
		kill(noisy, SIGKILL);
		waitpid(noisy, NULL, 0);
	}
	return failed;
}
