// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjace: the operations.  Each is one that ext4 commits as a whole (but for
 * data), with fixed arguments, chosen so that many pairs depend on each other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "ops.h"

#define B 4096
#define NOREPLACE RENAME_NOREPLACE
#define EXCHANGE RENAME_EXCHANGE
#define WHITEOUT RENAME_WHITEOUT

const struct op ops[] = {
	/* Those that change the tree. */
	{ "mkdir-q", MKDIR, "/q/n" },
	{ "mkdir-a", MKDIR, "/p/a/n" },
	{ "mkdir-k", MKDIR, "/p/a/x/c/k/n" },
	{ "mkdir-moved", MKDIR, "/q/c/k/n" },
	{ "create-q", CREATE, "/q/m" },
	{ "create-k", CREATE, "/p/a/x/c/k/m" },
	{ "create-n", CREATE, "/q/n/m" },
	{ "symlink-q", SYMLINK, "/q/s" },
	{ "mknod-q", MKNOD, "/q/o" },
	{ "link-f", LINK, "/p/f", "/q/lf", .ties = AGAIN },
	{ "link-g", LINK, "/q/g", "/p/a/x/c/k/lg" },
	{ "link-new", LINK, "/q/m", "/p/b/lm" },
	{ "unlink-f", UNLINK, "/p/f" },
	{ "unlink-g", UNLINK, "/q/g" },
	{ "unlink-link", UNLINK, "/q/lf" },
	{ "unlink-hard", UNLINK, "/r/hard" },
	{ "unlink-symlink", UNLINK, "/r/l" },
	{ "unlink-new", UNLINK, "/q/m" },
	{ "unlink-moved", UNLINK, "/q/rf" },
	{ "rmdir-e", RMDIR, "/q/e" },
	{ "rmdir-k", RMDIR, "/p/a/x/c/k" },
	{ "rmdir-v", RMDIR, "/p/b/v" },
	{ "rmdir-n", RMDIR, "/q/n" },
	{ "rename-same", RENAME, "/p/f", "/p/f2" },
	{ "rename-across", RENAME, "/p/f", "/q/rf" },
	{ "rename-over", RENAME, "/p/f", "/q/g" },
	{ "rename-over-hard", RENAME, "/q/g", "/r/hard" },
	{ "rename-symlink", RENAME, "/r/l", "/q/l" },
	{ "rename-new", RENAME, "/q/m", "/p/a/m2" },
	{ "rename-noreplace", RENAME, "/p/f", "/q/nf", .flags = NOREPLACE },
	{ "exchange-files", RENAME, "/p/f", "/q/g", .flags = EXCHANGE },
	{ "exchange-file-dir", RENAME, "/q/g", "/p/b/v", .flags = EXCHANGE, .ties = MOVES },
	{ "exchange-dirs", RENAME, "/p/b/v", "/p/a/x/c", .flags = EXCHANGE, .ties = MOVES },
	{ "exchange-k-e", RENAME, "/p/a/x/c/k", "/q/e", .flags = EXCHANGE, .ties = MOVES },
	{ "whiteout-f", RENAME, "/p/f", "/q/wf", .flags = WHITEOUT },
	{ "whiteout-same", RENAME, "/q/g", "/q/wg", .flags = WHITEOUT },
	{ "mv-c-q", RENAME, "/p/a/x/c", "/q/c", .ties = MOVES },
	{ "mv-a-k", RENAME, "/p/a", "/q/c/k/a", .ties = MOVES },
	{ "mv-a-v", RENAME, "/p/a", "/p/b/v/k/n3", .ties = MOVES },
	{ "mv-a-q", RENAME, "/p/a", "/q/a", .ties = MOVES },
	{ "mv-q-k", RENAME, "/q", "/p/a/x/c/k/q", .ties = MOVES },
	{ "mv-x-b", RENAME, "/p/a/x", "/p/b/x", .ties = MOVES },
	{ "mv-b-c", RENAME, "/p/b", "/p/a/x/c/b", .ties = MOVES },
	{ "mv-b-bx", RENAME, "/p/a", "/p/b/x/c/a", .ties = MOVES },
	{ "mv-e-v", RENAME, "/q/e", "/p/b/v", .ties = MOVES },
	{ "mv-n", RENAME, "/q/n", "/p/b/n", .ties = MOVES },
	{ "tmpfile", TMPFILE, "/q", "/q/t" },
	{ "tmpfile-away", TMPFILE, "/q", "/p/b/t", .ties = INHERITS },
	/* Those that change an inode, its data or the super block. */
	{ "truncate-0", TRUNCATE, "/p/f", .x = 0 },
	{ "truncate-down", TRUNCATE, "/p/f", .x = B + CELL },
	{ "truncate-up", TRUNCATE, "/p/f", .x = 3 * B + CELL },
	{ "truncate-g", TRUNCATE, "/q/g", .x = CELL },
	{ "fallocate", FALLOCATE, "/p/f", .x = 2 * B, .y = 2 * B },
	{ "fallocate-keep", FALLOCATE, "/p/f", .x = 3 * B, .y = B, .flags = FALLOC_FL_KEEP_SIZE, .ties = AGAIN },
	{ "punch", FALLOCATE, "/p/f", .x = 0, .y = B,
	  .flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
	{ "zero-range", FALLOCATE, "/p/f", .x = B, .y = B, .flags = FALLOC_FL_ZERO_RANGE },
	{ "collapse", FALLOCATE, "/p/f", .x = 0, .y = B, .flags = FALLOC_FL_COLLAPSE_RANGE },
	{ "insert", FALLOCATE, "/p/f", .x = B, .y = B, .flags = FALLOC_FL_INSERT_RANGE },
	{ "write", WRITE, "/p/f", .x = 0, .y = B },
	{ "append", WRITE, "/p/f", .x = 2 * B, .y = CELL, .ties = AGAIN },
	{ "append-g", WRITE, "/q/g", .x = B, .y = B },
	{ "write-new", WRITE, "/q/m", .x = 0, .y = B },
	{ "write-deep", WRITE, "/p/deep", .x = 0, .y = 2 * CELL, .ties = AGAIN },
	{ "write-gap", WRITE, "/q/g", .x = 3 * B, .y = CELL },
	{ "store", STORE, "/p/f", .x = 0, .y = CELL },
	{ "direct", DIRECT, "/p/f", .x = B, .y = B },
	{ "direct-append", DIRECT, "/q/g", .x = B, .y = B },
	{ "write-back", WRITE_BACK, "/p/f" },
	{ "write-back-new", WRITE_BACK, "/q/m" },
	{ "write-back-deep", WRITE_BACK, "/p/deep", .ties = AGAIN },
	{ "setxattr-small", SETXATTR, "/p/f", .x = 0, .ties = FIRST_XATTR },
	{ "setxattr-shared", SETXATTR, "/p/f", .x = 1 },
	{ "setxattr-large", SETXATTR, "/p/f", .x = 2, .ties = AGAIN },
	{ "setxattr-shared-g", SETXATTR, "/q/g", .x = 1 },
	{ "setxattr-large-g", SETXATTR, "/q/g", .x = 2 },
	{ "setxattr-dir", SETXATTR, "/p/a", .x = 0, .ties = FIRST_XATTR },
	{ "removexattr-shared", REMOVEXATTR, "/r/x", .x = 1 },
	{ "removexattr-large", REMOVEXATTR, "/r/x", .x = 2 },
	{ "chmod-f", CHMOD, "/p/f", .x = 0600, .ties = AGAIN },
	{ "chmod-a", CHMOD, "/p/a", .x = 0700 },
	{ "chmod-k", CHMOD, "/p/a/x/c/k", .x = 0700 },
	{ "chmod-new", CHMOD, "/q/m", .x = 0600 },
	{ "chown-f", CHOWN, "/p/f", .x = 1000 },
	{ "chown-g", CHOWN, "/q/g", .x = 1001 },
	{ "chown-q", CHOWN, "/q", .x = 1000 },
	{ "chattr-f", SETFLAGS, "/p/f", .x = FS_NODUMP_FL },
	{ "chattr-x", SETFLAGS, "/p/a/x", .x = FS_NOATIME_FL },
	{ "chattr-q", SETFLAGS, "/q", .x = FS_NOATIME_FL, .ties = INHERITS },
	{ "project-f", PROJECT, "/p/f", .x = 7 },
	{ "project-a", PROJECT, "/p/a", .x = 8 },
	{ "project-g", PROJECT, "/q/g", .x = 7 },
	{ "utime-g", UTIME, "/q/g" },
	{ "setversion-f", SETVERSION, "/p/f" },
	{ "setversion-k", SETVERSION, "/p/a/x/c/k" },
	{ "setversion-new", SETVERSION, "/q/m" },
	{ "encrypt-e", ENCRYPT, "/q/e" },
	{ "encrypt-new", ENCRYPT, "/q/n" },
	{ "verity", VERITY, "/r/x" },
	{ "verity-f", VERITY, "/p/f" },
	{ "move-ext", MOVE_EXT, "/p/f", "/r/donor", .y = B },
	{ "move-deep", MOVE_EXT, "/p/deep", "/r/donor", .y = 2 * CELL, .ties = AGAIN },
	{ "swap-boot", SWAP_BOOT, "/q/g" },
	{ "swap-boot-f", SWAP_BOOT, "/p/f" },
	{ "migrate", MIGRATE, "/r/ind" },
	{ "resize", RESIZE, "/" },
	{ "label", LABEL, "/" },
	{ "uuid", UUID, "/" },
	{ "salt", SALT, "/", .ties = TELLS },
	{ "salt-kept", SALT_KEPT, "/q/g", .ties = TELLS },
	{ "quota-on", QUOTA_ON, "/" },
	{ "quota-off", QUOTA_OFF, "/" },
	{ "fsync-f", FSYNC, "/p/f" },
	{ "fsync-q", FSYNC, "/q" },
	{ "fdatasync-f", FDATASYNC, "/p/f" },
	{ "checkpoint", CHECKPOINT, "/" },
	{ "evict", EVICT, "/", .ties = AGAIN },
};

const int nr_ops = sizeof(ops) / sizeof(ops[0]);

/* They come first in the table. */
int nr_tree_ops(void)
{
	int n = 0;

	while (n < nr_ops && ops[n].kind <= TMPFILE)
		n++;
	return n;
}

/* The salt is returned, then it is stored: two steps. */
int op_steps(const struct op *op)
{
	return op->kind == SALT_KEPT ? 2 : 1;
}

#define EXT4_IOC_SETVERSION	_IOW('f', 4, long)
#define EXT4_IOC_MIGRATE	_IO('f', 9)
#define EXT4_IOC_MOVE_EXT	_IOWR('f', 15, struct move_extent)
#define EXT4_IOC_RESIZE_FS	_IOW('f', 16, uint64_t)
#define EXT4_IOC_SWAP_BOOT	_IO('f', 17)
#define EXT4_IOC_CHECKPOINT	_IOW('f', 43, uint32_t)
#define EXT4_IOC_SETFSUUID	_IOW('f', 44, uint64_t)	/* counted without the UUID */

struct move_extent {
	uint32_t reserved;
	uint32_t donor;
	uint64_t orig_start;
	uint64_t donor_start;
	uint64_t len;
	uint64_t moved;
};

struct fsuuid {
	uint32_t len;
	uint32_t flags;
	uint8_t uuid[16];
};

static uint8_t buffer[CELL * CELLS] __attribute__((aligned(4096)));

static int write_data(const struct op *op, int fd, int pos)
{
	memset(buffer, pattern(pos), op->y);
	return pwrite(fd, buffer, op->y, op->x) == (ssize_t)op->y ? 0 : -1;
}

/* Beyond the end of the file there is nothing to store to. */
static int store(const struct op *op, int fd, int pos)
{
	struct stat s;
	char *map;

	if (fstat(fd, &s) || s.st_size < op->x + op->y)
		return -1;
	map = mmap(NULL, op->x + op->y, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	memset(map + op->x, pattern(pos), op->y);
	return munmap(map, op->x + op->y);
}

static int set_xattr(const struct op *op, const char *path)
{
	memset(buffer, '1' + op->x, xattr_size[op->x]);
	return setxattr(path, xattr_name[op->x], buffer, xattr_size[op->x], 0);
}

static int set_flags(const struct op *op, int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return -1;
	flags |= op->x;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int set_project(const struct op *op, int fd)
{
	struct fsxattr x;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x))
		return -1;
	x.fsx_projid = op->x;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x);
}

