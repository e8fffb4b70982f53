// SPDX-License-Identifier: GPL-2.0-only
/*
 * idload: many users, groups and projects; after a power cut the quota must be what they use.
 *
 *	idload setup MNT WORKERS
 *	idload run MNT LOGDIR WORKERS SECONDS SEED DISK
 *	idload cuts LOGDIR WORKERS LAST COUNT SEED
 *	idload verify MNT LOGDIR WORKERS CUT
 *
 * The variable IDS has the number of ids (2000). "setup" makes a file for every second one.
 * In "run" each worker has a CPU. It makes and removes files of random ids, writes and
 * truncates them, and gives them to others, so that entries of the quota files come and go in
 * all lanes. Meanwhile limits are switched off and on, and usage is read. "cuts" prints COUNT lines
 * "CUT SEED" in 1..LAST. "verify" counts what the files of each id take and compares it with
 * the quota, changes some files and does so again. It prints what differs, then one line
 * "digest=... files=... ids=... bad=...". Exit 0: all well; 1: not; 2: could not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd	443
#endif
#define Q_GETNEXTQUOTA	0x800009	/* the C library has no name for it */

#define TYPES		3		/* of quota: user, group, project */
#define SLOTS		200u		/* names of a worker */
#define FILE_MAX	(64u << 10)
#define MAX_IDS		100000u
/* Neighbours in number are not so in the tree of the quota file. */
#define ID_STEP		37u
#define FIRST_ID	1000u

struct next_dqblk {
	uint64_t bhardlimit, bsoftlimit, curspace, ihardlimit, isoftlimit, curinodes;
	uint64_t btime, itime;
	uint32_t valid;
	uint32_t id;
};

/* What an id uses by the files, and whether the quota has an entry for it. */
struct use {
	uint64_t space;
	uint64_t inodes;
	int listed;
};

static const char *const type_name[TYPES] = { "user", "group", "project" };
static struct use *uses[TYPES];
static uint32_t nr_ids = 2000, files, bad;
static uint64_t rnd_state, digest;
static char mnt[1024];
static char data[FILE_MAX];

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;
	int err = errno;

	va_start(ap, fmt);
	fprintf(stderr, "idload: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, ": %s\n", strerror(err));
	exit(2);
}

static uint64_t rnd(uint64_t below)
{
	uint64_t x = rnd_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (x ^ (x >> 31)) % below;
}

/* The n-th id; 0 is root's, and the project of what has none. */
static uint32_t id_of(uint32_t n)
{
	return n ? FIRST_ID + ID_STEP * n : 0;
}

static long quota(int fd, int cmd, int type, uint32_t id, void *arg)
{
	return syscall(SYS_quotactl_fd, fd, QCMD(cmd, type), id, arg);
}

static void set_project(int fd, uint32_t project)
{
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr))
		die("FSGETXATTR");
	attr.fsx_projid = project;
	if (ioctl(fd, FS_IOC_FSSETXATTR, &attr))
		die("project %u", project);
}

/* ---- load ---- */

/* A new file of three random ids: its first charges are theirs, or root's, who gives it away. */
static int make(const char *path, uint32_t n)
{
	uint32_t user = id_of(n), group = id_of(1 + rnd(nr_ids));
	int given = rnd(2), fd;

	if (!given) {
		setfsgid(group);
		setfsuid(user);
	}
	fd = open(path, O_CREAT | O_RDWR, 0666);
	setfsuid(0);
	setfsgid(0);
	if (fd < 0)
		die("%s", path);
	if (given && fchown(fd, user, group))
		die("chown %s", path);
	set_project(fd, id_of(n));
	if (pwrite(fd, data, 4096 * (1 + rnd(4)), 0) < 0)
		die("write %s", path);
	return fd;
}

/* One change of an open file; it may lose its name. */
static void change(int fd, const char *path, const char *other)
{
	struct stat st;

	if (fstat(fd, &st))
		die("%s", path);
	switch (rnd(8)) {
	case 0:
	case 1:
		if (pwrite(fd, data, 1 + rnd(16384), rnd(FILE_MAX - 16384)) < 0)
			die("write %s", path);
		break;
	case 2:
		if (ftruncate(fd, rnd(st.st_size + 1)))
			die("truncate %s", path);
		break;
	case 3:
		if (fchown(fd, id_of(rnd(nr_ids + 1)), -1))
			die("chown %s", path);
		break;
	case 4:
		if (fchown(fd, -1, id_of(rnd(nr_ids + 1))))
			die("chgrp %s", path);
		break;
	case 5:
		set_project(fd, id_of(rnd(nr_ids + 1)));
		break;
	case 6:
		/* Over one of another worker, perhaps: its dquots are charged in this lane. */
		if (rename(path, other) && errno != ENOENT)
			die("rename %s", path);
		break;
	case 7:
		if (unlink(path) && errno != ENOENT)
			die("unlink %s", path);
		if (rnd(2) && pwrite(fd, data, 8192, FILE_MAX) < 0)
			die("write %s, which has no name", path);
	}
	if (!rnd(4) && fsync(fd))
		die("fsync %s", path);
}

