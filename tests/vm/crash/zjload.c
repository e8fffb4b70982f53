// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjload: concurrent load on a file system, with a log of what was promised.
 *
 *	zjload setup MNT WORKERS
 *	zjload run MNT LOGDIR WORKERS SECONDS SEED DEV
 *
 * DEV is the number of the recording zjdisk, or -1: stamps then come from a
 * counter.  A worker ends at the first error; exit 3 says that some did.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "../zjdisk/zjdisk_ioctl.h"
#include "facts.h"

#define FILES	40
#define DIRS	8
#define NAMES	3
#define ORPHANS	3

/**
 * struct file - a file of this worker
 * @id: 0: free slot
 * @size: present size
 * @nnames: number of names
 * @dir: directories of the names
 * @name: numbers in the names
 * @next: next unused number
 */
struct file {
	uint32_t id;
	uint32_t size;
	uint32_t nnames;
	uint32_t dir[NAMES];
	uint32_t name[NAMES];
	uint32_t next;
};

/**
 * struct dir - a directory of this worker
 * @id: 0: free slot, but for the two fixed ones
 * @parent: directory id
 * @name: number in the name
 * @used: entries in it
 */
struct dir {
	uint32_t id;
	uint32_t parent;
	uint32_t name;
	uint32_t used;
};

static struct file files[FILES];
static struct dir dirs[DIRS];
static int orphans[ORPHANS];
static uint32_t worker, workers, next_id = FIRST_ID, next_fact, nr_syncs;
static int small_blocks;	/* less than 4 KiB */
static int can_allocate;	/* fallocate works: files have extents */
static int log_fd, ctl_fd = -1, dev_nr;
static uint64_t *counter;
static uint64_t rnd_state;
static const char *mnt;
static char buf[FILE_MAX] __attribute__((aligned(4096)));

static uint32_t rnd(uint32_t below)
{
	uint64_t x = rnd_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)(((x >> 32) * below) >> 32);
}

/* Two seconds of four nearly nobody syncs: large transactions. */
static int skip_sync(void)
{
	return time(NULL) & 2 && rnd(32);
}

/* The recording can end before the load does (full, or power cut): stop then. */
static uint64_t stamp(void)
{
	struct zjd_mark m = { .dev = dev_nr };

	if (ctl_fd < 0)
		return __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
	if (ioctl(ctl_fd, ZJD_IOC_MARK, &m)) {
		if (errno == ENOSPC || errno == ENODATA)
			_exit(4);
		perror("zjload: ZJD_IOC_MARK");
		_exit(3);
	}
	return m.seq;
}

static void put_fact(const struct fact *f, uint32_t index)
{
	if (pwrite(log_fd, f, sizeof(*f), (off_t)index * sizeof(*f)) != sizeof(*f)) {
		perror("zjload: fact log");
		_exit(3);
	}
}

static uint32_t begin(struct fact *f)
{
	f->begin = stamp();
	f->end = 0;
	put_fact(f, next_fact);
	return next_fact++;
}

static void end(struct fact *f)
{
	f->end = stamp();
	put_fact(f, next_fact - 1);
}

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "zjload: worker %u fact %u: %s %s: %s\n", worker,
		next_fact - 1, what, path, strerror(errno));
	_exit(3);
}

static void must(int ok, const char *what, const char *path)
{
	if (!ok)
		fail(what, path);
}

static struct dir *dir_of(uint32_t id)
{
	int i;

	for (i = 0; i < DIRS; i++)
		if (dirs[i].id == id && (i < 2 || id))
			return &dirs[i];
	return NULL;
}

static char *dir_path(uint32_t id, char *path, size_t size)
{
	struct dir *d = dir_of(id);
	size_t n;

	if (id == DIR_HOME) {
		snprintf(path, size, "%s/w%u", mnt, worker);
	} else if (id == DIR_SHARED) {
		snprintf(path, size, "%s/s", mnt);
	} else {
		dir_path(d->parent, path, size);
		n = strlen(path);
		path[n++] = '/';
		entry_name(path + n, size - n, 'd', worker, id, d->name);
	}
	return path;
}

static char *name_path(char type, uint32_t id, uint32_t dir, uint32_t name)
{
	static char paths[2][4096];
	static int turn;
	char *path = paths[turn ^= 1];
	size_t n = strlen(dir_path(dir, path, sizeof(paths[0])));

	path[n++] = '/';
	entry_name(path + n, sizeof(paths[0]) - n, type, worker, id, name);
	return path;
}

static char *file_path(const struct file *f)
{
	return name_path('f', f->id, f->dir[0], f->name[0]);
}

