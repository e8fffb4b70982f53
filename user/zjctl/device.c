// SPDX-License-Identifier: GPL-2.0-only
/* Finds the device that the user names, and whether it is mounted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <fcntl.h>
#include <unistd.h>
#include <blkid/blkid.h>
#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include "mounts.h"

static void copy(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
}

static void note_mount(struct zx_target *t, const struct zx_mount *m)
{
	copy(t->mounted_at, sizeof(t->mounted_at), m->at);
	copy(t->mount_type, sizeof(t->mount_type), m->type);
	t->zext4 = zx_is_zext4(m, t->proc_name, sizeof(t->proc_name));
}

/* An image file may be mounted through a loop device: libext2fs knows. */
static void find_loop_mount(struct zx_target *t)
{
	char at[4096] = "";
	struct stat st;
	struct zx_mount m;
	int flags = 0;

	if (ext2fs_check_mount_point(t->path, &flags, at, sizeof(at)) ||
	    !(flags & EXT2_MF_MOUNTED))
		return;
	if (at[0] && !stat(at, &st) && zx_find_mount(st.st_dev, &m))
		note_mount(t, &m);
	else
		copy(t->mounted_at, sizeof(t->mounted_at), at[0] ? at : "somewhere");
}

/* A tag, such as UUID=..., has no slash before the equals sign; a path may have both. */
static char *find_device(const char *name)
{
	return name[strcspn(name, "/=")] == '/' ? strdup(name) : blkid_evaluate_spec(name, NULL);
}

/* Who names any directory means its file system, unless a device is needed. */
static void note_directory(struct zx_target *t, const struct zx_mount *m)
{
	char *path = realpath(t->path, NULL);

	if (path && strcmp(path, m->at))
		copy(t->directory, sizeof(t->directory), path);
	free(path);
}

int zx_find(const char *name, struct zx_target *t)
{
	char *device = find_device(name);
	struct zx_mount m;
	struct stat st;

	memset(t, 0, sizeof(*t));
	if (!device)
		return zx_fail(ZX_FAILED, "%s: no such device; see lsblk -f for names, labels and UUIDs", name);
	copy(t->path, sizeof(t->path), device);
	free(device);
	if (stat(t->path, &st))
		return zx_fail(ZX_FAILED, "%s: %s; see lsblk -f for names, labels and UUIDs",
			       t->path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		if (!zx_find_mount(st.st_dev, &m) || m.source[0] != '/')
			return zx_fail(ZX_FAILED, "%s: is not on a block device; name the device", t->path);
		note_directory(t, &m);
		copy(t->path, sizeof(t->path), m.source);
		note_mount(t, &m);
	} else if (S_ISBLK(st.st_mode)) {
		if (zx_find_mount(st.st_rdev, &m))
			note_mount(t, &m);
	} else if (S_ISREG(st.st_mode)) {
		find_loop_mount(t);
	} else {
		return zx_fail(ZX_FAILED, "%s: is neither a block device nor an image file", t->path);
	}
	js_device(t->path);
	return 0;
}

/* ---- a journal on a device of its own ---- */

const char *zx_journal;

/* The uuid in the super block of a file system or journal device. */
static bool has_uuid(const char *path, const u8 *uuid)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ext2_super_block sb;
	bool same;

	if (fd < 0)
		return false;
	same = pread(fd, &sb, sizeof(sb), SUPERBLOCK_OFFSET) == sizeof(sb) &&
	       sb.s_magic == EXT2_SUPER_MAGIC && !memcmp(sb.s_uuid, uuid, sizeof(sb.s_uuid));
	close(fd);
	return same;
}

/* As stock ext4, the number that the super block names; else, as e2fsck, the uuid. */
bool zx_find_journal(struct ext_image *img, const u8 *uuid, u32 dev)
{
	/* As the kernel's new_decode_dev(). */
	dev_t number = makedev(dev >> 8 & 0xfff, (dev & 0xff) | (dev >> 12 & 0xfff00));
	char name[256], *found;

	if (zx_journal) {
		copy(img->log_path, sizeof(img->log_path), zx_journal);
		return true;
	}
	if (dev && zx_kernel_name(number, name, sizeof(name))) {
		snprintf(img->log_path, sizeof(img->log_path), "/dev/%s", name);
		if (has_uuid(img->log_path, uuid))
			return true;
	}
	zx_uuid_text(uuid, name);
	found = blkid_evaluate_tag("UUID", name, NULL);
	copy(img->log_path, sizeof(img->log_path), found ? found : "");
	free(found);
	return img->log_path[0];
}