static void work(uint32_t worker, uint32_t workers, uint64_t seed, time_t end)
{
	cpu_set_t cpus;
	char path[1200], other[1200];
	int fd;

	CPU_ZERO(&cpus);
	CPU_SET(worker % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("affinity");
	rnd_state = seed * 1000003 + worker;
	while (time(NULL) < end) {
		snprintf(path, sizeof(path), "%s/w%u/f%u", mnt, worker, (uint32_t)rnd(SLOTS));
		snprintf(other, sizeof(other), "%s/w%u/f%u", mnt, (uint32_t)rnd(workers),
			 (uint32_t)rnd(SLOTS));
		fd = open(path, O_RDWR);
		if (fd < 0)
			fd = make(path, 1 + rnd(nr_ids));
		change(fd, path, other);
		close(fd);
	}
	exit(0);
}

/* Switches the limits of a type off and on, and reads usage, which is committed then. */
static void look(int dir)
{
	static const uint32_t enforced[TYPES] = { FS_QUOTA_UDQ_ENFD, FS_QUOTA_GDQ_ENFD,
						  FS_QUOTA_PDQ_ENFD };
	int type = rnd(TYPES);
	uint32_t flags = enforced[type];
	struct dqblk block;

	if (quota(dir, rnd(2) ? Q_XQUOTAON : Q_XQUOTAOFF, type, 0, &flags) && errno != EEXIST)
		die("limits of quota type %d", type);
	if (quota(dir, Q_GETQUOTA, type, id_of(rnd(nr_ids)), &block))
		die("usage");
	usleep(50000);
}

static int run(int dir, uint32_t workers, uint32_t seconds, uint64_t seed)
{
	time_t end = time(NULL) + seconds;
	int status, rc = 0;
	uint32_t w;

	for (w = 0; w < workers; w++)
		if (!fork())
			work(w, workers, seed, end);
	rnd_state = seed;
	while (time(NULL) < end)
		look(dir);
	while (wait(&status) > 0)
		if (status)
			rc = 2;
	return rc;
}

static int setup(uint32_t workers)
{
	char path[1200];
	uint32_t n;

	rnd_state = 1;
	for (n = 0; n < workers; n++) {
		snprintf(path, sizeof(path), "%s/w%u", mnt, n);
		if (mkdir(path, 0777) || chmod(path, 0777))
			die("%s", path);
	}
	for (n = 1; n <= nr_ids; n += 2) {
		snprintf(path, sizeof(path), "%s/w%u/id%u", mnt, n % workers, n);
		close(make(path, n));
	}
	sync();
	return 0;
}

/* ---- check ---- */

static void complain(const char *fmt, ...)
{
	va_list ap;

	if (bad++ > 20)
		return;
	va_start(ap, fmt);
	printf("BAD: ");
	vprintf(fmt, ap);
	puts("");
	va_end(ap);
}

static void count(int type, uint32_t id, const struct stat *st)
{
	uint32_t n = id ? (id - FIRST_ID) / ID_STEP : 0;

	if (n > nr_ids || id_of(n) != id) {
		complain("a file of %s %u, of whom nobody knows", type_name[type], id);
		return;
	}
	uses[type][n].space += (uint64_t)st->st_blocks * 512;
	uses[type][n].inodes++;
}

static int count_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	struct fsxattr attr = { 0 };
	uint64_t sum = st->st_size * 31 + st->st_uid;
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	const char *c;

	(void)flag;
	(void)ftw;
	if (fd < 0 || ioctl(fd, FS_IOC_FSGETXATTR, &attr))
		die("%s", path);
	close(fd);
	count(USRQUOTA, st->st_uid, st);
	count(GRPQUOTA, st->st_gid, st);
	count(2, attr.fsx_projid, st);
	files++;
	if (S_ISDIR(st->st_mode))
		return 0;
	sum = sum * 31 + st->st_gid;
	sum = sum * 31 + attr.fsx_projid;
	for (c = path + strlen(mnt); *c; c++)
		sum = (sum ^ *c) * 0x9e3779b97f4a7c15ull;
	digest += sum ^ (sum >> 29);	/* in whatever order they are found */
	return 0;
}

