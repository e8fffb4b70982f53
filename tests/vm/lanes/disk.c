// SPDX-License-Identifier: GPL-2.0-only
/* zjace: the recording disks, mounts, lanes, and the tree that workloads begin with. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../zjdisk/zjdisk_ioctl.h"
#include "ops.h"

const char *cgroups;	/* where they are mounted; NULL: lanes are CPUs */
static int ctl = -1;

const char *disk_path(int dev)
{
	static const char *const path[] = { "/dev/zjd0", "/dev/zjd1", "/dev/zjd2" };

	return path[dev];
}

const char *disk_mnt(int dev)
{
	static const char *const path[] = { "/mnt/ace0", "/mnt/ace1", "/mnt/ace2" };

	return path[dev];
}

bool disk_open(void)
{
	for (int dev = 0; dev < 3; dev++)
		mkdir(disk_mnt(dev), 0755);
	ctl = open("/dev/zjdctl", O_RDWR);
	return ctl >= 0;
}

/* A command of zjdisk, see its control.c. */
bool disk_cmd(const char *fmt, ...)
{
	char line[128];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* Whoever looks at a new device may have it open for a moment. */
	for (int i = 0; i < 200; i++) {
		if (write(ctl, line, len) == len)
			return true;
		if (errno != EBUSY)
			break;
		usleep(5000);
	}
	fprintf(stderr, "zjace: \"%s\": %m\n", line);
	return false;
}

uint64_t disk_mark(int dev)
{
	struct zjd_mark mark = { .dev = dev };

	return ioctl(ctl, ZJD_IOC_MARK, &mark) ? 0 : mark.seq;
}

/* Ends of flushes and of writes with FUA: what is durable changes there and nowhere else. */
int disk_moments(int dev, uint64_t last, uint64_t *moments, int max)
{
	struct zjd_mark after = { .dev = dev };
	int n = 0;

	while (n < max && !ioctl(ctl, ZJD_IOC_MOMENT, &after) && after.seq <= last)
		moments[n++] = after.seq;
	return n;
}

bool disk_mount(int dev, const char *type, const char *opts, bool ro)
{
	return !mount(disk_path(dev), disk_mnt(dev), type, MS_NOATIME | (ro ? MS_RDONLY : 0), opts);
}

bool disk_umount(int dev)
{
	for (int i = 0; i < 200; i++) {
		if (!umount2(disk_mnt(dev), 0))
			return true;
		if (errno != EBUSY)
			break;
		usleep(5000);
	}
	return false;
}

bool run_e2fsck(int dev, char *out, size_t size)
{
	char cmd[64];
	size_t len;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "e2fsck -fn %s 2>&1", disk_path(dev));
	f = popen(cmd, "r");
	if (!f)
		return false;
	len = fread(out, 1, size - 1, f);
	out[len] = 0;
	return !pclose(f);
}

/* Handles that this process starts from now on are of this lane. */
bool go_to_lane(int lane)
{
	char path[256];
	cpu_set_t set;
	FILE *f;

	if (!cgroups) {
		CPU_ZERO(&set);
		CPU_SET(lane, &set);
		return !sched_setaffinity(0, sizeof(set), &set);
	}
	snprintf(path, sizeof(path), "%s/lane%d/cgroup.procs", cgroups, lane);
	f = fopen(path, "w");
	return f && fputs("0", f) >= 0 && !fclose(f);
}

/* ---- the tree that workloads begin with ---- */

/* Parents first. A file is of that size, filled with its letter. */
static const struct object {
	const char *path;
	uint32_t size;
	char letter;
} objects[] = {
	{ "/p" }, { "/q" }, { "/p/a" }, { "/r" }, { "/p/a/x" }, { "/q/e" }, { "/p/a/x/c" },
	{ "/p/b" }, { "/p/a/x/c/k" }, { "/p/b/v" },
	{ "/p/f", 8192, 'f' }, { "/q/g", 4096, 'g' }, { "/p/a/h", 4096, 'h' },
	{ "/r/x", 4096, 'x' }, { "/r/donor", 8192, 'd' }, { "/r/ind", 4096, 'i' },
	{ "/p/deep", 16384, 'e' },
};

#define OBJECTS (sizeof(objects) / sizeof(objects[0]))
#define PLACES 192

/**
 * struct places - temporary directories, in which objects are made
 *
 * ext4 spreads top-level directories over the groups, and puts what is made in
 * one into its group.  So objects come to share no bitmap, no block of the inode
 * table, and if there are enough groups no block of descriptors.
 *
 * @group: for each directory its block group
 * @used: some object was made there
 * @groups: number of groups
 * @stride: so many groups on, the descriptor is in another block
 */