static struct file *any_file(void)
{
	int i, at = rnd(FILES);

	for (i = 0; i < FILES; i++)
		if (files[(at + i) % FILES].id)
			return &files[(at + i) % FILES];
	return NULL;
}

static struct dir *any_dir(void)
{
	struct dir *d = &dirs[rnd(DIRS)];

	return d->id ? d : &dirs[rnd(2)];
}

static void do_create(void)
{
	struct dir *d = any_dir();
	struct file *f = NULL;
	struct fact fact = { .op = F_CREATE };
	int i, fd;

	for (i = 0; i < FILES; i++)
		if (!files[i].id)
			f = &files[i];
	if (!f)
		return;
	*f = (struct file){ .id = next_id++, .nnames = 1, .dir = { d->id }, .next = 1 };
	fact.id = f->id;
	fact.dir = d->id;
	begin(&fact);
	fd = open(file_path(f), O_CREAT | O_EXCL | O_WRONLY, 0644);
	must(fd >= 0, "create", file_path(f));
	end(&fact);
	close(fd);
	d->used++;
}

static int open_file(const struct file *f, int flags)
{
	int fd = open(file_path(f), O_RDWR | flags);

	must(fd >= 0, "open", file_path(f));
	return fd;
}

static void write_range(struct file *f, uint32_t off, uint32_t len)
{
	struct fact fact = { .op = F_WRITE, .id = f->id, .off = off, .len = len };
	int kind = rnd(8), flags = 0, fd;
	uint32_t ver;

	if (kind == 0 && !skip_sync()) {
		flags = O_SYNC;
		fact.flags = FACT_SYNC;
	} else if (kind == 1) {
		flags = O_DIRECT;
		fact.off = off &= ~(BLOCK - 1);
		fact.len = len = (len + BLOCK - 1) & ~(BLOCK - 1);
		if (off + len > FILE_MAX)
			return;
	}
	fd = open_file(f, flags);
	ver = begin(&fact);
	cells_fill(buf, off, len, worker, f->id, ver);
	must(pwrite(fd, buf, len, off) == (ssize_t)len, "write", file_path(f));
	end(&fact);
	close(fd);
	if (off + len > f->size)
		f->size = off + len;
}

static void do_sync(struct file *f, int datasync);

/* Stores through a mapping, and again after a sync: the page is protected again. */
static void store_range(struct file *f, uint32_t off, uint32_t len)
{
	uint32_t at = off % BLOCK;
	int fd = open_file(f, 0), i;
	char *map = mmap(NULL, at + len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off - at);

	must(map != MAP_FAILED, "mmap", file_path(f));
	for (i = 0; i < 2; i++) {
		struct fact fact = { .op = F_WRITE, .flags = FACT_MAPPED, .id = f->id,
				     .off = off, .len = len };
		uint32_t ver = begin(&fact);

		cells_fill(map + at, off, len, worker, f->id, ver);
		end(&fact);
		if (!i)
			do_sync(f, rnd(2));
	}
	munmap(map, at + len);
	close(fd);
}

static uint32_t some_len(void)
{
	uint32_t max = rnd(3) ? 2 * BLOCK : 16 * BLOCK;

	if (!rnd(3))
		return BLOCK * (1 + rnd(max / BLOCK));
	return CELL * (1 + rnd(max / CELL));
}

static void do_append(struct file *f)
{
	uint32_t len = some_len();

	if (f->size + len <= FILE_MAX)
		write_range(f, f->size, len);
}

static void do_overwrite(struct file *f)
{
	uint32_t off = CELL * rnd(FILE_MAX / 4 / CELL), len = some_len();

	if (f->size && rnd(4))
		off = CELL * rnd(f->size / CELL);
	if (rnd(2))
		off &= ~(BLOCK - 1);
	if (off + len <= f->size && !rnd(3))
		store_range(f, off, len);
	else if (off + len <= FILE_MAX)
		write_range(f, off, len);
}

static void do_truncate(struct file *f)
{
	struct fact fact = { .op = F_TRUNC, .id = f->id };

	fact.off = CELL * rnd((rnd(4) ? f->size : FILE_MAX / 2) / CELL + 1);
	if (!rnd(4))
		fact.off = 0;
	begin(&fact);
	must(!truncate(file_path(f), fact.off), "truncate", file_path(f));
	end(&fact);
	f->size = fact.off;
}