static void compare(int dir, int type)
{
	struct next_dqblk next;
	struct use *use;
	uint32_t id = 0, n;

	for (; !quota(dir, Q_GETNEXTQUOTA, type, id, &next); id = next.id + 1) {
		n = next.id ? (next.id - FIRST_ID) / ID_STEP : 0;
		if (n > nr_ids || id_of(n) != next.id) {
			complain("the quota has %s %u, of whom nobody knows", type_name[type],
				 next.id);
			continue;
		}
		use = &uses[type][n];
		use->listed = 1;
		if (use->space != next.curspace || use->inodes != next.curinodes)
			complain("%s %u uses %llu bytes, %llu inodes; the quota has %llu, %llu",
				 type_name[type], next.id, (unsigned long long)use->space,
				 (unsigned long long)use->inodes,
				 (unsigned long long)next.curspace,
				 (unsigned long long)next.curinodes);
	}
	if (errno != ENOENT)
		complain("the list of %ss ends with: %s", type_name[type], strerror(errno));
	for (n = 0; n <= nr_ids; n++)
		if (uses[type][n].inodes && !uses[type][n].listed)
			complain("%s %u has files, but is not listed", type_name[type], id_of(n));
}

/* Returns how many ids have files. */
static uint32_t check(int dir)
{
	uint32_t n, ids = 0;
	int type;

	digest = 0;
	files = 0;
	for (type = 0; type < TYPES; type++)
		memset(uses[type], 0, (nr_ids + 1) * sizeof(struct use));
	/* What is delayed is not charged. */
	if (syncfs(dir) || nftw(mnt, count_file, 16, FTW_PHYS))
		die("cannot look at %s", mnt);
	for (type = 0; type < TYPES; type++)
		compare(dir, type);
	for (n = 1; n <= nr_ids; n++)
		ids += uses[USRQUOTA][n].inodes || uses[GRPQUOTA][n].inodes || uses[2][n].inodes;
	return ids;
}

static int verify(int dir, uint32_t workers)
{
	uint64_t first;
	uint32_t ids, n, before;
	char path[1200], other[1200];
	int fd;

	ids = check(dir);
	first = digest;
	before = files;
	rnd_state = digest;
	for (n = 0; n < 50; n++) {
		snprintf(path, sizeof(path), "%s/w%u/f%u", mnt, (uint32_t)rnd(workers), n);
		snprintf(other, sizeof(other), "%s/w%u/f%u", mnt, (uint32_t)rnd(workers), n);
		fd = make(path, 1 + rnd(nr_ids));
		change(fd, path, other);
		close(fd);
	}
	check(dir);
	printf("digest=%016llx files=%u ids=%u bad=%u\n", (unsigned long long)first, before, ids, bad);
	return !!bad;
}

static int cuts(uint64_t last, uint32_t n, uint64_t seed)
{
	if (!last)
		return 2;
	rnd_state = seed;
	while (n--)
		printf("%llu %llu\n", (unsigned long long)(1 + rnd(last)),
		       (unsigned long long)(1 + rnd(1000000000)));
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 3 ? argv[1] : "", *ids = getenv("IDS");
	int dir, type;

	if (!strcmp(verb, "cuts") && argc == 7)
		return cuts(strtoull(argv[4], NULL, 0), atoi(argv[5]), strtoull(argv[6], NULL, 0));
	if (ids)
		nr_ids = atoi(ids);
	if (!nr_ids || nr_ids > MAX_IDS || argc < 4) {
		fprintf(stderr, "usage: idload setup|run|cuts|verify ...\n");
		return 2;
	}
	for (type = 0; type < TYPES; type++) {
		uses[type] = calloc(nr_ids + 1, sizeof(struct use));
		if (!uses[type])
			die("memory");
	}
	memset(data, 'i', sizeof(data));
	umask(0);
	snprintf(mnt, sizeof(mnt), "%s", argv[2]);
	dir = open(mnt, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		die("%s", mnt);
	if (!strcmp(verb, "setup"))
		return setup(atoi(argv[3]));
	if (!strcmp(verb, "run") && argc == 8)
		return run(dir, atoi(argv[4]), atoi(argv[5]), strtoull(argv[6], NULL, 0));
	if (!strcmp(verb, "verify") && argc == 6)
		return verify(dir, atoi(argv[4]));
	fprintf(stderr, "usage: idload setup|run|cuts|verify ...\n");
	return 2;
}