struct places {
	int group[PLACES];
	bool used[PLACES];
	int groups;
	int stride;
};

static void place_name(char *path, int n)
{
	sprintf(path, "%s/t%d", disk_mnt(0), n);
}

static int inodes_per_group(struct places *p)
{
	uint8_t sb[1024];
	uint32_t all, per;
	int fd = open(disk_path(0), O_RDONLY);

	must(fd >= 0 && pread(fd, sb, sizeof(sb), 1024) == sizeof(sb), "cannot read the super block");
	close(fd);
	memcpy(&all, sb, 4);
	memcpy(&per, sb + 40, 4);
	p->groups = all / per;
	p->stride = descs_per_block(sb) + 1;
	return per;
}

static void make_places(struct places *p)
{
	int per = inodes_per_group(p);
	struct stat s;
	char path[64];

	for (int n = 0; n < PLACES; n++) {
		place_name(path, n);
		must(!mkdir(path, 0755) && !stat(path, &s), "mkdir %s", path);
		p->group[n] = (s.st_ino - 1) / per;
	}
}

/* An unused place in this group, or in the next one that has one; group 0 has the root. */
static int take_place(struct places *p, int group)
{
	for (int i = 0; i < p->groups; i++, group++)
		for (int n = 0; n < PLACES; n++) {
			bool other = group % p->groups && p->group[n] == group % p->groups;

			for (int m = 0; other && m < PLACES; m++)
				other = !p->used[m] || p->group[m] != p->group[n];
			if (!other)
				continue;
			p->used[n] = true;
			return n;
		}
	fprintf(stderr, "zjace: not enough groups\n");
	exit(2);
}

/* Attributes that the base tree has would set the feature. */
static bool has_xattr(void)
{
	struct tree t;

	return read_super(disk_path(0), &t) && t.has_xattr;
}

/* Mounted again for each file, as no block reserved for the file before is then used for it. */
static void make_file(const struct object *o, const char *path)
{
	uint8_t buf[16384];
	int fd, flags;

	must(disk_umount(0) && disk_mount(0, "ext4", NULL, false), "mounting again");
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
	memset(buf, o->letter, sizeof(buf));
	must(fd >= 0 && pwrite(fd, buf, o->size, 0) == (ssize_t)o->size && !fsync(fd), "%s", path);
	if (o->letter == 'i') {
		must(!ioctl(fd, FS_IOC_GETFLAGS, &flags), "flags");
		flags &= ~FS_EXTENT_FL;
		must(!ioctl(fd, FS_IOC_SETFLAGS, &flags), "an indirect file");
	}
	/* More extents than the inode has room for. */
	for (uint32_t at = 1024; o->letter == 'e' && at < o->size; at += 2048)
		must(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 1024),
		     "holes in %s", path);
	if (o->letter == 'x' && has_xattr())
		for (int x = 1; x < XATTRS; x++) {
			memset(buf, '1' + x, xattr_size[x]);
			must(!fsetxattr(fd, xattr_name[x], buf, xattr_size[x], 0), "%s",
			     xattr_name[x]);
		}
	close(fd);
}

static void make_object(struct places *p, int i)
{
	const struct object *o = &objects[i];
	char from[64], to[64];
	int n = take_place(p, 1 + i * p->stride);

	place_name(from, n);
	sprintf(to, "%s%s", disk_mnt(0), o->path);
	if (o->size) {
		strcat(from, "/o");
		make_file(o, from);
	}
	must(!rename(from, to), "rename %s to %s", from, to);
}

static void make_rest(void)
{
	char from[64], to[64];

	sprintf(from, "%s/p/a/h", disk_mnt(0));
	sprintf(to, "%s/r/hard", disk_mnt(0));
	must(!link(from, to), "link");
	sprintf(to, "%s/r/l", disk_mnt(0));
	must(!symlink("target", to), "symlink");
	for (int n = 0; n < PLACES; n++) {
		place_name(from, n);
		must(!rmdir(from) || errno == ENOENT, "rmdir %s", from);
	}
}

/* Makes the file system and the tree, always with stock ext4. */
bool make_base(const char *mkfs)
{
	static struct places places;
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -t ext4 %s 2>/dev/null", mkfs);
	must(!system(cmd) && disk_mount(0, "ext4", NULL, false), "base tree");
	make_places(&places);
	for (size_t i = 0; i < OBJECTS; i++)
		make_object(&places, i);
	make_rest();
	/* mke2fs makes a salt where a file system as old as most has none. */
	return disk_umount(0) &&
		!system("debugfs -w -R 'ssv encrypt_pw_salt clear' /dev/zjd0 2>/dev/null");
}