/* The number has the size of a long, but an int is read. */
static int set_version(int fd)
{
	int version = VERSION_SET;

	return ioctl(fd, EXT4_IOC_SETVERSION, &version);
}

/* Version 1: no key is needed to set it. */
static int encrypt(int fd)
{
	struct fscrypt_policy_v1 policy = {
		.version = FSCRYPT_POLICY_V1,
		.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS,
		.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS,
		.flags = FSCRYPT_POLICY_FLAGS_PAD_32,
		.master_key_descriptor = "oracle",
	};

	return ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, &policy);
}

static int verity(int fd)
{
	struct fsverity_enable_arg arg = {
		.version = 1,
		.hash_algorithm = FS_VERITY_HASH_ALG_SHA256,
		.block_size = 1024,
	};
	struct stat s;

	if (fstat(fd, &s))
		return -1;
	arg.block_size = s.st_blksize < 4096 ? s.st_blksize : 4096;
	return ioctl(fd, FS_IOC_ENABLE_VERITY, &arg);
}

static int move_ext(const struct op *op, int fd, const char *donor)
{
	struct move_extent arg = {};
	struct stat s;
	int rc;

	arg.donor = open(donor, O_RDWR);
	if ((int)arg.donor < 0)
		return -1;
	fstat(fd, &s);
	arg.len = (op->y + s.st_blksize - 1) / s.st_blksize;
	rc = ioctl(fd, EXT4_IOC_MOVE_EXT, &arg);
	close(arg.donor);
	return rc;
}

