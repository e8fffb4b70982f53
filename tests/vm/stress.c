// SPDX-License-Identifier: GPL-2.0-only
/*
 * File system load: many processes, each doing random operations in a
 * directory of its own and in one that all share.
 *
 *   stress [-p procs] [-n ops | -t seconds] [-s seed] [-l LOG] DIR
 *   stress -v LOG DIR
 *
 * With -l every process also writes files whose contents follow from their
 * names, fsyncs them and notes "name length" in a log of its own, LOG.0, LOG.1,
 * ..., which should lie outside DIR.  -v checks that all that was noted is there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define NAMES		40	/* files and directories per directory */
#define MAX_IO		20000	/* bytes per write */
#define SYNCED_FILES	8	/* noted files per process and epoch */

struct worker {
	const char	*root;		/* directory under test */
	int		id;		/* number of the process */
	int		log_fd;		/* what was fsynced; -1: nothing is noted */
	uint64_t	rng;		/* state of the random generator */
	uint64_t	ops;		/* operations done */
	char		buf[MAX_IO];	/* data to write */
};

static void fail(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "stress: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, ": %s\n", strerror(err));
	va_end(ap);
	exit(1);
}

static uint64_t next(uint64_t *rng)
{
	uint64_t x = *rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *rng = x;
}

static unsigned int pick(struct worker *w, unsigned int n)
{
	return (next(&w->rng) >> 16) % n;
}

/* What lies at @offset of the noted file @name. */
static void fill(const char *name, size_t offset, char *buf, size_t len)
{
	uint64_t h = 1469598103934665603ULL;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 1099511628211ULL;
	for (size_t i = 0; i < len; i++)
		buf[i] = (h >> ((offset + i) % 8 * 8)) ^ ((offset + i) / 8 * 31);
}

/* Errors that a random mix of operations meets, and those of a full disk. */
static void expect(int rc, const char *what, const char *path)
{
	if (rc >= 0)
		return;
	switch (errno) {
	case ENOENT: case EEXIST: case ENOTDIR: case EISDIR: case ENOTEMPTY:
	case EINVAL: case ENOSPC: case ELOOP: case ENODATA: case EMLINK:
	case EPERM: case EBUSY: case EXDEV: case ETXTBSY:
		return;
	}
	fail("%s %s", what, path);
}

static void random_path(struct worker *w, char *out, size_t size)
{
	char dir[64];

	if (pick(w, 3))
		snprintf(dir, sizeof(dir), "p%d", w->id);
	else
		snprintf(dir, sizeof(dir), "shared");
	if (pick(w, 4) == 0)
		snprintf(out, size, "%s/%s/d%u/f%u", w->root, dir, pick(w, 4), pick(w, NAMES));
	else
		snprintf(out, size, "%s/%s/f%u", w->root, dir, pick(w, NAMES));
}

static void random_dir(struct worker *w, char *out, size_t size)
{
	if (pick(w, 2))
		snprintf(out, size, "%s/p%d/d%u", w->root, w->id, pick(w, 4));
	else
		snprintf(out, size, "%s/shared/d%u", w->root, pick(w, 4));
}

static void write_some(struct worker *w, const char *path, int flags, int sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);
	off_t where = (flags & O_APPEND) ? 0 : pick(w, 200000);
	size_t len = 1 + pick(w, MAX_IO);

	expect(fd, "open", path);
	if (fd < 0)
		return;
	expect(flags & O_APPEND ? write(fd, w->buf, len) : pwrite(fd, w->buf, len, where),
	       "write", path);
	if (sync)
		expect(sync == 1 ? fsync(fd) : fdatasync(fd), "fsync", path);
	close(fd);
}

static void read_some(struct worker *w, const char *path)
{
	int fd = open(path, O_RDONLY);
	char buf[4096];

	expect(fd, "open", path);
	if (fd < 0)
		return;
	expect(pread(fd, buf, sizeof(buf), pick(w, 100000)), "read", path);
	close(fd);
}

static void change_xattr(struct worker *w, const char *path)
{
	char name[32];

	snprintf(name, sizeof(name), "user.x%u", pick(w, 4));
	if (pick(w, 3))
		expect(setxattr(path, name, w->buf, 1 + pick(w, 600), 0), "setxattr", path);
	else
		expect(removexattr(path, name), "removexattr", path);
}

static void one_op(struct worker *w)
{
	char a[512], b[512];

	random_path(w, a, sizeof(a));
	random_path(w, b, sizeof(b));
	switch (pick(w, 18)) {
	case 0: case 1: case 2:
		write_some(w, a, O_APPEND, 0);
		break;
	case 3: case 4:
		write_some(w, a, 0, 0);
		break;
	case 5:
		write_some(w, a, O_APPEND, 1);
		break;
	case 6:
		write_some(w, a, O_TRUNC, 2);
		break;
	case 7: case 8:
		expect(rename(a, b), "rename", a);
		break;
	case 9:
		expect(link(a, b), "link", a);
		break;
	case 10: case 11:
		expect(unlink(a), "unlink", a);
		break;
	case 12:
		expect(truncate(a, pick(w, 100000)), "truncate", a);
		break;
	case 13:
		random_dir(w, a, sizeof(a));
		expect(mkdir(a, 0755), "mkdir", a);
		break;
	case 14:
		random_dir(w, a, sizeof(a));
		expect(rmdir(a), "rmdir", a);
		break;
	case 15:
		expect(symlink(pick(w, 2) ? "f1" : b, a), "symlink", a);
		break;
	case 16:
		change_xattr(w, a);
		break;
	default:
		expect(chmod(a, 0600 | pick(w, 0100)), "chmod", a);
		read_some(w, a);
	}
}