static void do_fallocate(struct file *f, int punch)
{
	struct fact fact = { .op = punch ? F_PUNCH : F_FALLOC, .id = f->id };
	int mode = punch ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0;
	int fd;

	fact.off = CELL * rnd((f->size + BLOCK) / CELL);
	fact.len = some_len();
	if (fact.off + fact.len > FILE_MAX || (!punch && !can_allocate))
		return;
	fd = open_file(f, 0);
	begin(&fact);
	must(!fallocate(fd, mode, fact.off, fact.len), "fallocate", file_path(f));
	end(&fact);
	close(fd);
	if (!punch && fact.off + fact.len > f->size)
		f->size = fact.off + fact.len;
}

static void do_xattr(struct file *f)
{
	struct fact fact = { .op = F_XATTR, .id = f->id };
	char val[900], same[600];
	/* Both must fit one block. */
	size_t large = small_blocks ? 150 : 400;
	size_t len = rnd(3) ? 8 + rnd(40) : large + rnd(large);
	char *path = file_path(f);
	uint32_t ver = begin(&fact);

	memset(val, 'v', sizeof(val));
	snprintf(val, sizeof(val), "%08x", ver);
	val[8] = 'v';
	must(!setxattr(path, "user.v", val, len, 0), "setxattr", path);
	end(&fact);
	/* The same value everywhere: attribute blocks get shared. */
	memset(same, 'x', sizeof(same));
	if (!rnd(4))
		must(!setxattr(path, "user.same", same, large * 3 / 2, 0), "setxattr", path);
}

static void do_sync(struct file *f, int datasync)
{
	struct fact fact = { .op = datasync ? F_FDSYNC : F_FSYNC, .id = f->id };
	int fd;

	if (skip_sync())
		return;
	fd = open_file(f, 0);
	begin(&fact);
	must(!(datasync ? fdatasync(fd) : fsync(fd)), "fsync", file_path(f));
	end(&fact);
	close(fd);
	nr_syncs++;
}

static void sync_dir(uint32_t id)
{
	struct fact fact = { .op = F_DIRSYNC, .id = id };
	char path[4096];
	int fd;

	if (skip_sync())
		return;
	fd = open(dir_path(id, path, sizeof(path)), O_RDONLY | O_DIRECTORY);
	must(fd >= 0, "open", path);
	begin(&fact);
	must(!fsync(fd), "fsync", path);
	end(&fact);
	close(fd);
}

static void do_rename(struct file *f)
{
	struct dir *d = any_dir();
	int i = rnd(f->nnames);
	struct fact fact = { .op = F_RENAME, .id = f->id, .dir = f->dir[i],
			     .name = f->name[i], .dir2 = d->id, .name2 = f->next++ };
	char *from = name_path('f', f->id, fact.dir, fact.name);

	begin(&fact);
	must(!rename(from, name_path('f', f->id, fact.dir2, fact.name2)), "rename", from);
	end(&fact);
	dir_of(fact.dir)->used--;
	d->used++;
	f->dir[i] = fact.dir2;
	f->name[i] = fact.name2;
	if (!rnd(3))
		sync_dir(fact.dir2);
}

static void do_link(struct file *f)
{
	struct dir *d = any_dir();
	struct fact fact = { .op = F_LINK, .id = f->id, .dir = d->id, .name = f->next };
	char *from = file_path(f);

	if (f->nnames == NAMES)
		return;
	begin(&fact);
	must(!link(from, name_path('f', f->id, fact.dir, fact.name)), "link", from);
	end(&fact);
	d->used++;
	f->next++;
	f->dir[f->nnames] = fact.dir;
	f->name[f->nnames++] = fact.name;
}

/*
 * Data of a file without a name.  Where its write-back overtakes the commit of
 * the unlink, the file may come back with it.
 */
static void write_orphan(int fd, uint32_t id)
{
	struct fact fact = { .op = F_WRITE, .id = id, .off = rnd(8) * BLOCK, .len = 3 * BLOCK };
	uint32_t ver = begin(&fact);

	cells_fill(buf, fact.off, fact.len, worker, id, ver);
	must(pwrite(fd, buf, fact.len, fact.off) == (ssize_t)fact.len, "write", "an orphan");
	end(&fact);
}