int zx_refuse_mounted(const struct zx_target *t)
{
	if (!t->mounted_at[0])
		return 0;
	if (t->directory[0])
		return zx_fail(ZX_FAILED, "%s: is a directory in the file system that is mounted at %s; name a device, or an image file",
			       t->directory, t->mounted_at);
	return zx_fail(ZX_FAILED, "%s: is mounted at %s; first: umount %s",
		       t->path, t->mounted_at, t->mounted_at);
}

/* What blkid finds on the device: "xfs", "gpt partition table"; "" if nothing is known. */
static void find_contents(int fd, char *to, size_t room)
{
	blkid_probe probe = blkid_new_probe();
	const char *type;

	*to = 0;
	if (probe && !blkid_probe_set_device(probe, fd, 0, 0) &&
	    !blkid_probe_enable_partitions(probe, 1) && !blkid_do_safeprobe(probe)) {
		if (!blkid_probe_lookup_value(probe, "TYPE", &type, NULL))
			snprintf(to, room, "%s", type);
		else if (!blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL))
			snprintf(to, room, "%s partition table", type);
	}
	if (probe)
		blkid_free_probe(probe);
}

static int refuse_contents(const char *path, int fd)
{
	char what[64];

	find_contents(fd, what, sizeof(what));
	if (what[0])
		return zx_fail(ZX_FAILED, "%s: contains %s, not ext4; is it the right device? See lsblk -f",
			       path, what);
	return zx_fail(ZX_FAILED, "%s: cannot be read as an ext4 file system (no superblock); is it the right device? See lsblk -f",
		       path);
}

/* The file system is longer than the device: an incomplete copy, or a shrunk device. */
static int refuse_short(const char *path, struct ext2_super_block *sb)
{
	u32 size = sb->s_log_block_size <= 6 ? 1024U << sb->s_log_block_size : 0;
	u64 blocks = ext2fs_blocks_count(sb);
	blk64_t room;

	if (!size || ext2fs_get_device_size2(path, size, &room) || room >= blocks)
		return 0;
	return zx_fail(ZX_FAILED, "%s: is shorter than the file system on it, %llu of %llu blocks of %u bytes; copy it again if it is a copy, or enlarge the device to its old size",
		       path, (u64)room, blocks, size);
}

static int check_contents(const char *path, int fd)
{
	struct ext2_super_block sb;
	ssize_t n = pread(fd, &sb, sizeof(sb), SUPERBLOCK_OFFSET);

	if (n < 0)
		return zx_fail(ZX_FAILED, "%s: the superblock cannot be read (%s); check the device, copy it, and try again on the copy",
			       path, strerror(errno));
	if (n < (ssize_t)sizeof(sb) || sb.s_magic != EXT2_SUPER_MAGIC)
		return refuse_contents(path, fd);
	return refuse_short(path, &sb);
}

int zx_check_device(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), code;

	if (fd < 0)
		return zx_fail(ZX_FAILED, "%s: cannot be opened (%s)%s", path, strerror(errno),
			       errno == EACCES || errno == EPERM ?
			       "; usually only root may read it: use sudo" : "");
	code = check_contents(path, fd);
	close(fd);
	return code;
}

int zx_refuse_journal_option(const char *path)
{
	return zx_fail(ZX_FAILED, "%s: has no journal on another device; leave out --journal=%s",
		       path, zx_journal);
}

int zx_open(struct ext_image *img, const struct zx_target *t, enum ext_how how)
{
	int code = zx_check_device(t->path);

	if (!code && how != EXT_READ)
		code = zx_refuse_mounted(t);
	if (code)
		return code;
	if (ext_open(img, t->path, how))
		return ZX_FAILED;
	if (zx_journal && !img->log_start) {
		ext_close(img);
		return zx_refuse_journal_option(t->path);
	}
	if (t->mounted_at[0])
		ext_drop_cached_journal(img);
	return 0;
}