static int resize(int fd)
{
	struct tree t;
	uint64_t blocks;

	if (!read_super(disk_path(1), &t))
		return -1;
	blocks = t.blocks + NEW_BLOCKS;
	return ioctl(fd, EXT4_IOC_RESIZE_FS, &blocks);
}

static int set_label(int fd)
{
	char label[FSLABEL_MAX] = "new label";

	return ioctl(fd, FS_IOC_SETFSLABEL, label);
}

static int set_uuid(int fd)
{
	struct fsuuid arg = { .len = 16 };

	memset(arg.uuid, 'u', sizeof(arg.uuid));
	return ioctl(fd, EXT4_IOC_SETFSUUID, &arg);
}

static int get_salt(int fd, uint64_t *returned)
{
	uint8_t salt[16];
	int rc = ioctl(fd, FS_IOC_GET_ENCRYPTION_PWSALT, salt);

	memcpy(returned, salt, sizeof(*returned));
	return rc;
}

static int keep_salt(int fd, uint64_t *returned)
{
	if (get_salt(fd, returned))
		return -1;
	return fchown(fd, returned_owner(*returned), 0);
}

static int link_tmpfile(const char *dir, const char *path)
{
	int fd = open(dir, O_TMPFILE | O_RDWR, 0644), rc = -1;

	if (fd >= 0) {
		rc = linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH);
		close(fd);
	}
	return rc;
}