/* Some files stay open after their last name is gone: orphans at the cut. */
static void do_unlink(struct file *f)
{
	struct fact fact = { .op = F_UNLINK, .id = f->id };
	int i = rnd(f->nnames), slot = rnd(ORPHANS), fd = -1;
	char *path = name_path('f', f->id, f->dir[i], f->name[i]);

	fact.dir = f->dir[i];
	fact.name = f->name[i];
	if (f->nnames == 1 && !rnd(3))
		fd = open_file(f, 0);
	begin(&fact);
	must(!unlink(path), "unlink", path);
	end(&fact);
	dir_of(fact.dir)->used--;
	f->nnames--;
	f->dir[i] = f->dir[f->nnames];
	f->name[i] = f->name[f->nnames];
	if (!f->nnames)
		f->id = 0;
	if (fd >= 0) {
		if (orphans[slot])
			close(orphans[slot]);
		orphans[slot] = fd;
		write_orphan(fd, fact.id);
	}
	if (!rnd(3))
		sync_dir(fact.dir);
}

static void do_mkdir(void)
{
	struct dir *p = &dirs[rnd(2)], *d = NULL;
	struct fact fact = { .op = F_MKDIR };
	int i;

	/* Below a directory of our own too: trees of depth three. */
	if (!rnd(3))
		p = any_dir();
	if (p->id > DIR_SHARED && p->parent > DIR_SHARED)
		return;
	for (i = 2; i < DIRS; i++)
		if (!dirs[i].id)
			d = &dirs[i];
	if (!d)
		return;
	*d = (struct dir){ .id = next_id++, .parent = p->id };
	fact.id = d->id;
	fact.dir = p->id;
	begin(&fact);
	must(!mkdir(name_path('d', d->id, p->id, 0), 0755), "mkdir", "");
	end(&fact);
	p->used++;
	if (!rnd(3))
		sync_dir(rnd(2) ? p->id : d->id);
}

static void do_rmdir(void)
{
	struct dir *d = &dirs[2 + rnd(DIRS - 2)];
	struct fact fact = { .op = F_RMDIR, .id = d->id, .dir = d->parent, .name = d->name };

	if (!d->id || d->used)
		return;
	begin(&fact);
	must(!rmdir(name_path('d', d->id, d->parent, d->name)), "rmdir", "");
	end(&fact);
	dir_of(d->parent)->used--;
	d->id = 0;
	if (!rnd(2))
		sync_dir(fact.dir);
}

static void do_mvdir(void)
{
	struct dir *d = &dirs[2 + rnd(DIRS - 2)], *p = &dirs[rnd(2)];
	struct fact fact = { .op = F_RENAME, .id = d->id, .dir = d->parent, .name = d->name,
			     .dir2 = p->id, .name2 = d->name + 1 };
	char *from;

	if (!d->id)
		return;
	from = name_path('d', d->id, fact.dir, fact.name);
	begin(&fact);
	must(!rename(from, name_path('d', d->id, fact.dir2, fact.name2)), "rename", from);
	end(&fact);
	dir_of(fact.dir)->used--;
	p->used++;
	d->parent = p->id;
	d->name++;
	if (!rnd(2))
		sync_dir(fact.dir2);
}

/* The usual way to replace a file: write a new one, fsync, rename, fsync. */
static void do_replace(void)
{
	uint32_t slot = rnd(SLOTS), ver;
	struct fact fact = { .op = F_REPLACE, .id = slot, .dir = slot % 2, .len = some_len() };
	char dir[4096], tmp[4200], path[4200];
	int fd;

	if (skip_sync())
		return;
	dir_path(fact.dir, dir, sizeof(dir));
	snprintf(tmp, sizeof(tmp), "%s/t%u.%u", dir, worker, slot);
	snprintf(path, sizeof(path), "%s/r%u.%u", dir, worker, slot);
	ver = begin(&fact);
	fd = open(tmp, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	must(fd >= 0, "create", tmp);
	cells_fill(buf, 0, fact.len, worker, ID_SLOT(slot), ver);
	must(write(fd, buf, fact.len) == (ssize_t)fact.len, "write", tmp);
	must(!fsync(fd), "fsync", tmp);
	must(!close(fd), "close", tmp);
	must(!rename(tmp, path), "rename", tmp);
	end(&fact);
	if (rnd(2))
		sync_dir(fact.dir);
}

static void do_shared(int sync)
{
	struct fact fact = { .op = sync ? F_FSYNC : F_WRITE, .id = ID_SHARED, .len = BLOCK };
	uint32_t ver;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/s/shared.dat", mnt);
	fd = open(path, O_RDWR);
	must(fd >= 0, "open", path);
	if (sync) {
		fact.len = 0;
		begin(&fact);
		must(!fsync(fd), "fsync", path);
	} else {
		fact.off = (rnd(SHARED_SIZE / BLOCK / workers) * workers + worker) * BLOCK;
		ver = begin(&fact);
		cells_fill(buf, fact.off, BLOCK, worker, ID_SHARED, ver);
		must(pwrite(fd, buf, BLOCK, fact.off) == BLOCK, "write", path);
	}
	end(&fact);
	close(fd);
}

static void one_op(void)
{
	struct file *f = any_file();
	uint32_t n = rnd(100);

	if (!f || n < 14)
		do_create();
	else if (n < 32)
		do_append(f);
	else if (n < 42)
		do_overwrite(f);
	else if (n < 46)
		do_truncate(f);
	else if (n < 51)
		do_fallocate(f, n < 49);
	else if (n < 58)
		do_rename(f);
	else if (n < 61)
		do_link(f);
	else if (n < 68)
		do_unlink(f);
	else if (n < 71)
		do_mkdir();
	else if (n < 73)
		do_rmdir();
	else if (n < 75)
		do_mvdir();
	else if (n < 79)
		do_xattr(f);
	else if (n < 86)
		do_sync(f, n < 82);
	else if (n < 89)
		sync_dir(any_dir()->id);
	else if (n < 93)
		do_replace();
	else
		do_shared(n > 97);
}

static int run_worker(const char *logdir, time_t until, uint64_t seed)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/w%u.log", logdir, worker);
	log_fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	must(log_fd >= 0, "create", path);
	rnd_state = seed * 1000003 + worker;
	dirs[0].id = DIR_HOME;
	dirs[1].id = DIR_SHARED;
	/* Without a sync there would be nothing to check, however busy the host is. */
	while (time(NULL) < until || !nr_syncs)
		one_op();
	return 0;
}