/* Append to a noted file, fsync it, note it. */
static void noted_op(struct worker *w, unsigned int n)
{
	char name[64], path[512], line[128];
	size_t len = 1 + pick(w, 9000);
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s%d/keep%u", n & 1 ? "p" : "shared/s", w->id,
		 n / 2 % SYNCED_FILES + n / 200 * SYNCED_FILES);
	snprintf(path, sizeof(path), "%s/%s", w->root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || fstat(fd, &st))
		fail("open %s", path);
	fill(name, st.st_size, w->buf, len);
	if (write(fd, w->buf, len) != (ssize_t)len) {
		if (errno != ENOSPC)
			fail("write %s", path);
	} else if (fsync(fd)) {
		fail("fsync %s", path);
	} else {
		int n = snprintf(line, sizeof(line), "%s %zu\n", name, (size_t)st.st_size + len);

		if (write(w->log_fd, line, n) != n)
			fail("log");
	}
	close(fd);
}

static int open_log(const char *log, int id)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s.%d", log, id);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		fail("open %s", path);
	return fd;
}

static int work(struct worker *w, uint64_t max_ops, int seconds)
{
	time_t end = time(NULL) + seconds;
	unsigned int noted = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/p%d", w->root, w->id);
	expect(mkdir(path, 0755), "mkdir", path);
	snprintf(path, sizeof(path), "%s/shared/s%d", w->root, w->id);
	expect(mkdir(path, 0755), "mkdir", path);
	memset(w->buf, 'a' + w->id % 26, sizeof(w->buf));
	/* Whoever waits for a note gets one, on a busy host later. */
	while (max_ops ? w->ops < max_ops :
	       time(NULL) < end || (w->log_fd >= 0 && !noted)) {
		if (w->log_fd >= 0 && pick(w, 8) == 0)
			noted_op(w, noted++);
		else
			one_op(w);
		w->ops++;
	}
	return 0;
}

static unsigned int checked, lost;	/* noted lines seen, and not found on disk */

static void verify_log(FILE *f, const char *root)
{
	static char got[1 << 22], want[1 << 22];
	char name[128], path[512];
	size_t len;

	while (fscanf(f, "%127s %zu", name, &len) == 2 && len <= sizeof(want)) {
		ssize_t n = -1;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", root, name);
		fd = open(path, O_RDONLY);
		if (fd >= 0) {
			n = read(fd, got, len);
			close(fd);
		}
		fill(name, 0, want, len);
		checked++;
		if (n != (ssize_t)len || memcmp(got, want, len)) {
			printf("lost: %s, %zu bytes noted, %zd read\n", name, len, n);
			lost++;
		}
	}
}

static int verify(const char *log, const char *root)
{
	char path[512];
	FILE *f;

	for (int i = 0; ; i++) {
		snprintf(path, sizeof(path), "%s.%d", log, i);
		f = fopen(path, "r");
		if (!f)
			break;
		verify_log(f, root);
		fclose(f);
	}
	printf("checked %u lost %u\n", checked, lost);
	return lost || !checked;
}

int main(int argc, char **argv)
{
	static struct worker w = { .log_fd = -1 };
	const char *log = NULL, *check = NULL;
	int procs = 4, seconds = 5, status, bad = 0, c;
	uint64_t ops = 0, seed = 1;
	char path[512];

	while ((c = getopt(argc, argv, "p:n:t:s:l:v:")) != -1) {
		switch (c) {
		case 'p': procs = atoi(optarg); break;
		case 'n': ops = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'l': log = optarg; break;
		case 'v': check = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc - 1) {
		fprintf(stderr, "usage: stress [-p procs] [-n ops | -t seconds] [-s seed] [-l log | -v log] DIR\n");
		return 2;
	}
	w.root = argv[optind];
	if (check)
		return verify(check, w.root);
	snprintf(path, sizeof(path), "%s/shared", w.root);
	expect(mkdir(path, 0755), "mkdir", path);
	for (int i = 0; i < procs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			w.id = i;
			if (log)
				w.log_fd = open_log(log, i);
			w.rng = (seed * 1000003 + i + 1) * 0x9e3779b97f4a7c15ULL;
			exit(work(&w, ops, seconds));
		}
	}
	while (wait(&status) > 0)
		bad |= !WIFEXITED(status) || WEXITSTATUS(status);
	return bad;
}