static int set_quota(enum kind kind)
{
	int cmd = kind == QUOTA_ON ? Q_QUOTAON : Q_QUOTAOFF;

	return quotactl(QCMD(cmd, USRQUOTA), disk_path(1), 4 /* QFMT_VFS_V1 */, NULL);
}

static int checkpoint(int fd)
{
	uint32_t flags = 0;

	return ioctl(fd, EXT4_IOC_CHECKPOINT, &flags);
}

static int tell_kernel(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY), rc = -1;

	if (fd >= 0) {
		rc = write(fd, value, strlen(value)) < 0 ? -1 : 0;
		close(fd);
	}
	return rc;
}

/* Inodes leave core, if nobody has them open; those with dirty data when that is written back. */
static int evict(void)
{
	static int n;

	/* Another interval starts write-back of all that is dirty. */
	if (tell_kernel("/proc/sys/vm/dirty_writeback_centisecs", n++ & 1 ? "500" : "499"))
		return -1;
	return tell_kernel("/proc/sys/vm/drop_caches", "3");
}

/* On a file that is opened for it. */
static int do_open(const struct op *op, int pos, int fd, const char *b, uint64_t *returned)
{
	switch (op->kind) {
	case CREATE:		return 0;
	case FALLOCATE:		return fallocate(fd, op->flags, op->x, op->y);
	case WRITE:
	case DIRECT:		return write_data(op, fd, pos);
	case STORE:		return store(op, fd, pos);
	case WRITE_BACK:	return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
						       SYNC_FILE_RANGE_WRITE |
						       SYNC_FILE_RANGE_WAIT_AFTER);
	case SETFLAGS:		return set_flags(op, fd);
	case PROJECT:		return set_project(op, fd);
	case SETVERSION:	return set_version(fd);
	case ENCRYPT:		return encrypt(fd);
	case VERITY:		return verity(fd);
	case MOVE_EXT:		return move_ext(op, fd, b);
	case SWAP_BOOT:		return ioctl(fd, EXT4_IOC_SWAP_BOOT);
	case MIGRATE:		return ioctl(fd, EXT4_IOC_MIGRATE);
	case RESIZE:		return resize(fd);
	case LABEL:		return set_label(fd);
	case UUID:		return set_uuid(fd);
	case SALT:		return get_salt(fd, returned);
	case SALT_KEPT:		return keep_salt(fd, returned);
	case FSYNC:		return fsync(fd);
	case FDATASYNC:		return fdatasync(fd);
	case CHECKPOINT:	return checkpoint(fd);
	default:		errno = ENOSYS; return -1;
	}
}

