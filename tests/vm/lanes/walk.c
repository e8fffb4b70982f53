// SPDX-License-Identifier: GPL-2.0-only
/* zjace: reads a mounted tree, and an image: is every inode in use reached from the root? */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ops.h"

#define COMPARED_FLAGS (FS_NOATIME_FL | FS_NODUMP_FL | FS_EXTENT_FL | FS_ENCRYPT_FL | \
			FS_VERITY_FL | FS_PROJINHERIT_FL | FS_TOPDIR_FL)
#define MAX_INODES 16384

static uint8_t reached[MAX_INODES];

/**
 * struct walk - one walk
 * @t: the tree being built
 * @next: next unused node
 * @why: text about what went wrong
 * @size: its space
 */
struct walk {
	struct tree *t;
	int next;
	char *why;
	size_t size;
};

static bool bad(struct walk *w, const char *what, const char *name)
{
	snprintf(w->why, w->size, "%s: %s: %s", what, name, strerror(errno));
	return false;
}

/* The byte that fills it, or 255 if it is not filled with one byte. */
static uint8_t filled_with(const uint8_t *buf, size_t len)
{
	return memcmp(buf, buf + 1, len - 1) ? WILD : *buf;
}

static bool read_data(struct walk *w, int fd, struct node *n, const char *name)
{
	uint8_t buf[CELL * CELLS];
	ssize_t len = pread(fd, buf, sizeof(buf), 0);

	if (len < 0)
		return bad(w, "cannot read", name);
	for (int c = 0; c < CELLS && (c + 1) * CELL <= len; c++)
		n->cell[c] = filled_with(buf + c * CELL, CELL);
	return true;
}

static bool read_flags(struct walk *w, int fd, struct node *n, const char *name)
{
	struct fsxattr x;
	int flags, version;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) || ioctl(fd, FS_IOC_FSGETXATTR, &x) ||
	    ioctl(fd, FS_IOC_GETVERSION, &version))
		return bad(w, "cannot read flags", name);
	n->versioned = version == VERSION_SET;
	n->flags = flags & COMPARED_FLAGS;
	n->projid = x.fsx_projid;
	return true;
}

static bool read_xattrs(struct walk *w, int fd, struct node *n, const char *name)
{
	uint8_t value[8192];
	char list[256];
	ssize_t len;

	len = flistxattr(fd, list, sizeof(list));
	if (len < 0)
		return bad(w, "cannot list attributes", name);
	for (const char *at = list; at < list + len; at += strlen(at) + 1) {
		ssize_t got = fgetxattr(fd, at, value, sizeof(value));

		if (got < 0)
			return bad(w, "cannot read an attribute", name);
		for (int x = 0; x < XATTRS; x++)
			if (!strcmp(at, xattr_name[x]))
				n->xattr[x] = got == (ssize_t)xattr_size[x] ?
					filled_with(value, got) : WILD;
	}
	return true;
}

static void read_stat(const struct stat *s, struct node *n)
{
	n->mode = s->st_mode;
	n->uid = s->st_uid;
	n->ino = s->st_ino;
	n->links = s->st_nlink;
	n->dated = s->st_mtime == UTIME_SET;
	if (S_ISREG(s->st_mode))
		n->size = s->st_size;
	if (S_ISCHR(s->st_mode) || S_ISBLK(s->st_mode))
		n->rdev = s->st_rdev;
}

static bool walk_dir(struct walk *w, int fd, int node);

/* An inode that was not seen before; what is no file and no directory cannot be opened. */
static bool read_node(struct walk *w, int dir, const char *name, int node)
{
	struct node *n = &w->t->node[node];
	bool ok;
	int fd;

	if (S_ISLNK(n->mode))
		return readlinkat(dir, name, n->target, NAME - 1) > 0 ||
			bad(w, "cannot read link", name);
	if (!S_ISREG(n->mode) && !S_ISDIR(n->mode))
		return true;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW);
	if (fd < 0)
		return bad(w, "cannot open", name);
	ok = read_flags(w, fd, n, name) && read_xattrs(w, fd, n, name);
	if (ok && S_ISDIR(n->mode))
		return walk_dir(w, fd, node);
	ok = ok && read_data(w, fd, n, name);
	close(fd);
	return ok;
}

static int node_with(struct tree *t, uint32_t ino, int end)
{
	for (int i = 0; i < end; i++)
		if (t->node[i].ino == ino)
			return i;
	return -1;
}