/* A range that has its blocks already: changes nothing. */
static int probe_fallocate(void)
{
	char path[4096];
	int fd, err;

	snprintf(path, sizeof(path), "%s/s/shared.dat", mnt);
	fd = open(path, O_RDWR);
	must(fd >= 0, "open", path);
	err = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, BLOCK);
	must(!err || errno == EOPNOTSUPP, "fallocate", path);
	close(fd);
	return !err;
}

static int run(char **arg)
{
	const char *logdir = arg[1];
	struct statvfs vfs;
	time_t until;
	int err = 0, status;
	uint32_t i;

	mnt = arg[0];
	must(!statvfs(mnt, &vfs), "statvfs", mnt);
	small_blocks = vfs.f_bsize < 4096;
	can_allocate = probe_fallocate();
	workers = atoi(arg[2]);
	until = time(NULL) + atoi(arg[3]);
	dev_nr = atoi(arg[5]);
	if (dev_nr >= 0) {
		ctl_fd = open("/dev/zjdctl", O_RDWR);
		must(ctl_fd >= 0, "open", "/dev/zjdctl (is zjdisk.ko loaded?)");
	}
	counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(counter != MAP_FAILED, "mmap", "");
	for (i = 0; i < workers; i++) {
		worker = i;
		if (!fork())
			_exit(run_worker(logdir, until, strtoull(arg[4], NULL, 0)));
	}
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			err = WIFEXITED(status) && WEXITSTATUS(status) == 4 ? err : 3;
	return err;
}

static int setup(char **arg)
{
	char path[4096];
	uint32_t b;
	int fd;

	mnt = arg[0];
	workers = atoi(arg[1]);
	snprintf(path, sizeof(path), "%s/s", mnt);
	must(!mkdir(path, 0755), "mkdir", path);
	for (b = 0; b < workers; b++) {
		snprintf(path, sizeof(path), "%s/w%u", mnt, b);
		must(!mkdir(path, 0755), "mkdir", path);
	}
	snprintf(path, sizeof(path), "%s/s/shared.dat", mnt);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
	must(fd >= 0, "create", path);
	for (b = 0; b < SHARED_SIZE / BLOCK; b++) {
		cells_fill(buf, b * BLOCK, BLOCK, b % workers, ID_SHARED, VER_SETUP);
		must(write(fd, buf, BLOCK) == BLOCK, "write", path);
	}
	must(!fsync(fd) && !close(fd), "fsync", path);
	sync();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "setup") && atoi(argv[3]) > 0 &&
	    atoi(argv[3]) <= MAX_WORKERS)
		return setup(argv + 2);
	if (argc == 8 && !strcmp(argv[1], "run") && atoi(argv[4]) > 0 &&
	    atoi(argv[4]) <= MAX_WORKERS)
		return run(argv + 2);
	fprintf(stderr, "usage: zjload setup MNT WORKERS\n"
		"       zjload run MNT LOGDIR WORKERS SECONDS SEED DEV (WORKERS 1-64, DEV -1: none)\n");
	return 2;
}