/* How it is opened; directories and verity want no write access. */
static int open_flags(enum kind kind)
{
	switch (kind) {
	case CREATE:	return O_CREAT | O_EXCL | O_RDWR;
	case DIRECT:	return O_RDWR | O_DIRECT;
	case FALLOCATE: case WRITE: case STORE: case MOVE_EXT: case SWAP_BOOT: case MIGRATE:
			return O_RDWR;
	default:	return O_RDONLY;
	}
}

static int set_time(const char *path)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = UTIME_SET } };

	return utimensat(AT_FDCWD, path, times, 0);
}

/**
 * do_op() - carry an operation out
 * @mnt: where the file system is mounted
 * @op: which
 * @pos: its place in the workload
 * @returned: the value that it returned, if any
 */
int do_op(const char *mnt, const struct op *op, int pos, uint64_t *returned)
{
	char a[256], b[256];
	int fd, rc;

	snprintf(a, sizeof(a), "%s%s", mnt, op->a);
	snprintf(b, sizeof(b), "%s%s", mnt, op->b ? op->b : "");
	switch (op->kind) {
	case MKDIR:		return mkdir(a, 0755);
	case SYMLINK:		return symlink("target", a);
	case MKNOD:		return mknod(a, S_IFCHR | 0644, makedev(1, 3));
	case LINK:		return link(a, b);
	case UNLINK:		return unlink(a);
	case RMDIR:		return rmdir(a);
	case RENAME:		return renameat2(AT_FDCWD, a, AT_FDCWD, b, op->flags);
	case TMPFILE:		return link_tmpfile(a, b);
	case TRUNCATE:		return truncate(a, op->x);
	case SETXATTR:		return set_xattr(op, a);
	case REMOVEXATTR:	return removexattr(a, xattr_name[op->x]);
	case CHMOD:		return chmod(a, op->x);
	case CHOWN:		return chown(a, op->x, 0);
	case UTIME:		return set_time(a);
	case QUOTA_ON:
	case QUOTA_OFF:		return set_quota(op->kind);
	case EVICT:		return evict();
	default:
	}
	fd = open(a, open_flags(op->kind), 0644);
	if (fd < 0)
		return -1;
	rc = do_open(op, pos, fd, b, returned);
	close(fd);
	return rc;
}