static bool walk_name(struct walk *w, int fd, int dir, const char *name)
{
	struct stat s;
	int node;

	if (fstatat(fd, name, &s, AT_SYMLINK_NOFOLLOW))
		return bad(w, "cannot stat", name);
	node = node_with(w->t, s.st_ino, w->next);
	if (node < 0) {
		if (w->next == NODES)
			return bad(w, "too many inodes", name);
		node = w->next++;
		read_stat(&s, &w->t->node[node]);
		if (!read_node(w, fd, name, node))
			return false;
	} else if (S_ISDIR(s.st_mode)) {
		return bad(w, "a directory with two names", name);
	}
	return add_dent(w->t, dir, name, node) || bad(w, "too many names", name);
}

/* Takes the descriptor over. */
static bool walk_dir(struct walk *w, int fd, int node)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	bool ok = true;

	if (!dir)
		return bad(w, "cannot read", "directory");
	while (ok && (errno = 0, e = readdir(dir))) {
		if (e->d_ino < MAX_INODES)
			reached[e->d_ino] = 1;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, "lost+found"))
			continue;
		ok = strlen(e->d_name) < NAME ? walk_name(w, fd, node, e->d_name) :
			bad(w, "a name that no operation made", e->d_name);
	}
	if (ok && errno)
		ok = bad(w, "cannot read", "directory");
	closedir(dir);
	return ok;
}

/* What the link counts say against the names that were found. */
static bool links_fit(struct walk *w)
{
	for (int i = 1; i < w->next; i++) {
		struct node *n = &w->t->node[i];
		uint32_t want = count_names(w->t, i);

		if (S_ISDIR(n->mode))
			for (int d = 0; d < DENTS; d++)
				want += w->t->dent[d].node && w->t->dent[d].parent == i &&
					S_ISDIR(w->t->node[w->t->dent[d].node].mode);
		want += S_ISDIR(n->mode);
		if (n->links != want) {
			snprintf(w->why, w->size, "inode %u has a link count of %u, and %u links",
				 n->ino, n->links, want);
			return false;
		}
	}
	return true;
}

bool walk_tree(const char *mnt, struct tree *t, char *why, size_t size)
{
	struct walk w = { .t = t, .next = 1, .why = why, .size = size };
	int fd = open(mnt, O_RDONLY);
	struct stat s;

	memset(t, 0, sizeof(*t));
	memset(reached, 0, sizeof(reached));
	if (fd < 0 || fstat(fd, &s))
		return bad(&w, "cannot open", mnt);
	read_stat(&s, &t->node[0]);
	if (!read_flags(&w, fd, &t->node[0], mnt) || !read_xattrs(&w, fd, &t->node[0], mnt)) {
		close(fd);
		return false;
	}
	return walk_dir(&w, fd, 0) && links_fit(&w);
}

/* ---- the image ---- */

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint16_t le16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

/* Offsets of ext4_super_block. */
enum { S_INODES = 0, S_BLOCKS = 4, S_FIRST_BLOCK = 20, S_LOG_BLOCK = 24, S_PER_GROUP = 32,
	S_IPG = 40, S_FIRST_INO = 84, S_INODE_SIZE = 88, S_COMPAT = 92,
	S_INCOMPAT = 96, S_RO_COMPAT = 100, S_UUID = 104,
	S_LABEL = 120,
	S_DESC_SIZE = 254, S_USR_QUOTA = 0x240, S_SALT = 0x258, S_PRJ_QUOTA = 0x26c, S_ORPHAN_FILE = 0x280 };

/* Descriptors in a block. */
uint32_t descs_per_block(const uint8_t *sb)
{
	uint32_t size = le32(sb + S_INCOMPAT) & 0x80 ? le16(sb + S_DESC_SIZE) : 32;

	return (1024 << le32(sb + S_LOG_BLOCK)) / size;
}

/* Blocks of a file system that needs no more blocks of descriptors. */
static uint32_t room_of(const uint8_t *sb)
{
	uint32_t first = le32(sb + S_FIRST_BLOCK), per_group = le32(sb + S_PER_GROUP);
	uint32_t by = descs_per_block(sb) * per_group;

	return first + (le32(sb + S_BLOCKS) - first + by - 1) / by * by;
}

bool read_super(const char *dev, struct tree *t)
{
	uint8_t sb[1024];
	int fd = open(dev, O_RDONLY);
	bool ok = fd >= 0 && pread(fd, sb, sizeof(sb), 1024) == sizeof(sb);

	if (fd >= 0)
		close(fd);
	if (!ok)
		return false;
	t->blocks = le32(sb + S_BLOCKS);
	t->room = room_of(sb);
	t->block = 1024 << le32(sb + S_LOG_BLOCK);
	t->has_xattr = le32(sb + S_COMPAT) & 8;
	t->has_csum = le32(sb + S_RO_COMPAT) & 0x400;
	t->has_encrypt = le32(sb + S_INCOMPAT) & 0x10000;
	t->has_seed = le32(sb + S_INCOMPAT) & 0x2000;
	t->quota = NO_QUOTA;
	if (le32(sb + S_RO_COMPAT) & 0x100)
		t->quota = le32(sb + S_USR_QUOTA) ? QUOTA_IS_OFF : PROJECT_QUOTA;
	memcpy(t->label, sb + S_LABEL, NAME);
	memcpy(&t->uuid, sb + S_UUID, sizeof(t->uuid));
	memcpy(&t->salt, sb + S_SALT, sizeof(t->salt));
	return true;
}

/**
 * struct image - an image whose inodes are counted
 * @fd: the device
 * @sb: its super block
 * @bs: size of a block
 * @ipg: inodes in a group
 * @why: text about what is wrong
 * @size: its space
 */
struct image {
	int fd;
	uint8_t sb[1024];
	uint32_t bs;
	uint32_t ipg;
	char *why;
	size_t size;
};

/* Inodes that have no name: reserved ones and those that the super block names. */
static bool is_special(struct image *im, uint32_t ino)
{
	return ino < le32(im->sb + S_FIRST_INO) || ino == le32(im->sb + S_PRJ_QUOTA) ||
		ino == le32(im->sb + S_ORPHAN_FILE);
}

/* A value of an extended attribute has an inode and no name. */
static bool needs_name(struct image *im, uint64_t table, uint32_t i)
{
	uint32_t isize = le16(im->sb + S_INODE_SIZE);
	uint8_t inode[128];

	if (pread(im->fd, inode, sizeof(inode), table * im->bs + (uint64_t)i * isize) != 128)
		return true;
	return le16(inode + 26) && !(le32(inode + 32) & 0x200000);
}

static bool count_group(struct image *im, uint32_t g, const uint8_t *desc)
{
	uint8_t map[4096];

	/* Not made yet, or all free. */
	if (le16(desc + 18) & 1 || le16(desc + 14) == im->ipg)
		return true;
	if (pread(im->fd, map, im->bs, (uint64_t)le32(desc + 4) * im->bs) != im->bs)
		return false;
	for (uint32_t i = 0; i < im->ipg; i++) {
		uint32_t ino = g * im->ipg + i + 1;
		bool used = map[i / 8] & 1 << i % 8;

		if (ino >= MAX_INODES || used == reached[ino])
			continue;
		if (used && (is_special(im, ino) || !needs_name(im, le32(desc + 8), i)))
			continue;
		snprintf(im->why, im->size, used ? "inode %u is in use and cannot be reached" :
			 "inode %u is reached and marked as free", ino);
		return false;
	}
	return true;
}

static bool count_groups(struct image *im)
{
	uint32_t first = le32(im->sb + S_FIRST_BLOCK), ds = le16(im->sb + S_DESC_SIZE);
	uint32_t groups = le32(im->sb + S_INODES) / im->ipg;
	uint8_t *desc;
	bool ok;

	ds = ds ? ds : 32;
	desc = malloc((size_t)groups * ds);
	ok = desc && pread(im->fd, desc, (size_t)groups * ds, (uint64_t)(first + 1) * im->bs) ==
		(ssize_t)((size_t)groups * ds);
	/* With meta_bg they are spread. */
	ok = ok && !(le32(im->sb + S_INCOMPAT) & 0x10);
	if (!ok)
		snprintf(im->why, im->size, "cannot read the descriptors");
	for (uint32_t g = 0; ok && g < groups; g++)
		ok = count_group(im, g, desc + g * ds);
	free(desc);
	return ok;
}

/* After walk_tree() of this image: every inode in use with links was found, and no other. */
bool all_reached(const char *dev, char *why, size_t size)
{
	struct image im = { .why = why, .size = size };
	bool ok;

	im.fd = open(dev, O_RDONLY);
	if (im.fd < 0 || pread(im.fd, im.sb, sizeof(im.sb), 1024) != sizeof(im.sb)) {
		snprintf(why, size, "cannot read %s", dev);
		return false;
	}
	im.bs = 1024 << le32(im.sb + S_LOG_BLOCK);
	im.ipg = le32(im.sb + S_IPG);
	ok = count_groups(&im);
	close(im.fd);
	return ok;
}
